package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/pace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what should happen at once.
const patience = pace.Patience

// observer records what a connection says between its requests.
type observer struct {
	changed, alive chan struct{}
	lost           chan error
}

func newObserver() *observer {
	return &observer{changed: make(chan struct{}, 100), alive: make(chan struct{}, 1), lost: make(chan error, 10)}
}

func (o *observer) ListChanged()   { o.changed <- struct{}{} }
func (o *observer) Lost(err error) { o.lost <- err }
func (o *observer) Alive() {
	select {
	case o.alive <- struct{}{}:
	default:
	}
}

// await receives, or fails the test.
func await[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s within %v", what, patience)
		panic("unreachable")
	}
}

func loopback(t *testing.T) *egress.Policy {
	t.Helper()
	p, err := egress.NewPolicy(egress.Options{AllowLoopback: true})
	if err != nil {
		t.Fatal(err)
	}
	return p.ForNamespace("agents")
}

// config is the configuration of a connection to a server of the test.
func config(t *testing.T, url string) upstream.Config {
	t.Helper()
	return upstream.Config{
		URL: secret.New(url), Egress: loopback(t), UserAgent: "mooring/1.2.3",
		Timeouts: session.Timeouts{Connect: patience, List: patience},
	}
}

func dialer(t *testing.T, cfg upstream.Config) *upstream.Dialer {
	t.Helper()
	d, err := upstream.NewDialer(cfg)
	if err != nil {
		t.Fatalf("NewDialer: %v", err)
	}
	return d
}

// dial connects and closes at the end of the test.
func dial(t *testing.T, cfg upstream.Config) (session.Conn, *observer) {
	t.Helper()
	watch := newObserver()
	c, err := dialer(t, cfg).Dial(t.Context(), watch)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() { shut(t, c) })
	return c, watch
}

func shut(t *testing.T, c session.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// failureOf demands that err is a failure.
func failureOf(t *testing.T, err error) failure.Failure {
	t.Helper()
	var f *failure.Error
	if !errors.As(err, &f) {
		t.Fatalf("error %T %v is no *failure.Error", err, err)
	}
	return f.Failure
}

func call(tool, arguments string) session.Call {
	return session.Call{
		Method: "tools/call", Tool: tool,
		Params: json.RawMessage(`{"name":"` + tool + `","arguments":` + arguments + `}`),
	}
}

func secretValue(text string) secret.Value { return secret.New(text) }

func header(name, value string) upstream.Header {
	return upstream.Header{Name: name, Value: secret.New(value)}
}

func clean(t *testing.T, s *mcpfake.Server) {
	t.Helper()
	t.Cleanup(func() {
		for _, v := range s.Violations() {
			t.Errorf("the server objects: %s", v)
		}
	})
}
