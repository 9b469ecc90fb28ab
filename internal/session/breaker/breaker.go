package breaker

import (
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
)

// State is that of a breaker.
type State int

// The states.
const (
	Closed State = iota
	Waiting
	Quarantined
	Retired
)

// Policy is what a breaker decides by. All fields are set; ProbeInterval may be negative, which means never.
type Policy struct {
	// Attempts is how many failed tries in a row open the breaker; Strikes how many strikes in a row retire.
	Attempts, Strikes int
	Cooldown          time.Duration
	ProbeInterval     time.Duration
	// Retires is false where another process decides on retirement: strikes then stop growing at Strikes, and
	// what would retire holds for one cooldown.
	Retires bool
}

// RefusedProbe is the shortest time between two probes of a server that refuses us: a rejected credential that is
// shown again and again gets the account locked.
const RefusedProbe = 30 * time.Minute

// Retirement tells its two kinds apart: what only a change can heal, and what may pass without one.
type Retirement string

// The kinds. The zero value: not retired.
const (
	Refused   Retirement = "refused"
	Exhausted Retirement = "exhausted"
)

// Saved is what is remembered of a breaker from one process to the next.
type Saved struct {
	Strikes int
	// QuarantinedUntil is the end of the cooldown, zero unless Quarantined.
	QuarantinedUntil time.Time
	// RetiredAt is when the server was retired, zero when it is not.
	RetiredAt  time.Time
	Retirement Retirement
}

// Breaker is one server's state in one process. The zero value is not ready; use New.
type Breaker struct {
	policy Policy
	rand   backoff.Rand

	state State
	// epoch changes with the state, so that what was permitted before is known as old.
	epoch int
	// failed counts failed tries in a row without an answer; refusals those at its end that were refusals;
	// waits how often in a row the breaker opened without a strike.
	failed, refusals, waits int
	strikes                 int
	// until is when the next try is due: zero is at once when Closed, and never when Retired.
	until time.Time
	// earliest is when the server, by its own word, accepts requests again.
	earliest time.Time
	// granted: a wake is owed one attempt. probing: the one probe of an open breaker is under way.
	granted, probing bool
	// wakes counts the wakes, begun those of them that an attempt began after.
	wakes, begun int

	kind      Retirement
	retiredAt time.Time
	// blame is the last strike's, for Pardon.
	blame blame
	flaps flaps
}

// blame is what Pardon needs to know of the last strike.
type blame struct {
	at      time.Time
	suspect bool
}

// flaps counts how often in a row a server was put off for forgetting its sessions.
type flaps struct {
	last  time.Time
	count int
}

// New returns a closed breaker.
func New(policy Policy, rand backoff.Rand) *Breaker {
	return &Breaker{policy: policy, rand: rand}
}

// SetPolicy replaces the policy; what is scheduled is kept, but for the probes of a retired server.
func (b *Breaker) SetPolicy(now time.Time, policy Policy) {
	changed := b.policy.ProbeInterval != policy.ProbeInterval
	b.policy = policy
	if changed && b.state == Retired {
		b.until = b.nextProbe(now)
	}
}

// State returns the state.
func (b *Breaker) State() State { return b.state }

// Saved returns what is to be remembered: strikes since the last answer, quarantine and retirement.
func (b *Breaker) Saved() Saved {
	saved := Saved{Strikes: b.strikes, RetiredAt: b.retiredAt, Retirement: b.kind}
	if b.state == Quarantined {
		saved.QuarantinedUntil = b.until
	}
	return saved
}

// Next returns when the next try of a supervisor is due, which may be in the past. It reports false while none is
// planned: a retired server is never probed, or another's probe is under way and its end is to be waited for.
func (b *Breaker) Next(now time.Time) (time.Time, bool) {
	switch {
	case b.probing:
		return time.Time{}, false
	case b.granted:
		return backoff.Later(now, b.earliest), true
	case b.state == Retired && b.until.IsZero():
		return time.Time{}, false
	}
	return backoff.Later(b.until, b.earliest), true
}
