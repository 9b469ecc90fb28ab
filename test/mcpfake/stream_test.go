package mcpfake_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/test/mcpfake"
)

// A call whose stream was cut after an event id is had by resumption, and ran once.
func TestResumeAfterCut(t *testing.T) {
	for name, fault := range map[string]mcpfake.Fault{
		"cut": mcpfake.StreamCut(1, true), "end": mcpfake.StreamEnd(1, true),
	} {
		srv := mcpfake.New(t, mcpfake.WithRetry(25*time.Millisecond))
		client := newWire(t, srv).initialize()
		srv.Fault(mcpfake.Call, 1, fault)
		got := client.post(echoBody)
		if name == "cut" && got.err == nil || name == "end" && got.err != nil {
			t.Errorf("%s: error %v", name, got.err)
		}
		id, ok := strings.CutPrefix(got.body, "retry: 25\nid: ")
		id, rest, _ := strings.Cut(id, "\n")
		if !ok || rest != "data: \n\n" {
			t.Fatalf("%s: priming event %q", name, got.body)
		}
		resumed := client.send(http.MethodGet, "", "Last-Event-ID", id)
		if resumed.err != nil || !strings.HasSuffix(resumed.body, "data: "+echoText+"\n\n") {
			t.Errorf("%s: resumed %q %v", name, resumed.body, resumed.err)
		}
		if st := srv.Stats(); st.Executions("echo") != 1 || st.Phase(mcpfake.Resume) != 1 {
			t.Errorf("%s: %v", name, st)
		}
		if gone := client.send(http.MethodGet, "", "Last-Event-ID", "unknown.0"); gone.status != 400 {
			t.Errorf("%s: unknown stream: %d", name, gone.status)
		}
	}
}

// A session's own stream gives what was missed when events have ids, and only then.
func TestStandaloneStreamResumes(t *testing.T) {
	srv := mcpfake.New(t, mcpfake.WithEventIDs())
	client := newWire(t, srv).initialize()
	changed := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	stream, err := client.do(t.Context(), http.MethodGet, "")
	if err != nil {
		t.Fatal(err)
	}
	srv.NotifyListChanged()
	ids, data := events(t, stream.Body, 1)
	stream.Body.Close()
	if data[0] != changed || ids[0] != "main.0" {
		t.Fatalf("got %q %q", ids, data)
	}
	srv.Await(t, func(st mcpfake.Stats) bool { return st.Streams == 0 })
	srv.Push("not json")
	stream, err = client.do(t.Context(), http.MethodGet, "", "Last-Event-ID", "main.0")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if ids, data = events(t, stream.Body, 1); data[0] != "not json" || ids[0] != "main.1" {
		t.Errorf("missed event: %q %q", ids, data)
	}
	if n := srv.Stats().Phase(mcpfake.Stream); n != 2 {
		t.Errorf("%d requests of phase stream, want 2", n)
	}
}

func TestKeepaliveComments(t *testing.T) {
	srv := mcpfake.New(t, mcpfake.WithKeepalive(time.Millisecond))
	client := newWire(t, srv).initialize()
	stream, err := client.do(t.Context(), http.MethodGet, "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	scan := bufio.NewScanner(stream.Body)
	for n := 0; n < 2; {
		if !scan.Scan() {
			t.Fatal(scan.Err())
		}
		if scan.Text() == ": keepalive" {
			n++
		}
	}
}

func TestProgressReachesTheCallsStream(t *testing.T) {
	srv := mcpfake.New(t, mcpfake.WithEncoding(mcpfake.SSE))
	client := newWire(t, srv).initialize()
	resp, err := client.do(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":`+
		`{"name":"progress","arguments":{"steps":2},"_meta":{"progressToken":"tok"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, data := events(t, resp.Body, 3)
	want := []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":1,"total":2}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":2,"total":2}}`,
		`{"jsonrpc":"2.0","id":9,"result":{"content":[{"type":"text","text":"done"}]}}`,
	}
	if !slices.Equal(data, want) {
		t.Errorf("got  %q\nwant %q", data, want)
	}
}

// Cancellation by notification, by leaving, and a tool that is deaf to both.
func TestCancellation(t *testing.T) {
	srv := mcpfake.New(t)
	client := newWire(t, srv).initialize()
	slow := func(id, args string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"slow","arguments":` + args + `}}`
	}
	got := make(chan reply, 1)
	go func() { got <- client.post(slow("21", "{}")) }()
	srv.Await(t, func(st mcpfake.Stats) bool { return st.InFlight == 1 })
	client.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":21,"reason":"r"}}`)
	if r := <-got; !strings.Contains(r.body, `"code":-32800`) {
		t.Errorf("cancelled call: %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := client.do(ctx, http.MethodPost, slow("22", "{}"))
		left <- err
	}()
	srv.Await(t, func(st mcpfake.Stats) bool { return st.InFlight == 1 })
	cancel()
	<-left
	srv.Await(t, func(st mcpfake.Stats) bool { return st.InFlight == 0 && st.Cancelled == 2 })
	go func() { got <- client.post(slow("23", `{"deaf":true}`)) }()
	srv.Await(t, func(st mcpfake.Stats) bool { return st.InFlight == 1 })
	client.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":23}}`)
	srv.Release()
	if r := <-got; !strings.Contains(r.body, `"text":"done"`) {
		t.Errorf("deaf call: %+v", r)
	}
	if st := srv.Stats(); st.Executions("slow") != 3 || st.Cancelled != 2 || st.Peak != 1 {
		t.Errorf("cancelled %d, peak %d, %v", st.Cancelled, st.Peak, st)
	}
	q := srv.Requests("notifications/cancelled")
	if len(q) != 2 || string(q[0].Params) != `{"requestId":21,"reason":"r"}` {
		t.Errorf("recorded %v", q)
	}
}

func TestInvocationKnowsItsSession(t *testing.T) {
	type seen struct {
		session, arguments string
		nth                int
	}
	got := make(chan seen, 2)
	srv := mcpfake.New(t, mcpfake.WithTools(mcpfake.NewTool("t", func(c *mcpfake.Invocation) (json.RawMessage, error) {
		got <- seen{c.Session, string(c.Arguments), c.Nth}
		return nil, &mcpfake.RPCError{Code: -32099, Message: "own"}
	})))
	a, b := newWire(t, srv).initialize(), newWire(t, srv).initialize()
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":null}}`
	for i, client := range []*wire{a, b} {
		if r := client.post(call); r.body != `{"jsonrpc":"2.0","id":1,"error":{"code":-32099,"message":"own"}}` {
			t.Errorf("%d: %q", i, r.body)
		}
		if s := <-got; s != (seen{client.session, "null", 1}) {
			t.Errorf("%d: %+v", i, s)
		}
	}
	if r := a.post(strings.Replace(call, `"t"`, `"nope"`, 1)); !strings.Contains(r.body, `"code":-32602`) {
		t.Errorf("unknown tool: %q", r.body)
	}
}

// The rules of the stateless protocol, on the wire.
func TestModernWire(t *testing.T) {
	srv := mcpfake.New(t, mcpfake.WithEra(mcpfake.Modern), mcpfake.WithTTL(90*time.Second))
	client := newWire(t, srv)
	const info = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcpfake","title":"Fake","version":"1.0.0"}}`
	got := client.modern("server/discover", "")
	if want := `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","ttlMs":90000,"cacheScope":"private",` + info +
		`,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}`; got.body != want {
		t.Errorf("discover\ngot  %s\nwant %s", got.body, want)
	}
	got = client.modern("tools/call", `,"name":"echo","arguments":{}`, "Mcp-Name", "echo")
	if want := `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete",` + info +
		`,"content":[{"type":"text","text":"{}"}]}}`; got.body != want {
		t.Errorf("call\ngot  %s\nwant %s", got.body, want)
	}
	for _, c := range []struct {
		name   string
		got    reply
		status int
		part   string
	}{
		{"unknown method", client.modern("ping", ""), 404, `"code":-32601`},
		{"no version header", client.modern("tools/list", "", "Mcp-Protocol-Version", ""), 400, `"code":-32020`},
		{"other version header", client.modern("tools/list", "", "Mcp-Protocol-Version", "2026-07-29"), 400, `"code":-32020`},
		{"no meta", client.post(listBody, "Mcp-Protocol-Version", "2026-07-28"), 400, `"code":-32602`},
		{"other method header", client.modern("tools/list", "", "Mcp-Method", "ping"), 400, `"code":-32020`},
		{"no name header", client.modern("tools/call", `,"name":"echo"`), 400, `"code":-32020`},
		{"unknown tool", client.modern("tools/call", `,"name":"nope"`, "Mcp-Name", "nope"), 400, `"code":-32602`},
		{"initialize", client.post(initBody), 400, `"code":-32022,"message":"unsupported protocol version",` +
			`"data":{"requested":"2025-11-25","supported":["2026-07-28"]}`},
		{"get", client.send(http.MethodGet, ""), 405, "Method Not Allowed"},
		{"delete", client.send(http.MethodDelete, ""), 405, "Method Not Allowed"},
		{"notification", client.post(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`), 202, ""},
	} {
		if c.got.status != c.status || !strings.Contains(c.got.body, c.part) {
			t.Errorf("%s: got %d %q, want %d with %q", c.name, c.got.status, c.got.body, c.status, c.part)
		}
	}
	if st := srv.Stats(); st.Sessions != 0 || st.Executions("echo") != 1 {
		t.Errorf("%v", st)
	}
}

func TestModernVersionRefused(t *testing.T) {
	srv := mcpfake.New(t, mcpfake.WithEra(mcpfake.Modern), mcpfake.WithVersions("2099-01-01"))
	got := newWire(t, srv).modern("server/discover", "")
	if want := `{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"unsupported protocol version",` +
		`"data":{"requested":"2026-07-28","supported":["2099-01-01"]}}}`; got.status != 400 || got.body != want {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestListenAcknowledgesFirst(t *testing.T) {
	srv := mcpfake.New(t, mcpfake.WithEra(mcpfake.Modern))
	client := newWire(t, srv)
	body := `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},` +
		`"notifications":{"toolsListChanged":true}}}`
	resp, err := client.do(t.Context(), http.MethodPost, body,
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	srv.Await(t, func(st mcpfake.Stats) bool { return st.Streams == 1 })
	srv.NotifyListChanged()
	_, data := events(t, resp.Body, 2)
	const meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":7}`
	want := []string{
		`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + meta +
			`,"notifications":{"toolsListChanged":true}}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{` + meta + `}}`,
	}
	if !slices.Equal(data, want) {
		t.Errorf("got  %q\nwant %q", data, want)
	}
	if got := client.modern("subscriptions/listen", `,"notifications":{}`); !strings.Contains(got.body,
		`"result":{"resultType":"complete",`+meta+`}`) {
		t.Errorf("nothing subscribed: %q", got.body)
	}
	if got := client.modern("subscriptions/listen", ""); got.status != 400 {
		t.Errorf("no notifications field: %d", got.status)
	}
}

// The transport of 2024-11-05, with faults on its posts and on its stream.
func TestOldSSE(t *testing.T) {
	srv := mcpfake.New(t, mcpfake.WithEra(mcpfake.OldSSE), mcpfake.WithPath("/sse"))
	client := newWire(t, srv)
	if got := client.post(initBody); got.status != 405 {
		t.Errorf("post to the stream's address: %d", got.status)
	}
	stream, err := client.do(t.Context(), http.MethodGet, "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	r := bufio.NewReader(stream.Body)
	line := func() string {
		s, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(s, "\n")
	}
	if line() != "event: endpoint" {
		t.Fatal("no endpoint event")
	}
	endpoint := strings.TrimPrefix(line(), "data: ")
	post := func(body string) int {
		t.Helper()
		resp, err := client.http.Post(srv.Origin()+endpoint, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp.StatusCode
	}
	answer := func() string {
		t.Helper()
		for {
			if s, ok := strings.CutPrefix(line(), "data: "); ok {
				return s
			}
		}
	}
	if code, a := post(initBody), answer(); code != 202 || !strings.Contains(a, `"protocolVersion":"2024-11-05"`) {
		t.Errorf("initialize: %d %q", code, a)
	}
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if code, a := post(echoBody), answer(); code != 202 || a != echoText {
		t.Errorf("call: %d %q", code, a)
	}
	srv.Fault(mcpfake.Call, 1, mcpfake.WrongID())
	if _, a := post(echoBody), answer(); !strings.Contains(a, `"id":"never-sent"`) {
		t.Errorf("wrong id: %q", a)
	}
	srv.Fault(mcpfake.Call, 1, mcpfake.RPC(-1, "no", ""))
	if _, a := post(echoBody), answer(); a != `{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}` {
		t.Errorf("rpc: %q", a)
	}
	srv.Fault(mcpfake.Call, 1, mcpfake.ExecuteThen(mcpfake.Accepted()))
	srv.Fault(mcpfake.Call, 1, mcpfake.BadJSON())
	if a, b := post(echoBody), post(echoBody); a != 202 || b != 202 || strings.HasSuffix(answer(), "}") {
		t.Errorf("an executed call without an answer, then no JSON: %d %d", a, b)
	}
	srv.Fault(mcpfake.Call, 1, mcpfake.Status(500, nil, ""))
	if code := post(echoBody); code != 500 {
		t.Errorf("status: %d", code)
	}
	if n := srv.Executions("echo"); n != 3 {
		t.Errorf("%d executions, want 3", n)
	}
	srv.DropStreams(false)
	srv.Await(t, func(st mcpfake.Stats) bool { return st.Sessions == 0 && st.Streams == 0 })
	if code := post(echoBody); code != 404 {
		t.Errorf("after the stream: %d", code)
	}
}

// Faults of the standing stream, whose healthy answer never ends.
func TestStreamFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault mcpfake.Fault
		want  string
		cut   bool
		hangs bool
	}{
		{"not a stream", mcpfake.HTML(), "<!doctype html><title>Sign in</title><p>Sign in", false, false},
		{"no json", mcpfake.BadJSON(),
			"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[\n\n", false, false},
		{"cut event", mcpfake.CutBody(), "event: message\ndata: {\"jsonrpc\"", true, false},
		{"hangs after headers", mcpfake.HangAfterHeaders(), ": ok\n\n", true, true},
		{"hangs in an event", mcpfake.HangMidBody(), "event: message\ndata: {\"jsonrpc\":\"2.0\"," +
			"\"method\":\"notifications/tools/list_changed\"}\n\n", false, true},
	} {
		srv := mcpfake.New(t)
		client := newWire(t, srv).initialize()
		srv.Fault(mcpfake.Stream, 1, c.fault)
		got := make(chan reply, 1)
		go func() { got <- client.send(http.MethodGet, "") }()
		if c.hangs {
			srv.Await(t, func(st mcpfake.Stats) bool { return st.Hanging == 1 })
			srv.Release()
			srv.Await(t, func(st mcpfake.Stats) bool { return st.Hanging == 0 })
		}
		if c.name == "hangs after headers" { // it goes on as a healthy stream
			srv.Await(t, func(st mcpfake.Stats) bool { return st.Streams == 1 })
			srv.DropStreams(false)
		}
		if r := <-got; r.body != c.want || (r.err != nil) != c.cut || r.status != 200 {
			t.Errorf("%s: got %d %q %v, want %q", c.name, r.status, r.body, r.err, c.want)
		}
	}
}

// A tool may send what it likes on its stream, and knows how many run beside it.
func TestToolsRunSideBySide(t *testing.T) {
	srv := mcpfake.New(t, mcpfake.WithEncoding(mcpfake.SSE))
	srv.SetTools(mcpfake.NewTool("meet", func(c *mcpfake.Invocation) (json.RawMessage, error) {
		c.Send(`{"jsonrpc":"2.0","id":"s1","method":"ping"}`)
		c.Wait(0)
		return nil, io.ErrShortBuffer
	}))
	client := newWire(t, srv).initialize()
	got := make(chan reply, 3)
	for _, id := range []string{"31", "32", "33"} {
		go func() {
			got <- client.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"meet"}}`)
		}()
	}
	srv.Await(t, func(st mcpfake.Stats) bool { return st.InFlight == 3 })
	srv.RemoveTool("meet")
	srv.Release()
	for range 3 {
		if r := <-got; !strings.Contains(r.body, `"id":"s1","method":"ping"`) ||
			!strings.Contains(r.body, `"error":{"code":-32603,"message":"short buffer"}`) {
			t.Errorf("got %q %v", r.body, r.err)
		}
	}
	if st := srv.Stats(); st.Peak != 3 || st.InFlight != 0 || st.Executions("meet") != 3 {
		t.Errorf("peak %d, in flight %d, %v", st.Peak, st.InFlight, st)
	}
	_, list, _ := strings.Cut(client.post(listBody).body, "data: ")
	if names, _ := toolNames(t, list); names != nil {
		t.Errorf("tools %v", names)
	}
}

func TestDescribesItself(t *testing.T) {
	describe := []mcpfake.Option{
		mcpfake.WithCapabilities(`{"resources":{}}`), mcpfake.WithServerInfo(`{"name":"x"}`),
		mcpfake.WithInstructions("say \"please\""),
	}
	legacy := newWire(t, mcpfake.New(t, describe...)).post(initBody)
	if want := `{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{}},` +
		`"serverInfo":{"name":"x"},"instructions":"say \"please\""}}`; legacy.body != want {
		t.Errorf("got  %s\nwant %s", legacy.body, want)
	}
	stateless := newWire(t, mcpfake.New(t, append(describe, mcpfake.WithEra(mcpfake.Modern))...))
	modern := stateless.modern("server/discover", "")
	if want := `"capabilities":{"resources":{}},"instructions":"say \"please\""}}`; !strings.HasSuffix(modern.body, want) {
		t.Errorf("got %s", modern.body)
	}
	trap := mcpfake.New(t, mcpfake.WithEra(mcpfake.OldSSE), mcpfake.WithEndpointEvent("http://127.0.0.1:1/elsewhere"))
	stream, err := newWire(t, trap).do(t.Context(), http.MethodGet, "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if _, data := events(t, stream.Body, 1); data[0] != "http://127.0.0.1:1/elsewhere" {
		t.Errorf("endpoint %q", data[0])
	}
}

// Await tells what it saw when it gives up.
func TestAwaitGivesUp(t *testing.T) {
	srv := mcpfake.New(t)
	newWire(t, srv).initialize()
	srv.AwaitCount(t, "initialize", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := srv.AwaitContext(ctx, func(st mcpfake.Stats) bool { return st.Sessions == 2 })
	if err == nil || !strings.Contains(err.Error(), "initialize:1") || !strings.Contains(err.Error(), "1 sessions") {
		t.Errorf("got %v", err)
	}
	if srv.OpenSessions() != 1 || srv.OpenStreams() != 0 || srv.OpenConns() != 1 {
		t.Errorf("%v", srv.Stats())
	}
}
