package breaker

import (
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
)

// Permit is the leave to try once.
type Permit struct {
	epoch int
	// Probe: it is the one try that an open breaker lets through. Woken: a wake granted it.
	Probe, Woken bool
	// wakes is how many wakes there were when it was given.
	wakes int
}

// Denial is why a call may not be tried now.
type Denial struct {
	// RetryAfter is the time until the next try may come; 0 when none is planned.
	RetryAfter time.Duration
	// Retired: the cause does not pass without a change.
	Retired bool
}

// shortest is what a refused caller is told to wait when a probe is under way.
const shortest = time.Second

// Begin takes the permit of a supervisor's try. Call it only when Next says that it is due.
func (b *Breaker) Begin() Permit {
	p := Permit{epoch: b.epoch, Probe: b.state != Closed, Woken: b.granted, wakes: b.wakes}
	b.granted = false
	b.begun = b.wakes
	b.probing = p.Probe
	return p
}

// Pass is the permit of what is done over a live session besides tries: it moves a closed breaker only.
func (b *Breaker) Pass() Permit {
	if b.state != Closed {
		return Permit{epoch: never}
	}
	return Permit{epoch: b.epoch, wakes: b.wakes}
}

// never is the epoch of a permit that moves nothing.
const never = -1

// Abandon makes every permit given so far worthless: who holds one has been replaced.
func (b *Breaker) Abandon() {
	b.epoch++
	b.probing = false
}

// Admit asks for the permit of a call. The denial is nil exactly when the permit is good.
func (b *Breaker) Admit(now time.Time) (Permit, *Denial) {
	if denial := b.Denies(now); denial != nil {
		return Permit{}, denial
	}
	return b.Begin(), nil
}

// Denies returns why a call would not be admitted now, nil when it would be.
func (b *Breaker) Denies(now time.Time) *Denial {
	if wait := b.earliest.Sub(now); wait > 0 {
		return &Denial{RetryAfter: wait, Retired: b.state == Retired}
	}
	switch {
	case b.state == Closed:
		return nil
	case b.state == Retired:
		return &Denial{RetryAfter: remaining(now, b.until), Retired: true}
	case b.probing:
		return &Denial{RetryAfter: shortest}
	case !b.granted && now.Before(b.until):
		return &Denial{RetryAfter: remaining(now, b.until)}
	}
	return nil
}

// remaining is the time until a probe is due, 0 for a zero time, else at least a moment.
func remaining(now, until time.Time) time.Duration {
	if until.IsZero() {
		return 0
	}
	return max(until.Sub(now), shortest)
}

// Wake grants one attempt at once, because a person or a credential changed something. Another connection also ends
// a wait that the server asked for, since it spoke of the old one. An attempt that is under way began before the
// change: if it fails, the one that was granted follows it.
func (b *Breaker) Wake(otherConnection bool) {
	b.wakes++
	if otherConnection {
		b.earliest = time.Time{}
	}
	switch {
	case b.state != Closed:
		b.granted = true
	case otherConnection:
		b.failed, b.refusals, b.until = 0, 0, time.Time{}
	default:
		b.until = time.Time{}
	}
}

// owed reports whether a wake came after p was given, and no attempt has begun since.
func (b *Breaker) owed(p Permit) bool { return p.wakes != b.wakes && b.begun != b.wakes }

// Hold puts off the next try of a closed breaker without counting a failure.
func (b *Breaker) Hold(until time.Time) {
	if b.state == Closed {
		b.until = backoff.Later(b.until, until)
	}
}

// NotBefore keeps every try away until the server accepts requests again.
func (b *Breaker) NotBefore(until time.Time) {
	b.earliest = backoff.Later(b.earliest, until)
}

// Earliest returns when the server accepts requests again, which may be in the past.
func (b *Breaker) Earliest() time.Time { return b.earliest }

// release ends a permit. It reports whether the permit may move the breaker: it is of this epoch, and if the
// breaker is open it is the probe.
func (b *Breaker) release(p Permit) bool {
	if p.epoch != b.epoch {
		return false
	}
	if p.Probe {
		b.probing = false
	}
	return true
}
