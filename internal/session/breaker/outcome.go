package breaker

import (
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/failure"
)

// Answered ends a permit with a proof of life. It clears what failures counted, and a probe closes the breaker.
func (b *Breaker) Answered(p Permit) {
	if !b.release(p) {
		return
	}
	b.close()
	b.strikes, b.waits = 0, 0
}

// Rejected ends a permit with a 403 or another 4xx: it neither counts nor clears, but a probe has shown that the
// server can be reached again, and closes the breaker.
func (b *Breaker) Rejected(p Permit) {
	if b.release(p) && p.Probe {
		b.close()
	}
}

// Cancelled ends a permit that taught nothing; the probe is the next one's.
func (b *Breaker) Cancelled(p Permit) {
	if b.release(p) && p.Woken {
		b.granted = true
	}
}

// Failed ends a permit with a failure. Blameless: the failure is suspected to be our own, so it adds no strike.
func (b *Breaker) Failed(now time.Time, p Permit, f failure.Failure, blameless bool) {
	if !b.release(p) {
		return
	}
	b.failed++
	b.granted = b.granted || b.owed(p)
	if f.Policy().Gates && f.RetryAfterGiven {
		b.NotBefore(now.Add(f.RetryAfter))
	}
	switch isRefusal := b.countRefusal(f); {
	case b.state == Retired:
		b.stayRetired(now, p, f, isRefusal)
	case isRefusal:
		b.refuse(now)
	case p.Woken && p.Probe && now.Before(b.until):
		// The cooldown that the wake interrupted goes on as if nothing had been tried.
	default:
		b.count(now, f, blameless)
	}
}

// refuse gives the server up, or holds for one cooldown where that is for another process to decide.
func (b *Breaker) refuse(now time.Time) {
	if b.policy.Retires {
		b.retire(now, Refused)
		return
	}
	b.open(Waiting, now.Add(b.rand.Cooldown(b.policy.Cooldown, 1)))
}

// count lets a failure that may pass without a change count.
func (b *Breaker) count(now time.Time, f failure.Failure, blameless bool) {
	switch {
	case f.Reason == failure.SessionFlapping:
		b.putOff(now, b.countFlap(now), f)
	case b.failed < b.policy.Attempts:
		b.until = now.Add(b.delay(f))
	case blameless || !f.Strikes():
		b.waits++
		b.putOff(now, b.waits, f)
	default:
		b.strike(now, f)
	}
}

// countRefusal reports whether f, after those before it, is a refusal to be believed.
func (b *Breaker) countRefusal(f failure.Failure) bool {
	switch {
	case f.RetiresAtOnce():
		return true
	case f.RetiresAfterAttempts():
		b.refusals++
		return b.refusals >= b.policy.Attempts
	}
	b.refusals = 0
	return false
}

// countFlap counts how often in a row the server was put off for forgetting sessions: answers between do not tell
// that it has stopped, only time does.
func (b *Breaker) countFlap(now time.Time) int {
	if now.Sub(b.flaps.last) > 10*b.policy.Cooldown+b.longestWait() {
		b.flaps.count = 0
	}
	b.flaps.last = now
	b.flaps.count++
	return b.flaps.count
}

// delay is the wait before the next try of the same round.
func (b *Breaker) delay(f failure.Failure) time.Duration {
	if f.RetryAfterGiven {
		return b.rand.Told(f.RetryAfter)
	}
	return b.rand.Delay(b.failed)
}

// putOff opens the breaker without a strike, for the n-th time in a row.
func (b *Breaker) putOff(now time.Time, n int, f failure.Failure) {
	wait := backoff.Growing(b.policy.Cooldown, n, b.longestWait())
	b.open(Waiting, now.Add(b.atLeastTold(b.rand.Around(wait), f)))
}

func (b *Breaker) strike(now time.Time, f failure.Failure) {
	b.waits = 0
	b.blame = blame{at: now, suspect: f.Policy().Suspect}
	if b.strikes < b.policy.Strikes {
		b.strikes++
	}
	if b.strikes >= b.policy.Strikes && b.policy.Retires {
		b.retire(now, Exhausted)
		return
	}
	b.open(Quarantined, now.Add(b.atLeastTold(b.rand.Cooldown(b.policy.Cooldown, b.strikes), f)))
}

func (b *Breaker) atLeastTold(wait time.Duration, f failure.Failure) time.Duration {
	if !f.RetryAfterGiven {
		return wait
	}
	return max(wait, b.rand.Told(f.RetryAfter))
}

// longestWait bounds waits without a strike: a server that works again is found within the time that a retired one
// would be.
func (b *Breaker) longestWait() time.Duration {
	if b.policy.ProbeInterval <= 0 {
		return defaultLongestWait
	}
	return b.policy.ProbeInterval
}

const defaultLongestWait = 5 * time.Minute

func (b *Breaker) open(state State, until time.Time) {
	b.state, b.until = state, until
	b.epoch++
	b.probing = false // granted stays: Begin has used up the wake of the attempt that ended
}

func (b *Breaker) close() {
	if b.state != Closed {
		b.state = Closed
		b.epoch++
	}
	b.failed, b.refusals = 0, 0
	b.until = time.Time{}
	b.kind, b.retiredAt = "", time.Time{}
	b.granted, b.probing = false, false
}
