package session

import (
	"context"
	"encoding/json"
	"time"
)

// Dialer opens connections to one server with one resolved configuration. Dial performs the whole handshake
// and honours ctx even where the peer hangs; its errors are classified by package failure. The connection
// lives until Close, on no context of the caller's. A panic in Dial, or in a method of a Conn, is contained by its
// caller.
type Dialer interface {
	Dial(ctx context.Context, watch Observer) (Conn, error)
}

// Bounded is a Dialer that bounds its own steps, such as a handshake after a question that nobody answered. Bound is
// the longest that its Dial takes; Timeouts.Connect bounds the Dial of any other.
type Bounded interface{ Bound() time.Duration }

// Observer hears from a connection between its requests. No method blocks or calls back into the Conn.
type Observer interface {
	// ListChanged: the server says that its tools changed, or a lost stream was opened again and may have
	// missed that.
	ListChanged()
	// Alive: bytes came from the server, other than the headers of a stream.
	Alive()
	// Lost: the connection is known to be dead without a request having been made. A PanicError in its chain is told as
	// one in a request is.
	Lost(err error)
}

// PanicError is the cause for which a connection was lost when code that nobody waited for panicked.
type PanicError struct{ Stack string }

// Error does not hold what was thrown, which may be anything.
func (*PanicError) Error() string { return "panic" }

// Conn is one live MCP connection, safe for concurrent use. A request's failure never spoils its siblings.
type Conn interface {
	// Info is what the handshake told.
	Info() Info
	// List reads all pages of tools/list. A failure on any page is the failure of the whole.
	List(ctx context.Context) (*Listing, error)
	// Call sends one request and returns the server's answer as it came.
	Call(ctx context.Context, call Call) (Answer, error)
	// Probe asks the server for the cheapest proof of life that its protocol era knows. While its answer arrives, Alive
	// is told of each piece, so that a slow answer is not taken for silence.
	Probe(ctx context.Context) error
	// Close ends the connection, telling the server within one second, and waits for what it started.
	Close(ctx context.Context) error
}

// Info is what a server said of itself in the handshake. All text is already sanitised.
type Info struct {
	Name, Title, Version string
	ProtocolVersion      string
	// HasSessionID tells whether the server gave a session id; the id itself never leaves the Conn.
	HasSessionID bool
}

// Listing is what one complete traversal of tools/list brought.
type Listing struct {
	// Tools are the tool objects as the server sent them, in its order, repeats of a looping cursor left out.
	Tools []json.RawMessage
	// TTL is the server's own ttlMs; 0 when it gave none.
	TTL time.Duration
	// NoTools is true when the server declares no tools capability or does not know tools/list.
	NoTools bool
	// Loop is true when the server's cursor led back to a page that was already read.
	Loop bool
}

// Call is one request to a server.
type Call struct {
	// Method is "tools/call" for tools.
	Method string
	// Tool is the raw tool name, for the header Mcp-Name and for the replay rules.
	Tool string
	// Params is the params object, passed on as bytes.
	Params json.RawMessage
	// Progress, when not nil, is told of every progress notification's params for this call. It does not block.
	Progress func(params json.RawMessage)
}

// Answer is what the server said: exactly one of Result and Error is not nil. Both prove that it is alive.
type Answer struct {
	Result json.RawMessage
	Error  json.RawMessage
}
