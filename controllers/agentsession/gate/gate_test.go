package gate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/internal/catalog"
)

const quarter = 250 * time.Millisecond

// server is one before the gate, by the time after the start at which it was first seen.
func server(name string, seen time.Duration, standing gate.Readiness) gate.Server {
	return gate.Server{
		Ref: catalog.Ref{Namespace: "agents", Name: name}, Readiness: standing, Seen: now.Add(seen),
	}
}

var (
	live     = gate.Readiness{State: gate.Live, Stored: stored}
	failed   = gate.Readiness{State: gate.Failed, Reason: "ConnectFailed"}
	pending  = gate.Readiness{State: gate.Pending, Reason: "Connecting"}
	deferred = gate.Readiness{State: gate.Pending, Reason: "Connecting", Stored: stored}
)

func refs(names ...string) []catalog.Ref {
	var out []catalog.Ref
	for _, name := range names {
		out = append(out, catalog.Ref{Namespace: "agents", Name: name})
	}
	return out
}

// Seed rule: parallel connect and list; a gate of 250 ms; cached tools are deferred; without a cache it waits. The
// clock starts at 0; the agent session was created then.
func TestSeedRule3_StartupGate(t *testing.T) {
	at := now.Add
	for name, c := range map[string]struct {
		after   time.Duration
		servers []gate.Server
		want    gate.Decision
	}{
		"all have settled": {
			0, []gate.Server{server("a", 0, live), server("b", 0, failed)}, gate.Decision{Open: true},
		},
		"one is pending, within the timeout": {
			quarter - 1, []gate.Server{server("a", 0, live), server("b", 0, deferred)},
			gate.Decision{Next: at(quarter), Deferred: true},
		},
		"one with stored tools is pending at the timeout": {
			quarter, []gate.Server{server("a", 0, live), server("b", 0, deferred)},
			gate.Decision{Open: true, Deferred: true},
		},
		"one without stored tools is pending, within the timeout": {
			0, []gate.Server{server("a", 0, pending)}, gate.Decision{Next: at(quarter), Awaited: refs("a")},
		},
		"one without stored tools holds the gate": {
			quarter, []gate.Server{server("a", 0, live), server("b", 0, pending), server("c", 0, deferred)},
			gate.Decision{Overdue: true, Next: at(30 * time.Second), Awaited: refs("b"), Deferred: true},
		},
		"and no longer than 30 s": {
			30 * time.Second, []gate.Server{server("a", 0, pending)}, gate.Decision{Open: true},
		},
		"a declaration that is soon too old to be waited for": {
			time.Second, []gate.Server{server("a", 0, gate.Readiness{Until: at(2 * time.Second)})},
			gate.Decision{Overdue: true, Next: at(2 * time.Second), Awaited: refs("a")},
		},
		"nothing is selected": {
			time.Second, nil, gate.Decision{Overdue: true, Next: at(5 * time.Second)},
		},
		"nothing is selected, within the timeout": {
			0, nil, gate.Decision{Next: at(5 * time.Second)},
		},
		"nothing is selected when the window closes": {
			5 * time.Second, nil, gate.Decision{Open: true},
		},
		"a late server has its own timeout": {
			3*time.Second + quarter - 1, []gate.Server{server("a", 3*time.Second, deferred)},
			gate.Decision{Next: at(3*time.Second + quarter), Deferred: true},
		},
		"a late server settles at once, and others may follow": {
			3 * time.Second, []gate.Server{server("a", 3*time.Second, live)},
			gate.Decision{Next: at(3*time.Second + quarter)},
		},
		"a late server has settled, and none followed": {
			3*time.Second + quarter, []gate.Server{server("a", 3*time.Second, live)}, gate.Decision{Open: true},
		},
		"a late server holds the gate for 30 s from its joining": {
			31 * time.Second, []gate.Server{server("a", 0, live), server("b", 3*time.Second, pending)},
			gate.Decision{Overdue: true, Next: at(33 * time.Second), Awaited: refs("b")},
		},
		"a server that comes when the window has closed is not waited for": {
			6 * time.Second, []gate.Server{server("a", 0, live), server("b", 5*time.Second+1, pending)},
			gate.Decision{Open: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := gate.Begin(now, now, quarter)
			got := run.Decide(c.servers, now.Add(c.after))
			if got.Open != c.want.Open || !got.Next.Equal(c.want.Next) || got.Overdue != c.want.Overdue ||
				!slices.Equal(got.Awaited, c.want.Awaited) || got.Deferred != c.want.Deferred {
				t.Errorf("\ngot  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// A timeout of zero asks for what is there at once.
func TestNoTimeout(t *testing.T) {
	run := gate.Begin(now, now, 0)
	if got := run.Decide([]gate.Server{server("a", 0, deferred)}, now); !got.Open || !got.Deferred {
		t.Errorf("stored tools are there: %+v", got)
	}
	if got := run.Decide([]gate.Server{server("a", 0, pending)}, now); got.Open || !got.Overdue {
		t.Errorf("nothing is there: %+v", got)
	}
}

// The window for joining is five seconds from the creation, of which only whole seconds are known.
func TestWindowForJoining(t *testing.T) {
	for name, c := range map[string]struct {
		created time.Duration // before the start
		want    time.Duration // after the start
	}{
		"at once":                          {0, 5 * time.Second},
		"the second was cut":               {999 * time.Millisecond, 5 * time.Second},
		"two seconds late":                 {2 * time.Second, 4 * time.Second},
		"created long before":              {time.Hour, -time.Hour + 6*time.Second},
		"our clock is behind the server's": {-3 * time.Second, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			run := gate.Begin(now.Add(-c.created), now, quarter)
			if got := run.Closes.Sub(now); got != c.want {
				t.Errorf("closes after %s, want %s", got, c.want)
			}
		})
	}
}

func TestJoined(t *testing.T) {
	run := gate.Begin(now, now, quarter)
	for name, c := range map[string]struct{ seen, want time.Time }{
		"before the start":        {now.Add(-time.Hour), now},
		"with the start":          {now, now},
		"within the window":       {now.Add(5 * time.Second), now.Add(5 * time.Second)},
		"when it has just closed": {now.Add(5*time.Second + 1), time.Time{}},
	} {
		if got := run.Joined(c.seen); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	again := gate.Again(now, quarter)
	if got := again.Joined(now.Add(1)); !got.IsZero() {
		t.Errorf("nobody joins a reload later: %s", got)
	}
}
