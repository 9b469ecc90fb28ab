package session_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

func TestConnectListAndForget(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{Info: session.Info{Name: "fake", Version: "1"}})
		r.Ensure("a", config(server))
		synctest.Wait()

		snapshot := r.is("a", session.Connected)
		equal(t, "settled", snapshot.Settled, true)
		equal(t, "server name", snapshot.Info.Name, "fake")
		equal(t, "tools", len(snapshot.Listing.Tools), 1)
		equal(t, "fault", snapshot.Fault, nil)
		equal(t, "next attempt", snapshot.NextAttempt, time.Time{})
		equal(t, "notified of handshake and list", r.notices("a"), 2)

		r.Forget("a")
		synctest.Wait()
		if _, known := r.Snapshot("a"); known {
			t.Fatal("forgotten key is still known")
		}
		equal(t, "requests", server.Counts(),
			sessiontest.Counts{Dials: 1, Lists: 1, Closes: 1, MostOpen: 1})
		equal(t, "notified after Forget", r.notices("a"), 0)
	})
}

func TestEnsureBeforeRunStartsWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sessiontest.NewServer(sessiontest.Script{})
		s := session.New(manager())
		s.Ensure("a", config(server))
		s.Ensure("a", config(server))
		<-time.After(time.Minute)
		equal(t, "dials before Run", server.Counts().Dials, 0)
		snapshot, _ := s.Snapshot("a")
		equal(t, "state before Run", snapshot.State, session.Connecting)

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		snapshot, _ = s.Snapshot("a")
		equal(t, "state", snapshot.State, session.Connected)
		cancel()
		equal(t, "Run", <-done, nil)
		equal(t, "open connections", server.Counts().Open, 0)
	})
}

func TestAttemptsOfARound(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(dialing(refused))
		r.Ensure("a", config(server))
		synctest.Wait()
		snapshot := r.is("a", session.Waiting)
		equal(t, "reason", snapshot.Fault.Reason, failure.ConnectFailed)
		equal(t, "settled", snapshot.Settled, true)
		between(t, "next attempt in", snapshot.NextAttempt.Sub(r.start), 500*time.Millisecond, 550*time.Millisecond)

		r.after(3 * time.Second)
		times := server.DialTimes()
		equal(t, "attempts", len(times), 3)
		between(t, "first delay", times[1].Sub(times[0]), 500*time.Millisecond, 550*time.Millisecond)
		between(t, "second delay", times[2].Sub(times[1]), time.Second, 1100*time.Millisecond)
		snapshot = r.is("a", session.Quarantined)
		equal(t, "strikes", snapshot.Strikes, 1)
		between(t, "cooldown", snapshot.QuarantinedUntil.Sub(times[2]), 24*time.Second, 36*time.Second)
		equal(t, "notified of the first failure and the strike", r.notices("a"), 2)
	})
}

// strike is what a person sees of a round, two quarantines and the end.
func TestThirdStrikeRetiresExhausted(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(dialing(refused))
		cfg := config(server)
		cfg.Recovery.ProbeInterval = -1
		r.Ensure("a", cfg)
		r.after(24 * time.Hour)
		times := server.DialTimes()
		equal(t, "attempts: a round and two probes", len(times), 5)
		between(t, "first cooldown", times[3].Sub(times[2]), 24*time.Second, 36*time.Second)
		between(t, "second cooldown", times[4].Sub(times[3]), 48*time.Second, 72*time.Second)
		snapshot := r.is("a", session.Retired)
		equal(t, "kind", snapshot.Retirement, session.Exhausted)
		equal(t, "strikes", snapshot.Strikes, 3)
		equal(t, "retired at", snapshot.RetiredAt, times[4])
		equal(t, "since", snapshot.Fault.Since, times[0])
		equal(t, "next attempt", snapshot.NextAttempt, time.Time{})
		equal(t, "notified: failure, three strikes", r.notices("a"), 4)
		equal(t, "retired events", r.count(session.EventRetired), 1)
		equal(t, "quarantine events", r.count(session.EventQuarantined), 2)
		equal(t, "failure events", r.count(session.EventFailed), 5)
	})
}

func TestAnswerBetweenStrikesClearsThem(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{Dial: func(_ context.Context, n int) error {
			if n == 4 || n == 5 { // the probe after the first strike, and its successor
				return nil
			}
			return refused
		}})
		r.Ensure("a", config(server))
		r.after(40 * time.Second)
		snapshot := r.is("a", session.Connected)
		equal(t, "strikes", snapshot.Strikes, 0)
		server.Newest().Observer.Lost(reset)
		r.after(time.Second)
		r.is("a", session.Connected)
		server.Newest().Observer.Lost(reset)
		r.after(5 * time.Second)
		equal(t, "strikes of a new round", r.is("a", session.Quarantined).Strikes, 1)
	})
}

func TestRetryAfterIsRespectedAtConnect(t *testing.T) {
	for _, after := range []string{"7", "7.0", "Sat, 01 Jan 2000 00:00:07 GMT"} { // the bubble's clock begins there
		bubble(t, manager(), func(t *testing.T, r *rig) {
			server := sessiontest.NewServer(sessiontest.Script{Dial: func(_ context.Context, n int) error {
				if n == 1 {
					return told(429, after)
				}
				return nil
			}})
			r.Ensure("a", config(server))
			synctest.Wait()
			snapshot := r.is("a", session.Waiting)
			equal(t, "reason", snapshot.Fault.Reason, failure.RateLimited)
			r.after(8 * time.Second)
			r.is("a", session.Connected)
			times := server.DialTimes()
			equal(t, "attempts", len(times), 2)
			between(t, after, times[1].Sub(times[0]), 7*time.Second, 7700*time.Millisecond)
		})
	}
}

// B11 (at connect): a wait of hours is clamped to one, and never a strike.
func TestB11_LongRetryAfterAtConnect(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{Dial: func(context.Context, int) error {
			return told(429, "86400")
		}})
		r.Ensure("a", config(server))
		r.after(59 * time.Minute)
		equal(t, "attempts in the first hour", server.Counts().Dials, 1)
		r.after(10 * time.Hour)
		snapshot := r.is("a", session.Waiting)
		equal(t, "strikes", snapshot.Strikes, 0)
		equal(t, "quarantines", r.count(session.EventQuarantined), 0)
	})
}

func TestRateLimitWithRetryAfterZeroIsNoHotLoop(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{Dial: func(context.Context, int) error {
			return told(429, "0")
		}})
		r.Ensure("a", config(server))
		r.after(time.Hour)
		if n := server.Counts().Dials; n > 20 || n < 10 {
			t.Fatalf("%d requests in an hour, want at most 20", n)
		}
		equal(t, "strikes", r.is("a", session.Waiting).Strikes, 0)
	})
}

// B08: credentials that are refused are not tried for ever, and the end is observed once.
func TestB08_RefusedCredentialsFor24Hours(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(dialing(status(401)))
		cfg := config(server)
		r.Ensure("a", cfg)
		synctest.Wait()
		snapshot := r.is("a", session.Retired)
		equal(t, "kind", snapshot.Retirement, session.Refused)
		equal(t, "reason", snapshot.Fault.Reason, failure.AuthenticationFailed)
		equal(t, "notified", r.notices("a"), 1)
		r.after(24 * time.Hour)
		if n := server.Counts().Dials; n > 50 || n < 40 {
			t.Fatalf("%d requests in 24 hours, want at most 50", n)
		}
		equal(t, "notified in 24 hours", r.notices("a"), 0)
		equal(t, "retired events", r.count(session.EventRetired), 1)

		server.Script(sessiontest.Script{})
		changed := time.Now()
		cfg.Connection, cfg.Wake = "c2", "w2"
		r.Ensure("a", cfg)
		synctest.Wait()
		r.is("a", session.Connected)
		equal(t, "connected after the Secret changed", time.Since(changed), 0)
	})
}

func TestPermissionDeniedAtConnectRetires(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(dialing(status(403)))
		r.Ensure("a", config(server))
		r.after(10 * time.Minute)
		equal(t, "kind", r.is("a", session.Retired).Retirement, session.Refused)
		equal(t, "attempts", server.Counts().Dials, 1)
	})
}

func TestRefusedAfterAttempts(t *testing.T) {
	for _, reason := range []failure.Reason{
		failure.NotMCP, failure.TLSVerificationFailed, failure.UnsupportedProtocolVersion,
		failure.RedirectRefused, failure.AddressNotAllowed,
	} {
		bubble(t, manager(), func(t *testing.T, r *rig) {
			server := sessiontest.NewServer(dialing(failing(failure.Failure{Class: failure.Protocol, Reason: reason})))
			r.Ensure("a", config(server))
			synctest.Wait()
			r.is("a", session.Waiting)
			r.after(10 * time.Minute)
			snapshot := r.is("a", session.Retired)
			equal(t, "kind", snapshot.Retirement, session.Refused)
			equal(t, "reason", snapshot.Fault.Reason, reason)
			equal(t, "attempts", server.Counts().Dials, 3)
			equal(t, "strikes", snapshot.Strikes, 0)
		})
	}
}

func TestWakeIsExactlyOneAttempt(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(dialing(status(401)))
		cfg := config(server)
		r.Ensure("a", cfg)
		synctest.Wait()
		for i, change := range []func(){
			func() { cfg.Wake = "w2" },
			func() { cfg.Connection = "c2" },
			func() { cfg.Reconnect = "now" },
			func() { cfg.Connection, cfg.Wake, cfg.Reconnect = "c3", "w3", "again" },
		} {
			change()
			r.Ensure("a", cfg)
			r.Ensure("a", cfg)
			r.after(time.Minute)
			equal(t, "attempts", server.Counts().Dials, 2+i)
			r.is("a", session.Retired)
		}
		equal(t, "handled reconnect", r.snapshot("a").HandledReconnect, "again")
		equal(t, "retired events", r.count(session.EventRetired), 1)
	})
}

func TestOutageOfTenMinutesHealsByItself(t *testing.T) {
	for seed := range uint64(20) {
		options := manager()
		options.Rand = sessiontest.Seeded(seed)
		bubble(t, options, func(t *testing.T, r *rig) {
			server := sessiontest.NewServer(sessiontest.Script{})
			r.Ensure("a", config(server))
			synctest.Wait()
			listing := r.is("a", session.Connected).ListingID
			server.Script(dialing(refused))
			server.Newest().Observer.Lost(reset)
			outage := 10 * time.Minute
			for range 10 {
				r.after(outage / 10)
				snapshot := r.snapshot("a")
				equal(t, "tools stay", snapshot.ListingID, listing)
				if snapshot.State == session.Connected {
					t.Fatal("connected in the outage")
				}
			}
			server.Script(sessiontest.Script{})
			r.after(5 * time.Minute)
			snapshot := r.is("a", session.Connected)
			equal(t, "strikes", snapshot.Strikes, 0)
			equal(t, "fault", snapshot.Fault, nil)
		})
	}
}

// B14: an hour of 502 costs few requests and leaves nothing behind.
func TestB14_BadGateway(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		r.Ensure("a", config(server))
		synctest.Wait()
		server.Script(sessiontest.Script{Dial: func(context.Context, int) error { return status(502) }})
		server.Newest().Observer.Lost(status(502))
		r.after(time.Minute)
		if n := server.Counts().Dials - 1; n > 8 {
			t.Fatalf("%d requests in a minute of 502, want at most 8", n)
		}
		server.Script(sessiontest.Script{})
		r.after(2 * time.Minute)
		r.is("a", session.Connected)
	})
}

// B23: a server that is not there at the start is tried like one that was lost.
func TestB23_ColdStart(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		missing := failing(failure.Failure{Class: failure.Transport, Reason: failure.DNSError})
		server := sessiontest.NewServer(dialing(missing))
		r.Ensure("a", config(server))
		r.after(90 * time.Second)
		equal(t, "reason", r.snapshot("a").Fault.Reason, failure.DNSError)
		server.Script(sessiontest.Script{})
		r.after(2 * time.Minute)
		r.is("a", session.Connected)
	})
}

func TestConnectTimeout(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Dial: func(ctx context.Context, _ int) error { return hang(ctx) },
		})
		r.Ensure("a", config(server))
		r.after(29 * time.Second)
		r.is("a", session.Connecting)
		r.after(time.Second)
		snapshot := r.is("a", session.Waiting)
		equal(t, "reason", snapshot.Fault.Reason, failure.ConnectTimeout)
		equal(t, "class", snapshot.Fault.Class, failure.Timeout)
	})
}

// B03: a load balancer without affinity forgets every session.
func TestB03_SessionFlapping(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(context.Context, int) (*session.Listing, error) { return nil, lost() },
		})
		r.Ensure("a", config(server))
		synctest.Wait()
		equal(t, "sessions at once", server.Counts().Dials, 3)
		snapshot := r.is("a", session.Waiting)
		equal(t, "reason", snapshot.Fault.Reason, failure.SessionFlapping)
		r.after(time.Minute)
		if n := server.Counts().Dials; n > 4 {
			t.Fatalf("%d sessions in the first minute, want at most 4", n)
		}
		r.after(time.Hour)
		if n := server.Counts().Dials; n > 30 {
			t.Fatalf("%d sessions in an hour", n)
		}
		equal(t, "strikes", r.is("a", session.Waiting).Strikes, 0)
		equal(t, "never two at once", server.Counts().MostOpen, 1)
	})
}

// B01 (discovery): one forgotten session is replaced at once, and nobody need know.
func TestB01_ForgottenSessionIsReplacedAtOnce(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Probe: func(_ context.Context, n int) error {
				if n == 1 {
					return lost()
				}
				return nil
			},
		})
		r.Ensure("a", config(server))
		synctest.Wait()
		r.notices("a")
		r.after(5 * time.Minute)
		r.is("a", session.Connected)
		equal(t, "handshakes", server.Counts().Dials, 2)
		equal(t, "rebuilt", r.count(session.EventRebuilt), 1)
		equal(t, "notified", r.notices("a"), 0)
		equal(t, "failures", r.count(session.EventFailed), 0)
	})
}

func TestIdleDeathIsNoticedAndPaced(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		r.Ensure("a", config(server))
		synctest.Wait()
		server.Newest().Observer.Lost(reset)
		synctest.Wait()
		snapshot := r.is("a", session.Waiting)
		equal(t, "reason", snapshot.Fault.Reason, failure.ConnectionLost)
		equal(t, "closed before anything else", server.Counts().Closes, 1)
		r.after(time.Second)
		r.is("a", session.Connected)

		// From now on it dies as soon as it is connected.
		started := time.Now()
		before := server.Counts().Dials
		for time.Since(started) < time.Hour {
			server.Newest().Observer.Lost(reset)
			r.after(time.Second)
		}
		if n := server.Counts().Dials - before; n > 40 {
			t.Fatalf("%d sessions in an hour of deaths", n)
		}
		equal(t, "never two at once", server.Counts().MostOpen, 1)
	})
}

func TestEnsureIsIdempotentAndIgnoresTheStale(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		old := config(server)
		old.Generation = 1
		cfg := old
		cfg.Generation, cfg.Connection, cfg.Wake, cfg.Catalog = 2, "c2", "w2", "h2"
		r.Ensure("a", cfg)
		synctest.Wait()
		r.notices("a")
		// B61: the object of before comes again from a cache that lags.
		r.Ensure("a", old)
		r.Ensure("a", cfg)
		r.after(10 * time.Second)
		equal(t, "handshakes", server.Counts().Dials, 1)
		equal(t, "connection", r.is("a", session.Connected).Connection, "c2")
		equal(t, "notified", r.notices("a"), 0)
	})
}

func TestReplacementConnectsWithoutWaitingForTheOldToClose(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		old := sessiontest.NewServer(sessiontest.Script{
			Close: func(ctx context.Context, _ int) error { return hang(ctx) },
		})
		r.Ensure("a", config(old))
		synctest.Wait()
		server := sessiontest.NewServer(sessiontest.Script{})
		cfg := config(server)
		cfg.Connection = "c2"
		r.Ensure("a", cfg)
		synctest.Wait()
		snapshot := r.is("a", session.Connected)
		equal(t, "connection", snapshot.Connection, "c2")
		equal(t, "the same tools", len(snapshot.Listing.Tools), 1)
		equal(t, "old closes", old.Counts().Closes, 1)
		equal(t, "old handshakes", old.Counts().Dials, 1)
		before := time.Now()
		r.Forget("a")
		equal(t, "Forget took", time.Since(before), 0)
	})
}

func TestReplacementInTheMiddleOfADial(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		old := sessiontest.NewServer(sessiontest.Script{
			Dial: func(ctx context.Context, _ int) error { return hang(ctx) },
		})
		r.Ensure("a", config(old))
		synctest.Wait()
		server := sessiontest.NewServer(sessiontest.Script{})
		cfg := config(server)
		cfg.Connection = "c2"
		r.Ensure("a", cfg)
		synctest.Wait()
		snapshot := r.is("a", session.Connected)
		equal(t, "fault", snapshot.Fault, nil)
		equal(t, "failures told", r.count(session.EventFailed), 0)
	})
}

func TestReplacementIsConnectingUntilItsFirstAttemptEnds(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		r.Ensure("a", config(sessiontest.NewServer(sessiontest.Script{})))
		synctest.Wait()
		cfg := config(sessiontest.NewServer(sessiontest.Script{
			Dial: func(ctx context.Context, _ int) error { return hang(ctx) },
		}))
		cfg.Connection = "c2"
		r.Ensure("a", cfg)
		synctest.Wait()
		snapshot := r.is("a", session.Connecting)
		equal(t, "settled: the catalog hash is the same", snapshot.Settled, true)
		equal(t, "tools stay", len(snapshot.Listing.Tools), 1)
		equal(t, "next attempt", snapshot.NextAttempt, time.Time{})
		r.after(30 * time.Second)
		equal(t, "fault", r.is("a", session.Waiting).Fault.Reason, failure.ConnectTimeout)
	})
}

func TestReplacementInTheMiddleOfAProbe(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		old := sessiontest.NewServer(sessiontest.Script{Dial: func(ctx context.Context, n int) error {
			if n > 3 {
				return hang(ctx)
			}
			return refused
		}})
		r.Ensure("a", config(old))
		r.after(45 * time.Second)
		r.is("a", session.Quarantined)
		equal(t, "the probe hangs", old.Counts().Dials, 4)
		server := sessiontest.NewServer(sessiontest.Script{})
		cfg := config(server)
		cfg.Connection = "c2"
		r.Ensure("a", cfg)
		synctest.Wait()
		r.is("a", session.Connected)
	})
}

func TestReconnectDropsAndConnectsAnew(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		cfg := config(server)
		r.Ensure("a", cfg)
		synctest.Wait()
		cfg.Reconnect = "please"
		r.Ensure("a", cfg)
		synctest.Wait()
		equal(t, "handled", r.is("a", session.Connected).HandledReconnect, "please")
		counts := server.Counts()
		counts.MostOpen = 0 // the old one is closed while the new one is opened
		equal(t, "requests", counts, sessiontest.Counts{Dials: 2, Lists: 2, Closes: 1, Open: 1})
	})
}

func TestPanicStaysInItsSession(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		bad := sessiontest.NewServer(sessiontest.Script{Dial: func(_ context.Context, n int) error {
			if n < 3 {
				panic("CANARY")
			}
			return nil
		}})
		good := sessiontest.NewServer(sessiontest.Script{})
		r.Ensure("bad", config(bad))
		r.Ensure("good", config(good))
		synctest.Wait()
		snapshot := r.is("bad", session.Waiting)
		equal(t, "reason", snapshot.Fault.Reason, failure.UnknownFailure)
		equal(t, "detail", snapshot.Fault.Detail, "internal error")
		r.is("good", session.Connected)
		r.after(2 * time.Second)
		r.is("bad", session.Connected)
		equal(t, "panics told", r.count(session.EventPanicked), 2)
		equal(t, "good's handshakes", good.Counts().Dials, 1)
	})
}

// A panic that nobody waited for is told, too, and costs the connection.
func TestPanicBehindAConnectionIsTold(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		r.Ensure("a", config(server))
		synctest.Wait()
		server.Newest().Observer.Lost(fmt.Errorf("stream: %w", &session.PanicError{Stack: "goroutine 1"}))
		synctest.Wait()
		equal(t, "panics told", r.count(session.EventPanicked), 1)
		r.after(time.Minute)
		r.is("a", session.Connected)
		equal(t, "handshakes", server.Counts().Dials, 2)
	})
}

func TestConnThatBreaksItsPromiseCostsOneTry(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			List: func(_ context.Context, n int) (*session.Listing, error) {
				if n == 1 {
					return nil, nil
				}
				return sessiontest.Tools("echo"), nil
			},
		})
		r.Ensure("a", config(server))
		synctest.Wait()
		equal(t, "reason", r.snapshot("a").ListFault.Reason, failure.UnknownFailure)
		equal(t, "closed", server.Counts().Open, 0)
		r.after(time.Second)
		equal(t, "list fault", r.is("a", session.Connected).ListFault, nil)
	})
}

func TestPanicOfAListenerCostsOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := manager()
		thrown := false
		options.Observe = func(event session.Event) {
			if event.Kind == session.EventListed && !thrown {
				thrown = true
				panic("a listener of ours")
			}
		}
		s := session.New(options)
		server := sessiontest.NewServer(sessiontest.Script{})
		s.Ensure("a", config(server))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		snapshot, _ := s.Snapshot("a")
		equal(t, "state", snapshot.State, session.Waiting)
		equal(t, "open", server.Counts().Open, 0)
		<-time.After(time.Second)
		synctest.Wait()
		snapshot, _ = s.Snapshot("a")
		equal(t, "state", snapshot.State, session.Connected)
		cancel()
		equal(t, "Run", <-done, nil)
	})
}

// bounded is a Dialer that bounds its own steps.
type bounded struct {
	session.Dialer
	bound time.Duration
}

func (b bounded) Bound() time.Duration { return b.bound }

// A Dialer that bounds itself has the time it says; any other has that of the configuration.
func TestDialHasItsOwnBound(t *testing.T) {
	plain := func(d session.Dialer) session.Dialer { return d }
	own := func(d session.Dialer) session.Dialer { return bounded{d, 70 * time.Second} }
	for name, test := range map[string]struct {
		wrap func(session.Dialer) session.Dialer
		took time.Duration
	}{
		"the configuration's": {plain, 30 * time.Second},
		"its own":             {own, 70 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, manager(), func(t *testing.T, r *rig) {
				var took time.Duration
				server := sessiontest.NewServer(sessiontest.Script{Dial: func(ctx context.Context, n int) error {
					if n > 1 {
						return nil
					}
					began := time.Now()
					<-ctx.Done()
					took = time.Since(began)
					return ctx.Err()
				}})
				r.Ensure("a", sessiontest.Config(session.Config{Dialer: test.wrap(server)}))
				r.after(2 * time.Minute)
				if took != test.took {
					t.Errorf("the first dial was given %v, want %v", took, test.took)
				}
			})
		})
	}
}

// Two programs that change a Secret back and forth ten times a second do not make us shake hands ten times a second,
// whether the server takes the credential or refuses it. What is there in the end is in use within 5 s.
func TestFlappingDeclarationIsPaced(t *testing.T) {
	for name, script := range map[string]sessiontest.Script{"taken": {}, "refused": dialing(status(401))} {
		t.Run(name, func(t *testing.T) {
			bubble(t, manager(), func(t *testing.T, r *rig) {
				flapping, last := sessiontest.NewServer(script), sessiontest.NewServer(sessiontest.Script{})
				changed := func(server *sessiontest.Server, n int) {
					c := config(server)
					c.Connection, c.Wake = fmt.Sprint(n), fmt.Sprint(n)
					r.Ensure("a", c)
				}
				for n := range 600 {
					changed(flapping, n)
					r.after(100 * time.Millisecond)
				}
				equal(t, "dials in a minute: at once, five more, then one per 5 s", flapping.Counts().Dials, 17)
				changed(last, 600)
				r.after(5 * time.Second)
				r.is("a", session.Connected)
				equal(t, "sessions", flapping.Counts().Open+last.Counts().Open, 1)
			})
		})
	}
}

// A wake that comes while an attempt is under way is not that attempt's: another follows, whatever becomes of it.
func TestWakeDuringAnAttemptIsOwedAnother(t *testing.T) {
	for name, dials := range map[string]int{"the last of a round": 3, "a probe": 4} {
		t.Run(name, func(t *testing.T) {
			bubble(t, manager(), func(t *testing.T, r *rig) {
				server := sessiontest.NewServer(sessiontest.Script{
					Dial: func(ctx context.Context, _ int) error { return hang(ctx) },
				})
				cfg := config(server)
				cfg.Timeouts.Connect = 10 * time.Second
				cfg.Recovery.ProbeInterval = -1
				r.Ensure("a", cfg)
				for server.Counts().Dials < dials {
					r.after(time.Second)
				}
				server.Script(sessiontest.Script{})
				cfg.Wake = "w2"
				r.Ensure("a", cfg)
				r.after(10 * time.Second)
				r.is("a", session.Connected)
				equal(t, "attempts", server.Counts().Dials, dials+1)
			})
		})
	}
}

// A session that is opened anew counts as connected for two seconds, not for as long as a connect may hang.
func TestForgottenSessionThatDoesNotComeBackIsNotConnected(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{})
		cfg := config(server)
		cfg.Timeouts.Connect = 10 * time.Minute
		r.Ensure("a", cfg)
		synctest.Wait()
		r.notices("a")
		server.Script(sessiontest.Script{
			Dial: func(ctx context.Context, _ int) error {
				select {
				case <-ctx.Done():
				case <-time.After(5 * time.Second):
				}
				return ctx.Err()
			},
		})
		server.Newest().Observer.Lost(lost())
		r.after(1999 * time.Millisecond)
		r.is("a", session.Connected)
		equal(t, "notified", r.notices("a"), 0)
		r.after(time.Millisecond)
		equal(t, "connections", server.Counts().Open, 0)
		equal(t, "class", r.is("a", session.Waiting).Fault.Class, failure.SessionLost)
		equal(t, "notified", r.notices("a"), 1)
		r.after(3 * time.Second)
		equal(t, "fault", r.is("a", session.Connected).Fault, nil)
		r.after(time.Minute)
		equal(t, "notified", r.notices("a"), 1)
		r.is("a", session.Connected)
	})
}

// A server that lists its tools and then drops the connection is put off, the longer the oftener, without a strike: its
// status is quiet.
func TestConnectionsThatKeepDroppingArePutOff(t *testing.T) {
	for _, lives := range []time.Duration{0, 25 * time.Second} {
		t.Run(lives.String(), func(t *testing.T) {
			bubble(t, manager(), func(t *testing.T, r *rig) {
				server := sessiontest.NewServer(sessiontest.Script{})
				r.Ensure("a", config(server))
				started := time.Now()
				for drops := 0; time.Since(started) < time.Hour; {
					if r.snapshot("a").State != session.Connected {
						r.after(100 * time.Millisecond)
						continue
					}
					r.after(lives)
					server.Newest().Observer.Lost(reset)
					synctest.Wait()
					snapshot := r.is("a", session.Waiting)
					equal(t, "reason", snapshot.Fault.Reason, failure.ConnectionLost)
					equal(t, "strikes", snapshot.Strikes, 0)
					drops++
					if wait := time.Until(snapshot.NextAttempt); drops < 3 {
						between(t, "taken for a restart", wait, 500*time.Millisecond, 1100*time.Millisecond)
					} else {
						between(t, "put off", wait, 24*time.Second, 6*time.Minute)
					}
				}
				if n := r.notices("a"); n > 40 {
					t.Fatalf("notified %d times in an hour", n)
				}
				equal(t, "quarantines", r.count(session.EventQuarantined), 0)

				// When it stays, it is connected within a probe interval, and a single loss is a restart again.
				r.after(8 * time.Minute)
				r.is("a", session.Connected)
				server.Newest().Observer.Lost(reset)
				r.after(1100 * time.Millisecond)
				r.is("a", session.Connected)
			})
		})
	}
}

// The kind of retirement is told as it is: a failure that is refused after some attempts only may be the last strike.
func TestRetirementIsToldWithItsKind(t *testing.T) {
	notMCP := failing(failure.Failure{Class: failure.Protocol, Reason: failure.NotMCP, Sent: true})
	for _, test := range []struct {
		name string
		dial func(n int) error
		want session.Retirement
	}{
		{"one answer that is not MCP among failures by transport", func(n int) error {
			if n == 5 {
				return notMCP
			}
			return refused
		}, session.Exhausted},
		{"nothing but answers that are not MCP", func(int) error { return notMCP }, session.Refused},
		{"a credential that is not accepted", func(int) error { return status(401) }, session.Refused},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, manager(), func(t *testing.T, r *rig) {
				r.Ensure("a", config(sessiontest.NewServer(sessiontest.Script{
					Dial: func(_ context.Context, n int) error { return test.dial(n) },
				})))
				r.after(10 * time.Minute)
				equal(t, "status", r.is("a", session.Retired).Retirement, test.want)
				equal(t, "retired events", r.count(session.EventRetired), 1)
				for _, event := range r.events {
					if event.Kind == session.EventRetired {
						equal(t, "event", event.Retirement, test.want)
					} else {
						equal(t, "any other event", event.Retirement, "")
					}
				}
			})
		})
	}
}
