package gate

import (
	"time"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/session"
)

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
