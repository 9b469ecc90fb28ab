package session

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session/breaker"
)

// Caller says on whose behalf a call is made.
type Caller struct {
	// Name is whose turn it is where calls have to wait.
	Name string
	// Session is the key of the session that carries the call; callers that name the same share it.
	Session string
}

// CallRefusedKind says how long a refusal holds.
type CallRefusedKind string

// The kinds.
const (
	// TemporarilyUnavailable: the server is tried again in about RetryAfter.
	TemporarilyUnavailable CallRefusedKind = "temporarily unavailable"
	// Unavailable: it is not tried before RetryAfter, if at all.
	Unavailable CallRefusedKind = "unavailable"
	// Overloaded: the caller has too many calls waiting.
	Overloaded CallRefusedKind = "overloaded"
)

// CallRefused is the error of a call that the server did not process. It may be made again.
type CallRefused struct {
	Kind CallRefusedKind
	// Failure is the cause; its zero value where nothing has failed.
	Failure failure.Failure
	// RetryAfter is the time until the server is tried again; 0 when none is planned or it is not known.
	RetryAfter time.Duration
}

// Error names the kind and the reason.
func (r *CallRefused) Error() string {
	if r.Failure.Reason == "" {
		return string(r.Kind)
	}
	return string(r.Kind) + ": " + string(r.Failure.Reason)
}

// Unwrap returns ErrNotConnected, unless there is a connection and it is only busy.
func (r *CallRefused) Unwrap() error {
	if r.Kind == Overloaded {
		return nil
	}
	return ErrNotConnected
}

var errCallTimeout = errors.New("call deadline passed")

// pendingCall is one call on its way. It belongs to the goroutine of Call.
type pendingCall struct {
	srv  *server
	from Caller
	call Call
	// ctx ends with the caller's, or with cause errCallTimeout when the deadline passes. waiting also ends when the
	// server is shut: it bounds all but a request in flight.
	ctx, waiting context.Context
	// callMax is when the call ends at the latest, deadline when it ends if the server stays silent, in Unix
	// nanoseconds: progress moves it from another goroutine.
	callMax  time.Time
	deadline atomic.Int64
	// attempts counts requests and failed dials; resent: the one resend that needs no permission is spent.
	attempts int
	resent   bool
}

// callAttempt is one try of a call: what it was given to make one request.
type callAttempt struct {
	*pendingCall
	permit breaker.Permit
	on     *callConn
	leave  func() // gives back the place among the calls in flight
	sent   time.Time
}

// Call sends one call over the session that its caller names, opening it if need be, and returns the server's answer.
// The error is a *CallRefused where the server did not process the call and did not say why, a *failure.Error where it
// refused it or its outcome is not known (its Outcome tells), and the cause of ctx where the caller went away.
// It returns within timeouts.call of silence and callMax in all, however the connection behaves.
func (s *Supervisor) Call(ctx context.Context, key Key, from Caller, call Call) (Answer, error) {
	srv := s.find(key)
	if srv == nil {
		return Answer{}, &CallRefused{Kind: Unavailable}
	}
	config, refused := srv.outlook()
	if refused != nil {
		return Answer{}, refused
	}
	timeouts := config.Timeouts
	p := &pendingCall{srv: srv, from: from, call: call, callMax: time.Now().Add(timeouts.CallMax)}
	p.deadline.Store(time.Now().Add(timeouts.Call).UnixNano())
	var cancel context.CancelCauseFunc
	p.ctx, cancel = context.WithCancelCause(ctx)
	defer cancel(context.Canceled)
	idle := time.AfterFunc(timeouts.Call, func() { cancel(errCallTimeout) })
	defer idle.Stop()
	p.call.Progress = p.progress(idle, timeouts.Call)
	var release func()
	p.waiting, release = joined(p.ctx, srv.closing)
	defer release()
	return p.run()
}

// progress lets progress re-arm the idle timer, up to callMax.
func (p *pendingCall) progress(idle *time.Timer, timeout time.Duration) func(json.RawMessage) {
	next := p.call.Progress
	return func(params json.RawMessage) {
		left := min(timeout, time.Until(p.callMax))
		p.deadline.Store(time.Now().Add(left).UnixNano())
		idle.Reset(left)
		if next != nil {
			next(params)
		}
	}
}

// joined is a context that ends with either.
func joined(ctx, other context.Context) (context.Context, func()) {
	both, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { end(context.Cause(other)) })
	return both, func() {
		stop()
		end(context.Canceled)
	}
}

// decision is what follows from an attempt: its answer, another attempt after wait, or err, which is also what the call
// ends with when it is interrupted while it waits.
type decision struct {
	answer Answer
	again  bool
	wait   time.Duration
	err    error
}

// run tries until the call is answered or nothing more may be tried.
func (p *pendingCall) run() (Answer, error) {
	for {
		next := p.attempt()
		if !next.again {
			return next.answer, next.err
		}
		if pause(p.waiting, next.wait) != nil {
			return Answer{}, p.interrupted(next.err)
		}
		if _, refused := p.srv.outlook(); refused != nil {
			return Answer{}, refused
		}
	}
}

// interrupted is the error of a call that ended while nothing of it was in flight. Last is what its last attempt failed
// with, nil for none.
func (p *pendingCall) interrupted(last error) error {
	cause := context.Cause(p.waiting)
	switch {
	case errors.Is(cause, errShutdown), errors.Is(cause, errForgotten):
		return &CallRefused{Kind: Unavailable}
	case !errors.Is(cause, errCallTimeout):
		return cause
	case last != nil:
		return last
	}
	return &failure.Error{
		Failure: failure.Failure{Class: failure.Timeout, Phase: failure.Call, Reason: failure.CallTimeout},
		Cause:   cause,
	}
}

// attempt is one request, when the slots and the breaker let it through.
func (p *pendingCall) attempt() decision {
	leave, err := p.srv.slots.takeTurn(p.waiting, p.from.Name)
	if errors.Is(err, errOverloaded) {
		return decision{err: &CallRefused{Kind: Overloaded}}
	}
	if err != nil {
		return decision{err: p.interrupted(nil)}
	}
	permit, on, refused := p.srv.take(p.from.Session)
	if refused != nil {
		leave()
		return decision{err: refused}
	}
	return (&callAttempt{pendingCall: p, permit: permit, on: on, leave: leave}).send()
}

// send waits for the connection to be ready and sends the request over it.
func (a *callAttempt) send() decision {
	select {
	case <-a.on.ready:
	case <-a.waiting.Done():
		a.on.give(a.leave)
		a.srv.ended(a.permit, (*breaker.Breaker).Cancelled)
		return decision{err: a.interrupted(nil)}
	}
	a.attempts++
	if a.on.err != nil {
		a.on.give(a.leave)
		return a.notDialled()
	}
	if lost := a.on.conn.ended(); lost != nil {
		a.on.give(a.leave)
		return a.notSent(failure.Classify(lost))
	}
	answer, err := a.request()
	if err == nil {
		a.srv.answered(a.permit, answer.Failure)
		return decision{answer: answer}
	}
	return a.decide(err)
}

// reply is what a request came to.
type reply struct {
	answer Answer
	err    error
}

// request sends the call and waits for its answer, but never longer than the caller. The place of the call is free
// again when the connection has let go of it.
func (a *callAttempt) request() (Answer, error) {
	a.sent = time.Now()
	c := a.on.conn
	ctx, release := joined(a.ctx, c.ctx)
	replies := make(chan reply, 1)
	go func() {
		var r reply
		r.err = contained(c.tell, func() (err error) {
			r.answer, err = c.mcp.Call(ctx, a.call)
			return err
		})
		replies <- r // before the connection, which may only have waited for this call, is closed
		a.on.give(a.leave)
	}()
	defer release()
	select {
	case r := <-replies:
		return r.answer, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-replies:
		return r.answer, r.err
	default:
		return Answer{}, context.Cause(ctx)
	}
}
