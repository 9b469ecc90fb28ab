package backoff

import "time"

// Bucket holds the tokens of a rate: Size may be drawn at once, and one more is there each Refill. It is full until the
// first is drawn. It is not safe for concurrent use.
type Bucket struct {
	Size   int
	Refill time.Duration

	missing int
	since   time.Time // of the refill of the next token
}

// Next is the earliest time, from now on, at which the bucket holds a token.
func (b *Bucket) Next(now time.Time) time.Time {
	b.refill(now)
	if b.missing < b.Size {
		return now
	}
	return b.since.Add(b.Refill)
}

// Draw takes a token, or what is left of one.
func (b *Bucket) Draw(now time.Time) {
	b.refill(now)
	if b.missing == 0 {
		b.since = now
	}
	b.missing = min(b.missing+1, b.Size)
}

// Take draws a token if there is one; otherwise it draws none and returns the time until there is.
func (b *Bucket) Take(now time.Time) (wait time.Duration) {
	if wait = b.Next(now).Sub(now); wait == 0 {
		b.Draw(now)
	}
	return wait
}

func (b *Bucket) refill(now time.Time) {
	for b.missing > 0 && now.Sub(b.since) >= b.Refill {
		b.missing--
		b.since = b.since.Add(b.Refill)
	}
}
