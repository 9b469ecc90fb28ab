package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

func TestB76_SessionsAreDeleted(t *testing.T) {
	s := mcpfake.New(t)
	d := dialer(t, config(t, s.URL()))
	for range 50 {
		c, err := d.Dial(t.Context(), newObserver())
		if err != nil {
			t.Fatal(err)
		}
		shut(t, c)
	}
	s.Await(t, func(st mcpfake.Stats) bool { return st.Sessions == 0 && st.Conns == 0 && st.Streams == 0 })
	if st := s.Stats(); st.Opened != 50 || st.Phase(mcpfake.Delete) != 50 {
		t.Errorf("%d sessions, %d DELETEs", st.Opened, st.Phase(mcpfake.Delete))
	}
}

// A handshake that nobody waits for any more is heard to its end, so that the session that it opens on the server is
// closed there.
func TestB76_AnAbandonedHandshakeLeavesNoSession(t *testing.T) {
	for name, encoding := range map[string]mcpfake.Encoding{"JSON": mcpfake.JSON, "SSE": mcpfake.SSE} {
		t.Run(name, func(t *testing.T) {
			s := mcpfake.New(t, mcpfake.WithEncoding(encoding))
			s.Fault(mcpfake.Initialize, 1, mcpfake.Hang())
			d := dialer(t, config(t, s.URL()))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := d.Dial(ctx, newObserver())
				done <- err
			}()
			s.Await(t, func(st mcpfake.Stats) bool { return st.Hanging == 1 })
			cancel()
			s.Release()
			if err := await(t, "end of Dial", done); !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v", err)
			}
			s.Await(t, func(st mcpfake.Stats) bool { return st.Opened == 1 && st.Sessions == 0 && st.Conns == 0 })
			if got := s.Count("DELETE"); got != 1 {
				t.Errorf("%d DELETE", got)
			}
		})
	}
}

// How long it waits for the one that hangs is measured in TestCloseWaitsASecondForDelete.
func TestCloseEndsWithoutDelete(t *testing.T) {
	for _, fault := range []mcpfake.Fault{mcpfake.Hang(), mcpfake.Status(405, nil, ""), mcpfake.Reset()} {
		s := mcpfake.New(t)
		s.Fault(mcpfake.Delete, 1, fault)
		c, _ := dial(t, config(t, s.URL()))
		shut(t, c)
		s.Await(t, func(st mcpfake.Stats) bool { return st.Conns == 0 })
	}
}

// Close gives up at the end of its context, and the work goes on.
func TestCloseHonoursItsContext(t *testing.T) {
	s := mcpfake.New(t)
	s.Fault(mcpfake.Delete, 1, mcpfake.Hang())
	c, _ := dial(t, config(t, s.URL()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Close(ctx); err == nil {
		t.Error("Close had no time and succeeded")
	}
	shut(t, c)
	s.Await(t, func(st mcpfake.Stats) bool { return st.Conns == 0 })
	if n := s.Stats().Phase(mcpfake.Delete); n != 1 {
		t.Errorf("%d DELETEs", n)
	}
}

// A hung standing stream neither delays Dial nor Close.
func TestAHungStreamDelaysNothing(t *testing.T) {
	bothEras(t, func(t *testing.T, era mcpfake.Era) {
		for name, fault := range map[string]mcpfake.Fault{
			"before headers": mcpfake.Hang(), "after": mcpfake.HangAfterHeaders(),
		} {
			s := mcpfake.New(t, mcpfake.WithEra(era))
			s.Fault(mcpfake.Stream, mcpfake.Forever, fault)
			c, _ := dial(t, config(t, s.URL()))
			s.Await(t, func(st mcpfake.Stats) bool { return st.Hanging == 1 })
			if _, err := c.Call(t.Context(), call("echo", `{}`)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			shut(t, c)
			s.Await(t, func(st mcpfake.Stats) bool { return st.Conns == 0 })
		}
	})
}

// A lost stream is opened again, and what may have been missed is told.
func TestLostStreamsAreOpenedAgain(t *testing.T) {
	for _, reset := range []bool{true, false} {
		bothEras(t, func(t *testing.T, era mcpfake.Era) {
			s := mcpfake.New(t, mcpfake.WithEra(era))
			clean(t, s)
			_, watch := dial(t, config(t, s.URL()))
			s.Await(t, func(st mcpfake.Stats) bool { return st.Streams == 1 })
			s.DropStreams(reset)
			await(t, "list_changed for what was missed", watch.changed)
			s.Await(t, func(st mcpfake.Stats) bool { return st.Streams == 1 })
			s.NotifyListChanged()
			await(t, "list_changed", watch.changed)
			if n := s.Stats().Phase(mcpfake.Stream); n != 2 {
				t.Errorf("the stream was opened %d times", n)
			}
		})
	}
}

// Streams are opened only where they can bring something.
func TestStreamsThatCannotBringAnything(t *testing.T) {
	cases := map[string][]mcpfake.Option{
		"modern without listChanged": {mcpfake.WithEra(mcpfake.Modern), mcpfake.WithCapabilities(`{"tools":{}}`)},
		"legacy without tools":       {mcpfake.WithCapabilities(`{"resources":{}}`)},
	}
	for name, opts := range cases {
		s := mcpfake.New(t, opts...)
		c, _ := dial(t, config(t, s.URL()))
		if err := c.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		shut(t, c)
		if n := s.Stats().Phase(mcpfake.Stream); n != 0 {
			t.Errorf("%s: %d streams", name, n)
		}
	}
	for name, fault := range map[string]mcpfake.Fault{
		"-32601": mcpfake.RPCStatus(404, -32601, "", ""), "json": mcpfake.RPC(-32601, "", ""),
		"501": mcpfake.Status(501, nil, ""),
		"not granted": mcpfake.ContentType("text/event-stream",
			`data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}`+"\n\n"),
		"refused on the stream": mcpfake.ContentType("text/event-stream",
			`data: {"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}}`+"\n\n"),
	} {
		s := mcpfake.New(t, mcpfake.WithEra(mcpfake.Modern))
		s.Fault(mcpfake.Stream, mcpfake.Forever, fault)
		c, watch := dial(t, config(t, s.URL()))
		s.Await(t, func(st mcpfake.Stats) bool { return st.Phase(mcpfake.Stream) == 1 })
		if _, err := c.Call(t.Context(), call("echo", `{}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(watch.lost) != 0 {
			t.Errorf("%s: lost", name)
		}
	}
}

func TestWhatServersSayOfThemselvesIsFitToShow(t *testing.T) {
	s := mcpfake.New(t, mcpfake.WithServerInfo(
		`{"name":"  a\u0000b\u202ec\u200d\n\ud83d\ude00\udb40\udc41  ","title":7,"version":"`+longText+`"}`))
	c, _ := dial(t, config(t, s.URL()))
	got := c.Info()
	want := session.Info{
		Name: "abc \U0001F600", Version: longText[:255] + "…", ProtocolVersion: "2025-11-25", HasSessionID: true,
	}
	if got != want {
		t.Errorf("info = %+v, want %+v", got, want)
	}
	s = mcpfake.New(t, mcpfake.WithServerInfo(`"x"`), mcpfake.WithCapabilities(`null`))
	c, _ = dial(t, config(t, s.URL()))
	if c.Info().Name != "" {
		t.Errorf("info = %+v", c.Info())
	}
	if listing, err := c.List(t.Context()); err != nil || len(listing.Tools) == 0 {
		t.Errorf("a server that says nothing of its capabilities may have tools: %v", err)
	}
}

var longText = func() string {
	text := make([]byte, 300)
	for i := range text {
		text[i] = 'v'
	}
	return string(text)
}()

// broken is a source of tokens with a fault of ours.
type broken struct{}

func (broken) Token(context.Context) (secret.Value, error) { panic(canary) }

// A panic is a failure and not a crash, and leaves the trace by which it is found, but not what was thrown.
func TestPanicsAreContainedAndTold(t *testing.T) {
	cfg := config(t, mcpfake.New(t).URL())
	cfg.TokenSource = broken{}
	heard := make(chan session.Event, 100)
	supervisor := session.New(session.Options{Discover: true, Observe: func(e session.Event) {
		if e.Kind == session.EventPanicked || e.Kind == session.EventFailed {
			heard <- e
		}
	}})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- supervisor.Run(ctx) }()
	supervisor.Ensure("fs", sessiontest.Config(session.Config{Dialer: dialer(t, cfg), Connection: "a", Catalog: "a"}))
	panicked, failed := <-heard, <-heard
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if panicked.Kind != session.EventPanicked || panicked.Key != "fs" ||
		!strings.Contains(panicked.Stack, "broken.Token") ||
		strings.Contains(panicked.Stack, canary) {
		t.Errorf("told %s of %q with the stack\n%s", panicked.Kind, panicked.Key, panicked.Stack)
	}
	want{failure.Unknown, failure.UnknownFailure, 0, true, "internal error"}.check(t, failed.Failure)
}

// A call in which the caller's own code panicked spoils no other.
func TestPanicOfOneCallSparesTheNext(t *testing.T) {
	c, _ := dial(t, config(t, mcpfake.New(t, mcpfake.WithEncoding(mcpfake.SSE)).URL()))
	made := call("progress", `{"steps":1}`)
	made.Progress = func(json.RawMessage) { panic(canary) }
	func() {
		defer func() {
			if thrown := recover(); thrown != canary {
				t.Errorf("thrown: %v", thrown)
			}
		}()
		_, err := c.Call(t.Context(), made)
		t.Errorf("no panic, error = %v", err)
	}()
	if _, err := c.Call(t.Context(), call("echo", `{}`)); err != nil {
		t.Errorf("the next call failed: %v", err)
	}
}

// Some servers leave the answer to a notification open. It is an answer all the same.
func TestAnAcceptanceIsNotRead(t *testing.T) {
	s := mcpfake.New(t)
	s.Fault(mcpfake.Initialized, 1, mcpfake.HangAfterHeaders())
	c, _ := dial(t, config(t, s.URL()))
	if _, err := c.List(t.Context()); err != nil {
		t.Errorf("List: %v", err)
	}
}

// A status is the fault, though its body never ends.
func TestAStatusIsKnownBeforeItsBody(t *testing.T) {
	s := mcpfake.New(t)
	c, _ := dial(t, config(t, s.URL()))
	s.Fault(mcpfake.Call, mcpfake.Forever, mcpfake.Custom(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(502)
		_, _ = w.Write([]byte("x"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	}))
	_, err := c.Call(t.Context(), call("echo", `{}`))
	want{failure.Server, failure.ServerError, 502, true, ""}.check(t, failureOf(t, err))
	want{failure.Server, failure.ServerError, 502, true, ""}.atDeadline(t, func(ctx context.Context) error {
		_, err := c.Call(ctx, call("echo", `{}`))
		return err
	})
}
