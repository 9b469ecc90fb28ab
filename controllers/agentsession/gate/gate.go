package gate

import (
	"time"

	"github.com/mooring-dev/mooring/internal/catalog"
)

const (
	// JoinWindow is how long after an agent session's creation servers that first match may join the gate.
	JoinWindow = 5 * time.Second
	// HoldLimit is how long the gate waits for one server, from its joining.
	HoldLimit = 30 * time.Second
)

// Run is one run of the gate: one per agent session, and one per reload.
type Run struct {
	// Started is when the clock started.
	Started time.Time
	// Closes is when the window for joining closes.
	Closes time.Time
	// Timeout is how long servers with a stored catalog are waited for.
	Timeout time.Duration
	// Held: somebody was waited for beyond the timeout.
	Held bool
}

// Begin starts the clock of an agent session's first run. Creation times are cut to seconds, so a full one is added
// where the clock would otherwise have started before the creation.
func Begin(created, now time.Time, timeout time.Duration) Run {
	opens := created.Add(time.Second)
	if now.Before(opens) {
		opens = now
	}
	return Run{Started: now, Closes: opens.Add(JoinWindow), Timeout: timeout}
}

// Again starts the clock of a reload: who is selected then is waited for, nobody joins later.
func Again(now time.Time, timeout time.Duration) Run {
	return Run{Started: now, Closes: now, Timeout: timeout}
}

// Joined is when a server that was first seen at this time joined the run; zero when it came too late.
func (r Run) Joined(seen time.Time) time.Time {
	switch {
	case !seen.After(r.Started):
		return r.Started
	case seen.After(r.Closes):
		return time.Time{}
	}
	return seen
}

// Server is one selected server before the gate.
type Server struct {
	Ref       catalog.Ref
	Readiness Readiness
	// Seen is when it first matched.
	Seen time.Time
}

// Decision says what to do.
type Decision struct {
	// Open: publish now.
	Open bool
	// Next is when to look again, if nothing happens before.
	Next time.Time
	// Overdue: the timeout has passed, and Awaited hold the gate; without any, it is the empty selection that does.
	Overdue bool
	Awaited []catalog.Ref
	// Deferred: there are pending servers whose stored tools are offered.
	Deferred bool
}

// Decide says whether the gate opens now.
func (r Run) Decide(servers []Server, now time.Time) Decision {
	if len(servers) == 0 {
		return r.decideEmpty(now)
	}
	var (
		d        Decision
		pending  bool
		late     bool
		deadline = r.Started.Add(r.Timeout)
	)
	for _, server := range servers {
		joined := r.Joined(server.Seen)
		if joined.IsZero() {
			continue
		}
		late = late || joined.After(r.Started)
		deadline = later(deadline, joined.Add(r.Timeout))
		if server.Readiness.State == Pending {
			pending = true
			d.await(server, joined.Add(HoldLimit), now)
		}
	}
	switch overdue := !now.Before(deadline); {
	case !pending && (overdue || !late), overdue && len(d.Awaited) == 0:
		return Decision{Open: true, Deferred: d.Deferred}
	case overdue:
		d.Overdue = true
	default:
		d.Next = earlier(d.Next, deadline)
	}
	return d
}

// decideEmpty is for a selection of no servers: some may still be declared.
func (r Run) decideEmpty(now time.Time) Decision {
	if now.Before(r.Closes) {
		return Decision{Next: r.Closes, Overdue: !now.Before(r.Started.Add(r.Timeout))}
	}
	return Decision{Open: true}
}

// await notes a pending server: whether the gate may open without it, and when that may change by time alone.
func (d *Decision) await(server Server, limit, now time.Time) {
	d.Next = earlier(d.Next, server.Readiness.Until)
	switch {
	case server.Readiness.Stored != nil:
		d.Deferred = true
	case now.Before(limit):
		d.Awaited = append(d.Awaited, server.Ref)
		d.Next = earlier(d.Next, limit)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// earlier is the earlier of two times, of which the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
