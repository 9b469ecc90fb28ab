package pace

import (
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
)

const (
	debounce    = time.Second
	longestHold = 3 * time.Second
)

// Lists is the plan of the lists of one server. It plans nothing until the first outcome.
// The plan is kept as what happened, so that an interval that is changed holds from then on.
type Lists struct {
	rand backoff.Rand
	// last is how the last list ended and at when; the rest of what regular needs depends on that.
	last outcome
	at   time.Time
	// spread varies the interval after a good list, ttl is what the server gave with it, told after which time it
	// accepts requests again, and wait the time until an empty list is asked for again.
	spread          backoff.Rand
	ttl, told, wait time.Duration
	// changedFirst and changedLast are of the changes that no list has covered yet.
	changedFirst, changedLast time.Time
	demanded                  bool
	failures, empties         int
	// caused bounds the lists that the server brings about.
	caused backoff.Bucket
}

// NewLists returns the plan of a new session, with jitter from rand.
func NewLists(rand backoff.Rand) Lists {
	return Lists{rand: rand, caused: backoff.Bucket{Size: 2, Refill: 10 * time.Second}}
}

// outcome is how a list ended; none while one is under way and before the first.
type outcome int

const (
	none outcome = iota
	good
	failed
	empty
)

// Changed notes that the server said that its tools changed.
func (l *Lists) Changed(now time.Time) {
	if l.changedFirst.IsZero() {
		l.changedFirst = now
	}
	l.changedLast = now
}

// Demand asks for a list at once.
func (l *Lists) Demand() { l.demanded = true }

// Due returns when the next list is due under an interval, zero when none is planned.
func (l *Lists) Due(now time.Time, interval time.Duration) time.Time {
	if l.demanded {
		return now
	}
	due := l.regular(interval)
	if l.drawn(interval) {
		due = backoff.Later(due, l.caused.Next(now))
	}
	if !l.changedFirst.IsZero() {
		settled := earlier(l.changedLast.Add(debounce), l.changedFirst.Add(longestHold))
		due = earlier(due, backoff.Later(settled, l.caused.Next(now)))
	}
	return due
}

// regular is when the next list is due if nothing happens: after a good one by the server's own ttl, if it gave one,
// and by the interval; after failed ones 5, 10, 20 … s later, up to the interval, and not before the time told.
func (l *Lists) regular(interval time.Duration) time.Time {
	switch l.last {
	case good:
		wait := l.spread.Within(interval)
		if l.drawn(interval) {
			wait = min(wait, l.ttl)
		}
		return l.at.Add(wait)
	case failed:
		return l.at.Add(max(l.told, backoff.Refresh(l.failures, interval)))
	case empty:
		return l.at.Add(l.wait)
	case none:
	}
	return time.Time{}
}

// drawn tells whether the next list comes by the server's ttl, and is drawn from the bucket.
func (l *Lists) drawn(interval time.Duration) bool {
	return l.last == good && l.ttl > 0 && l.ttl < interval
}

// Began notes that a list is being asked for under an interval: it covers every change until now.
func (l *Lists) Began(now time.Time, interval time.Duration) {
	if !l.demanded && (l.drawn(interval) || !l.changedFirst.IsZero()) {
		l.caused.Draw(now)
	}
	l.demanded = false
	l.changedFirst, l.changedLast = time.Time{}, time.Time{}
	l.last = none
}

// Listed notes a good list, and the ttl that the server gave with it; 0 is none.
func (l *Lists) Listed(now time.Time, ttl time.Duration) {
	l.failures, l.empties = 0, 0
	l.last, l.at, l.ttl, l.spread = good, now, ttl, l.rand.Kept()
}

// Failed notes a failed list, and the time after which the server accepts requests again; 0 is none.
func (l *Lists) Failed(now time.Time, told time.Duration) {
	l.failures++
	l.last, l.at, l.told = failed, now, told
}

// Empty notes an empty list that is not to be believed yet. It reports false when it is to be.
func (l *Lists) Empty(now time.Time) bool {
	wait, again := backoff.Empty(l.empties + 1)
	if !again {
		return false
	}
	l.failures = 0
	l.empties++
	l.last, l.at, l.wait = empty, now, wait
	return true
}

// earlier is the earlier of two times; zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
