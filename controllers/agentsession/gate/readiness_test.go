package gate_test

import (
	"testing"
	"time"

	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
)

var (
	now    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	stored = &catalog.Catalog{}
)

func fault(reason failure.Reason) *session.Fault {
	return &session.Fault{Failure: failure.Failure{Reason: reason}}
}

// observed is a connected server whose list was judged and is offered.
func observed() gate.Observation {
	return gate.Observation{
		Created: now.Add(-time.Hour), Generation: 3, ConfigHash: "h",
		Snapshot: &session.Snapshot{
			Catalog: "h", State: session.Connected, Settled: true, Listing: &session.Listing{}, ListingID: "l1",
		},
		Entry: &catalogstore.Entry{Generation: 3, ConfigHash: "h", Listing: "l1", Offered: stored},
	}
}

// What "settled" and "pending" mean, server by server.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*gate.Observation)
		want   gate.Readiness
	}{
		"connected, listed and offered": {
			func(*gate.Observation) {},
			gate.Readiness{State: gate.Live, Stored: stored},
		},
		"not declared": {
			func(o *gate.Observation) { *o = gate.Observation{Missing: "RefNotFound"} },
			gate.Readiness{State: gate.Pending, Reason: "RefNotFound"},
		},
		"new: nobody looked at it yet": {
			func(o *gate.Observation) { o.Snapshot, o.Entry = nil, nil },
			gate.Readiness{State: gate.Pending, Reason: "Connecting"},
		},
		"no session yet, but a stored catalog": {
			func(o *gate.Observation) { o.Snapshot = nil },
			gate.Readiness{State: gate.Pending, Reason: "Connecting", Stored: stored},
		},
		"the first attempt has not ended": {
			func(o *gate.Observation) {
				o.Snapshot = &session.Snapshot{Catalog: "h", State: session.Connecting}
			},
			gate.Readiness{State: gate.Pending, Reason: "Connecting", Stored: stored},
		},
		"an attempt ended, but under another configuration": {
			func(o *gate.Observation) { o.Snapshot.Catalog = "g" },
			gate.Readiness{State: gate.Pending, Reason: "Connecting", Stored: stored},
		},
		"the stored catalog is of another configuration": {
			func(o *gate.Observation) { o.Entry.ConfigHash, o.Snapshot.Settled = "g", false },
			gate.Readiness{State: gate.Pending, Reason: "Connecting"},
		},
		"restored as quarantined, not judged in this process yet": {
			func(o *gate.Observation) {
				o.Entry = nil
				o.Snapshot = &session.Snapshot{Catalog: "h", State: session.Quarantined, Settled: true}
			},
			gate.Readiness{State: gate.Pending, Reason: "Connecting"},
		},
		"listed, and the list is not judged yet": {
			func(o *gate.Observation) { o.Entry.Listing = "l0" },
			gate.Readiness{State: gate.Pending, Reason: "Listing", Stored: stored},
		},
		"the list was judged by an older declaration": {
			func(o *gate.Observation) { o.Entry.Generation = 2 },
			gate.Readiness{State: gate.Pending, Reason: "Listing", Stored: stored},
		},
		"asked for a fresh list": {
			func(o *gate.Observation) { o.Snapshot.RefreshPending = true },
			gate.Readiness{State: gate.Pending, Reason: "Listing", Stored: stored},
		},
		"waiting for a Secret while young": {
			func(o *gate.Observation) {
				o.Created, o.Snapshot, o.Entry = now.Add(-29*time.Second), nil, &catalogstore.Entry{
					Generation: 3, Acceptance: catalogstore.AwaitsReference, Trouble: catalogstore.Trouble{Reason: "SecretNotFound"},
				}
			},
			gate.Readiness{State: gate.Pending, Reason: "SecretNotFound", Until: now.Add(time.Second)},
		},
		"waiting for a Secret for too long": {
			func(o *gate.Observation) {
				o.Created, o.Snapshot, o.Entry = now.Add(-30*time.Second), nil, &catalogstore.Entry{
					Generation: 3, Acceptance: catalogstore.AwaitsReference, Trouble: catalogstore.Trouble{Reason: "SecretNotFound"},
				}
			},
			gate.Readiness{State: gate.Failed, Reason: "SecretNotFound"},
		},
		"rejected, however young": {
			func(o *gate.Observation) {
				o.Created, o.Snapshot, o.Entry = now, nil, &catalogstore.Entry{
					Generation: 3, Acceptance: catalogstore.NotAccepted, Trouble: catalogstore.Trouble{Reason: "InvalidConfiguration"},
				}
			},
			gate.Readiness{State: gate.Failed, Reason: "InvalidConfiguration"},
		},
		"rejected in an older generation, and mended since": {
			func(o *gate.Observation) {
				o.Snapshot, o.Entry = nil, &catalogstore.Entry{
					Generation: 2, Acceptance: catalogstore.NotAccepted, Trouble: catalogstore.Trouble{Reason: "InvalidConfiguration"},
				}
			},
			gate.Readiness{State: gate.Pending, Reason: "Connecting"},
		},
		"failed, with a stored catalog": {
			func(o *gate.Observation) {
				o.Snapshot = &session.Snapshot{
					Catalog: "h", State: session.Waiting, Settled: true, Fault: fault(failure.ConnectFailed),
				}
			},
			gate.Readiness{State: gate.Failed, Reason: "ConnectFailed", Stored: stored},
		},
		"quarantined, as restored": {
			func(o *gate.Observation) {
				o.Entry.Offered = nil
				o.Snapshot = &session.Snapshot{
					Catalog: "h", State: session.Quarantined, Settled: true, Fault: fault(failure.ConnectTimeout),
				}
			},
			gate.Readiness{State: gate.Failed, Reason: "ConnectTimeout"},
		},
		"retired as refused": {
			func(o *gate.Observation) {
				o.Snapshot = &session.Snapshot{
					Catalog: "h", State: session.Retired, Settled: true, Fault: fault(failure.AuthenticationFailed),
					Retirement: session.Refused, RetiredAt: now.Add(-time.Minute),
				}
			},
			gate.Readiness{
				State: gate.Failed, Reason: "AuthenticationFailed", Stored: stored, WithdrawAt: now.Add(4 * time.Minute),
			},
		},
		"retired as exhausted": {
			func(o *gate.Observation) {
				o.Snapshot = &session.Snapshot{
					Catalog: "h", State: session.Retired, Settled: true, Fault: fault(failure.ServerError),
					Retirement: session.Exhausted, RetiredAt: now.Add(-time.Hour),
				}
			},
			gate.Readiness{State: gate.Failed, Reason: "ServerError", Stored: stored},
		},
		"retired as exhausted, and never probed": {
			func(o *gate.Observation) {
				o.NeverProbed = true
				o.Snapshot = &session.Snapshot{
					Catalog: "h", State: session.Retired, Settled: true, Fault: fault(failure.ServerError),
					Retirement: session.Exhausted, RetiredAt: now.Add(-time.Hour),
				}
			},
			gate.Readiness{
				State: gate.Failed, Reason: "ServerError", Stored: stored, WithdrawAt: now.Add(-55 * time.Minute),
			},
		},
		"connected, and the list failed": {
			func(o *gate.Observation) {
				o.Entry.Offered, o.Entry.Listing, o.Snapshot.Listing = nil, "", nil
				o.Snapshot.ListFault = fault(failure.ServerError)
				o.Entry.Trouble.Reason = "ListToolsFailed"
			},
			gate.Readiness{State: gate.Failed, Reason: "ListToolsFailed"},
		},
		"connected, and the list failed after a good one": {
			func(o *gate.Observation) { o.Snapshot.ListFault = fault(failure.ListToolsTimeout) },
			gate.Readiness{State: gate.Failed, Reason: "ListToolsTimeout", Stored: stored},
		},
		"connected, and lists nothing that is believed yet": {
			func(o *gate.Observation) {
				o.Entry.Offered, o.Entry.Listing, o.Snapshot.EmptyUnconfirmed = nil, "", true
				o.Entry.Trouble.Reason = "EmptyCatalog"
			},
			gate.Readiness{State: gate.Failed, Reason: "EmptyCatalog"},
		},
		"connected, and the catalog does not fit": {
			func(o *gate.Observation) {
				o.Entry.Offered, o.Entry.Trouble.Reason = nil, "CatalogTooLarge"
			},
			gate.Readiness{State: gate.Failed, Reason: "CatalogTooLarge"},
		},
		"connected, and nothing says why there is no catalog": {
			func(o *gate.Observation) { o.Entry.Offered = nil },
			gate.Readiness{State: gate.Failed, Reason: "Listing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := observed()
			c.change(&o)
			if got := gate.Evaluate(o, now); got != c.want {
				t.Errorf("\ngot  %+v\nwant %+v", got, c.want)
			}
		})
	}
}
