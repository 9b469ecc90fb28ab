package mcpfake_test

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/pace"
)

func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

// The official client meets every era and encoding of the healthy server.
func TestSDKClientInterop(t *testing.T) {
	for _, c := range []struct {
		name string
		pin  string
		want string
		opts []mcpfake.Option
	}{
		{name: "legacy json", want: "2025-11-25"},
		{name: "legacy sse", want: "2025-11-25", opts: opts(mcpfake.WithEncoding(mcpfake.SSE))},
		{name: "legacy resumable", want: "2025-11-25",
			opts: opts(mcpfake.WithEncoding(mcpfake.SSE), mcpfake.WithEventIDs())},
		{name: "legacy that discovers", want: "2025-11-25", opts: opts(mcpfake.WithLegacyDiscover())},
		{name: "legacy pinned", pin: "2025-06-18", want: "2025-06-18"},
		{name: "legacy old revision", want: "2025-03-26", opts: opts(mcpfake.WithVersions("2025-03-26"))},
		{name: "legacy without sessions", want: "2025-11-25", opts: opts(mcpfake.WithoutSessions())},
		{name: "modern json", want: "2026-07-28", opts: opts(mcpfake.WithEra(mcpfake.Modern))},
		{name: "modern sse", want: "2026-07-28",
			opts: opts(mcpfake.WithEra(mcpfake.Modern), mcpfake.WithEncoding(mcpfake.SSE))},
		{name: "dual as modern", want: "2026-07-28", opts: opts(mcpfake.WithEra(mcpfake.Dual))},
		{name: "dual as legacy", pin: "2025-11-25", want: "2025-11-25", opts: opts(mcpfake.WithEra(mcpfake.Dual))},
		{name: "old sse", pin: "2024-11-05", want: "2024-11-05", opts: opts(mcpfake.WithEra(mcpfake.OldSSE))},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := mcpfake.New(t, append(c.opts, mcpfake.WithPageSize(2))...)
			changed := make(chan struct{}, 8)
			session := connect(t, srv, c.pin, changed)
			if got := session.InitializeResult().ProtocolVersion; got != c.want {
				t.Fatalf("negotiated %q, want %q", got, c.want)
			}
			if got := session.InitializeResult().ServerInfo.Name; got != "mcpfake" {
				t.Fatalf("server info %q, want mcpfake", got)
			}
			wantTools(t, session, 5)
			wantEcho(t, session)
			srv.Await(t, func(st mcpfake.Stats) bool { return st.Streams == 1 })
			srv.AddTool(mcpfake.NewTool("sixth", nil))
			srv.NotifyListChanged()
			select {
			case <-changed:
			case <-time.After(pace.Patience):
				t.Fatal("no list_changed")
			}
			wantTools(t, session, 6)
			if err := session.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			srv.Await(t, func(st mcpfake.Stats) bool { return st.Streams == 0 && st.Sessions == 0 })
			if v := srv.Violations(); len(v) != 0 {
				t.Errorf("the official client is said to offend: %v", v)
			}
			if got := srv.Executions("echo"); got != 1 {
				t.Errorf("%d executions, want 1", got)
			}
		})
	}
}

func opts(o ...mcpfake.Option) []mcpfake.Option { return o }

func connect(t *testing.T, srv *mcpfake.Server, pin string, changed chan<- struct{}) *mcp.ClientSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pace.Patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	var via mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: srv.URL(), HTTPClient: &http.Client{Transport: transport}}
	if pin == "2024-11-05" {
		via = &mcp.SSEClientTransport{Endpoint: srv.URL(), HTTPClient: &http.Client{Transport: transport}}
		ctx = t.Context() // it owns the stream
	}
	session, err := client.Connect(ctx, via, &mcp.ClientSessionOptions{ProtocolVersion: pin})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func wantTools(t *testing.T, session *mcp.ClientSession, want int) {
	t.Helper()
	n := 0
	for _, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatalf("tools/list: %v", err)
		}
		n++
	}
	if n != want {
		t.Fatalf("%d tools, want %d", n, want)
	}
}

func wantEcho(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"a": 1}})
	if err != nil {
		t.Fatalf("tools/call: %v", err)
	}
	if got := res.Content[0].(*mcp.TextContent).Text; got != `{"a":1}` {
		t.Fatalf("echo gave %q", got)
	}
}
