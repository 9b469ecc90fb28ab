package pace

import "time"

// rate is how many may follow each other at once, and how long it takes until one more may.
type rate struct {
	size   int
	refill time.Duration
}

// bucket holds the tokens of a rate; the zero value is full.
type bucket struct {
	missing int
	since   time.Time
}

// next is the earliest time from at on at which the bucket holds a token.
func (b *bucket) next(r rate, now, at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	b.settle(r, now)
	if b.missing < r.size {
		return at
	}
	if full := b.since.Add(r.refill); full.After(at) {
		return full
	}
	return at
}

func (b *bucket) draw(r rate, now time.Time) {
	b.settle(r, now)
	if b.missing == 0 {
		b.since = now
	}
	b.missing = min(b.missing+1, r.size)
}

// settle puts back the tokens that were refilled until now.
func (b *bucket) settle(r rate, now time.Time) {
	for b.missing > 0 && now.Sub(b.since) >= r.refill {
		b.missing--
		b.since = b.since.Add(r.refill)
	}
}
