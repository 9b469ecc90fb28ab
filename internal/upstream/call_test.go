package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/pace"
)

// What is not ours passes unchanged, in both directions.
func TestCallsPassAsBytes(t *testing.T) {
	const result = `{"content":[{"type":"odd","x":1.0}],"structuredContent":[12345678901234567890,1e400],"z":null}`
	bothEras(t, func(t *testing.T, era mcpfake.Era) {
		s := mcpfake.New(t, mcpfake.WithEra(era))
		clean(t, s)
		c, _ := dial(t, config(t, s.URL()))
		s.Fault(mcpfake.Call, 1, mcpfake.Mutate(func(a *mcpfake.Answer) { a.Result = json.RawMessage(result) }))
		answer, err := c.Call(t.Context(), session.Call{
			Method: "tools/call", Tool: "echo",
			Params: json.RawMessage(`{"zz":1.0,"name":"echo","arguments":{"n":12345678901234567890,"f":1.0,"s":"<&>"},` +
				`"_meta":{"x/y":{"deep":1.0}}}`),
		})
		if err != nil || string(answer.Result) != result || answer.Error != nil {
			t.Fatalf("answer = %s %s, %v", answer.Result, answer.Error, err)
		}
		sent := string(s.Requests("tools/call")[0].Params)
		for _, part := range []string{
			`"zz":1.0`, `"arguments":{"n":12345678901234567890,"f":1.0,"s":"<&>"}`, `"x/y":{"deep":1.0}`,
		} {
			if !strings.Contains(sent, part) {
				t.Errorf("params = %s, want %s in them", sent, part)
			}
		}
		if id := string(s.Requests("tools/call")[0].ID); !strings.HasPrefix(id, `"m-`) {
			t.Errorf("id = %s", id)
		}
	})
}

func TestJSONRPCErrorsAndToolErrorsAreAnswers(t *testing.T) {
	bothEras(t, func(t *testing.T, era mcpfake.Era) {
		s := mcpfake.New(t, mcpfake.WithEra(era))
		c, _ := dial(t, config(t, s.URL()))
		for _, status := range []int{200, 400, 404, 422, 500} {
			if status == 404 && era == mcpfake.Legacy {
				continue // a lost session
			}
			s.Fault(mcpfake.Call, 1, mcpfake.RPCStatus(status, -32602, "no", `{"n":1.0}`))
			answer, err := c.Call(t.Context(), call("echo", `{}`))
			if err != nil || answer.Result != nil || !strings.Contains(string(answer.Error), `"data":{"n":1.0}`) {
				t.Errorf("%d: answer = %s %s, %v", status, answer.Result, answer.Error, err)
			}
		}
		answer, err := c.Call(t.Context(), call("fail", `{}`))
		if err != nil || !strings.Contains(string(answer.Result), `"isError":true`) {
			t.Errorf("answer = %s, %v", answer.Result, err)
		}
	})
}

// The status has its meaning before the body: a JSON-RPC error with a 401 or 429 is a 401 or 429.
func TestStatusesComeBeforeBodies(t *testing.T) {
	s := mcpfake.New(t)
	c, _ := dial(t, config(t, s.URL()))
	for status, class := range map[int]failure.Class{
		401: failure.Auth, 403: failure.Permission, 429: failure.RateLimit, 404: failure.SessionLost,
	} {
		s.Fault(mcpfake.Call, 1, mcpfake.RPCStatus(status, -32000, "no", ""))
		_, err := c.Call(t.Context(), call("echo", `{}`))
		if f := failureOf(t, err); f.Class != class || f.HTTPStatus != status {
			t.Errorf("%d: %+v", status, f)
		}
	}
}

func TestParamsThatAreNoObjectAreNotSent(t *testing.T) {
	s := mcpfake.New(t)
	c, _ := dial(t, config(t, s.URL()))
	for _, params := range []string{`[]`, `7`, `{"a"`} {
		_, err := c.Call(t.Context(), session.Call{Method: "tools/call", Params: json.RawMessage(params)})
		want{failure.Protocol, failure.ProtocolError, 0, false, "no object"}.check(t, failureOf(t, err))
	}
	if n := s.Count("tools/call"); n != 0 {
		t.Errorf("%d calls were sent", n)
	}
}

func TestB70_ProgressOfOurTokenPasses(t *testing.T) {
	for _, era := range []mcpfake.Era{mcpfake.Legacy, mcpfake.Modern, mcpfake.OldSSE} {
		s := mcpfake.New(t, mcpfake.WithEra(era), mcpfake.WithEncoding(mcpfake.SSE))
		s.AddTool(mcpfake.NewTool("foreign", func(c *mcpfake.Invocation) (json.RawMessage, error) {
			c.Send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"theirs","progress":9}}`)
			c.Send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`)
			c.Progress(1, 1)
			return mcpfake.Text("ok"), nil
		}))
		c, _ := dial(t, config(t, s.URL()))
		for tool, n := range map[string]int{"progress": 3, "foreign": 1} {
			var heard []string
			made := call(tool, `{"steps":3}`)
			made.Params = json.RawMessage(
				`{"name":"` + tool + `","arguments":{"steps":3},"_meta":{"progressToken":"the caller's"}}`)
			made.Progress = func(params json.RawMessage) { heard = append(heard, string(params)) }
			if _, err := c.Call(t.Context(), made); err != nil {
				t.Fatal(err)
			}
			if len(heard) != n {
				t.Errorf("era %d: heard %q, want %d", era, heard, n)
			}
		}
		if sent := string(s.Requests("tools/call")[0].Params); strings.Contains(sent, "the caller's") {
			t.Errorf("the caller's token was sent: %s", sent)
		}
	}
}

// A server may ask while it works: ping is answered, everything else is refused, and a call goes on.
func TestServersRequestsOnACallsStream(t *testing.T) {
	for _, era := range []mcpfake.Era{mcpfake.Legacy, mcpfake.OldSSE} {
		replies := make(chan string, 10)
		s := mcpfake.New(t, mcpfake.WithEra(era), mcpfake.WithEncoding(mcpfake.SSE))
		s.AddTool(mcpfake.NewTool("curious", func(c *mcpfake.Invocation) (json.RawMessage, error) {
			c.Send(`{"jsonrpc":"2.0","id":71,"method":"ping"}`)
			c.Send(`{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{}}`)
			c.Wait(0)
			return mcpfake.Text("ok"), nil
		}))
		s.Fault(mcpfake.Other, mcpfake.Forever, func(x *mcpfake.Exchange) bool {
			replies <- string(x.Request.Body)
			return false
		})
		c, _ := dial(t, config(t, s.URL()))
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), call("curious", `{}`))
			done <- err
		}()
		got := map[string]bool{await(t, "reply", replies): true, await(t, "reply", replies): true}
		for _, reply := range []string{
			`{"jsonrpc":"2.0","id":71,"result":{}}`,
			`{"jsonrpc":"2.0","id":"e","error":{"code":-32601,"message":"method not found"}}`,
		} {
			if !got[reply] {
				t.Errorf("era %d: replies = %v, want %s", era, got, reply)
			}
		}
		s.Release()
		if err := await(t, "end of the call", done); err != nil {
			t.Errorf("era %d: %v", era, err)
		}
	}
}

// The caller is free at once, a legacy server is told, and what it answers to that changes nothing.
func TestB69_ACancelledCall(t *testing.T) {
	for _, era := range []mcpfake.Era{mcpfake.Legacy, mcpfake.OldSSE, mcpfake.Modern} {
		for _, encoding := range []mcpfake.Encoding{mcpfake.JSON, mcpfake.SSE} {
			t.Run(fmt.Sprintf("%d/%d", era, encoding), func(t *testing.T) {
				s := mcpfake.New(t, mcpfake.WithEra(era), mcpfake.WithEncoding(encoding))
				s.Fault(mcpfake.Cancelled, 1, mcpfake.Status(400, nil, "never heard of it"))
				c, _ := dial(t, config(t, s.URL()))
				why := errors.New("the caller left")
				ctx, cancel := context.WithCancelCause(t.Context())
				done := make(chan error, 1)
				go func() {
					_, err := c.Call(ctx, call("slow", `{"deaf":true}`))
					done <- err
				}()
				s.Await(t, func(st mcpfake.Stats) bool { return st.InFlight == 1 })
				cancel(why)
				if err := await(t, "end of the call", done); !errors.Is(err, why) {
					t.Errorf("error = %v, want the caller's own", err)
				}
				if era != mcpfake.Modern {
					s.AwaitCount(t, "notifications/cancelled", 1)
					var params struct{ RequestID, Reason string }
					sent := s.Requests("notifications/cancelled")[0]
					if json.Unmarshal(sent.Params, &params) != nil || params.Reason != "the caller no longer waits" ||
						`"`+params.RequestID+`"` != string(s.Requests("tools/call")[0].ID) {
						t.Errorf("params = %s", sent.Params)
					}
				}
				s.Release() // the late answer
				if _, err := c.Call(t.Context(), call("echo", `{}`)); err != nil {
					t.Errorf("the next call failed: %v", err)
				}
				if n := s.Count("notifications/cancelled"); era == mcpfake.Modern && n != 0 {
					t.Errorf("%d notifications where closing the exchange is the word", n)
				}
			})
		}
	}
}

func TestADeadlineOfTheCallerIsATimeout(t *testing.T) {
	s := mcpfake.New(t)
	c, _ := dial(t, config(t, s.URL()))
	idle := errors.New("idle")
	sent := want{failure.Timeout, failure.CallTimeout, 0, true, ""}
	sent.atDeadline(t, func(ctx context.Context) error {
		_, err := c.Call(ctx, call("slow", `{}`))
		return err
	})
	pace.Within(t, 100*time.Millisecond, func(limit time.Duration) error { // with a cause of its own
		ctx, cancel := context.WithTimeoutCause(t.Context(), limit, idle)
		defer cancel()
		_, err := c.Call(ctx, call("slow", `{}`))
		return sent.differs(failureOf(t, err))
	})
	told := &failure.Error{Failure: failure.Failure{Class: failure.Timeout, Reason: failure.CallTimeout, Detail: "idle"}}
	ctx, cancel := context.WithCancelCause(t.Context())
	before := s.Count("tools/call")
	go func() {
		_ = s.AwaitContext(ctx, func(st mcpfake.Stats) bool { return st.Count("tools/call") > before })
		cancel(told)
	}()
	_, err := c.Call(ctx, call("slow", `{}`))
	want{failure.Timeout, failure.CallTimeout, 0, true, "idle"}.check(t, failureOf(t, err))
	s.AwaitCount(t, "notifications/cancelled", 3)
}

// Inbound cancelled for our request ends it now; one for another request does not.
func TestServersMayCancel(t *testing.T) {
	for _, era := range []mcpfake.Era{mcpfake.Legacy, mcpfake.OldSSE} {
		s := mcpfake.New(t, mcpfake.WithEra(era), mcpfake.WithEncoding(mcpfake.SSE))
		var id string
		s.Fault(mcpfake.Call, 1, func(x *mcpfake.Exchange) bool {
			id = string(x.Request.ID)
			return false
		})
		s.AddTool(mcpfake.NewTool("gives_up", func(c *mcpfake.Invocation) (json.RawMessage, error) {
			c.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"other"}}`)
			c.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
			c.Wait(0)
			return mcpfake.Text("too late"), nil
		}))
		c, _ := dial(t, config(t, s.URL()))
		_, err := c.Call(t.Context(), call("gives_up", `{}`))
		want{failure.Protocol, failure.ProtocolError, 0, true, "cancelled"}.check(t, failureOf(t, err))
		s.Release()
	}
}

func TestABrokenStreamIsResumed(t *testing.T) {
	t.Run("cut before and after events", func(t *testing.T) {
		s := mcpfake.New(t, mcpfake.WithEventIDs(), mcpfake.WithRetry(10*time.Millisecond))
		c, _ := dial(t, config(t, s.URL()))
		for events := range 3 {
			s.Fault(mcpfake.Call, 1, mcpfake.StreamCut(events+1, true))
			var heard int
			made := call("progress", `{"steps":5}`)
			made.Progress = func(json.RawMessage) { heard++ }
			answer, err := c.Call(t.Context(), made)
			if err != nil || heard != 5 || !strings.Contains(string(answer.Result), "done") {
				t.Errorf("after %d events: %s, %d of 5 heard, %v", events, answer.Result, heard, err)
			}
		}
		if n := s.Executions("progress"); n != 3 {
			t.Errorf("%d executions, want 3", n)
		}
	})
	t.Run("a server that cannot", func(t *testing.T) {
		s := mcpfake.New(t)
		c, _ := dial(t, config(t, s.URL()))
		s.Fault(mcpfake.Call, 1, mcpfake.StreamCut(1, true))
		s.Fault(mcpfake.Resume, mcpfake.Forever, mcpfake.Status(400, nil, ""))
		_, err := c.Call(t.Context(), call("echo", `{}`))
		want{failure.Transport, failure.ConnectionLost, 0, true, ""}.check(t, failureOf(t, err))
		if n := s.Stats().Phase(mcpfake.Resume); n != 1 {
			t.Errorf("%d resumptions, want 1", n)
		}
	})
	t.Run("a session lost meanwhile", func(t *testing.T) {
		s := mcpfake.New(t, mcpfake.WithoutStream())
		c, watch := dial(t, config(t, s.URL()))
		s.Fault(mcpfake.Call, 1, mcpfake.StreamCut(1, true))
		s.Fault(mcpfake.Resume, mcpfake.Forever, mcpfake.Status(404, nil, ""))
		_, err := c.Call(t.Context(), call("echo", `{}`))
		// Not "sessionLost": that would say that the call was not processed.
		want{failure.Transport, failure.ConnectionLost, 0, true, ""}.check(t, failureOf(t, err))
		want{failure.SessionLost, failure.ConnectionLost, 404, true, ""}.check(t, failureOf(t, await(t, "Lost", watch.lost)))
	})
	t.Run("within the deadline", func(t *testing.T) {
		s := mcpfake.New(t, mcpfake.WithEventIDs(), mcpfake.WithRetry(time.Minute))
		c, _ := dial(t, config(t, s.URL()))
		s.Fault(mcpfake.Call, mcpfake.Forever, mcpfake.StreamEnd(1, true))
		want{failure.Timeout, failure.CallTimeout, 0, true, ""}.atDeadline(t, func(ctx context.Context) error {
			_, err := c.Call(ctx, call("echo", `{}`))
			return err
		})
	})
	t.Run("not in the modern era", func(t *testing.T) {
		s := mcpfake.New(t, mcpfake.WithEra(mcpfake.Modern))
		c, _ := dial(t, config(t, s.URL()))
		s.Fault(mcpfake.Call, 1, mcpfake.StreamCut(1, true))
		_, err := c.Call(t.Context(), call("echo", `{}`))
		want{failure.Transport, failure.ConnectionLost, 0, true, ""}.check(t, failureOf(t, err))
		if n := s.Count("GET"); n != 0 {
			t.Errorf("%d GETs", n)
		}
	})
}

// A stream that has brought its answer does not cost its connection.
func TestConnectionsAreUsedAgain(t *testing.T) {
	for _, encoding := range []mcpfake.Encoding{mcpfake.JSON, mcpfake.SSE} {
		s := mcpfake.New(t, mcpfake.WithEncoding(encoding), mcpfake.WithoutStream())
		c, _ := dial(t, config(t, s.URL()))
		before := s.Stats().Accepted
		for range 20 {
			if _, err := c.Call(t.Context(), call("echo", `{}`)); err != nil {
				t.Fatal(err)
			}
			// The end of a stream is read while the caller goes on; wait for what a slower caller would not see.
			s.Await(t, func(st mcpfake.Stats) bool { return st.InFlight == 0 })
		}
		if fresh := s.Stats().Accepted - before; fresh > 4 {
			t.Errorf("encoding %d: %d new connections for 20 calls", encoding, fresh)
		}
	}
}

func TestToolNamesTravelInHeaders(t *testing.T) {
	s := mcpfake.New(t, mcpfake.WithEra(mcpfake.Modern))
	c, _ := dial(t, config(t, s.URL()))
	for name, header := range map[string]string{
		"echo": "echo", "wörld": "=?base64?d8O2cmxk?=", " pad": "=?base64?IHBhZA==?=", "a\nb": "=?base64?YQpi?=",
		"=?base64?x?=": "=?base64?PT9iYXNlNjQ/eD89?=",
	} {
		params, _ := json.Marshal(map[string]any{"name": name})
		var got http.Header
		s.Fault(mcpfake.Call, 1, func(x *mcpfake.Exchange) bool {
			got = x.Request.Header
			return false
		})
		_, _ = c.Call(t.Context(), session.Call{Method: "tools/call", Tool: name, Params: params})
		if got.Get("Mcp-Name") != header || got.Get("Mcp-Method") != "tools/call" {
			t.Errorf("%q: Mcp-Name = %q, Mcp-Method = %q", name, got.Get("Mcp-Name"), got.Get("Mcp-Method"))
		}
	}
}
