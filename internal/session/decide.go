package session

import (
	"context"
	"errors"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session/breaker"
)

// longestWait is how long a call waits for a server that limits us, before it is failed with the time.
const longestWait = 30 * time.Second

// decide says what follows from a request that failed, and tells the breaker.
func (a *callAttempt) decide(err error) decision {
	if cause := context.Cause(a.ctx); cause != nil && !errors.Is(cause, errCallTimeout) {
		a.srv.ended(a.permit, (*breaker.Breaker).Cancelled)
		return decision{err: cause}
	}
	f := a.name(err)
	switch call := f.Policy().Call; {
	case f.Answered:
		a.srv.answered(a.permit, f, Event{Kind: EventFailed, Failure: f})
		return decision{err: &failure.Error{Failure: f}}
	case call == failure.Reauthenticate:
		return a.unauthorised(f)
	case call == failure.Wait:
		return a.limited(f)
	case call == failure.Reopen:
		return a.forgotten(f)
	case f.Outcome() == failure.Answered:
		return a.fail(f, (*breaker.Breaker).Rejected)
	case call == failure.Fail, a.blameless(f):
		return a.fail(f, (*breaker.Breaker).Cancelled)
	}
	a.srv.failed(a.on, a.permit, f)
	return a.again(f)
}

// fail ends a call that is not tried again, and its permit in one of the ways in which nothing failed.
func (a *callAttempt) fail(f failure.Failure, end func(*breaker.Breaker, breaker.Permit)) decision {
	a.srv.ended(a.permit, end, Event{Kind: EventFailed, Failure: f})
	return decision{err: &failure.Error{Failure: f}}
}

// name is the Failure of a request's error; what we ended ourselves is known better than the connection can tell.
func (a *callAttempt) name(err error) failure.Failure {
	if errors.Is(context.Cause(a.ctx), errCallTimeout) {
		return failure.ClassifyAt(failure.Call, context.DeadlineExceeded)
	}
	f := failure.ClassifyAt(failure.Call, err)
	if cause := context.Cause(a.on.conn.ctx); cause != nil && (f.Class == failure.Unknown || errors.Is(err, cause)) {
		f = failure.ClassifyAt(failure.Call, lost(cause))
		f.Sent = true
	}
	return f
}

// blameless reports whether the failure tells nothing of the server: we ended the connection, or the server was alive
// while the call ran out of time.
func (a *callAttempt) blameless(f failure.Failure) bool {
	if f.Policy().Silence && a.on.conn.aliveAt().After(a.sent) {
		return true
	}
	cause := context.Cause(a.on.conn.ctx)
	return cause != nil && !errors.As(cause, new(*lostError))
}

// replays reports whether the rules of replay let the call be sent again.
func (a *callAttempt) replays(call failure.CallPolicy, f failure.Failure, config Config) bool {
	return replayRules[call][f.Outcome()].allow(sends{
		attempts: a.attempts, limit: config.Recovery.Attempts, resent: a.resent,
		permitted: config.Calls.Replay != nil && config.Calls.Replay(a.call.Tool),
	})
}

// again is the decision after a failure that counted.
func (a *callAttempt) again(f failure.Failure) decision {
	config, refused := a.srv.outlook()
	final := decision{err: &failure.Error{Failure: f}}
	if f.Outcome() == failure.NotProcessed {
		final.err = &CallRefused{Kind: TemporarilyUnavailable, Failure: f, RetryAfter: f.RetryAfter}
		if refused != nil {
			final.err = refused
		}
	}
	if refused != nil || a.ctx.Err() != nil || !a.replays(failure.Replay, f, config) {
		return final
	}
	final.again = true
	final.wait = a.srv.sup.options.Rand.Delay(a.attempts)
	if f.RetryAfterGiven {
		final.wait = a.srv.sup.options.Rand.Told(f.RetryAfter)
	}
	return final
}

// notDialled is the decision where the connection could not be opened. Its owner has told the breaker, except of a
// probe that joined it later.
func (a *callAttempt) notDialled() decision {
	if a.on.aborted {
		a.attempts--
		a.srv.ended(a.permit, (*breaker.Breaker).Cancelled)
		return decision{again: true, err: &CallRefused{Kind: TemporarilyUnavailable}}
	}
	f := failure.Classify(a.on.err)
	if a.permit.Probe && a.permit != a.on.permit {
		a.srv.failed(a.on, a.permit, f)
	}
	return a.again(f)
}

// notSent is the decision where the connection was lost before the call was sent over it, and its owner has yet to
// notice.
func (a *callAttempt) notSent(f failure.Failure) decision {
	if f.Policy().Loses {
		return a.forgotten(f)
	}
	f.Phase, f.Sent = failure.Call, false
	a.srv.failed(a.on, a.permit, f)
	return a.again(f)
}

// limited is the decision after a 429 or a 503 with Retry-After: the server is left alone for the time told, and the
// call waits for that if it is short and the call may be sent again.
func (a *callAttempt) limited(f failure.Failure) decision {
	wait := f.RetryAfter
	if !f.RetryAfterGiven {
		wait = a.srv.sup.options.Rand.Delay(1)
	}
	unprocessed := f.Outcome() == failure.NotProcessed
	a.srv.limited(a.permit, f, time.Now().Add(wait))
	config, _ := a.srv.outlook()
	final := decision{err: &failure.Error{Failure: f}}
	if unprocessed {
		final.err = &CallRefused{Kind: TemporarilyUnavailable, Failure: f, RetryAfter: wait}
	}
	if wait <= longestWait && a.inTime(wait) && a.replays(failure.Wait, f, config) {
		a.resent = a.resent || unprocessed
		final.again, final.wait = true, a.srv.sup.options.Rand.Told(wait)
	}
	return final
}

// inTime reports whether the call still has time after wait.
func (a *callAttempt) inTime(wait time.Duration) bool {
	then := time.Now().Add(wait)
	if deadline, bounded := a.ctx.Deadline(); bounded && !then.Before(deadline) {
		return false
	}
	return then.UnixNano() < a.deadline.Load()
}

// forgotten is the decision after a 404 to a request with a session id: the session is opened anew and the call sent
// again, once. A second 404 is the server's answer.
func (a *callAttempt) forgotten(f failure.Failure) decision {
	if a.resent {
		f.Class, f.Reason = failure.Protocol, failure.EndpointNotFound
		return a.fail(f, (*breaker.Breaker).Rejected)
	}
	a.resent = true
	next := decision{again: true}
	if n := a.srv.forgotten(a.on, a.permit); n >= flapping {
		f.Reason = failure.SessionFlapping
		next.wait = a.srv.sup.options.Rand.Delay(n - flapping + 1)
	}
	next.err = &CallRefused{Kind: TemporarilyUnavailable, Failure: f}
	return next
}

// unauthorised is the decision after a 401. Another credential than the one that was shown is tried at once; otherwise
// the call fails, and one new connect finds out whether the credential is no longer good or only this call's.
func (a *callAttempt) unauthorised(f failure.Failure) decision {
	a.srv.ended(a.permit, (*breaker.Breaker).Rejected)
	if !a.resent && a.rotated() {
		a.resent = true
		return decision{again: true, err: &failure.Error{Failure: f}}
	}
	a.srv.confirm(a.on, f)
	return decision{err: &failure.Error{Failure: f}}
}

// rotated reports whether the server is now configured with another connection than the one that was used, reading its
// credential anew if need be.
func (a *callAttempt) rotated() bool {
	reread := a.srv.sup.options.Reread
	config, _ := a.srv.outlook()
	if config.Connection == a.on.config.Connection && reread != nil {
		if read, err := reread(a.waiting, a.srv.key); err == nil {
			a.srv.ensure(read)
			config, _ = a.srv.outlook()
		}
	}
	return config.Connection != a.on.config.Connection
}

// ended ends a permit in one of the ways in which nothing failed.
func (s *server) ended(permit breaker.Permit, end func(*breaker.Breaker, breaker.Permit), events ...Event) {
	s.change(func(g *guarded) {
		s.endPermit(g, permit, end)
		g.effects.events = append(g.effects.events, events...)
	})
}

func (s *server) endPermit(g *guarded, permit breaker.Permit, end func(*breaker.Breaker, breaker.Permit)) {
	open := g.breaker.State() != breaker.Closed
	end(g.breaker, permit)
	if !open {
		return
	}
	if g.breaker.State() == breaker.Closed && !s.sup.options.Discover {
		g.known.fault = nil
	}
	g.nudge()
}

// answered ends the permit of a call with its answer; told is what that says of the server itself, zero for nothing.
// Without a discovery session it is calls that tell of a server.
func (s *server) answered(permit breaker.Permit, told failure.Failure, events ...Event) {
	s.change(func(g *guarded) {
		s.endPermit(g, permit, (*breaker.Breaker).Answered)
		g.gate(told)
		g.effects.events = append(g.effects.events, events...)
		if !s.sup.options.Discover {
			g.known.connected, g.known.attempted, g.known.settled = true, true, true
		}
	})
}

// failed ends a permit with a failure that counts, once for each connection, and gives the connection up.
func (s *server) failed(c *callConn, permit breaker.Permit, f failure.Failure) {
	s.change(func(g *guarded) { s.callFailed(g, c, permit, f) })
}

func (s *server) callFailed(g *guarded, c *callConn, permit breaker.Permit, f failure.Failure) {
	blameless := s.suspect(g, f)
	g.detach(c, errDisposed)
	if c.counted && !permit.Probe {
		return
	}
	c.counted = true
	s.fail(g, permit, f, blameless)
	if g.breaker.State() == breaker.Closed {
		return
	}
	g.known.fault = g.known.fault.follow(f)
	if !s.sup.options.Discover {
		g.known.connected, g.known.attempted, g.known.settled = false, true, true
	}
	g.nudge()
}

// limited notes that the server asked to be left alone.
func (s *server) limited(permit breaker.Permit, f failure.Failure, until time.Time) {
	end := (*breaker.Breaker).Cancelled
	if f.Outcome() != failure.OutcomeUnknown {
		end = (*breaker.Breaker).Rejected
	}
	s.change(func(g *guarded) {
		s.endPermit(g, permit, end)
		g.failed(f)
		g.breaker.NotBefore(until)
	})
}

// forgotten ends a permit and gives up a connection whose session the server has forgotten, and returns how often that
// happened to the session within the window.
func (s *server) forgotten(c *callConn, permit breaker.Permit) (times int) {
	s.change(func(g *guarded) {
		s.endPermit(g, permit, (*breaker.Breaker).Cancelled)
		now, session := time.Now(), g.session(c.session)
		if g.detach(c, errDisposed) {
			session.forgotten.add(now)
		}
		times = len(session.forgotten.recent(now))
	})
	return times
}

// confirm gives up a connection over which a credential was refused, and opens another to find out what that means.
func (s *server) confirm(c *callConn, f failure.Failure) {
	s.change(func(g *guarded) {
		if g.detach(c, errDisposed) && !g.shut && g.breaker.State() == breaker.Closed {
			s.openCallConn(g, c.session, g.breaker.Pass())
		}
		g.tell(Event{Kind: EventFailed, Failure: f})
	})
}

// replayRule says whether a call that failed is sent again.
type replayRule int

const (
	replayNever     replayRule = iota
	replayOnce                 // the one resend that needs no permission
	replayRound                // as often as a round has attempts
	replayPermitted            // the same, if a person named the tool as safe to repeat
)

// replayRules is DESIGN.md section 4, "Replay", by what is done about the failure and what became of the call. What is
// not here is not sent again.
var replayRules = map[failure.CallPolicy]map[failure.Outcome]replayRule{
	failure.Replay:         {failure.NotProcessed: replayRound, failure.OutcomeUnknown: replayPermitted},
	failure.Wait:           {failure.NotProcessed: replayOnce, failure.OutcomeUnknown: replayPermitted},
	failure.Reauthenticate: {failure.NotProcessed: replayOnce},
	failure.Reopen:         {failure.NotProcessed: replayOnce},
}

// sends is what was sent of a call, and what may be.
type sends struct {
	attempts, limit   int
	resent, permitted bool
}

// allow reports whether the call may be sent again.
func (r replayRule) allow(s sends) bool {
	switch r {
	case replayOnce:
		return !s.resent
	case replayRound:
		return s.attempts < s.limit
	case replayPermitted:
		return s.attempts < s.limit && s.permitted
	case replayNever:
	}
	return false
}
