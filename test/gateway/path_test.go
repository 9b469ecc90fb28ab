package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/test/builder"
)

// sample is a server of the go-sdk, of one era, that counts the requests it gets.
type sample struct {
	*httptest.Server
	requests atomic.Int64
}

func newSample(t *testing.T, modern bool) *sample {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "sample", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo"},
		func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: modern})
	s := &sample{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// An agent with an ordinary client lists and calls the tools of servers of both eras at one URL.
func TestAgentListsAndCalls(t *testing.T) {
	w := newWorld(t)
	legacy, modern := newSample(t, false), newSample(t, true)
	w.apply(builder.MCPServer("old").URL(legacy.URL).Obj(), builder.MCPServer("new").URL(modern.URL).Obj(),
		builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	agent := w.connect(w.sessionURL("coder"), w.agent("coder"), nil)
	w.Expect(agent.InitializeResult().ServerInfo.Name).To(Equal("mooring"))
	tools, err := agent.ListTools(w.ctx, nil)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(tools.Tools).To(HaveLen(2))
	for _, tool := range []string{"mcp_old_echo", "mcp_new_echo"} {
		result, err := agent.CallTool(w.ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"text": "ä " + tool}})
		w.Expect(err).NotTo(HaveOccurred(), tool)
		w.Expect(text(result)).To(Equal("ä " + tool))
	}
	direct := w.connect(w.serverURL("old"), w.token("coder", "mooring"), nil)
	result, err := direct.CallTool(w.ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(text(result)).To(Equal("x"))
}
