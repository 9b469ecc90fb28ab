package mcpfake_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/test/mcpfake"
)

// Every answering fault is seen on the wire as named, and the request after it is healthy.
func TestFaultOnTheWire(t *testing.T) {
	date := time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, c := range []struct {
		name  string
		fault mcpfake.Fault
		want  reply // header: only what is named is compared
		runs  int
	}{
		{"status", mcpfake.Status(418, mcpfake.Headers{"X-A": "b"}, "no"),
			want(418, "no", "X-A", "b", "Content-Type", "text/plain; charset=utf-8"), 0},
		{"retry after seconds", mcpfake.RetryAfter(429, "2"),
			want(429, "Too Many Requests", "Retry-After", "2"), 0},
		{"retry after date", mcpfake.RetryAfterDate(503, date),
			want(503, "Service Unavailable", "Retry-After", "Wed, 02 Jan 2030 03:04:05 GMT"), 0},
		{"html", mcpfake.HTML(),
			want(200, "<!doctype html><title>Sign in</title><p>Sign in", "Content-Type", "text/html; charset=utf-8"), 0},
		{"accepted", mcpfake.Accepted(), want(202, ""), 0},
		{"redirect", mcpfake.Redirect(307, "http://127.0.0.1:1/x"),
			want(307, "Temporary Redirect", "Location", "http://127.0.0.1:1/x"), 0},
		{"rpc", mcpfake.RPC(-32000, "boom", `{"a":1}`),
			want(200, `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"boom","data":{"a":1}}}`,
				"Content-Type", "application/json"), 0},
		{"rpc with status", mcpfake.RPCStatus(404, -32001, "Session not found", ""),
			want(404, `{"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"Session not found"}}`), 0},
		{"bad json", mcpfake.BadJSON(),
			want(200, `{"jsonrpc":"2.0","id":1,"result":{"tools":[`, "Content-Type", "application/json"), 0},
		{"wrong id", mcpfake.WrongID(), want(200, strings.Replace(echoText, `"id":2`, `"id":"never-sent"`, 1)), 1},
		{"null result", mcpfake.ResultNull(), want(200, `{"jsonrpc":"2.0","id":2,"result":null}`), 1},
		{"any result", mcpfake.Result(`[1]`), want(200, `{"jsonrpc":"2.0","id":2,"result":[1]}`), 1},
		{"delay", mcpfake.Delay(time.Millisecond), want(200, echoText), 1},
		{"executed then status", mcpfake.ExecuteThen(mcpfake.Status(502, nil, "gone")), want(502, "gone"), 1},
		{"streamed", mcpfake.Streamed(),
			want(200, "event: message\ndata: "+echoText+"\n\n", "Content-Type", "text/event-stream"), 1},
		{"stream ends", mcpfake.StreamEnd(0, false), want(200, "", "Content-Type", "text/event-stream"), 1},
		{"custom", mcpfake.Custom(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusNoContent)
			return true
		}), want(204, ""), 0},
		{"custom that passes", mcpfake.Custom(func(http.ResponseWriter, *http.Request) bool { return false }),
			want(200, echoText), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := mcpfake.New(t)
			client := newWire(t, srv).initialize()
			srv.Fault(mcpfake.Call, 1, c.fault)
			got := client.post(echoBody)
			if got.err != nil || got.status != c.want.status || got.body != c.want.body {
				t.Fatalf("got %d %q %v, want %d %q", got.status, got.body, got.err, c.want.status, c.want.body)
			}
			for k := range c.want.header {
				if got.header.Get(k) != c.want.header.Get(k) {
					t.Errorf("%s is %q, want %q", k, got.header.Get(k), c.want.header.Get(k))
				}
			}
			srv.Await(t, func(st mcpfake.Stats) bool { return st.InFlight == 0 && st.Executions("echo") == c.runs })
			if got := client.post(echoBody); got.body != echoText {
				t.Errorf("after the fault: %d %q %v", got.status, got.body, got.err)
			}
		})
	}
}

func want(status int, body string, header ...string) reply {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return reply{status: status, header: h, body: body}
}

// The faults that break the connection do it in the way that they are named after.
func TestFaultBreaksConnection(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  mcpfake.Fault
		want   error
		status int
		runs   int
	}{
		{"reset", mcpfake.Reset(), syscall.ECONNRESET, 0, 0},
		{"clean close", mcpfake.CloseCleanly(), io.EOF, 0, 0},
		{"executed then reset", mcpfake.ExecuteThenReset(), syscall.ECONNRESET, 0, 1},
		{"cut body", mcpfake.CutBody(), io.ErrUnexpectedEOF, 200, 1},
		{"cut stream", mcpfake.StreamCut(0, false), io.ErrUnexpectedEOF, 200, 1},
	} {
		for _, enc := range []mcpfake.Encoding{mcpfake.JSON, mcpfake.SSE} {
			t.Run(c.name, func(t *testing.T) {
				srv := mcpfake.New(t, mcpfake.WithEncoding(enc))
				client := newWire(t, srv).initialize()
				srv.Fault(mcpfake.Call, 1, c.fault)
				got := client.post(echoBody)
				if !errors.Is(got.err, c.want) || got.status != c.status {
					t.Errorf("got %d %v, want %d %v", got.status, got.err, c.status, c.want)
				}
				srv.Await(t, func(st mcpfake.Stats) bool { return st.InFlight == 0 && st.Executions("echo") == c.runs })
				if got := client.post(echoBody); got.status != 200 || !strings.Contains(got.body, echoText) {
					t.Errorf("after the fault: %d %q %v", got.status, got.body, got.err)
				}
			})
		}
	}
}

// A hang is over at Release, and what hung is answered as it would have been.
func TestHangUntilRelease(t *testing.T) {
	for name, fault := range map[string]mcpfake.Fault{
		"before headers": mcpfake.Hang(), "after headers": mcpfake.HangAfterHeaders(), "mid body": mcpfake.HangMidBody(),
	} {
		t.Run(name, func(t *testing.T) {
			srv := mcpfake.New(t)
			client := newWire(t, srv).initialize()
			srv.Fault(mcpfake.Call, 1, fault)
			got := make(chan reply, 1)
			go func() { got <- client.post(echoBody) }()
			srv.Await(t, func(st mcpfake.Stats) bool { return st.Hanging == 1 })
			select {
			case r := <-got:
				t.Fatalf("answered while hanging: %+v", r)
			default:
			}
			srv.Release()
			if r := <-got; r.body != echoText || r.err != nil {
				t.Errorf("got %q %v, want %q", r.body, r.err, echoText)
			}
			srv.Await(t, func(st mcpfake.Stats) bool { return st.Hanging == 0 })
		})
	}
}

// How much of an answer came tells the three hangs apart.
func TestHangShowsItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		fault mcpfake.Fault
		bytes int
	}{"after headers": {mcpfake.HangAfterHeaders(), 0}, "mid body": {mcpfake.HangMidBody(), len(echoText) / 2}} {
		t.Run(name, func(t *testing.T) {
			srv := mcpfake.New(t)
			client := newWire(t, srv).initialize()
			srv.Fault(mcpfake.Call, 1, c.fault)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			resp, err := client.do(ctx, http.MethodPost, echoBody)
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("no headers: %v", err)
			}
			defer resp.Body.Close()
			buf := make([]byte, c.bytes)
			if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != echoText[:c.bytes] {
				t.Errorf("got %q %v", buf, err)
			}
			cancel()
			srv.Await(t, func(st mcpfake.Stats) bool { return st.Hanging == 0 })
		})
	}
}

// A client that leaves, and a server that closes, both end a hang: goleak in TestMain is the proof.
func TestHangEndsWithEitherSide(t *testing.T) {
	srv := mcpfake.New(t)
	client := newWire(t, srv).initialize()
	srv.Fault(mcpfake.Call, mcpfake.Forever, mcpfake.Hang())
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := client.do(ctx, http.MethodPost, echoBody)
		left <- err
	}()
	srv.Await(t, func(st mcpfake.Stats) bool { return st.Hanging == 1 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	srv.Await(t, func(st mcpfake.Stats) bool { return st.Hanging == 0 })
	done := make(chan reply, 1)
	go func() { done <- client.post(echoBody) }()
	srv.Await(t, func(st mcpfake.Stats) bool { return st.Hanging == 1 })
	srv.Close()
	if r := <-done; r.err == nil {
		t.Errorf("answered by a closed server: %+v", r)
	}
	if st := srv.Stats(); st.Conns != 0 || st.Hanging != 0 {
		t.Errorf("after Close: %v", st)
	}
}

func TestOversizedIsValidJSON(t *testing.T) {
	for _, enc := range []mcpfake.Encoding{mcpfake.JSON, mcpfake.SSE} {
		srv := mcpfake.New(t, mcpfake.WithEncoding(enc))
		client := newWire(t, srv).initialize()
		srv.Fault(mcpfake.List, 1, mcpfake.Oversized(1<<20))
		got := client.post(listBody)
		body := strings.TrimSuffix(strings.TrimPrefix(got.body, "event: message\ndata: "), "\n\n")
		if n := strings.Count(body, "x"); n < 1<<20 {
			t.Errorf("%d bytes of padding", n)
		}
		if names, _ := toolNames(t, body); len(names) != 5 {
			t.Errorf("%d tools, want 5", len(names))
		}
	}
}

// Faults queue in order, skip, choose by tool and predicate, and can be withdrawn.
func TestScriptOrder(t *testing.T) {
	srv := mcpfake.New(t)
	client := newWire(t, srv).initialize()
	srv.Fault(mcpfake.List, 1, mcpfake.Status(500, nil, ""))
	srv.Fault(mcpfake.Any, 2, mcpfake.Status(501, nil, ""))
	srv.Fault(mcpfake.List, 1, mcpfake.Status(502, nil, ""), mcpfake.Skip(1))
	srv.Fault(mcpfake.Call, mcpfake.Forever, mcpfake.Status(503, nil, ""), mcpfake.OnTool("slow"))
	clearPing := srv.Fault(mcpfake.Ping, mcpfake.Forever, mcpfake.Status(504, nil, ""))
	srv.Fault(mcpfake.Ping, mcpfake.Forever, mcpfake.Status(505, nil, ""),
		mcpfake.Where(func(q mcpfake.Request) bool { return string(q.ID) == `"x"` }))
	ping := `{"jsonrpc":"2.0","id":"p","method":"ping"}`
	pingX := `{"jsonrpc":"2.0","id":"x","method":"ping"}`
	slow := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow","arguments":{"ms":1}}}`
	for i, step := range []struct {
		body string
		want int
	}{
		{listBody, 500}, {echoBody, 501}, {listBody, 501}, {listBody, 200}, {listBody, 502}, {listBody, 200},
		{echoBody, 200}, {slow, 503}, {slow, 503}, {ping, 504},
	} {
		if got := client.post(step.body); got.status != step.want {
			t.Errorf("step %d: %d, want %d", i, got.status, step.want)
		}
	}
	clearPing()
	for i, want := range []int{200, 505} {
		if got := client.post([]string{ping, pingX}[i]); got.status != want {
			t.Errorf("after withdrawal: %d, want %d", got.status, want)
		}
	}
	srv.ClearFaults()
	if got := client.post(slow); got.status != 200 {
		t.Errorf("after ClearFaults: %d", got.status)
	}
}

// A fault that does not answer lets the next one act.
func TestFaultsChain(t *testing.T) {
	srv := mcpfake.New(t)
	client := newWire(t, srv).initialize()
	srv.Fault(mcpfake.List, 1, mcpfake.Delay(time.Millisecond))
	srv.Fault(mcpfake.List, 1, mcpfake.LoseSessions())
	if got := client.post(listBody); got.status != 404 || got.body != "session not found\n" {
		t.Errorf("got %d %q", got.status, got.body)
	}
	if st := srv.Stats(); st.Sessions != 0 || st.Opened != 1 {
		t.Errorf("%d sessions of %d", st.Sessions, st.Opened)
	}
}

// Every phase can be met by a fault of its own.
func TestPhases(t *testing.T) {
	srv := mcpfake.New(t)
	client := newWire(t, srv).initialize()
	for phase, send := range map[mcpfake.Phase]func() reply{
		mcpfake.Initialize:  func() reply { return client.post(initBody) },
		mcpfake.Initialized: func() reply { return client.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`) },
		mcpfake.Discover:    func() reply { return client.post(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`) },
		mcpfake.Stream:      func() reply { return client.send(http.MethodGet, "") },
		mcpfake.Resume:      func() reply { return client.send(http.MethodGet, "", "Last-Event-ID", "abc.1") },
		mcpfake.List:        func() reply { return client.post(listBody) },
		mcpfake.Call:        func() reply { return client.post(echoBody) },
		mcpfake.Ping:        func() reply { return client.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`) },
		mcpfake.Delete:      func() reply { return client.send(http.MethodDelete, "") },
		mcpfake.Cancelled:   func() reply { return client.post(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`) },
		mcpfake.Other:       func() reply { return client.post(`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`) },
	} {
		before := srv.Stats().Phase(phase)
		undo := srv.Fault(phase, 1, mcpfake.Status(599, nil, string(phase)))
		if got := send(); got.status != 599 || got.body != string(phase) {
			t.Errorf("%s: got %d %q %v", phase, got.status, got.body, got.err)
		}
		if n := srv.Stats().Phase(phase) - before; n != 1 {
			t.Errorf("%s: counted %d times", phase, n)
		}
		undo()
	}
}
