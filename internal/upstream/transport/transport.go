package transport

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

const (
	// replyTimeout bounds the sending of a response to a server's request.
	replyTimeout = 5 * time.Second
	// cancelTimeout bounds the notification that a call is no longer waited for.
	cancelTimeout = 2 * time.Second
	// deleteTimeout bounds the DELETE by which a server is told that a session is over.
	deleteTimeout = time.Second
	// lingerTimeout is how long the answer to initialize is waited for when nobody wants it any more: a session that the
	// server has opened can only be closed by the id that comes with it.
	lingerTimeout = time.Second
	// maxReplies bounds the responses on their way at once; a server that asks faster is not answered.
	maxReplies = 8
)

// Header names of MCP.
const (
	headerVersion     = "Mcp-Protocol-Version"
	headerSession     = "Mcp-Session-Id"
	headerMethod      = "Mcp-Method"
	headerLastEventID = "Last-Event-Id"
)

// Request is one JSON-RPC request.
type Request struct {
	Phase  failure.Phase
	ID     string
	Method string
	Params json.RawMessage
	// Header holds what this request carries beyond what every request does.
	Header http.Header
	// Progress, when not nil, gets the params of progress notifications whose token is ID.
	Progress func(params json.RawMessage)
	// Message, when not nil, gets the params of log messages that come on the request's own stream.
	Message func(params json.RawMessage)
}

// Transport carries messages to one server. It is safe for concurrent use.
type Transport interface {
	// Exchange sends a request and returns the response to it, which holds a result or an error. When ctx ends it
	// returns at once; a server of the legacy era is told that a call is not waited for.
	Exchange(ctx context.Context, r *Request) (rpc.Message, error)
	// Notify sends a notification.
	Notify(ctx context.Context, phase failure.Phase, body []byte) error
	// Agree tells the protocol version of everything that follows.
	Agree(version string)
	// HasSession reports whether the server gave a session id.
	HasSession() bool
	// Close ends the transport, telling the server where the transport has a word for it, and waits for what it started.
	Close()
}
