package session

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/failure"
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

// CallDialer is a Dialer that can leave out what only discovery needs: a connection for calls has no stream by which
// the server tells of changes.
type CallDialer interface {
	DialForCalls(ctx context.Context, watch Observer) (Conn, error)
}

// forCalls is how a connection for calls is opened.
func (c *Config) forCalls() func(context.Context, Observer) (Conn, error) {
	if dialer, ok := c.Dialer.(CallDialer); ok {
		return dialer.DialForCalls
	}
	return c.Dialer.Dial
}

// Observer is told what a connection receives between its requests. No method blocks or calls back into the Conn.
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
	// Message, when not nil, is told the params of every log message that comes with this call. It does not block.
	Message func(params json.RawMessage)
}

// Answer is what the server said: exactly one of Result and Error is not nil. Both prove that it is alive.
type Answer struct {
	Result json.RawMessage
	Error  json.RawMessage
	// Failure is what Error says of the server, as a class: one that gates leaves it alone. Zero for a Result.
	Failure failure.Failure
}

const (
	closeTimeout = 10 * time.Second
	// probeSilence is how long a server may send nothing while it is to answer a probe.
	probeSilence = 10 * time.Second
)

// The causes for which we end what is under way ourselves. They reach no caller: each is turned into a Failure.
var (
	errReplaced  = errors.New("replaced by another configuration")
	errForgotten = errors.New("no longer declared")
	errShutdown  = errors.New("shutting down")
	errDisposed  = errors.New("connection given up")
	errIdle      = errors.New("idle for too long")
)

// errNoListing is the error of a Conn that brings neither a listing nor an error.
var errNoListing = errors.New("no listing")

// conn is one live connection, owned by the goroutine that dialled it, and what it receives between requests. It
// is the Observer of its Conn.
type conn struct {
	mcp Conn
	// ctx ends when the connection is lost or given up; its cause is why. Every request runs under it.
	ctx context.Context
	end context.CancelCauseFunc
	// changed holds one word while a change of the tools has not been seen by the owner.
	changed chan struct{}
	tell    func(Event)
	// alive is when bytes last came from the server, in Unix nanoseconds; 0 is never.
	alive atomic.Int64
}

var _ Observer = (*conn)(nil)

// ListChanged implements Observer.
func (c *conn) ListChanged() { signal(c.changed) }

// Alive implements Observer.
func (c *conn) Alive() { c.alive.Store(time.Now().UnixNano()) }

// Lost implements Observer.
func (c *conn) Lost(err error) {
	if thrown := new(PanicError); errors.As(err, &thrown) {
		c.tell(Event{Kind: EventPanicked, Stack: thrown.Stack})
	}
	c.end(lost(err))
}

// lostError is the cause of a connection that ended without a request having failed.
type lostError struct{ error }

// Unwrap returns what the transport reported, or what that counts as.
func (e *lostError) Unwrap() error { return e.error }

func lost(err error) *lostError {
	if failure.Classify(err).LessSpecific(failure.Transport) || err == nil {
		err = &failure.Error{
			Failure: failure.Failure{Class: failure.Transport, Reason: failure.ConnectionLost, Sent: true}, Cause: err,
		}
	}
	return &lostError{err}
}

func (c *conn) aliveAt() time.Time {
	if at := c.alive.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// signal leaves a word for the one who waits; one word is as good as many.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// The ranks of connects that wait for a place.
const (
	urgent = iota
	unhurried
)

// dial opens a connection when there is a place for it, within the configuration's time, or within the Dialer's own.
// Its error is a *failure.Error, unless ctx ended before there was a place.
func (s *server) dial(
	ctx context.Context, config Config, rank int, open func(context.Context, Observer) (Conn, error),
) (*conn, error) {
	leave, err := s.sup.dials.enter(ctx, config.Address, rank)
	if err != nil {
		return nil, err
	}
	defer leave()
	started := time.Now()
	c := &conn{changed: make(chan struct{}, 1), tell: s.tell}
	c.ctx, c.end = context.WithCancelCause(ctx)
	limit := config.Timeouts.Connect
	if bounded, ok := config.Dialer.(Bounded); ok {
		limit = bounded.Bound()
	}
	err = c.within(ctx, limit, failure.Connect, func(ctx context.Context) (err error) {
		c.mcp, err = open(ctx, c)
		return err
	})
	if err != nil {
		c.end(errDisposed)
		return nil, err
	}
	s.tell(Event{Kind: EventConnected, Duration: time.Since(started)})
	return c, nil
}

// list reads the tools within the configuration's time. Its error is always a *failure.Error.
func (c *conn) list(timeout time.Duration) (listing *Listing, err error) {
	err = c.within(c.ctx, timeout, failure.List, func(ctx context.Context) (err error) {
		if listing, err = c.mcp.List(ctx); err == nil && listing == nil {
			err = errNoListing
		}
		return err
	})
	return listing, err
}

// probe asks for a proof of life. It waits as long as bytes come from the server, but not longer than limit. Its error
// is always a *failure.Error.
func (c *conn) probe(limit time.Duration) error {
	ctx, end := context.WithCancelCause(c.ctx)
	defer end(nil)
	asked := time.Now()
	go func() {
		for wait := probeSilence; wait > 0; wait = probeSilence - time.Since(backoff.Later(asked, c.aliveAt())) {
			if pause(ctx, wait) != nil {
				return
			}
		}
		end(context.DeadlineExceeded)
	}()
	return c.within(ctx, limit, failure.Probe, c.mcp.Probe)
}

// pause waits, or returns the cause of ctx's end.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close ends the connection and waits for it, for 10 s at most. It is bounded even where a Conn does not honour its
// context.
func (c *conn) close() {
	c.end(errDisposed)
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = contained(c.tell, func() error { return c.mcp.Close(ctx) })
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	c.tell(Event{Kind: EventClosed})
}

// within runs one request under a deadline of ours and names its failure.
func (c *conn) within(
	ctx context.Context, limit time.Duration, phase failure.Phase, request func(context.Context) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := contained(c.tell, func() error { return request(ctx) })
	if err == nil {
		return nil
	}
	f := failure.ClassifyAt(phase, err)
	switch cause := context.Cause(ctx); {
	case f.LessSpecific(failure.Timeout) && errors.Is(cause, context.DeadlineExceeded):
		f = failure.ClassifyAt(phase, context.DeadlineExceeded)
	case f.Class == failure.Unknown && errors.As(cause, new(*lostError)):
		f = failure.ClassifyAt(phase, cause)
	}
	return &failure.Error{Failure: f, Cause: err}
}

// ended is the failure that a lost connection counts as, nil while it lives or was given up by us.
func (c *conn) ended() error {
	cause := context.Cause(c.ctx)
	if !errors.As(cause, new(*lostError)) {
		return nil
	}
	return &failure.Error{Failure: failure.ClassifyAt(failure.Stream, cause), Cause: cause}
}

// contained turns a panic below into an error. What was thrown is not shown: it may hold anything.
func contained(tell func(Event), f func() error) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			tell(Event{Kind: EventPanicked, Stack: string(debug.Stack())})
			err = &failure.Error{Failure: failure.Failure{
				Class: failure.Unknown, Reason: failure.UnknownFailure, Sent: true, Detail: "internal error",
			}}
		}
	}()
	return f()
}
