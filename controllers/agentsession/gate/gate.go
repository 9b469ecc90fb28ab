package gate

import (
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/session"
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
		deadline = backoff.Later(deadline, joined.Add(r.Timeout))
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

// earlier is the earlier of two times, of which the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

const (
	// ReferenceGrace is how old a declaration may be while a Secret or ConfigMap that it refers to is waited for.
	ReferenceGrace = 30 * time.Second
	// WithdrawAfter is how long the tools of a server that was refused stay offered.
	WithdrawAfter = 5 * time.Minute
)

// State says how far a server is.
type State int

// The states.
const (
	Pending State = iota // no attempt has ended
	Live                 // connected, and its present list is there to be offered
	Failed               // an attempt has ended, or none will be made, and the server is not live
)

// Reasons of servers that are pending for no fault of their own.
const (
	ReasonConnecting = "Connecting"
	ReasonListing    = "Listing"
)

// Observation is what is known of one server.
type Observation struct {
	// Missing: there is no declaration that may be used, and why not.
	Missing string
	// Created, Generation and ConfigHash are those of the declaration.
	Created    time.Time
	Generation int64
	ConfigHash string
	// NeverProbed: a server that failed too often is not tried again automatically.
	NeverProbed bool
	// Snapshot is what is known of its session, nil when there is none.
	Snapshot *session.Snapshot
	// Entry is what was decided of its catalog, nil when nothing was yet: whatever the session did, it is news then.
	Entry *catalogstore.Entry
}

// Readiness says how far a server is, and what of it may be offered.
type Readiness struct {
	State State
	// Reason is why it is not Live, one CamelCase word.
	Reason string
	// Until is when a pending server settles by time alone; zero when it does not.
	Until time.Time
	// WithdrawAt is when its tools are to be withdrawn, because it refuses to be used; zero when it does not.
	WithdrawAt time.Time
	// Stored are the tools that may be offered before the server is live; nil when none are known.
	Stored *catalog.Catalog
}

// Evaluate says how far a server is.
func Evaluate(o Observation, now time.Time) Readiness {
	if o.Missing != "" {
		return Readiness{Reason: o.Missing}
	}
	s := Readiness{Reason: ReasonConnecting}
	if o.Entry != nil && o.Entry.ConfigHash == o.ConfigHash {
		s.Stored = o.Entry.Offered
	}
	if o.Entry != nil && o.Entry.Generation == o.Generation && o.Entry.Acceptance != catalogstore.Accepted {
		return s.refused(o, now)
	}
	if o.Entry == nil || o.Snapshot == nil || o.Snapshot.Catalog != o.ConfigHash || !o.Snapshot.Settled {
		return s
	}
	return s.settled(o)
}

// refused is the readiness of a server whose declaration cannot be acted on.
func (s Readiness) refused(o Observation, now time.Time) Readiness {
	s.Reason = o.Entry.Trouble.Reason
	if ripe := o.Created.Add(ReferenceGrace); o.Entry.Acceptance == catalogstore.AwaitsReference && now.Before(ripe) {
		s.Until = ripe
		return s
	}
	s.State = Failed
	return s
}

// settled is the readiness of a server of which an attempt has ended.
func (s Readiness) settled(o Observation) Readiness {
	snapshot := o.Snapshot
	switch {
	case snapshot.RefreshPending, !listJudged(o):
		s.Reason = ReasonListing
		return s
	case snapshot.State == session.Connected && s.Stored != nil && snapshot.ListFault == nil:
		s.State, s.Reason = Live, ""
		return s
	}
	s.State, s.Reason = Failed, failureOf(o)
	refuses := snapshot.Retirement == session.Refused || snapshot.Retirement == session.Exhausted && o.NeverProbed
	if snapshot.State == session.Retired && refuses {
		s.WithdrawAt = snapshot.RetiredAt.Add(WithdrawAfter)
	}
	return s
}

// failureOf is why a server of which an attempt has ended cannot be used.
func failureOf(o Observation) string {
	switch {
	case o.Snapshot.Fault != nil:
		return string(o.Snapshot.Fault.Reason)
	case o.Entry.Trouble.Reason != "":
		return o.Entry.Trouble.Reason
	case o.Snapshot.ListFault != nil:
		return string(o.Snapshot.ListFault.Reason)
	}
	return ReasonListing
}

// listJudged tells whether the list that the session brought was judged: what it means for the catalog is known then.
func listJudged(o Observation) bool {
	if o.Snapshot.Listing == nil || o.Snapshot.EmptyUnconfirmed {
		return true
	}
	return o.Entry.Generation >= o.Generation && o.Entry.Listing == o.Snapshot.ListingID
}
