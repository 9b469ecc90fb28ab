package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session/breaker"
)

// callSession is what calls under one session key share. It is guarded by its server's lock.
type callSession struct {
	// present is the connection that takes new calls, nil when there is none; conns counts those that are not closed yet.
	present *callConn
	conns   int
	// broken: the last connection was given up because of a failure, and none has been opened since.
	broken bool
	// forgotten are the times at which the server had forgotten the session.
	forgotten losses
}

// callConn is one connection of a call session. Its goroutine owns the connection from dial to close. One that failed
// takes no new call; those in flight may end, as one request's failure is not its siblings'.
type callConn struct {
	srv     *server
	session string
	config  Config
	// permit is of the call that opened it; what its dial comes to ends it.
	permit breaker.Permit
	ctx    context.Context
	end    context.CancelCauseFunc
	wake   chan struct{}

	// ready is closed when the dial has ended; conn, err and aborted do not change after that. Aborted: we ended the
	// dial ourselves.
	ready   chan struct{}
	conn    *conn
	err     error
	aborted bool

	// The rest is guarded by the server's lock. closing is why it takes no new call. counted: the breaker has been told
	// of a failure of this connection.
	inFlight  int
	idleSince time.Time
	closing   error
	dialled   bool
	counted   bool
}

// take admits a call and gives it a connection, which is to be given back.
func (s *server) take(session string) (permit breaker.Permit, c *callConn, refused *CallRefused) {
	s.change(func(g *guarded) {
		if refused = g.refuses(); refused != nil {
			return
		}
		permit, _ = g.breaker.Admit(time.Now())
		if g.sessionless != "" && g.sessionless == g.config.Connection {
			session = "" // the server tells none apart: one connection serves all
		}
		if c = g.session(session).present; c == nil {
			c = s.openCallConn(g, session, permit)
		}
		c.inFlight++
	})
	return permit, c, refused
}

// session returns the session of a key. On the way it drops sessions that nothing is left of.
func (g *guarded) session(key string) *callSession {
	session, known := g.calls[key]
	if known {
		return session
	}
	now := time.Now()
	for other, old := range g.calls {
		if old.conns == 0 && len(old.forgotten.recent(now)) == 0 {
			delete(g.calls, other)
		}
	}
	session = &callSession{}
	g.calls[key] = session
	return session
}

// refuses returns why a call may not be tried now, nil when it may.
func (g *guarded) refuses() *CallRefused {
	if g.shut || g.base == nil || g.config.Refused {
		return &CallRefused{Kind: Unavailable, Failure: g.known.last}
	}
	denied := g.breaker.Denies(time.Now())
	if denied == nil {
		return nil
	}
	refused := &CallRefused{Kind: TemporarilyUnavailable, Failure: g.known.last, RetryAfter: denied.RetryAfter}
	if g.known.fault != nil {
		refused.Failure = g.known.fault.Failure
	}
	if denied.Retired {
		refused.Kind = Unavailable
	}
	return refused
}

// outlook returns the configuration, and why a call may not be tried now, nil when it may.
func (s *server) outlook() (Config, *CallRefused) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.guarded.config, s.guarded.refuses()
}

// openCallConn starts the present connection of a session.
func (s *server) openCallConn(g *guarded, session string, permit breaker.Permit) *callConn {
	c := &callConn{
		srv: s, session: session, config: g.config, permit: permit,
		wake: make(chan struct{}, 1), ready: make(chan struct{}), idleSince: time.Now(),
	}
	c.ctx, c.end = context.WithCancelCause(g.base)
	holder := g.session(session)
	if holder.broken {
		g.tell(Event{Kind: EventRebuilt})
	}
	holder.present, holder.broken = c, false
	holder.conns++
	s.sup.running.Go(c.run)
	return c
}

// run opens the connection, keeps it while it is of use, and closes it.
func (c *callConn) run() {
	opened := sync.OnceFunc(func() { close(c.ready) })
	defer c.finish()
	defer opened()
	c.dial()
	opened()
	if c.err != nil {
		return
	}
	c.hold()
	c.drain()
	c.conn.close()
}

// dial opens the connection. A failure is told to the breaker before any waiting call, once for all that wait.
func (c *callConn) dial() {
	c.conn, c.err = c.srv.dial(c.ctx, c.config, urgent, c.config.forCalls())
	c.srv.change(func(g *guarded) {
		c.dialled = true
		c.aborted = c.err != nil && c.closing != nil
		if c.err == nil && !c.conn.mcp.Info().HasSessionID {
			g.share(c)
		}
		if c.err != nil && !c.aborted {
			c.srv.callFailed(g, c, c.permit, failure.Classify(c.err))
		}
	})
}

// share makes a connection over which the server gave no session id the one that serves all sessions, unless there is
// one.
func (g *guarded) share(c *callConn) {
	g.sessionless = c.config.Connection
	shared, own := g.session(""), g.calls[c.session]
	if c.session == "" || shared.present != nil || own.present != c {
		return
	}
	own.present, own.conns = nil, own.conns-1
	shared.present, shared.conns, c.session = c, shared.conns+1, ""
}

// hold keeps the connection until it is lost, idle for too long, or no longer to be used.
func (c *callConn) hold() {
	for {
		left, over := c.look()
		if over {
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-c.conn.ctx.Done():
		case <-c.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// look returns how long the connection may go on idle, and whether it is over.
func (c *callConn) look() (left time.Duration, over bool) {
	c.srv.change(func(g *guarded) {
		left = g.config.Calls.IdleTimeout
		if c.inFlight == 0 {
			left -= time.Since(c.idleSince)
		}
		switch {
		case c.conn.ctx.Err() != nil:
			g.detach(c, errDisposed)
		case left <= 0:
			g.detach(c, errIdle)
		}
		over = c.closing != nil
	})
	return left, over
}

// drain waits for the calls in flight, and ends those that take too long.
func (c *callConn) drain() {
	timer := time.NewTimer(max(c.srv.sup.options.DrainTimeout, 0))
	defer timer.Stop()
	for c.busy() {
		select {
		case <-c.conn.ctx.Done():
			return
		case <-c.wake:
		case <-timer.C:
			c.end(c.closing)
			return
		}
	}
}

func (c *callConn) busy() bool {
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	return c.inFlight > 0
}

// give ends a call's use of the connection and of its place.
func (c *callConn) give(leave func()) {
	leave()
	c.srv.mu.Lock()
	c.inFlight--
	c.idleSince = time.Now()
	c.srv.mu.Unlock()
	signal(c.wake)
}

// finish notes that nothing is left of the connection.
func (c *callConn) finish() {
	c.end(errDisposed)
	c.srv.change(func(g *guarded) {
		g.detach(c, errDisposed)
		g.calls[c.session].conns--
	})
}

// detach lets a connection take no new call. It reports whether it still did.
func (g *guarded) detach(c *callConn, cause error) bool {
	if c.closing != nil {
		return false
	}
	c.closing = cause
	if session := g.calls[c.session]; session.present == c {
		session.present, session.broken = nil, errors.Is(cause, errDisposed)
	}
	if !c.dialled {
		c.end(cause)
	}
	signal(c.wake)
	return true
}

// drain lets the present connections take no new call.
func (g *guarded) drain(cause error) {
	for _, session := range g.calls {
		if session.present != nil {
			g.detach(session.present, cause)
		}
	}
}

// endCalls lets the present connections of the sessions that match take no new call.
func (s *server) endCalls(match func(session string) bool) {
	s.change(func(g *guarded) {
		for key, session := range g.calls {
			if session.present != nil && match(key) {
				g.detach(session.present, errForgotten)
			}
		}
	})
}
