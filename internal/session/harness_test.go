package session_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}

// rig is a running supervisor in a bubble of fake time.
type rig struct {
	*session.Supervisor
	t     *testing.T
	start time.Time
	stop  func()

	mu       sync.Mutex
	notified map[session.Key]int
	events   []session.Event
}

// manager and gateway are the two ways in which a supervisor is made.
func manager() session.Options { return session.Options{Discover: true, Rand: sessiontest.Seeded(1)} }
func gateway() session.Options { return session.Options{Rand: sessiontest.Seeded(1)} }

// bubble runs the test in fake time over a supervisor that is shut down at the end.
func bubble(t *testing.T, options session.Options, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, start: time.Now(), notified: map[session.Key]int{}}
		options.Notify = r.notify
		options.Observe = r.observe
		r.Supervisor = session.New(options)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := r.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		}()
		r.stop = func() {
			cancel()
			<-ended
		}
		defer r.stop()
		synctest.Wait()
		test(t, r)
	})
}

func (r *rig) notify(key session.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notified[key]++
}

func (r *rig) observe(event session.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

// notices returns how often the key was notified since the last time it was asked for.
func (r *rig) notices(key session.Key) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.notified[key]
	r.notified[key] = 0
	return n
}

// count returns how many events of a kind were told.
func (r *rig) count(kind session.EventKind) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, event := range r.events {
		if event.Kind == kind {
			n++
		}
	}
	return n
}

// after lets time pass, and everything that happens in it.
func (r *rig) after(d time.Duration) {
	<-time.After(d) // fake time: comes when nothing else is left to do
	synctest.Wait()
}

func (r *rig) snapshot(key session.Key) session.Snapshot {
	r.t.Helper()
	snapshot, known := r.Snapshot(key)
	if !known {
		r.t.Fatalf("%s is not known", key)
	}
	return snapshot
}

// is asserts the state of a key.
func (r *rig) is(key session.Key, want session.State) session.Snapshot {
	r.t.Helper()
	snapshot := r.snapshot(key)
	if snapshot.State != want {
		r.t.Fatalf("at %s %s is %s (fault %+v, list fault %+v), want %s",
			time.Since(r.start), key, snapshot.State, snapshot.Fault, snapshot.ListFault, want)
	}
	return snapshot
}

// equal asserts equality.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// between asserts low <= got <= high.
func between(t *testing.T, what string, got, low, high time.Duration) {
	t.Helper()
	if got < low || got > high {
		t.Fatalf("%s: got %s, want %s to %s", what, got, low, high)
	}
}

// config is a configuration with everything at its default.
func config(server *sessiontest.Server) session.Config {
	return sessiontest.Config(session.Config{
		Dialer: server, Connection: "c1", Catalog: "h1", Wake: "w1", Address: "server:443",
	})
}

// failing is the error of a fault.
func failing(f failure.Failure) error { return &failure.Error{Failure: f} }

var (
	refused = failing(failure.Failure{Class: failure.Transport, Reason: failure.ConnectFailed})
	reset   = failing(failure.Failure{Class: failure.Transport, Reason: failure.ConnectionLost, Sent: true})
)

// status is the error of an HTTP status.
func status(code int) error {
	return failing(failure.FromStatus("", failure.Status{Code: code}, time.Now()))
}

// told is the error of an HTTP status with Retry-After.
func told(code int, after string) error {
	return failing(failure.FromStatus("", failure.Status{Code: code, RetryAfter: after}, time.Now()))
}

// lost is the error of a forgotten session.
func lost() error {
	return failing(failure.FromStatus("", failure.Status{Code: 404, WithSession: true}, time.Now()))
}

// dialing is a script in which every dial ends so.
func dialing(err error) sessiontest.Script {
	return sessiontest.Script{Dial: func(context.Context, int) error { return err }}
}

// hang waits for the end of the context, as an unanswered request does.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
