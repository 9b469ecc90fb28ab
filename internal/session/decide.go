package session

import (
	"context"
	"errors"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session/breaker"
)

// decide says what follows from a request that failed, and tells the breaker.
func (e *errand) decide(ln *line, permit breaker.Permit, err error) verdict {
	if cause := context.Cause(e.ctx); cause != nil && !errors.Is(cause, errCallTimeout) {
		e.srv.endPermit(permit, (*breaker.Breaker).Cancelled)
		return verdict{err: cause}
	}
	f := e.name(ln, err)
	switch call := f.Policy().Call; {
	case f.Answered:
		e.srv.answered(permit)
	case call == failure.Reauthenticate:
		return e.unauthorised(ln, permit, f)
	case call == failure.Wait:
		return e.limited(permit, f)
	case call == failure.Reopen:
		return e.forgotten(ln, permit, f)
	case f.Outcome() == failure.Answered:
		e.srv.endPermit(permit, (*breaker.Breaker).Rejected)
	case call == failure.Fail, e.blameless(ln, f):
		e.srv.endPermit(permit, (*breaker.Breaker).Cancelled)
	default:
		e.srv.failed(ln, permit, f)
		return e.again(f)
	}
	return e.ends(f)
}

// ends is the verdict of a call that is not tried again.
func (e *errand) ends(f failure.Failure) verdict {
	e.srv.tell(Event{Kind: Failed, Failure: f})
	return verdict{err: &failure.Error{Failure: f}}
}

// name is the Failure of a request's error; what we ended ourselves is known better than the connection can tell.
func (e *errand) name(ln *line, err error) failure.Failure {
	if errors.Is(context.Cause(e.ctx), errCallTimeout) {
		return failure.ClassifyAt(failure.Call, context.DeadlineExceeded)
	}
	f := failure.ClassifyAt(failure.Call, err)
	if cause := context.Cause(ln.link.ctx); cause != nil && (f.Class == failure.Unknown || errors.Is(err, cause)) {
		f = failure.ClassifyAt(failure.Call, lostFailure(&lostError{cause: cause}))
		f.Sent = true
	}
	return f
}

// blameless reports whether the failure tells nothing of the server: we ended the connection, or the server was heard
// while the call ran out of time.
func (e *errand) blameless(ln *line, f failure.Failure) bool {
	if f.Policy().Silence && ln.link.aliveAt().After(e.sent) {
		return true
	}
	cause := context.Cause(ln.link.ctx)
	return cause != nil && !errors.As(cause, new(*lostError))
}

// again is the verdict after a failure that counted: the call is tried again, up to the attempts of a round, if
// nothing of it was processed or a person said that its tool may be repeated.
func (e *errand) again(f failure.Failure) verdict {
	config := e.srv.settings()
	unprocessed := f.Outcome() == failure.NotProcessed
	refusal := e.srv.refusal()
	final := verdict{err: &failure.Error{Failure: f}}
	switch {
	case unprocessed && refusal != nil:
		final.err = refusal
	case unprocessed:
		final.err = &Refusal{Kind: TemporarilyUnavailable, Failure: f, RetryAfter: f.RetryAfter}
	}
	permitted := unprocessed || config.Calls.Replay != nil && config.Calls.Replay(e.call.Tool)
	if !permitted || refusal != nil || e.tries >= config.Recovery.Attempts || e.ctx.Err() != nil {
		return final
	}
	final.again = true
	final.wait = e.srv.sup.options.Rand.Delay(e.tries)
	if f.RetryAfterGiven {
		final.wait = e.srv.sup.options.Rand.Told(f.RetryAfter)
	}
	return final
}

// notDialled is the verdict where the line could not be opened. Its owner has told the breaker, except of a probe
// that joined it later.
func (e *errand) notDialled(ln *line, permit breaker.Permit) verdict {
	if ln.aborted {
		e.tries--
		e.srv.endPermit(permit, (*breaker.Breaker).Cancelled)
		return verdict{again: true, err: &Refusal{Kind: TemporarilyUnavailable}}
	}
	f := failureOf(ln.err)
	if permit.Probe && permit != ln.permit {
		e.srv.failed(ln, permit, f)
	}
	return e.again(f)
}

// notSent is the verdict where the line was lost before the call was sent over it, and its owner has yet to notice.
func (e *errand) notSent(ln *line, permit breaker.Permit, f failure.Failure) verdict {
	if f.Policy().Loses {
		return e.forgotten(ln, permit, f)
	}
	f.Phase, f.Sent = failure.Call, false
	e.srv.failed(ln, permit, f)
	return e.again(f)
}

// limited is the verdict of a 429 or a 503 with Retry-After: the server is left alone for the time told, and the
// call waits for that if it is short and the call may be sent again.
func (e *errand) limited(permit breaker.Permit, f failure.Failure) verdict {
	wait := f.RetryAfter
	if !f.RetryAfterGiven {
		wait = e.srv.sup.options.Rand.Delay(1)
	}
	unprocessed := f.Outcome() == failure.NotProcessed
	e.srv.limited(permit, f, time.Now().Add(wait))
	config := e.srv.settings()
	may := !e.resent
	if !unprocessed {
		may = config.Calls.Replay != nil && config.Calls.Replay(e.call.Tool) && e.tries < config.Recovery.Attempts
	}
	final := verdict{err: &failure.Error{Failure: f}}
	if unprocessed {
		final.err = &Refusal{Kind: TemporarilyUnavailable, Failure: f, RetryAfter: wait}
	}
	if may && wait <= longestHeld && e.inTime(wait) {
		e.resent = e.resent || unprocessed
		final.again, final.wait = true, e.srv.sup.options.Rand.Told(wait)
	}
	return final
}

// inTime reports whether the call still has time after wait.
func (e *errand) inTime(wait time.Duration) bool {
	then := time.Now().Add(wait)
	if deadline, bounded := e.ctx.Deadline(); bounded && !then.Before(deadline) {
		return false
	}
	return then.UnixNano() < e.deadline.Load()
}

// forgotten is the verdict of a 404 to a request with a session id: the session is opened anew and the call sent
// again, once. A second 404 is the server's answer.
func (e *errand) forgotten(ln *line, permit breaker.Permit, f failure.Failure) verdict {
	if e.resent {
		f.Class, f.Reason = failure.Protocol, failure.EndpointNotFound
		e.srv.endPermit(permit, (*breaker.Breaker).Rejected)
		return e.ends(f)
	}
	e.resent = true
	e.srv.endPermit(permit, (*breaker.Breaker).Cancelled)
	next := verdict{again: true}
	if n := e.srv.forgotten(ln); n >= flapping {
		f.Reason = failure.SessionFlapping
		next.wait = e.srv.sup.options.Rand.Delay(n - flapping + 1)
	}
	next.err = &Refusal{Kind: TemporarilyUnavailable, Failure: f}
	return next
}

// unauthorised is the verdict of a 401. Another credential than the one that was shown is tried at once; otherwise
// the call fails, and one new connect finds out whether the credential is no longer good or only this call's.
func (e *errand) unauthorised(ln *line, permit breaker.Permit, f failure.Failure) verdict {
	e.srv.endPermit(permit, (*breaker.Breaker).Rejected)
	if !e.resent && e.rotated(ln) {
		e.resent = true
		return verdict{again: true, err: &failure.Error{Failure: f}}
	}
	e.srv.confirm(ln)
	return e.ends(f)
}

// rotated reports whether the server is now configured with another connection than the line was opened with,
// reading its credential anew if need be.
func (e *errand) rotated(ln *line) bool {
	reread := e.srv.sup.options.Reread
	if e.srv.settings().Connection == ln.config.Connection && reread != nil {
		if config, err := reread(e.waiting, e.srv.key); err == nil {
			e.srv.ensure(config.withDefaults())
		}
	}
	return e.srv.settings().Connection != ln.config.Connection
}

// endPermit ends a permit in one of the ways in which nothing failed.
func (s *server) endPermit(permit breaker.Permit, end func(*breaker.Breaker, breaker.Permit)) {
	s.change(func(g *guarded) {
		if g.breaker.State() == breaker.Closed {
			end(g.breaker, permit)
			return
		}
		end(g.breaker, permit)
		if g.breaker.State() == breaker.Closed && !s.sup.options.Discover {
			g.fault = nil
		}
		g.nudge()
	})
}

// answered ends the permit of a call with its answer. Without a discovery session it is calls that tell of a server.
func (s *server) answered(permit breaker.Permit) {
	s.endPermit(permit, (*breaker.Breaker).Answered)
	if !s.sup.options.Discover {
		s.change(func(g *guarded) { g.connected, g.attempted, g.settled = true, true, true })
	}
}

// failed ends a permit with a failure that counts, once for each line, and gives the line up.
func (s *server) failed(ln *line, permit breaker.Permit, f failure.Failure) {
	s.sup.judge(s.key, f, s.change, func(g *guarded, blameless bool) {
		g.detach(ln, errDisposed)
		if ln.counted && !permit.Probe {
			return
		}
		ln.counted = true
		g.fail(permit, f, blameless)
		if g.breaker.State() == breaker.Closed {
			return
		}
		g.fault = g.fault.follow(f)
		if !s.sup.options.Discover {
			g.connected, g.attempted, g.settled = false, true, true
		}
		g.nudge()
	})
}

// limited notes that the server asked to be left alone.
func (s *server) limited(permit breaker.Permit, f failure.Failure, until time.Time) {
	end := (*breaker.Breaker).Cancelled
	if f.Outcome() == failure.NotProcessed {
		end = (*breaker.Breaker).Rejected
	}
	s.endPermit(permit, end)
	s.change(func(g *guarded) {
		g.last = f
		g.events = append(g.events, Event{Kind: Failed, Failure: f})
		g.breaker.Gate(until)
	})
}

// forgotten gives up a line whose session the server has forgotten, and returns how often that happened to the
// session within the window.
func (s *server) forgotten(ln *line) (times int) {
	s.change(func(g *guarded) {
		session := g.session(ln.session)
		if g.detach(ln, errDisposed) {
			session.forgotten = append(session.forgotten, time.Now())
		}
		session.forgotten = recent(session.forgotten)
		times = len(session.forgotten)
	})
	return times
}

// confirm gives up a line over which a credential was refused, and opens another to find out what that means.
func (s *server) confirm(ln *line) {
	s.change(func(g *guarded) {
		if g.detach(ln, errDisposed) && !g.shut && g.breaker.State() == breaker.Closed {
			s.openLine(g, ln.session, g.breaker.Pass())
		}
	})
}
