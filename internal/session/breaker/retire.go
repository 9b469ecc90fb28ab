package breaker

import (
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/failure"
)

// pardonable is how long after a strike it may turn out that the fault was ours.
const pardonable = 30 * time.Second

// Restore takes over what was remembered, before any other use. A quarantine ends no earlier than it was to, and within
// the spread of its cooldown after that, so that servers that were quarantined together do not come back together. What
// is remembered may have been edited: it leads to no state that a breaker could not reach.
func (b *Breaker) Restore(now time.Time, s Saved) {
	b.strikes = max(0, min(s.Strikes, b.policy.Strikes))
	switch {
	case s.Retirement == Refused, s.Retirement == Exhausted:
		b.failed, b.refusals = b.policy.Attempts, b.policy.Attempts
		b.state, b.kind, b.retiredAt = Retired, s.Retirement, s.RetiredAt
		if b.retiredAt.IsZero() || b.retiredAt.After(now) {
			b.retiredAt = now
		}
		b.until = b.nextProbe(now)
	case !s.QuarantinedUntil.IsZero():
		cooldown := backoff.Growing(b.policy.Cooldown, max(b.strikes, 1), day)
		until := backoff.Later(now, s.QuarantinedUntil)
		if limit := now.Add(max(2*cooldown, longestTold)); until.After(limit) {
			until = limit // written by a clock that was far ahead of ours
		}
		b.failed = b.policy.Attempts
		b.state, b.until = Quarantined, until.Add(b.rand.Upto(2*cooldown/5))
	}
}

const (
	day         = 24 * time.Hour
	longestTold = time.Hour
)

// Pardon takes back a strike that a failing transport added in the last 30 s, because it turned out that most
// servers failed so at once. It reports whether there was one.
func (b *Breaker) Pardon(now time.Time) bool {
	if !b.blame.suspect || now.Sub(b.blame.at) > pardonable {
		return false
	}
	if b.state != Quarantined && b.kind != Exhausted {
		return false
	}
	b.blame = blame{}
	b.strikes--
	until := b.until
	if b.state == Retired {
		until = now.Add(b.rand.Around(b.policy.Cooldown))
	}
	b.kind, b.retiredAt = "", time.Time{}
	b.waits = 1
	b.open(Waiting, until)
	return true
}

func (b *Breaker) retire(now time.Time, kind Retirement) {
	b.kind, b.retiredAt = kind, now
	b.open(Retired, time.Time{})
	b.until = b.nextProbe(now)
}

// stayRetired keeps a retired server retired after a failed attempt. A refusal makes the retirement one of that
// kind; anything else ends a refusal only where something had been changed since.
func (b *Breaker) stayRetired(now time.Time, p Permit, f failure.Failure, isRefusal bool) {
	switch {
	case isRefusal:
		b.kind = Refused
	case p.Woken:
		b.kind = Exhausted
	}
	b.until = b.nextProbe(now)
	if told := now.Add(f.RetryAfter); f.RetryAfterGiven && !b.until.IsZero() {
		b.until = backoff.Later(b.until, told)
	}
}

// nextProbe is when a retired server is probed by time, zero for never.
func (b *Breaker) nextProbe(now time.Time) time.Time {
	switch {
	case b.policy.ProbeInterval < 0:
		return time.Time{}
	case b.kind == Refused:
		return now.Add(b.rand.Told(max(b.policy.ProbeInterval, RefusedProbe)))
	}
	return now.Add(b.rand.Within(b.policy.ProbeInterval))
}
