package upstream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/pace"
)

// want is what a fault must be named.
type want struct {
	class  failure.Class
	reason failure.Reason
	status int
	sent   bool
	detail string // a part of it
}

func (w want) check(t *testing.T, f failure.Failure) {
	t.Helper()
	if err := w.differs(f); err != nil {
		t.Error(err)
	}
}

func (w want) differs(f failure.Failure) error {
	if f.Class != w.class || f.Reason != w.reason || f.HTTPStatus != w.status || f.Sent != w.sent {
		return fmt.Errorf("failure = %s %s %d sent=%v, want %s %s %d sent=%v",
			f.Class, f.Reason, f.HTTPStatus, f.Sent, w.class, w.reason, w.status, w.sent)
	}
	if !strings.Contains(f.Detail, w.detail) {
		return fmt.Errorf("detail = %q, want %q in it", f.Detail, w.detail)
	}
	return nil
}

// atDeadline demands the failure of a request whose deadline passes after it was sent and what is told of its answer
// came.
func (w want) atDeadline(t *testing.T, request func(context.Context) error) {
	t.Helper()
	pace.Within(t, 150*time.Millisecond, func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return w.differs(failureOf(t, request(ctx)))
	})
}

const canary = "CANARY-7f3a"

// faults are what can meet one request of an open session, and what it is then called in phase call.
var faults = map[string]struct {
	fault mcpfake.Fault
	want  want
}{
	"400":      {mcpfake.Status(400, nil, canary), want{failure.Protocol, failure.ProtocolError, 400, true, ""}},
	"401":      {mcpfake.Status(401, nil, canary), want{failure.Auth, failure.AuthenticationFailed, 401, true, ""}},
	"403":      {mcpfake.Status(403, nil, canary), want{failure.Permission, failure.PermissionDenied, 403, true, ""}},
	"405":      {mcpfake.Status(405, nil, canary), want{failure.Protocol, failure.ProtocolError, 405, true, ""}},
	"408":      {mcpfake.Status(408, nil, canary), want{failure.Protocol, failure.ProtocolError, 408, true, ""}},
	"413":      {mcpfake.Status(413, nil, canary), want{failure.Protocol, failure.ProtocolError, 413, true, ""}},
	"429":      {mcpfake.RetryAfter(429, "2"), want{failure.RateLimit, failure.RateLimited, 429, true, ""}},
	"500":      {mcpfake.Status(500, nil, canary), want{failure.Server, failure.ServerError, 500, true, ""}},
	"501":      {mcpfake.Status(501, nil, canary), want{failure.Server, failure.ServerError, 501, true, ""}},
	"502":      {mcpfake.Status(502, nil, canary), want{failure.Server, failure.ServerError, 502, true, ""}},
	"503":      {mcpfake.Status(503, nil, canary), want{failure.Server, failure.ServerError, 503, true, ""}},
	"503 told": {mcpfake.RetryAfter(503, "1"), want{failure.RateLimit, failure.RateLimited, 503, true, ""}},
	"html":     {mcpfake.HTML(), want{failure.Protocol, failure.ProtocolError, 200, true, "text/html"}},
	"202":      {mcpfake.Accepted(), want{failure.Protocol, failure.ProtocolError, 202, true, "202 Accepted"}},
	"bad json": {mcpfake.BadJSON(), want{failure.Protocol, failure.ProtocolError, 200, true, ""}},
	"no rpc": {mcpfake.ContentType("application/json", `{"x":1}`),
		want{failure.Protocol, failure.ProtocolError, 200, true, "not a JSON-RPC message"}},
	"null":     {mcpfake.ResultNull(), want{failure.Protocol, failure.ProtocolError, 0, true, "no object"}},
	"cut body": {mcpfake.CutBody(), want{failure.Transport, failure.ConnectionLost, 0, true, ""}},
	"reset":    {mcpfake.Reset(), want{failure.Transport, failure.ConnectionLost, 0, true, ""}},
	"fin":      {mcpfake.CloseCleanly(), want{failure.Transport, failure.ConnectionLost, 0, true, ""}},
	"sse cut":  {mcpfake.StreamCut(0, false), want{failure.Transport, failure.ConnectionLost, 0, true, ""}},
	"sse end":  {mcpfake.StreamEnd(0, false), want{failure.Transport, failure.ConnectionLost, 0, true, ""}},
	"302": {mcpfake.Redirect(302, "https://evil.test/"+canary),
		want{failure.Protocol, failure.RedirectRefused, 302, true, "to https://evil.test"}},
	"307 away": {mcpfake.Redirect(307, "https://evil.test/?"+canary),
		want{failure.Protocol, failure.RedirectRefused, 307, true, "to https://evil.test"}},
	"too large": {mcpfake.Oversized(17 << 20), want{failure.Protocol, failure.ProtocolError, 200, true, "16 MiB"}},
}

// B06, and the fault matrix of phase call: the fault is that call's alone, and has its name.
func TestB06_AFaultIsOneCallsFault(t *testing.T) {
	for _, era := range []mcpfake.Era{mcpfake.Legacy, mcpfake.Modern} {
		for _, encoding := range []mcpfake.Encoding{mcpfake.JSON, mcpfake.SSE} {
			s := mcpfake.New(t, mcpfake.WithEra(era), mcpfake.WithEncoding(encoding))
			c, watch := dial(t, config(t, s.URL()))
			sibling := make(chan error, 1)
			go func() {
				_, err := c.Call(context.Background(), call("slow", `{}`))
				sibling <- err
			}()
			s.Await(t, func(st mcpfake.Stats) bool { return st.InFlight == 1 })
			for name, f := range faults {
				t.Run(fmt.Sprintf("%d/%d/%s", era, encoding, name), func(t *testing.T) {
					withdraw := s.Fault(mcpfake.Call, 1, f.fault, mcpfake.OnTool("echo"))
					defer withdraw()
					_, err := c.Call(t.Context(), call("echo", `{}`))
					f.want.check(t, failureOf(t, err))
					if strings.Contains(err.Error(), canary) {
						t.Errorf("the error repeats what the server said: %v", err)
					}
					if f := failureOf(t, err); f.Phase != failure.Call {
						t.Errorf("phase = %s", f.Phase)
					}
					if _, err := c.Call(t.Context(), call("echo", `{}`)); err != nil {
						t.Errorf("the next call failed: %v", err)
					}
				})
			}
			s.Release()
			if err := await(t, "end of the sibling call", sibling); err != nil {
				t.Errorf("a sibling call was disturbed: %v", err)
			}
			select {
			case err := <-watch.lost:
				t.Errorf("the session was lost: %v", err)
			default:
			}
			if opened := s.Stats().Opened; era == mcpfake.Legacy && opened != 1 {
				t.Errorf("%d sessions were opened, want 1", opened)
			}
		}
	}
}

func TestB11_RetryAfterIsTold(t *testing.T) {
	s := mcpfake.New(t)
	c, _ := dial(t, config(t, s.URL()))
	cases := map[string]struct {
		value string
		told  time.Duration
		given bool
	}{
		"seconds": {"2", 2 * time.Second, true}, "fraction": {"0.5", 500 * time.Millisecond, true},
		"zero": {"0", 0, true}, "clamped": {"86400", time.Hour, true}, "nonsense": {"soon", 0, false},
		"past": {"Mon, 02 Jan 2006 15:04:05 GMT", 0, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s.Fault(mcpfake.Call, 1, mcpfake.RetryAfter(429, tc.value))
			_, err := c.Call(t.Context(), call("echo", `{}`))
			if f := failureOf(t, err); f.RetryAfter != tc.told || f.RetryAfterGiven != tc.given || f.Class != failure.RateLimit {
				t.Errorf("failure = %+v", f)
			}
		})
	}
}

// The 404 of a server that forgot the session, in both forms in which it comes.
func TestB01_AForgottenSessionIsLost(t *testing.T) {
	for _, form := range []mcpfake.Lost{mcpfake.LostPlain, mcpfake.LostRPC} {
		s := mcpfake.New(t, mcpfake.WithLostSession(form, 404), mcpfake.WithoutStream())
		c, _ := dial(t, config(t, s.URL()))
		s.LoseSessions()
		_, err := c.Call(t.Context(), call("echo", `{}`))
		want{failure.SessionLost, failure.ConnectionLost, 404, true, ""}.check(t, failureOf(t, err))
		_, err = c.List(t.Context())
		want{failure.SessionLost, failure.ConnectionLost, 404, true, ""}.check(t, failureOf(t, err))
		want{failure.SessionLost, failure.ConnectionLost, 404, true, ""}.check(t, failureOf(t, c.Probe(t.Context())))
		shut(t, c)
		if n := s.Stats().Phase(mcpfake.Delete); n != 0 {
			t.Errorf("%d DELETEs of a session that is gone", n)
		}
	}
}

// B05: a probe that is refused is that probe's failure; one that is answered by an error is a sign of life.
func TestB05_AProbeNeverBreaksTheSession(t *testing.T) {
	s := mcpfake.New(t)
	c, _ := dial(t, config(t, s.URL()))
	s.Fault(mcpfake.Ping, 1, mcpfake.RPCStatus(400, -32600, "no", ""))
	if err := c.Probe(t.Context()); err != nil {
		t.Errorf("a JSON-RPC error is no sign of life: %v", err)
	}
	s.Fault(mcpfake.Ping, 1, mcpfake.RPC(-32601, "no ping", ""))
	if err := c.Probe(t.Context()); err != nil {
		t.Errorf("-32601 is no sign of life: %v", err)
	}
	s.Fault(mcpfake.Ping, 1, mcpfake.Status(500, nil, ""))
	want{failure.Server, failure.ServerError, 500, true, ""}.check(t, failureOf(t, c.Probe(t.Context())))
	if _, err := c.Call(t.Context(), call("echo", `{}`)); err != nil {
		t.Errorf("the next call failed: %v", err)
	}
}

func TestProbeUsesWhatTheEraKnows(t *testing.T) {
	cases := map[string]struct {
		opts   []mcpfake.Option
		method string
	}{
		"session":   {nil, "ping"},
		"stateless": {[]mcpfake.Option{mcpfake.WithoutSessions()}, "tools/list"},
		"modern":    {[]mcpfake.Option{mcpfake.WithEra(mcpfake.Modern)}, "server/discover"},
		"no tools":  {[]mcpfake.Option{mcpfake.WithoutSessions(), mcpfake.WithCapabilities(`{"resources":{}}`)}, "ping"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := mcpfake.New(t, tc.opts...)
			c, _ := dial(t, config(t, s.URL()))
			before := s.Count(tc.method)
			if err := c.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := s.Count(tc.method) - before; n != 1 {
				t.Errorf("%d %s, want 1", n, tc.method)
			}
		})
	}
}

// Hangs, at each place, in each phase: our deadline, named by the phase; the session is usable afterwards.
func TestB17_HangsEndAtTheDeadline(t *testing.T) {
	hangs := map[string]struct {
		fault  mcpfake.Fault
		detail string
	}{
		"before headers": {mcpfake.Hang(), ""},
		"after headers":  {mcpfake.HangAfterHeaders(), "an answer began"},
		"mid body":       {mcpfake.HangMidBody(), "an answer began"},
	}
	for _, encoding := range []mcpfake.Encoding{mcpfake.JSON, mcpfake.SSE} {
		s := mcpfake.New(t, mcpfake.WithEncoding(encoding))
		c, _ := dial(t, config(t, s.URL()))
		for name, h := range hangs {
			t.Run(fmt.Sprintf("%s/%d", name, encoding), func(t *testing.T) {
				for reason, request := range map[failure.Reason]func(context.Context) error{
					failure.CallTimeout: func(ctx context.Context) error {
						s.Fault(mcpfake.Call, 1, h.fault)
						_, err := c.Call(ctx, call("echo", `{}`))
						return err
					},
					failure.ListToolsTimeout: func(ctx context.Context) error {
						s.Fault(mcpfake.List, 1, h.fault)
						_, err := c.List(ctx)
						return err
					},
					failure.ConnectionLost: func(ctx context.Context) error {
						s.Fault(mcpfake.Ping, 1, h.fault)
						return c.Probe(ctx)
					},
				} {
					want{failure.Timeout, reason, 0, true, h.detail}.atDeadline(t, request)
				}
				s.ClearFaults()
				s.Release()
				if _, err := c.Call(t.Context(), call("echo", `{}`)); err != nil {
					t.Errorf("the next call failed: %v", err)
				}
			})
		}
	}
}

// B21: the list has a deadline of its own.
func TestB21_AListThatHangsEndsByItself(t *testing.T) {
	s := mcpfake.New(t)
	s.Fault(mcpfake.List, mcpfake.Forever, mcpfake.Hang())
	cfg := config(t, s.URL())
	pace.Within(t, 100*time.Millisecond, func(limit time.Duration) error {
		cfg.Timeouts.List = limit
		c, _ := dial(t, cfg)
		_, err := c.List(t.Context())
		return want{failure.Timeout, failure.ListToolsTimeout, 0, true, ""}.differs(failureOf(t, err))
	})
	s.Release()
}

func TestAWrongIDIsThatCallsFault(t *testing.T) {
	s := mcpfake.New(t)
	c, _ := dial(t, config(t, s.URL()))
	s.Fault(mcpfake.Call, 1, mcpfake.WrongID())
	_, err := c.Call(t.Context(), call("echo", `{}`))
	want{failure.Protocol, failure.ProtocolError, 0, true, "another request"}.check(t, failureOf(t, err))
	if _, err := c.Call(t.Context(), call("echo", `{}`)); err != nil {
		t.Errorf("the next call failed: %v", err)
	}
}

func TestB43_RedirectsStayAtTheirOrigin(t *testing.T) {
	evil := mcpfake.New(t)
	s := mcpfake.New(t, mcpfake.WithBearer("tok"))
	cfg := config(t, s.URL())
	cfg.Bearer = secretValue("tok")
	cfg.Headers = append(cfg.Headers, header("X-Api-Key", canary))
	c, _ := dial(t, cfg)

	s.Fault(mcpfake.Call, 1, mcpfake.Redirect(307, "/mcp"))
	s.Fault(mcpfake.Call, 1, mcpfake.Redirect(308, s.URL()))
	if _, err := c.Call(t.Context(), call("echo", `{}`)); err != nil {
		t.Errorf("redirects within the origin are not followed: %v", err)
	}
	s.Fault(mcpfake.Call, 4, mcpfake.Redirect(307, "/mcp"))
	_, err := c.Call(t.Context(), call("echo", `{}`))
	want{failure.Protocol, failure.RedirectRefused, 307, true, ""}.check(t, failureOf(t, err))

	s.Fault(mcpfake.Call, 1, mcpfake.Redirect(307, evil.URL()+"?"+canary))
	_, err = c.Call(t.Context(), call("echo", `{}`))
	want{failure.Protocol, failure.RedirectRefused, 307, true, "to " + evil.Origin()}.check(t, failureOf(t, err))
	if strings.Contains(err.Error(), canary) {
		t.Errorf("the error repeats the target's query: %v", err)
	}
	s.Fault(mcpfake.Initialize, 1, mcpfake.Redirect(302, evil.URL()))
	cfg.ProtocolVersion = "2025-11-25"
	_, err = dialer(t, cfg).Dial(t.Context(), newObserver())
	want{failure.Protocol, failure.RedirectRefused, 302, true, "to " + evil.Origin()}.check(t, failureOf(t, err))
	if n := evil.Stats().Requests; n != 0 {
		t.Errorf("%d requests went to the other origin", n)
	}
}

func TestAClosedConnectionFailsItsCalls(t *testing.T) {
	s := mcpfake.New(t)
	c, _ := dial(t, config(t, s.URL()))
	failed := make(chan error, 1)
	go func() {
		_, err := c.Call(context.Background(), call("slow", `{}`))
		failed <- err
	}()
	s.Await(t, func(st mcpfake.Stats) bool { return st.InFlight == 1 })
	shut(t, c)
	err := await(t, "end of the call", failed)
	want{failure.Transport, failure.ConnectionLost, 0, true, "closed"}.check(t, failureOf(t, err))
	_, err = c.Call(t.Context(), call("echo", `{}`))
	want{failure.Transport, failure.ConnectionLost, 0, false, "closed"}.check(t, failureOf(t, err))
	shut(t, c)
}
