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
	probeTimeout = 10 * time.Second
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

// link is one live connection, owned by the goroutine that dialled it, and what is heard from it between requests.
// It is the connection's Observer.
type link struct {
	conn Conn
	// ctx ends when the connection is lost or given up; its cause is why. Every request runs under it.
	ctx context.Context
	end context.CancelCauseFunc
	// changed holds one word while a change of the tools has not been heard by the owner.
	changed chan struct{}
	tell    func(Event)
	// alive is when bytes last came from the server, in Unix nanoseconds; 0 is never.
	alive atomic.Int64
}

var _ Observer = (*link)(nil)

// ListChanged implements Observer.
func (l *link) ListChanged() { signal(l.changed) }

// Alive implements Observer.
func (l *link) Alive() { l.alive.Store(time.Now().UnixNano()) }

// Lost implements Observer.
func (l *link) Lost(err error) {
	if thrown := new(PanicError); errors.As(err, &thrown) {
		l.tell(Event{Kind: Panicked, Stack: thrown.Stack})
	}
	l.end(&lostError{cause: err})
}

// lostError is the cause of a link that ended without a request having failed.
type lostError struct{ cause error }

func (e *lostError) Error() string { return "connection lost" }

// Unwrap returns what the transport reported.
func (e *lostError) Unwrap() error { return e.cause }

func (l *link) aliveAt() time.Time {
	if at := l.alive.Load(); at != 0 {
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

// dial opens a connection within the configuration's time, or within the Dialer's own. Its error is always a
// *failure.Error.
func dial(ctx context.Context, config Config, tell func(Event)) (*link, error) {
	l := &link{changed: make(chan struct{}, 1), tell: tell}
	l.ctx, l.end = context.WithCancelCause(ctx)
	limit := config.Timeouts.Connect
	if bounded, ok := config.Dialer.(Bounded); ok {
		limit = bounded.Bound()
	}
	err := within(ctx, limit, failure.Connect, tell, func(ctx context.Context) (err error) {
		l.conn, err = config.Dialer.Dial(ctx, l)
		return err
	})
	if err != nil {
		l.end(errDisposed)
		return nil, err
	}
	return l, nil
}

// list reads the tools within the configuration's time. Its error is always a *failure.Error.
func (l *link) list(timeout time.Duration, tell func(Event)) (listing *Listing, err error) {
	err = within(l.ctx, timeout, failure.List, tell, func(ctx context.Context) (err error) {
		if listing, err = l.conn.List(ctx); err == nil && listing == nil {
			err = errNoListing
		}
		return err
	})
	return listing, err
}

// probe asks for a proof of life. Its error is always a *failure.Error.
func (l *link) probe(tell func(Event)) error {
	return within(l.ctx, probeTimeout, failure.Probe, tell, l.conn.Probe)
}

// close ends the connection and waits for it, for 10 s at most. It is bounded even where a Conn does not honour its
// context.
func (l *link) close(tell func(Event)) {
	l.end(errDisposed)
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = contained(tell, func() error { return l.conn.Close(ctx) })
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// within runs one request under a deadline of ours and names its failure.
func within(ctx context.Context, timeout time.Duration, phase failure.Phase, tell func(Event),
	request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := contained(tell, func() error { return request(ctx) })
	if err == nil {
		return nil
	}
	f := failure.ClassifyAt(phase, err)
	lost := new(lostError)
	switch {
	case f.LessSpecific(failure.Timeout) && errors.Is(ctx.Err(), context.DeadlineExceeded):
		f = failure.ClassifyAt(phase, context.DeadlineExceeded)
	case f.Class == failure.Unknown && errors.As(context.Cause(ctx), &lost):
		f = failure.ClassifyAt(phase, lostFailure(lost))
	}
	return &failure.Error{Failure: f, Cause: err}
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

// contained turns a panic below into an error. What was thrown is not shown: it may hold anything.
func contained(tell func(Event), f func() error) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			tell(Event{Kind: Panicked, Stack: string(debug.Stack())})
			err = &failure.Error{Failure: failure.Failure{
				Class: failure.Unknown, Reason: failure.UnknownFailure, Sent: true, Detail: "internal error",
			}}
		}
	}()
	return f()
}

// failureOf is the Failure of an error of this package.
func failureOf(err error) failure.Failure { return failure.Classify(err) }
