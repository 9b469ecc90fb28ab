package pace

import (
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
)

const (
	debounce    = time.Second
	longestHold = 3 * time.Second
)

// listRate bounds the lists that a server brings about.
var listRate = rate{size: 2, refill: 10 * time.Second}

// Lists is the plan of the lists of one server. The zero value, with Rand set, plans nothing until the first outcome.
type Lists struct {
	Rand backoff.Rand

	// regular is when the next list is due if nothing happens; drawn tells whether it is drawn from the bucket.
	regular time.Time
	drawn   bool
	// changedFirst and changedLast are of the changes that no list has covered yet.
	changedFirst, changedLast time.Time
	demanded                  bool
	failures, empties         int
	bucket                    bucket
}

// Changed notes that the server said that its tools changed.
func (l *Lists) Changed(now time.Time) {
	if l.changedFirst.IsZero() {
		l.changedFirst = now
	}
	l.changedLast = now
}

// Demand asks for a list at once.
func (l *Lists) Demand() { l.demanded = true }

// Due returns when the next list is due, zero when none is planned.
func (l *Lists) Due(now time.Time) time.Time {
	if l.demanded {
		return now
	}
	due := l.regular
	if l.drawn {
		due = l.bucket.next(listRate, now, due)
	}
	if !l.changedFirst.IsZero() {
		settled := earlier(l.changedLast.Add(debounce), l.changedFirst.Add(longestHold))
		due = earlier(due, l.bucket.next(listRate, now, settled))
	}
	return due
}

// Began notes that a list is being asked for: it covers every change until now.
func (l *Lists) Began(now time.Time) {
	if !l.demanded && (l.drawn || !l.changedFirst.IsZero()) {
		l.bucket.draw(listRate, now)
	}
	l.demanded = false
	l.changedFirst, l.changedLast = time.Time{}, time.Time{}
	l.regular, l.drawn = time.Time{}, false
}

// Listed plans the next list after a good one: by the server's own ttl, if it gave one, and by the interval.
func (l *Lists) Listed(now time.Time, ttl, interval time.Duration) {
	l.failures, l.empties = 0, 0
	l.regular = now.Add(l.Rand.Within(interval))
	if ttl > 0 && ttl < interval {
		l.regular, l.drawn = earlier(l.regular, now.Add(ttl)), true
	}
}

// Failed plans the next list after one that failed: after 5, 10, 20 … s, up to the interval, and not before the time
// that the server told.
func (l *Lists) Failed(now time.Time, interval, told time.Duration) {
	l.failures++
	l.regular = now.Add(max(told, backoff.Refresh(l.failures, interval)))
}

// Empty plans the next list after an empty one that is not to be believed yet. It reports false when it is to be.
func (l *Lists) Empty(now time.Time) bool {
	wait, again := backoff.Empty(l.empties + 1)
	if !again {
		return false
	}
	l.failures = 0
	l.empties++
	l.regular = now.Add(wait)
	return true
}

// Forget drops what was learnt of the server's lists: another server is declared.
func (l *Lists) Forget() { l.failures, l.empties = 0, 0 }

// earlier is the earlier of two times, of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
