package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/session/sessiontest"
)

func TestConnectListAndForget(t *testing.T) {
	bubble(t, manager(), func(r *rig) {
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
	bubble(t, manager(), func(r *rig) {
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
