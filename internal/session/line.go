package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/session/breaker"
)

// callSession is what calls under one session key share. It is guarded by its server's lock.
type callSession struct {
	// present is the line that takes new calls, nil when there is none; lines counts those that are not closed yet.
	present *line
	lines   int
	// broken: the last line was given up because of a failure, and none has been opened since.
	broken bool
	// forgotten are the times at which the server had forgotten the session, within the window.
	forgotten []time.Time
}

// line is one connection of a call session. Its goroutine owns the connection from dial to close. A line that failed
// takes no new call; those in flight may end, as one request's failure is not its siblings'.
type line struct {
	srv     *server
	session string
	config  Config
	// permit is of the call that opened the line; what its dial comes to ends it.
	permit breaker.Permit
	ctx    context.Context
	end    context.CancelCauseFunc
	wake   chan struct{}

	// ready is closed when the dial has ended; link, err and aborted do not change after that. Aborted: we ended the
	// dial ourselves.
	ready   chan struct{}
	link    *link
	err     error
	aborted bool

	// The rest is guarded by the server's lock. closing is why the line takes no new call. counted: the breaker
	// has been told of a failure of this line.
	inFlight  int
	idleSince time.Time
	closing   error
	dialled   bool
	counted   bool
}

// take admits a call and gives it a line, which is to be given back.
func (s *server) take(session string) (permit breaker.Permit, ln *line, refusal *Refusal) {
	s.change(func(g *guarded) {
		if refusal = g.refusal(); refusal != nil {
			return
		}
		permit, _ = g.breaker.Admit(time.Now())
		if ln = g.session(session).present; ln == nil {
			ln = s.openLine(g, session, permit)
		}
		ln.inFlight++
	})
	return permit, ln, refusal
}

// session returns the session of a key. On the way it drops sessions that nothing is left of.
func (g *guarded) session(key string) *callSession {
	session, known := g.calls[key]
	if known {
		return session
	}
	for other, old := range g.calls {
		if old.lines == 0 && len(recent(old.forgotten)) == 0 {
			delete(g.calls, other)
		}
	}
	session = &callSession{}
	g.calls[key] = session
	return session
}

// refusal returns why a call may not be tried now, nil when it may.
func (s *server) refusal() *Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.guarded.refusal()
}

func (g *guarded) refusal() *Refusal {
	if g.shut || g.base == nil || g.config.Refused {
		return &Refusal{Kind: Unavailable, Failure: g.last}
	}
	no := g.breaker.Refuses(time.Now())
	if no == nil {
		return nil
	}
	refusal := &Refusal{Kind: TemporarilyUnavailable, Failure: g.last, RetryAfter: no.RetryAfter}
	if g.fault != nil {
		refusal.Failure = g.fault.Failure
	}
	if no.Retired {
		refusal.Kind = Unavailable
	}
	return refusal
}

func (s *server) settings() Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.guarded.config
}

// openLine starts the present line of a session.
func (s *server) openLine(g *guarded, session string, permit breaker.Permit) *line {
	ln := &line{
		srv: s, session: session, config: g.config, permit: permit,
		wake: make(chan struct{}, 1), ready: make(chan struct{}), idleSince: time.Now(),
	}
	ln.ctx, ln.end = context.WithCancelCause(g.base)
	holder := g.session(session)
	if holder.broken {
		g.events = append(g.events, Event{Kind: Rebuilt})
	}
	holder.present, holder.broken = ln, false
	holder.lines++
	s.sup.running.Go(ln.run)
	return ln
}

// run opens the line, keeps it while it is of use, and closes it.
func (ln *line) run() {
	opened := sync.OnceFunc(func() { close(ln.ready) })
	defer ln.finish()
	defer opened()
	ln.dial()
	opened()
	if ln.err != nil {
		return
	}
	ln.hold()
	ln.drain()
	ln.link.close(ln.srv.tell)
	ln.srv.tell(Event{Kind: Disposed})
}

// dial opens the connection. A failure is told to the breaker before anybody hears of it, once for all that wait.
func (ln *line) dial() {
	leave, err := ln.srv.sup.gate.Enter(ln.ctx, ln.config.Address, true)
	if err == nil {
		defer leave()
		started := time.Now()
		ln.link, err = dial(ln.ctx, ln.config, ln.srv.tell)
		if err == nil {
			ln.srv.tell(Event{Kind: Dialled, Duration: time.Since(started)})
		}
	}
	ln.err = err
	ln.srv.mu.Lock()
	ln.dialled = true
	ln.aborted = err != nil && ln.closing != nil
	ln.srv.mu.Unlock()
	if err != nil && !ln.aborted {
		ln.srv.failed(ln, ln.permit, failureOf(err))
	}
}

// hold keeps the line until it is lost, idle for too long, or no longer to be used.
func (ln *line) hold() {
	for {
		left, over := ln.look()
		if over {
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-ln.link.ctx.Done():
			ln.srv.change(func(g *guarded) { g.detach(ln, errDisposed) })
		case <-ln.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// look returns how long the line may go on idle, and whether it is over.
func (ln *line) look() (left time.Duration, over bool) {
	ln.srv.change(func(g *guarded) {
		left = g.config.Calls.IdleTimeout
		if ln.inFlight == 0 {
			left -= time.Since(ln.idleSince)
		}
		if left <= 0 {
			g.detach(ln, errIdle)
		}
		over = ln.closing != nil
	})
	return left, over
}

// drain waits for the calls in flight, and ends those that take too long.
func (ln *line) drain() {
	timer := time.NewTimer(max(ln.srv.sup.options.DrainTimeout, 0))
	defer timer.Stop()
	for ln.busy() {
		select {
		case <-ln.link.ctx.Done():
			return
		case <-ln.wake:
		case <-timer.C:
			ln.end(ln.closing)
			return
		}
	}
}

func (ln *line) busy() bool {
	ln.srv.mu.Lock()
	defer ln.srv.mu.Unlock()
	return ln.inFlight > 0
}

// give ends a call's use of the line and of its place.
func (ln *line) give(leave func()) {
	leave()
	ln.srv.mu.Lock()
	ln.inFlight--
	ln.idleSince = time.Now()
	ln.srv.mu.Unlock()
	signal(ln.wake)
}

// finish notes that nothing is left of the line.
func (ln *line) finish() {
	ln.end(errDisposed)
	ln.srv.change(func(g *guarded) {
		g.detach(ln, errDisposed)
		g.calls[ln.session].lines--
	})
}

// detach lets a line take no new call. It reports whether it still did.
func (g *guarded) detach(ln *line, cause error) bool {
	if ln.closing != nil {
		return false
	}
	ln.closing = cause
	if session := g.calls[ln.session]; session.present == ln {
		session.present, session.broken = nil, errors.Is(cause, errDisposed)
	}
	if !ln.dialled {
		ln.end(cause)
	}
	signal(ln.wake)
	return true
}

// drain lets the present line of a session take no new call.
func (g *guarded) drain(cause error) {
	for _, session := range g.calls {
		if session.present != nil {
			g.detach(session.present, cause)
		}
	}
}

// recent drops the times that are no longer within the window.
func recent(times []time.Time) []time.Time {
	oldest := time.Now().Add(-window)
	for len(times) > 0 && times[0].Before(oldest) {
		times = times[1:]
	}
	return times
}
