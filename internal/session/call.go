package session

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session/breaker"
	"github.com/mooring-dev/mooring/internal/session/limits"
)

// Caller says on whose behalf a call is made.
type Caller struct {
	// Name is whose turn it is where calls have to wait.
	Name string
	// Session is the key of the session that carries the call; callers that name the same share it.
	Session string
}

// RefusalKind says how long a refusal stands.
type RefusalKind string

// The kinds.
const (
	// TemporarilyUnavailable: it is tried again by itself, in about RetryAfter.
	TemporarilyUnavailable RefusalKind = "temporarily unavailable"
	// Unavailable: it is not tried before RetryAfter, if at all.
	Unavailable RefusalKind = "unavailable"
	// Overloaded: the caller has too many calls waiting.
	Overloaded RefusalKind = "overloaded"
)

// Refusal is the error of a call that the server did not process. It may be made again.
type Refusal struct {
	Kind RefusalKind
	// Failure is what stands in the way; its zero value where nothing has failed.
	Failure failure.Failure
	// RetryAfter is the time until the server is tried again; 0 when none is planned or it is not known.
	RetryAfter time.Duration
}

// Error names the kind and the reason.
func (r *Refusal) Error() string {
	if r.Failure.Reason == "" {
		return string(r.Kind)
	}
	return string(r.Kind) + ": " + string(r.Failure.Reason)
}

// Unwrap returns ErrNotConnected, unless there is a connection and it is only busy.
func (r *Refusal) Unwrap() error {
	if r.Kind == Overloaded {
		return nil
	}
	return ErrNotConnected
}

// longestHeld is how long a call waits for a server that limits us, before it is failed with the time.
const longestHeld = 30 * time.Second

var errCallTimeout = errors.New("call deadline passed")

// errand is one call on its way. It belongs to the goroutine of Call.
type errand struct {
	srv  *server
	from Caller
	call Call
	// ctx ends with the caller's, or with cause errCallTimeout when the deadline passes. waiting also ends when the
	// server is shut: under it stands all that is not a request in flight.
	ctx, waiting context.Context
	// callMax is when the call ends at the latest, deadline when it ends if the server stays silent, in Unix
	// nanoseconds: progress moves it from another goroutine.
	callMax  time.Time
	deadline atomic.Int64
	// sent is when the present request was.
	sent time.Time
	// tries counts requests and failed dials; resent: the one resend that needs no permission is spent.
	tries  int
	resent bool
}

// Call sends one call over the session that its caller names, opening it if need be, and returns the server's answer.
// The error is a *Refusal where the server did not process the call and did not say why, a *failure.Error where it
// refused it or its outcome is not known (failure.Failure.Outcome tells), and the cause of ctx where the caller went away.
// It returns within timeouts.call of silence and callMax in all, however the connection behaves.
func (s *Supervisor) Call(ctx context.Context, key Key, from Caller, call Call) (Answer, error) {
	srv := s.find(key)
	if srv == nil {
		return Answer{}, &Refusal{Kind: Unavailable}
	}
	timeouts := srv.settings().Timeouts
	e := &errand{srv: srv, from: from, call: call, callMax: time.Now().Add(timeouts.CallMax)}
	e.deadline.Store(time.Now().Add(timeouts.Call).UnixNano())
	var cancel context.CancelCauseFunc
	e.ctx, cancel = context.WithCancelCause(ctx)
	defer cancel(context.Canceled)
	idle := time.AfterFunc(timeouts.Call, func() { cancel(errCallTimeout) })
	defer idle.Stop()
	e.call.Progress = e.progress(idle, timeouts.Call)
	var release func()
	e.waiting, release = joined(e.ctx, srv.closing)
	defer release()
	return e.run()
}

// progress lets progress re-arm the idle timer, up to callMax.
func (e *errand) progress(idle *time.Timer, timeout time.Duration) func(json.RawMessage) {
	next := e.call.Progress
	return func(params json.RawMessage) {
		left := min(timeout, time.Until(e.callMax))
		e.deadline.Store(time.Now().Add(left).UnixNano())
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

// verdict is what follows from a try.
type verdict struct {
	again bool
	// wait is the time until the next try; err is what is returned when there is none.
	wait time.Duration
	err  error
}

// run tries until the call is answered or nothing more may be tried.
func (e *errand) run() (Answer, error) {
	for {
		answer, next := e.try()
		if next.err == nil {
			return answer, nil
		}
		if !next.again {
			return Answer{}, next.err
		}
		if e.pause(next.wait) != nil {
			return Answer{}, e.interrupted(next.err)
		}
	}
}

// pause waits before the next try.
func (e *errand) pause(wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-e.waiting.Done():
		return context.Cause(e.waiting)
	}
}

// interrupted is the error of a call that ended while nothing of it was in flight. Last is what its last try failed
// with, nil for none.
func (e *errand) interrupted(last error) error {
	cause := context.Cause(e.waiting)
	switch {
	case errors.Is(cause, errShutdown), errors.Is(cause, errForgotten):
		return &Refusal{Kind: Unavailable}
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

// try is one request, when the breaker and the slots let it through.
func (e *errand) try() (Answer, verdict) {
	if refusal := e.srv.refusal(); refusal != nil {
		return Answer{}, verdict{err: refusal}
	}
	leave, err := e.srv.slots.Enter(e.waiting, e.from.Name)
	if errors.Is(err, limits.ErrOverloaded) {
		return Answer{}, verdict{err: &Refusal{Kind: Overloaded}}
	}
	if err != nil {
		return Answer{}, verdict{err: e.interrupted(nil)}
	}
	permit, ln, refusal := e.srv.take(e.from.Session)
	if refusal != nil {
		leave()
		return Answer{}, verdict{err: refusal}
	}
	return e.send(ln, permit, leave)
}

// send waits for the line to be ready and sends the request over it.
func (e *errand) send(ln *line, permit breaker.Permit, leave func()) (Answer, verdict) {
	select {
	case <-ln.ready:
	case <-e.waiting.Done():
		ln.give(leave)
		e.srv.endPermit(permit, (*breaker.Breaker).Cancelled)
		return Answer{}, verdict{err: e.interrupted(nil)}
	}
	e.tries++
	if ln.err != nil {
		ln.give(leave)
		return Answer{}, e.notDialled(ln, permit)
	}
	if lost := ln.link.ended(); lost != nil {
		ln.give(leave)
		return Answer{}, e.notSent(ln, permit, failureOf(lost))
	}
	answer, err := e.request(ln, leave)
	if err == nil {
		e.srv.answered(permit)
		return answer, verdict{}
	}
	return Answer{}, e.decide(ln, permit, err)
}

// reply is what a request came to.
type reply struct {
	answer Answer
	err    error
}

// request sends the call and waits for its answer, but never longer than the caller. The place of the call is free
// again when the connection has let go of it.
func (e *errand) request(ln *line, leave func()) (Answer, error) {
	e.sent = time.Now()
	ctx, release := joined(e.ctx, ln.link.ctx)
	replies := make(chan reply, 1)
	go func() {
		var r reply
		r.err = contained(e.srv.tell, func() (err error) {
			r.answer, err = ln.link.conn.Call(ctx, e.call)
			return err
		})
		ln.give(leave)
		replies <- r
	}()
	defer release()
	select {
	case r := <-replies:
		return r.answer, r.err
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
}
