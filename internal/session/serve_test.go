package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// B21, first run: the handshake works and the list never comes.
func TestB21_FirstListHangs(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(ctx context.Context, _ int) (*session.Listing, error) { return nil, hang(ctx) },
		})
		r.Ensure("a", config(server))
		r.after(59 * time.Second)
		snapshot := r.is("a", session.Connected)
		equal(t, "settled before the list ended", snapshot.Settled, false)
		equal(t, "list fault before the list ended", snapshot.ListFault, nil)
		r.after(2 * time.Second)
		snapshot = r.is("a", session.Connected)
		equal(t, "settled", snapshot.Settled, true)
		equal(t, "list fault", snapshot.ListFault.Reason, failure.ListToolsTimeout)
		equal(t, "fault", snapshot.Fault, nil)

		// Shaking hands is no proof of life: it is quarantined, and given up, not dialled for ever.
		r.after(2*time.Minute + 5*time.Second)
		snapshot = r.is("a", session.Quarantined)
		equal(t, "fault", snapshot.Fault.Reason, failure.ListToolsTimeout)
		r.after(4 * time.Minute)
		snapshot = r.is("a", session.Retired)
		equal(t, "kind", snapshot.Retirement, session.Exhausted)
		equal(t, "handshakes", server.Counts().Dials, 5)
	})
}

// B21, second run: a later list hangs.
func TestB21_LaterListHangs(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(ctx context.Context, n int) (*session.Listing, error) {
				if n > 1 {
					return nil, hang(ctx)
				}
				return sessiontest.Tools("a", "b", "c"), nil
			},
		})
		r.Ensure("a", config(server))
		r.after(time.Hour)
		snapshot := r.is("a", session.Connected)
		equal(t, "tools", len(snapshot.Listing.Tools), 3)
		equal(t, "list fault", snapshot.ListFault.Reason, failure.ListToolsTimeout)
		equal(t, "strikes", snapshot.Strikes, 0)
		equal(t, "sessions", server.Counts().Dials, 1)
		equal(t, "notified: handshake, list, list fault", r.notices("a"), 3)
	})
}

func TestFirstListFailuresStrike(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(context.Context, int) (*session.Listing, error) { return nil, status(500) },
		})
		r.Ensure("a", config(server))
		synctest.Wait()
		snapshot := r.is("a", session.Connected)
		equal(t, "list fault", snapshot.ListFault.HTTPStatus, 500)
		equal(t, "the broken connection is closed", server.Counts().Open, 0)
		r.after(2 * time.Second)
		snapshot = r.is("a", session.Quarantined)
		equal(t, "fault", snapshot.Fault.Reason, failure.ServerError)
		equal(t, "phase", snapshot.Fault.Phase, failure.List)
		equal(t, "handshakes", server.Counts().Dials, 3)
		r.after(10 * time.Minute)
		r.is("a", session.Retired)
		server.Script(sessiontest.Script{})
		r.after(5 * time.Minute)
		snapshot = r.is("a", session.Connected)
		equal(t, "list fault", snapshot.ListFault, nil)
		equal(t, "fault", snapshot.Fault, nil)
	})
}

func TestDialFailureAfterFailedFirstListDisconnects(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Dial: func(_ context.Context, n int) error {
				if n > 1 {
					return refused
				}
				return nil
			},
			List: func(context.Context, int) (*session.Listing, error) { return nil, status(500) },
		})
		r.Ensure("a", config(server))
		r.after(600 * time.Millisecond)
		equal(t, "fault", r.is("a", session.Waiting).Fault.Reason, failure.ConnectFailed)
	})
}

func TestFirstListRefusedByAuth(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(context.Context, int) (*session.Listing, error) { return nil, status(401) },
		})
		r.Ensure("a", config(server))
		synctest.Wait()
		equal(t, "kind", r.is("a", session.Retired).Retirement, session.Refused)
	})
}

// A JSON-RPC error to a list is an answer: the server lives, and is neither struck nor dialled again.
func TestAnsweredListErrorKeepsTheSession(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(_ context.Context, n int) (*session.Listing, error) {
				if n < 4 {
					return nil, failing(failure.Failure{
						Class: failure.Protocol, Reason: failure.ProtocolError, Sent: true, Answered: true,
					})
				}
				return sessiontest.Tools("echo"), nil
			},
		})
		r.Ensure("a", config(server))
		synctest.Wait()
		snapshot := r.is("a", session.Connected)
		equal(t, "settled", snapshot.Settled, true)
		equal(t, "list fault", snapshot.ListFault.Reason, failure.ProtocolError)
		r.after(34 * time.Second)
		equal(t, "lists after 0, 5, 15 s", server.Counts().Lists, 3)
		r.after(2 * time.Second)
		equal(t, "list fault", r.is("a", session.Connected).ListFault, nil)
		equal(t, "handshakes", server.Counts().Dials, 1)
	})
}

func TestAnsweredListErrorClosesTheBreaker(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Dial: func(_ context.Context, n int) error {
				if n <= 4 {
					return refused
				}
				return nil
			},
			List: func(context.Context, int) (*session.Listing, error) {
				return nil, failing(failure.Failure{
					Class: failure.Protocol, Reason: failure.ProtocolError, Sent: true, Answered: true,
				})
			},
		})
		r.Ensure("a", config(server))
		r.after(37 * time.Second)
		equal(t, "strikes", r.is("a", session.Quarantined).Strikes, 2)
		r.after(72 * time.Second)
		snapshot := r.is("a", session.Connected)
		equal(t, "strikes", snapshot.Strikes, 0)
		equal(t, "fault", snapshot.Fault, nil)
		equal(t, "list fault", snapshot.ListFault.Reason, failure.ProtocolError)
	})
}

func TestListsProveLifeToo(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		cfg := config(server)
		cfg.RefreshInterval = 40 * time.Second
		r.Ensure("a", cfg)
		r.after(time.Hour)
		equal(t, "probes", server.Counts().Probes, 0)
	})
}

func TestRefreshLadderAndHealing(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		var lists []time.Duration
		server := sessiontest.NewServer(sessiontest.Script{})
		server.Script(sessiontest.Script{List: func(_ context.Context, n int) (*session.Listing, error) {
			lists = append(lists, time.Since(r.start))
			if n > 1 && n < 8 {
				return nil, status(400)
			}
			return sessiontest.Tools("echo"), nil
		}})
		cfg := config(server)
		cfg.RefreshInterval = time.Minute
		r.Ensure("a", cfg)
		r.after(10 * time.Minute)
		snapshot := r.is("a", session.Connected)
		equal(t, "list fault", snapshot.ListFault, nil)
		between(t, "first refresh", lists[1], 48*time.Second, time.Minute)
		for i, want := range []time.Duration{5, 10, 20, 40, 60, 60} {
			equal(t, "rung", lists[i+2]-lists[i+1], want*time.Second)
		}
		between(t, "back to the interval", lists[8]-lists[7], 48*time.Second, time.Minute)
		equal(t, "sessions", server.Counts().Dials, 1)
		equal(t, "notified: handshake, list, fault, healed", r.notices("a"), 4)
	})
}

func TestRateLimitedRefreshWaits(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(_ context.Context, n int) (*session.Listing, error) {
				if n == 2 {
					return nil, told(429, "300")
				}
				return sessiontest.Tools("echo"), nil
			},
			Probe: func(context.Context, int) error { return told(429, "300") },
		})
		r.Ensure("a", config(server))
		synctest.Wait()
		r.Refresh("a")
		r.after(299 * time.Second)
		equal(t, "lists", server.Counts().Lists, 2)
		equal(t, "list fault", r.is("a", session.Connected).ListFault.Reason, failure.RateLimited)
		r.after(2 * time.Second)
		equal(t, "lists", server.Counts().Lists, 3)
		equal(t, "list fault", r.is("a", session.Connected).ListFault, nil)
	})
}

func TestUnchangedListsAreQuiet(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		r.Ensure("a", config(server))
		synctest.Wait()
		first := r.is("a", session.Connected)
		r.notices("a")
		r.after(24 * time.Hour)
		if n := server.Counts().Lists; n < 144 || n > 181 {
			t.Fatalf("%d lists in 24 hours of 10 minutes less up to a fifth", n)
		}
		last := r.is("a", session.Connected)
		equal(t, "listing", last.ListingID, first.ListingID)
		equal(t, "same value", last.Listing, first.Listing)
		equal(t, "notified", r.notices("a"), 0)
	})
}

// The time of a list moves with every one that succeeded and is believed, and nobody is told of it.
func TestListedAtIsTheLastGoodList(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(_ context.Context, n int) (*session.Listing, error) {
				switch n {
				case 3:
					return nil, told(429, "300")
				case 4:
					return sessiontest.Tools(), nil
				case 5:
					time.Sleep(time.Second)
				}
				return sessiontest.Tools("echo"), nil
			},
		})
		r.Ensure("a", config(server))
		synctest.Wait()
		r.notices("a")
		at := func(want time.Duration) {
			t.Helper()
			equal(t, "listed at", r.snapshot("a").ListedAt.Sub(r.start), want)
		}
		at(0)
		list := func() {
			t.Helper()
			before := server.Counts().Lists
			r.Refresh("a")
			synctest.Wait()
			equal(t, "lists", server.Counts().Lists, before+1)
		}
		r.after(time.Minute)
		list()
		at(time.Minute)
		r.after(time.Minute)
		list() // fails
		at(time.Minute)
		r.after(301 * time.Second) // it is listed again automatically, and has nothing, which is not believed at once
		equal(t, "lists", server.Counts().Lists, 4)
		equal(t, "doubted", r.snapshot("a").EmptyUnconfirmed, true)
		at(time.Minute)
		config := config(server)
		config.Catalog = "h2"
		r.Ensure("a", config)
		equal(t, "of another configuration", r.snapshot("a").ListedAt, time.Time{})
	})
}

func TestListingIDChangesExactlyWithContent(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		listings := []*session.Listing{
			sessiontest.Tools("a", "b"), sessiontest.Tools("a", "b"), sessiontest.Tools("b", "a"),
			sessiontest.Tools("ab"), {NoTools: true}, {NoTools: true, TTL: time.Hour}, sessiontest.Tools("a"),
		}
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(_ context.Context, n int) (*session.Listing, error) { return listings[n-1], nil },
		})
		r.Ensure("a", config(server))
		synctest.Wait()
		seen := []string{r.snapshot("a").ListingID}
		for range listings[1:] {
			r.Refresh("a")
			synctest.Wait()
			seen = append(seen, r.snapshot("a").ListingID)
		}
		for i := range seen {
			for j := range seen[:i] {
				same := i == 1 && j == 0 || i == 5 && j == 4
				if (seen[i] == seen[j]) != same {
					t.Errorf("listings %d and %d: same id %v, want %v", j, i, seen[i] == seen[j], same)
				}
			}
		}
	})
}

// B26: 200 notifications in a second cost two lists at most, and the last change is seen.
func TestB26_StormOfListChanged(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		tools := []string{"old"}
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(context.Context, int) (*session.Listing, error) { return sessiontest.Tools(tools...), nil },
		})
		r.Ensure("a", config(server))
		synctest.Wait()
		r.notices("a")
		for i := range 200 {
			if i == 199 {
				tools = []string{"old", "new"}
			}
			server.Newest().Observer.ListChanged()
			r.after(5 * time.Millisecond)
		}
		r.after(1100 * time.Millisecond)
		equal(t, "tools", len(r.is("a", session.Connected).Listing.Tools), 2)
		equal(t, "lists", server.Counts().Lists, 2)
		equal(t, "notified", r.notices("a"), 1)
	})
}

func TestEndlessListChangedIsBounded(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		r.Ensure("a", config(server))
		synctest.Wait()
		for range 6000 {
			server.Newest().Observer.ListChanged()
			r.after(10 * time.Millisecond)
		}
		if n := server.Counts().Lists; n < 7 || n > 9 { // 1, 2 at once, one per 10 s
			t.Fatalf("%d lists in a minute", n)
		}
	})
}

func TestServersOwnTTL(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		listing := sessiontest.Tools("echo")
		listing.TTL = 20 * time.Second
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(context.Context, int) (*session.Listing, error) { return listing, nil },
		})
		r.Ensure("a", config(server))
		r.after(101 * time.Second)
		equal(t, "lists", server.Counts().Lists, 6)
	})
}

func TestRefreshOnDemand(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		open := make(chan struct{})
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(_ context.Context, n int) (*session.Listing, error) {
				if n == 2 {
					<-open
				}
				return sessiontest.Tools("echo"), nil
			},
		})
		r.Refresh("a") // not known: nothing
		r.Ensure("a", config(server))
		synctest.Wait()
		r.notices("a")
		r.Refresh("a")
		synctest.Wait()
		equal(t, "pending", r.snapshot("a").RefreshPending, true)
		r.Refresh("a") // while the list runs: one more is needed
		close(open)
		synctest.Wait()
		equal(t, "pending", r.snapshot("a").RefreshPending, false)
		equal(t, "lists", server.Counts().Lists, 3)
		equal(t, "notified: asked, done", r.notices("a"), 2)
		equal(t, "handshakes", server.Counts().Dials, 1)

		server.Script(dialing(refused))
		server.Newest().Observer.Lost(reset)
		synctest.Wait()
		r.Refresh("a")
		equal(t, "pending without a session", r.snapshot("a").RefreshPending, false)
	})
}

// B28: an empty list is asked again before it is believed.
func TestB28_EmptyWhileWarmingUp(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		server.Script(sessiontest.Script{List: func(context.Context, int) (*session.Listing, error) {
			if time.Since(r.start) <= 20*time.Second {
				return &session.Listing{}, nil
			}
			return sessiontest.Tools("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"), nil
		}})
		r.Ensure("a", config(server))
		synctest.Wait()
		snapshot := r.is("a", session.Connected)
		equal(t, "listing", snapshot.Listing, nil)
		equal(t, "unconfirmed", snapshot.EmptyUnconfirmed, true)
		equal(t, "settled", snapshot.Settled, true)
		r.after(34 * time.Second)
		equal(t, "listing", r.snapshot("a").Listing, nil)
		r.after(2 * time.Second)
		snapshot = r.snapshot("a")
		equal(t, "tools", len(snapshot.Listing.Tools), 12)
		equal(t, "unconfirmed", snapshot.EmptyUnconfirmed, false)
		equal(t, "lists after 0, 5, 15, 35 s", server.Counts().Lists, 4)
	})
}

func TestB28_EmptyIsBelievedInTheEnd(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		r.Ensure("a", config(server))
		synctest.Wait()
		server.Script(sessiontest.Script{List: func(context.Context, int) (*session.Listing, error) {
			return &session.Listing{}, nil
		}})
		r.Refresh("a")
		synctest.Wait()
		snapshot := r.is("a", session.Connected)
		equal(t, "the old one is held", len(snapshot.Listing.Tools), 1)
		equal(t, "unconfirmed", snapshot.EmptyUnconfirmed, true)
		r.after(74 * time.Second)
		equal(t, "the old one is held", len(r.snapshot("a").Listing.Tools), 1)
		r.after(2 * time.Second)
		snapshot = r.snapshot("a")
		equal(t, "tools", len(snapshot.Listing.Tools), 0)
		equal(t, "unconfirmed", snapshot.EmptyUnconfirmed, false)
		equal(t, "lists", server.Counts().Lists, 6)
		r.notices("a")
		r.after(time.Hour)
		equal(t, "notified of more empty lists", r.notices("a"), 0)
	})
}

func TestNoToolsIsBelievedAtOnce(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(context.Context, int) (*session.Listing, error) { return &session.Listing{NoTools: true}, nil },
		})
		r.Ensure("a", config(server))
		r.after(2 * time.Minute)
		snapshot := r.is("a", session.Connected)
		equal(t, "no tools", snapshot.Listing.NoTools, true)
		equal(t, "lists", server.Counts().Lists, 1)
	})
}

func TestAnotherCatalogHashDropsTheListing(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		open := make(chan struct{})
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(_ context.Context, n int) (*session.Listing, error) {
				if n == 2 {
					<-open
				}
				return sessiontest.Tools("echo"), nil
			},
		})
		cfg := config(server)
		r.Ensure("a", cfg)
		synctest.Wait()
		cfg.Catalog = "h2"
		r.Ensure("a", cfg)
		synctest.Wait()
		snapshot := r.is("a", session.Connected)
		equal(t, "listing", snapshot.Listing, nil)
		equal(t, "settled", snapshot.Settled, false)
		equal(t, "catalog", snapshot.Catalog, "h2")
		cfg.Catalog = "h3" // in the middle of the list
		r.Ensure("a", cfg)
		close(open)
		synctest.Wait()
		snapshot = r.is("a", session.Connected)
		equal(t, "tools", len(snapshot.Listing.Tools), 1)
		equal(t, "settled", snapshot.Settled, true)
		equal(t, "lists: what began under another hash is asked again", server.Counts().Lists, 3)
		equal(t, "handshakes", server.Counts().Dials, 1)
	})
}

func TestHealthProbesAreStartToStartAndSkippedWhenAlive(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		var probes []time.Duration
		server := sessiontest.NewServer(sessiontest.Script{})
		server.Script(sessiontest.Script{Probe: func(context.Context, int) error {
			probes = append(probes, time.Since(r.start))
			return nil
		}})
		cfg := config(server)
		cfg.RefreshInterval = 24 * time.Hour
		r.Ensure("a", cfg)
		r.notices("a")
		r.after(30 * time.Minute)
		if n := len(probes); n < 25 || n > 37 {
			t.Fatalf("%d probes in 30 minutes", n)
		}
		for i := range probes[1:] {
			between(t, "between probes", probes[i+1]-probes[i], 48*time.Second, 72*time.Second)
		}
		before := len(probes)
		for range 60 {
			server.Newest().Observer.Alive()
			r.after(30 * time.Second)
		}
		equal(t, "probes of a server that is heard", len(probes)-before, 0)
		equal(t, "notified: handshake and list", r.notices("a"), 2)
	})
}

// B57: one slow or lost answer is no transition; three in a row are.
func TestB57_UnansweredProbes(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		var probe func(ctx context.Context, n int) error
		server := sessiontest.NewServer(sessiontest.Script{
			Probe: func(ctx context.Context, n int) error { return probe(ctx, n) },
		})
		probe = func(ctx context.Context, n int) error {
			switch {
			case n == 1: // 6 s are slow, but in time
				<-time.After(6 * time.Second)
				return nil
			case n <= 3:
				return hang(ctx)
			case n == 4:
				return nil
			}
			return hang(ctx)
		}
		r.Ensure("a", config(server))
		synctest.Wait()
		r.notices("a")
		for server.Counts().Probes < 6 {
			r.after(time.Second)
			r.is("a", session.Connected)
		}
		equal(t, "notified", r.notices("a"), 0)
		r.after(100 * time.Second)
		equal(t, "probes", server.Counts().Probes, 7)
		equal(t, "sessions", server.Counts().Dials, 2)
		equal(t, "notified: lost, connected", r.notices("a"), 2)
	})
}

// An answer that arrives slowly is no silence, whatever the machine's speed: only 10 s without a byte end a probe.
func TestProbeThatIsBeingAnsweredIsNotSilent(t *testing.T) {
	cases := map[string]struct {
		bytes    int // how often some arrive, 9 s apart
		answered bool
		takes    time.Duration
		unheard  int
	}{
		"slow answer":           {bytes: 4, answered: true, takes: 36 * time.Second},
		"answer that stops":     {bytes: 2, takes: 28 * time.Second, unheard: 1},
		"answer without an end": {bytes: 100, takes: time.Minute, unheard: 1}, // as long as a list may take
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, manager(), func(t *testing.T, r *rig) {
				var took time.Duration
				server := sessiontest.NewServer(sessiontest.Script{})
				server.Script(sessiontest.Script{Probe: func(ctx context.Context, n int) error {
					if n > 1 {
						return nil
					}
					start := time.Now()
					defer func() { took = time.Since(start) }()
					for range c.bytes {
						select {
						case <-time.After(9 * time.Second):
							server.Newest().Observer.Alive()
						case <-ctx.Done():
							return ctx.Err()
						}
					}
					if c.answered {
						return nil
					}
					return hang(ctx)
				}})
				cfg := config(server)
				cfg.RefreshInterval = 24 * time.Hour
				r.Ensure("a", cfg)
				r.after(5 * time.Minute)
				r.is("a", session.Connected)
				equal(t, "the first probe took", took, c.takes)
				equal(t, "probes without an answer", r.count(session.EventFailed), c.unheard)
				equal(t, "sessions", server.Counts().Dials, 1)
			})
		})
	}
}

// A stateless server that dies silently is not shown as connected for long.
func TestSilentDeathIsNoticedWithinSixMinutes(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		r.Ensure("a", config(server))
		r.after(9 * time.Minute) // just before a refresh
		silent := func(ctx context.Context, _ int) error { return hang(ctx) }
		server.Script(sessiontest.Script{
			Dial: silent, Probe: silent,
			List: func(ctx context.Context, _ int) (*session.Listing, error) { return nil, hang(ctx) },
		})
		died := time.Now()
		for r.snapshot("a").State == session.Connected {
			r.after(time.Second)
		}
		if took := time.Since(died); took > 6*time.Minute {
			t.Fatalf("noticed after %s", took)
		}
		equal(t, "reason", r.snapshot("a").Fault.Reason, failure.ConnectionLost)
		equal(t, "class", r.snapshot("a").Fault.Class, failure.Timeout)
	})
}

func TestRefusedProbeDisconnectsAtOnce(t *testing.T) {
	cases := map[string]struct {
		err  error
		want session.State
	}{
		"refused": {refused, session.Waiting},
		"500":     {status(500), session.Waiting},
		"404":     {status(404), session.Waiting},
		"401":     {status(401), session.Retired},
		"403":     {status(403), session.Retired},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, manager(), func(t *testing.T, r *rig) {
				server := sessiontest.NewServer(sessiontest.Script{
					Dial: func(ctx context.Context, n int) error {
						if n > 1 {
							return hang(ctx)
						}
						return nil
					},
					Probe: func(context.Context, int) error { return c.err },
				})
				r.Ensure("a", config(server))
				r.after(73 * time.Second)
				r.is("a", c.want)
				equal(t, "probes", server.Counts().Probes, 1)
				equal(t, "closed", server.Counts().Open, 0)
			})
		})
	}
}

func TestProbesThatProveLife(t *testing.T) {
	answered := failing(failure.Failure{
		Class: failure.Protocol, Reason: failure.ProtocolError, Answered: true, Sent: true,
	})
	for name, err := range map[string]error{"JSON-RPC error": answered, "429": told(429, "1")} {
		t.Run(name, func(t *testing.T) {
			bubble(t, manager(), func(t *testing.T, r *rig) {
				server := sessiontest.NewServer(sessiontest.Script{Probe: func(context.Context, int) error { return err }})
				r.Ensure("a", config(server))
				r.after(time.Hour)
				r.is("a", session.Connected)
				equal(t, "sessions", server.Counts().Dials, 1)
			})
		})
	}
}

func TestRefreshFailureAsksTheProbe(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		r.Ensure("a", config(server))
		synctest.Wait()
		server.Script(sessiontest.Script{
			Dial:  func(context.Context, int) error { return refused },
			List:  func(context.Context, int) (*session.Listing, error) { return nil, refused },
			Probe: func(context.Context, int) error { return refused },
		})
		r.Refresh("a")
		synctest.Wait()
		equal(t, "fault", r.is("a", session.Waiting).Fault.Reason, failure.ConnectFailed)
		equal(t, "probes", server.Counts().Probes, 1)
	})
}

func TestListInterruptedByDeathIsNoListFault(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		r.Ensure("a", config(server))
		synctest.Wait()
		server.Script(sessiontest.Script{
			Dial: func(ctx context.Context, _ int) error { return hang(ctx) },
			List: func(ctx context.Context, _ int) (*session.Listing, error) { return nil, hang(ctx) },
		})
		r.Refresh("a")
		synctest.Wait()
		server.Newest().Observer.Lost(reset)
		synctest.Wait()
		snapshot := r.is("a", session.Waiting)
		equal(t, "list fault", snapshot.ListFault, nil)
		equal(t, "fault", snapshot.Fault.Reason, failure.ConnectionLost)
		equal(t, "refresh pending", snapshot.RefreshPending, false)
	})
}

func TestLostInTheMiddleOfTheFirstList(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(ctx context.Context, n int) (*session.Listing, error) {
				if n == 1 {
					return nil, hang(ctx)
				}
				return sessiontest.Tools("echo"), nil
			},
		})
		r.Ensure("a", config(server))
		synctest.Wait()
		server.Newest().Observer.Lost(nil)
		synctest.Wait()
		equal(t, "list fault", r.is("a", session.Connected).ListFault.Reason, failure.ConnectionLost)
		r.after(time.Second)
		equal(t, "list fault", r.is("a", session.Connected).ListFault, nil)
	})
}

// Intervals that are shortened hold from then on, not when the long ones are over.
func TestShorterIntervalsHoldAtOnce(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		cfg := config(server)
		cfg.RefreshInterval, cfg.HealthInterval = 24*time.Hour, 12*time.Hour
		r.Ensure("a", cfg)
		r.after(time.Minute)
		equal(t, "lists before", server.Counts().Lists, 1)
		cfg.RefreshInterval, cfg.HealthInterval = 40*time.Second, 20*time.Second
		r.Ensure("a", cfg)
		synctest.Wait()
		equal(t, "lists, as the interval is over", server.Counts().Lists, 2)
		r.after(30 * time.Second)
		equal(t, "probes", server.Counts().Probes, 1)
		r.after(10 * time.Second)
		equal(t, "lists", server.Counts().Lists, 3)
		equal(t, "handshakes", server.Counts().Dials, 1)
	})
}
