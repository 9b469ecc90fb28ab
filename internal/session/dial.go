package session

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
)

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

// conn is one live connection, owned by the goroutine that dialled it, and what is heard from it between requests. It
// is the Observer of its Conn.
type conn struct {
	mcp Conn
	// ctx ends when the connection is lost or given up; its cause is why. Every request runs under it.
	ctx context.Context
	end context.CancelCauseFunc
	// changed holds one word while a change of the tools has not been heard by the owner.
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
	c.end(&lostError{cause: err})
}

// lostError is the cause of a connection that ended without a request having failed.
type lostError struct{ cause error }

func (e *lostError) Error() string { return "connection lost" }

// Unwrap returns what the transport reported.
func (e *lostError) Unwrap() error { return e.cause }

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
func (s *server) dial(ctx context.Context, config Config, rank int) (*conn, error) {
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
		c.mcp, err = config.Dialer.Dial(ctx, c)
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
		for wait := probeSilence; wait > 0; wait = probeSilence - time.Since(later(asked, c.aliveAt())) {
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

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
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
		_ = c.contained(func() error { return c.mcp.Close(ctx) })
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
	err := c.contained(func() error { return request(ctx) })
	if err == nil {
		return nil
	}
	f := failure.ClassifyAt(phase, err)
	lost := new(lostError)
	switch cause := context.Cause(ctx); {
	case f.LessSpecific(failure.Timeout) && errors.Is(cause, context.DeadlineExceeded):
		f = failure.ClassifyAt(phase, context.DeadlineExceeded)
	case f.Class == failure.Unknown && errors.As(cause, &lost):
		f = failure.ClassifyAt(phase, lostFailure(lost))
	}
	return &failure.Error{Failure: f, Cause: err}
}

// ended is the failure that a lost connection counts as, nil while it lives or was given up by us.
func (c *conn) ended() error {
	lost := new(lostError)
	if !errors.As(context.Cause(c.ctx), &lost) {
		return nil
	}
	f := failure.ClassifyAt(failure.Stream, lostFailure(lost))
	return &failure.Error{Failure: f, Cause: lost}
}

// lostFailure is what a lost connection counts as where the transport said nothing better.
func lostFailure(lost *lostError) error {
	if f := failure.Classify(lost.cause); f.Class != "" && f.Class != failure.Unknown {
		return lost.cause
	}
	return &failure.Error{
		Failure: failure.Failure{Class: failure.Transport, Reason: failure.ConnectionLost, Sent: true},
		Cause:   lost,
	}
}

func (c *conn) contained(f func() error) error { return contained(c.tell, f) }

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

// failureOf is the Failure of an error of this package.
func failureOf(err error) failure.Failure { return failure.Classify(err) }
