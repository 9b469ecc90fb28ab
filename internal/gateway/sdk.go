package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mooring-dev/mooring/internal/gateway/directory"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// sdk is the agents' side of the protocol as the SDK has it: one server for AgentSessions and one for MCPServers, both
// stateless. What is offered comes with the request's context.
type sdk struct {
	handlers map[directory.Kind]http.Handler
}

// sdkMethods are what the SDK answers.
var sdkMethods = []string{"initialize", "ping", "server/discover", "tools/list", "logging/setLevel"}

func (s *sdk) knows(method string) bool { return slices.Contains(sdkMethods, method) }

func newSDK(version string) *sdk {
	s := &sdk{handlers: map[directory.Kind]http.Handler{}}
	tools := &mcp.ToolCapabilities{ListChanged: true}
	for kind, capabilities := range map[directory.Kind]*mcp.ServerCapabilities{
		directory.SessionKind: {Tools: tools},
		directory.ServerKind: {
			Tools: tools, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{},
			Completions: &mcp.CompletionCapabilities{},
		},
	} {
		quiet := slog.New(slog.DiscardHandler)
		server := mcp.NewServer(&mcp.Implementation{Name: "mooring", Title: "Mooring", Version: version},
			&mcp.ServerOptions{Capabilities: capabilities, Logger: quiet})
		server.AddReceivingMiddleware(offering)
		s.handlers[kind] = mcp.NewStreamableHTTPHandler(
			func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{
				Stateless: true, JSONResponse: true, Logger: quiet, PropagateRequestCancellation: true,
				DisableLocalhostProtection: true, // guard knows our names
			})
	}
	return s
}

// offerKey is where a request's context has the offer.
type offerKey struct{}

// offering answers with what this request's caller is offered.
func offering(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		offer, ok := ctx.Value(offerKey{}).(*directory.Offer)
		if ok && method == "tools/list" {
			return &toolList{tools: listed(offer), ListToolsResult: mcp.ListToolsResult{
				Tools: []*mcp.Tool{}, Cacheable: mcp.Cacheable{CacheScope: "private"},
			}}, nil
		}
		result, err := next(ctx, method, req)
		switch r := result.(type) {
		case *mcp.InitializeResult:
			r.Instructions = offer.Instructions()
		case *mcp.DiscoverResult:
			r.Instructions = offer.Instructions()
		}
		return result, err
	}
}

// toolList is a list whose tools are bytes.
type toolList struct {
	mcp.ListToolsResult
	tools json.RawMessage
}

// MarshalJSON puts the tools into what the SDK made of the rest.
func (l *toolList) MarshalJSON() ([]byte, error) {
	rest, err := json.Marshal(&l.ListToolsResult)
	if err != nil {
		return nil, err
	}
	members, err := rpc.ParseObject(rest)
	if err != nil {
		return nil, err
	}
	return members.With("tools", l.tools).Encode(), nil
}

// serve has the SDK answer a request. It is given an id of ours and an Accept that it understands, and its answer gets
// the client's own id and form.
func (s *sdk) serve(g *Gateway, w http.ResponseWriter, m *message) {
	const id = "g"
	r := m.Clone(context.WithValue(m.Context(), offerKey{}, m.offer))
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Del("Last-Event-Id")
	body := rpc.Request(id, m.Message.Method, m.Params)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	taken := &capture{header: http.Header{}, status: http.StatusOK}
	s.handlers[m.offer.Kind].ServeHTTP(taken, r)
	if m.Context().Err() != nil {
		return
	}
	answers, err := rpc.Parse(taken.body.Bytes())
	switch {
	case err != nil || len(answers) != 1 || !answers[0].IsResponse():
		// The SDK refuses in plain text; a client waits for an answer with its id.
		text := strings.TrimSpace(taken.body.String())
		g.write(w, m, max(taken.status, http.StatusBadRequest), rpc.Refusal(m.ID, rpc.InvalidRequest, text))
	case answers[0].Error != nil:
		g.write(w, m, taken.status, rpc.Fail(m.ID, answers[0].Error))
	default:
		g.write(w, m, taken.status, rpc.Reply(m.ID, answers[0].Result))
	}
}

// capture is a ResponseWriter that keeps what is written.
type capture struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (c *capture) Header() http.Header             { return c.header }
func (c *capture) WriteHeader(status int)          { c.status = status }
func (c *capture) Write(piece []byte) (int, error) { return c.body.Write(piece) }
