package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/upstream"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/pace"
)

// asked counts the two questions of the handshakes.
func asked(s *mcpfake.Server) string {
	st := s.Stats()
	return fmt.Sprintf("%d discover, %d initialize", st.Count("server/discover"), st.Count("initialize"))
}

// fail dials and demands a failure.
func fail(t *testing.T, cfg upstream.Config) failure.Failure {
	t.Helper()
	c, err := dialer(t, cfg).Dial(t.Context(), newObserver())
	if err == nil {
		shut(t, c)
		t.Fatal("connected")
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("the error repeats what the server said: %v", err)
	}
	f := failureOf(t, err)
	if f.Phase != failure.Connect {
		t.Errorf("phase = %s", f.Phase)
	}
	return f
}

// What discover is answered with decides about the era, how long that is believed, and whether initialize is tried.
func TestTheEraIsFoundOut(t *testing.T) {
	const (
		slow       = 5 * time.Second // the time for discover
		askedOnce  = "1 discover, 2 initialize"
		askedTwice = "2 discover, 2 initialize"
	)
	cases := map[string]struct {
		fault     mcpfake.Fault
		confirmed bool
		again     string // what a second connect asks
	}{
		"400":         {mcpfake.Status(400, nil, canary), true, askedOnce},
		"404":         {mcpfake.Status(404, nil, canary), true, askedOnce},
		"405":         {mcpfake.Status(405, nil, canary), true, askedOnce},
		"406":         {mcpfake.Status(406, nil, canary), true, askedOnce},
		"415":         {mcpfake.Status(415, nil, canary), true, askedOnce},
		"422":         {mcpfake.Status(422, nil, canary), true, askedOnce},
		"-32601":      {mcpfake.RPC(-32601, canary, ""), true, askedOnce},
		"-32601 404":  {mcpfake.RPCStatus(404, -32601, canary, ""), true, askedOnce},
		"html":        {mcpfake.HTML(), true, askedOnce},
		"not json":    {mcpfake.BadJSON(), true, askedOnce},
		"202":         {mcpfake.Accepted(), true, askedOnce},
		"old only":    {mcpfake.RPCStatus(400, -32022, "", `{"supported":["2025-06-18"]}`), true, askedOnce},
		"offers old":  {mcpfake.Result(`{"supportedVersions":["2025-11-25"],"capabilities":{}}`), true, askedOnce},
		"409":         {mcpfake.Status(409, nil, canary), false, askedTwice},
		"500":         {mcpfake.Status(500, nil, canary), false, askedTwice},
		"503":         {mcpfake.Status(503, nil, canary), false, askedTwice},
		"-32603":      {mcpfake.RPC(-32603, canary, ""), false, askedTwice},
		"null":        {mcpfake.ResultNull(), false, askedTwice},
		"reset":       {mcpfake.Reset(), false, askedTwice},
		"cut":         {mcpfake.CutBody(), false, askedTwice},
		"hang":        {mcpfake.Hang(), false, askedOnce}, // kept, but not confirmed
		"hang midway": {mcpfake.HangMidBody(), false, askedOnce},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mcpfake.New(t, mcpfake.WithEra(mcpfake.Dual))
			s.Fault(mcpfake.Discover, mcpfake.Forever, tc.fault)
			cfg := config(t, s.URL())
			cfg.Era = &upstream.EraMemory{}
			if strings.HasPrefix(name, "hang") {
				cfg.Timeouts.Connect = 3 * slow
			}
			for range 2 {
				c, _ := dial(t, cfg)
				if v := c.Info().ProtocolVersion; v != "2025-11-25" {
					t.Errorf("version = %s", v)
				}
			}
			if got := asked(s); got != tc.again {
				t.Errorf("two connects asked %s, want %s", got, tc.again)
			}
			if era, ok := cfg.Era.Confirmed(); ok != tc.confirmed || ok && era != upstream.Legacy {
				t.Errorf("confirmed = %s %v, want %v", era, ok, tc.confirmed)
			}
		})
	}
}

func TestSomeAnswersToDiscoverEndTheAttempt(t *testing.T) {
	cases := map[string]struct {
		fault mcpfake.Fault
		want  want
	}{
		"401":      {mcpfake.Status(401, nil, canary), want{failure.Auth, failure.AuthenticationFailed, 401, true, ""}},
		"403":      {mcpfake.Status(403, nil, canary), want{failure.Permission, failure.PermissionDenied, 403, true, ""}},
		"429":      {mcpfake.RetryAfter(429, "7"), want{failure.RateLimit, failure.RateLimited, 429, true, ""}},
		"503 told": {mcpfake.RetryAfter(503, "7"), want{failure.RateLimit, failure.RateLimited, 503, true, ""}},
		"redirect": {mcpfake.Redirect(301, "https://e.test/x"),
			want{failure.Protocol, failure.RedirectRefused, 301, true, "to https://e.test"}},
		"header mismatch": {mcpfake.RPCStatus(400, -32020, canary, ""),
			want{failure.Protocol, failure.ProtocolError, 0, true, "demands"}},
		"capability": {mcpfake.RPCStatus(400, -32021, canary, ""),
			want{failure.Protocol, failure.ProtocolError, 0, true, "demands"}},
		"no common version": {mcpfake.RPCStatus(400, -32022, canary, `{"supported":["2027-01-01","`+canary+` x"]}`),
			want{failure.Protocol, failure.UnsupportedProtocolVersion, 0, true,
				"the server speaks 2027-01-01; Mooring speaks 2026-07-28"}},
		"no common version in a result": {mcpfake.Result(`{"supportedVersions":["2027-01-01"]}`),
			want{failure.Protocol, failure.UnsupportedProtocolVersion, 0, true, "speaks 2027-01-01"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := mcpfake.New(t, mcpfake.WithEra(mcpfake.Dual))
			s.Fault(mcpfake.Discover, 1, tc.fault)
			f := fail(t, config(t, s.URL()))
			tc.want.check(t, f)
			if got := asked(s); got != "1 discover, 0 initialize" {
				t.Errorf("asked %s", got)
			}
		})
	}
}

// One 503 makes a modern server legacy for one connection at most.
func TestAModernServerIsAskedAgain(t *testing.T) {
	s := mcpfake.New(t, mcpfake.WithEra(mcpfake.Dual))
	s.Fault(mcpfake.Discover, 1, mcpfake.Status(503, nil, ""))
	cfg := config(t, s.URL())
	cfg.Era = &upstream.EraMemory{}
	for _, version := range []string{"2025-11-25", "2026-07-28", "2026-07-28"} {
		c, _ := dial(t, cfg)
		if got := c.Info().ProtocolVersion; got != version {
			t.Errorf("version = %s, want %s", got, version)
		}
	}
	if era, ok := cfg.Era.Confirmed(); !ok || era != upstream.Modern {
		t.Errorf("confirmed = %s %v", era, ok)
	}
}

// A confirmed era is left on clear evidence only.
func TestAConfirmedEraIsKept(t *testing.T) {
	t.Run("modern through trouble", func(t *testing.T) {
		s := mcpfake.New(t, mcpfake.WithEra(mcpfake.Dual))
		cfg := config(t, s.URL())
		cfg.Era = &upstream.EraMemory{}
		cfg.Era.Confirm(upstream.Modern)
		for name, f := range map[string]mcpfake.Fault{
			"503": mcpfake.Status(503, nil, ""), "reset": mcpfake.Reset(), "-32603": mcpfake.RPC(-32603, "", ""),
		} {
			s.Fault(mcpfake.Discover, 1, f)
			if got := fail(t, cfg); got.Class == failure.Unknown {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if n := s.Count("initialize"); n != 0 {
			t.Errorf("initialize was sent %d times", n)
		}
		s.Fault(mcpfake.Discover, 1, mcpfake.RPCStatus(404, -32601, "", ""))
		c, _ := dial(t, cfg)
		if v := c.Info().ProtocolVersion; v != "2025-11-25" {
			t.Errorf("version = %s", v)
		}
		if era, _ := cfg.Era.Confirmed(); era != upstream.Legacy {
			t.Errorf("era = %s", era)
		}
	})
	t.Run("legacy until it refuses initialize", func(t *testing.T) {
		s := mcpfake.New(t, mcpfake.WithEra(mcpfake.Modern))
		s.Fault(mcpfake.Initialize, 1, mcpfake.Status(500, nil, ""))
		cfg := config(t, s.URL())
		cfg.Era = &upstream.EraMemory{}
		cfg.Era.Confirm(upstream.Legacy)
		want{failure.Server, failure.ServerError, 500, true, ""}.check(t, fail(t, cfg))
		if era, _ := cfg.Era.Confirmed(); era != upstream.Legacy {
			t.Errorf("a 500 is no evidence: %s", era)
		}
		c, _ := dial(t, cfg)
		if v := c.Info().ProtocolVersion; v != "2026-07-28" {
			t.Errorf("version = %s", v)
		}
	})
	t.Run("sse until the stream is refused", func(t *testing.T) {
		s := mcpfake.New(t)
		s.Fault(mcpfake.Stream, 1, mcpfake.Status(405, nil, ""))
		cfg := config(t, s.URL())
		cfg.Era = &upstream.EraMemory{}
		cfg.Era.Confirm(upstream.LegacySSE)
		dial(t, cfg)
		if era, _ := cfg.Era.Confirmed(); era != upstream.Legacy {
			t.Errorf("era = %s", era)
		}
	})
}

func TestInitializeHasItsOwnTime(t *testing.T) {
	s := mcpfake.New(t)
	s.Fault(mcpfake.Discover, mcpfake.Forever, mcpfake.Hang()) // for a third of the time
	cfg := config(t, s.URL())
	pace.Within(t, 600*time.Millisecond, func(limit time.Duration) error {
		s.Fault(mcpfake.Initialize, 1, mcpfake.Delay(limit*5/6))
		cfg.Timeouts.Connect = limit
		c, err := dialer(t, cfg).Dial(t.Context(), newObserver())
		if err == nil {
			shut(t, c)
		}
		return err
	})
	s.Fault(mcpfake.Initialize, mcpfake.Forever, mcpfake.Hang())
	pace.Within(t, 600*time.Millisecond, func(limit time.Duration) error {
		cfg.Timeouts.Connect = limit
		return want{failure.Timeout, failure.ConnectTimeout, 0, true, ""}.differs(fail(t, cfg))
	})
}

func TestDialHonoursItsContextAtEveryStep(t *testing.T) {
	for _, phase := range []mcpfake.Phase{mcpfake.Discover, mcpfake.Initialize, mcpfake.Initialized} {
		for name, fault := range map[string]mcpfake.Fault{"hang": mcpfake.Hang(), "headers": mcpfake.HangAfterHeaders()} {
			if phase == mcpfake.Initialized && name == "headers" {
				continue // that is an answer
			}
			t.Run(string(phase)+" "+name, func(t *testing.T) {
				s := mcpfake.New(t)
				s.Fault(phase, 1, fault)
				d := dialer(t, config(t, s.URL()))
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					_, err := d.Dial(ctx, newObserver())
					done <- err
				}()
				s.Await(t, func(st mcpfake.Stats) bool { return st.Hanging == 1 })
				cancel()
				if err := await(t, "end of Dial", done); !errors.Is(err, context.Canceled) {
					t.Errorf("error = %v", err)
				}
				// What was begun is deleted, and no connection is left.
				s.Await(t, func(st mcpfake.Stats) bool { return st.Conns == 0 && st.Sessions == 0 })
			})
		}
	}
}

func TestB80_VersionsAreNegotiated(t *testing.T) {
	cases := map[string]struct {
		fault   mcpfake.Fault
		version string
	}{
		"words in a 400": {mcpfake.Status(400, nil,
			"Bad Request: Unsupported protocol version 2025-11-25 (supported versions: 2025-06-18, 2025-03-26)"), "2025-06-18"},
		"-32602 in words": {mcpfake.RPC(-32602, "Unsupported protocol version: use 2025-03-26", ""), "2025-03-26"},
		"-32602 with data": {
			mcpfake.RPC(-32602, "no", `{"supported":["2024-11-05","2025-03-26"],"requested":"x"}`), "2025-03-26"},
		"a 400 with an RPC": {mcpfake.RPCStatus(400, -32000, "supported: 2025-06-18", ""), "2025-06-18"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := mcpfake.New(t)
			s.Fault(mcpfake.Initialize, 1, tc.fault)
			c, _ := dial(t, config(t, s.URL()))
			if got := c.Info().ProtocolVersion; got != tc.version || s.Count("initialize") != 2 {
				t.Errorf("version = %s after %s", got, asked(s))
			}
		})
	}
	t.Run("none in common", func(t *testing.T) {
		for _, f := range []mcpfake.Fault{
			mcpfake.Status(400, nil, "supported versions: 2024-06-18"),
			mcpfake.RPC(-32602, "no", `{"supported":["2024-06-18"]}`),
			mcpfake.Result(`{"protocolVersion":"2024-06-18","capabilities":{}}`),
		} {
			s := mcpfake.New(t)
			s.Fault(mcpfake.Initialize, mcpfake.Forever, f)
			got := fail(t, config(t, s.URL()))
			if got.Class != failure.Protocol || got.Reason != failure.UnsupportedProtocolVersion ||
				!strings.Contains(got.Detail, "the server speaks 2024-06-18; Mooring speaks 2025-11-25") {
				t.Errorf("failure = %+v", got)
			}
			if got := asked(s); got != "1 discover, 1 initialize" {
				t.Errorf("asked %s", got)
			}
		}
	})
	t.Run("the server's own", func(t *testing.T) {
		s := mcpfake.New(t, mcpfake.WithVersions("2025-03-26"))
		clean(t, s)
		c, _ := dial(t, config(t, s.URL()))
		if got := c.Info().ProtocolVersion; got != "2025-03-26" || s.Count("initialize") != 1 {
			t.Errorf("version = %s after %s", got, asked(s))
		}
		if v := s.Requests("initialize")[0].Header.Get("Mcp-Protocol-Version"); v != "" {
			t.Errorf("initialize carried a version header: %s", v)
		}
	})
}

func TestAPinnedVersionIsTheOnlyOne(t *testing.T) {
	cases := []struct {
		pin   string
		era   mcpfake.Era
		asked string
		want  want // zero: connects
	}{
		{"2025-06-18", mcpfake.Dual, "0 discover, 1 initialize", want{}},
		{"2026-07-28", mcpfake.Dual, "1 discover, 0 initialize", want{}},
		{"2026-07-28", mcpfake.Legacy, "1 discover, 0 initialize",
			want{failure.Protocol, failure.ProtocolError, 400, true, ""}},
	}
	for _, tc := range cases {
		s := mcpfake.New(t, mcpfake.WithEra(tc.era))
		cfg := config(t, s.URL())
		cfg.ProtocolVersion = tc.pin
		if tc.want == (want{}) {
			c, _ := dial(t, cfg)
			if got := c.Info().ProtocolVersion; got != tc.pin {
				t.Errorf("version = %s, want %s", got, tc.pin)
			}
		} else {
			tc.want.check(t, fail(t, cfg))
		}
		if got := asked(s); got != tc.asked {
			t.Errorf("asked %s, want %s", got, tc.asked)
		}
	}
	s := mcpfake.New(t, mcpfake.WithVersions("2025-03-26"))
	cfg := config(t, s.URL())
	cfg.ProtocolVersion = "2025-06-18"
	want{failure.Protocol, failure.UnsupportedProtocolVersion, 0, true, "speaks 2025-03-26; Mooring speaks 2025-06-18"}.
		check(t, fail(t, cfg))
	s.Await(t, func(st mcpfake.Stats) bool { return st.Sessions == 0 })
	s.Fault(mcpfake.Discover, 1, mcpfake.RPC(-32601, "", ""))
	cfg.ProtocolVersion = "2026-07-28"
	want{failure.Protocol, failure.UnsupportedProtocolVersion, 0, true, "Mooring speaks 2026-07-28"}.check(t, fail(t, cfg))
}

// Refusals of the handshake itself.
func TestHandshakesFailByName(t *testing.T) {
	cases := map[string]struct {
		fault mcpfake.Fault
		want  want
	}{
		"401":       {mcpfake.Status(401, nil, canary), want{failure.Auth, failure.AuthenticationFailed, 401, true, ""}},
		"403":       {mcpfake.Status(403, nil, canary), want{failure.Permission, failure.PermissionDenied, 403, true, ""}},
		"404":       {mcpfake.Status(404, nil, canary), want{failure.Protocol, failure.EndpointNotFound, 404, true, ""}},
		"500":       {mcpfake.Status(500, nil, canary), want{failure.Server, failure.ServerError, 500, true, ""}},
		"html":      {mcpfake.HTML(), want{failure.Protocol, failure.NotMCP, 200, true, "text/html"}},
		"bad json":  {mcpfake.BadJSON(), want{failure.Protocol, failure.NotMCP, 200, true, "not JSON"}},
		"202":       {mcpfake.Accepted(), want{failure.Protocol, failure.NotMCP, 202, true, ""}},
		"null":      {mcpfake.ResultNull(), want{failure.Protocol, failure.NotMCP, 0, true, ""}},
		"rpc":       {mcpfake.RPC(-32000, canary, ""), want{failure.Protocol, failure.ProtocolError, 0, true, "-32000"}},
		"reset":     {mcpfake.Reset(), want{failure.Transport, failure.ConnectionLost, 0, true, ""}},
		"too large": {mcpfake.Oversized(2 << 20), want{failure.Protocol, failure.NotMCP, 200, true, "larger than 1 MiB"}},
		"https port": {mcpfake.Status(400, nil, "Client sent an HTTP request to an HTTPS server.\n"),
			want{failure.Protocol, failure.ProtocolError, 400, true, "expects HTTPS"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := mcpfake.New(t, mcpfake.WithoutStream())
			s.Fault(mcpfake.Initialize, 1, tc.fault)
			tc.want.check(t, fail(t, config(t, s.URL())))
			if tc.want.reason == failure.EndpointNotFound {
				return // the other transport was asked for, too
			}
			s.Fault(mcpfake.Initialized, 1, tc.fault)
			if name == "html" || name == "202" || name == "bad json" || name == "too large" || name == "null" || name == "rpc" {
				return // any 2xx accepts a notification
			}
			cfg := config(t, s.URL())
			cfg.Protocol = upstream.StreamableHTTP
			tc.want.check(t, fail(t, cfg))
			s.Await(t, func(st mcpfake.Stats) bool { return st.Sessions == 0 })
		})
	}
}

func TestNothingListens(t *testing.T) {
	s := mcpfake.New(t)
	if err := s.Refuse(); err != nil {
		t.Fatal(err)
	}
	want{failure.Transport, failure.ConnectFailed, 0, false, ""}.check(t, fail(t, config(t, s.URL())))
	cfg := config(t, "http://no-such-host.invalid/mcp")
	want{failure.Transport, failure.DNSError, 0, false, ""}.check(t, fail(t, cfg))
}

func TestSomethingElseListens(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			// A banner that comes before the request is met as a lost connection: who speaks first is a matter of luck.
			_, _ = c.Read(make([]byte, 1<<10))
			_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.9\r\n"))
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}
	}()
	f := fail(t, config(t, "http://"+ln.Addr().String()+"/mcp"))
	if f.Class != failure.Protocol || f.Reason != failure.NotMCP || f.Detail != "no HTTP is spoken there" {
		t.Errorf("failure = %+v", f)
	}
	_ = ln.Close()
	await(t, "end of the listener", served)
}

// The transport of 2024-11-05: by configuration, by fallback, and remembered.
func TestTheOldTransport(t *testing.T) {
	s := mcpfake.New(t, mcpfake.WithEra(mcpfake.OldSSE))
	cfg := config(t, s.URL())
	cfg.Era = &upstream.EraMemory{}
	dial(t, cfg)
	dial(t, cfg)
	if got := asked(s); got != "1 discover, 3 initialize" { // one POST to each endpoint, then only to the right one
		t.Errorf("asked %s", got)
	}
	cfg.Protocol = upstream.StreamableHTTP
	want{failure.Protocol, failure.ProtocolError, 405, true, ""}.check(t, fail(t, cfg))

	fresh := mcpfake.New(t, mcpfake.WithEra(mcpfake.OldSSE))
	cfg = config(t, fresh.URL())
	cfg.Protocol = upstream.SSE
	dial(t, cfg)
	if got := asked(fresh); got != "0 discover, 1 initialize" {
		t.Errorf("asked %s", got)
	}
	t.Run("an endpoint elsewhere", func(t *testing.T) {
		evil := mcpfake.New(t)
		s := mcpfake.New(t, mcpfake.WithEra(mcpfake.OldSSE), mcpfake.WithEndpointEvent(evil.URL()))
		cfg := config(t, s.URL())
		cfg.Protocol = upstream.SSE
		want{failure.Protocol, failure.RedirectRefused, 0, false, "to " + evil.Origin()}.check(t, fail(t, cfg))
		if n := evil.Stats().Requests; n != 0 {
			t.Errorf("%d requests went there", n)
		}
	})
	t.Run("no endpoint event", func(t *testing.T) {
		s := mcpfake.New(t)
		cfg := config(t, s.URL())
		cfg.Protocol = upstream.SSE
		s.Fault(mcpfake.Stream, mcpfake.Forever, mcpfake.HangAfterHeaders())
		pace.Within(t, 200*time.Millisecond, func(limit time.Duration) error {
			cfg.Timeouts.Connect = limit
			return want{failure.Timeout, failure.ConnectTimeout, 0, true, "no endpoint event"}.differs(fail(t, cfg))
		})
	})
	t.Run("the stream is the session", func(t *testing.T) {
		c, watch := dial(t, cfg)
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), call("slow", `{}`))
			done <- err
		}()
		fresh.Await(t, func(st mcpfake.Stats) bool { return st.InFlight == 1 })
		fresh.DropStreams(true)
		ended := want{failure.Transport, failure.ConnectionLost, 0, true, "stream ended"}
		ended.check(t, failureOf(t, await(t, "end of the call", done)))
		ended.check(t, failureOf(t, await(t, "Lost", watch.lost)))
		_, err := c.Call(t.Context(), call("echo", `{}`))
		want{failure.Transport, failure.ConnectionLost, 0, false, "stream ended"}.check(t, failureOf(t, err))
		fresh.Release()
	})
}
