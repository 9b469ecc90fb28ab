package upstream_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mooring-dev/mooring/internal/session"
)

// sdkServer has one tool that wants an argument mirrored into a header, and one that reports progress.
func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "region", InputSchema: json.RawMessage(`{"type":"object","properties":{"at":{
		"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text := "none"
			if r.Extra != nil && r.Extra.Header.Get("Mcp-Param-Region") != "" {
				text = r.Extra.Header.Get("Mcp-Param-Region")
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	s.AddTool(&mcp.Tool{Name: "steps", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := range 3 {
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: r.Params.GetProgressToken(), Progress: float64(i),
				})
			}
			return &mcp.CallToolResult{}, nil
		})
	return s
}

// The official SDK's server, in every form in which it is run.
func TestInteroperabilityWithTheSDK(t *testing.T) {
	server := sdkServer()
	get := func(*http.Request) *mcp.Server { return server }
	cases := map[string]struct {
		handler  http.Handler
		version  string
		session  bool
		progress int32
		pushes   bool
	}{
		"stateful": {mcp.NewStreamableHTTPHandler(get, nil), "2025-11-25", true, 3, true},
		"stateless": {mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true}),
			"2026-07-28", false, 3, true},
		"stateless json": {mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}),
			"2026-07-28", false, 0, true},
		"resumable": {mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}),
			"2025-11-25", true, 3, true},
		"sse": {mcp.NewSSEHandler(get, nil), "2025-11-25", true, 3, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(tc.handler)
			t.Cleanup(func() {
				web.CloseClientConnections()
				web.Close()
			})
			c, watch := dial(t, config(t, web.URL))
			if got := c.Info(); got.ProtocolVersion != tc.version || got.HasSessionID != tc.session || got.Name != "sdk" {
				t.Errorf("info = %+v", got)
			}
			var heard atomic.Int32
			made := call("steps", `{}`)
			made.Progress = func(json.RawMessage) { heard.Add(1) }
			if answer, err := c.Call(t.Context(), made); err != nil || answer.Error != nil {
				t.Errorf("Call = %s, %v", answer.Error, err)
			}
			if heard.Load() != tc.progress {
				t.Errorf("%d progress notifications, want %d", heard.Load(), tc.progress)
			}
			// Before any list nothing is known of headers: the server complains, and one list tells.
			region(t, c, tc.version)
			listing, err := c.List(t.Context())
			if err != nil || len(listing.Tools) < 2 {
				t.Fatalf("List = %+v, %v", listing, err)
			}
			region(t, c, tc.version)
			if err := c.Probe(t.Context()); err != nil {
				t.Errorf("Probe: %v", err)
			}
			pushed(t, server, watch)
			server.RemoveTools("pushed")
			shut(t, c)
		})
	}
}

func region(t *testing.T, c session.Conn, version string) {
	t.Helper()
	answer, err := c.Call(t.Context(), call("region", `{"at":{"region":"us wést"}}`))
	want := "none"
	if version == "2026-07-28" {
		want = "=?base64?dXMgd8Opc3Q=?="
	}
	var result struct{ Content []struct{ Text string } }
	if err != nil || json.Unmarshal(answer.Result, &result) != nil || len(result.Content) != 1 ||
		result.Content[0].Text != want {
		t.Errorf("answer = %s %s, %v; want %s", answer.Result, answer.Error, err, want)
	}
}

// pushed adds a tool until the connection hears of it: its stream may not be open yet.
func pushed(t *testing.T, server *mcp.Server, watch *observer) {
	t.Helper()
	deadline := time.After(patience)
	for {
		server.AddTool(&mcp.Tool{Name: "pushed", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		select {
		case <-watch.changed:
			return
		case <-time.After(100 * time.Millisecond):
		case <-deadline:
			t.Fatal("no list_changed")
		}
	}
}
