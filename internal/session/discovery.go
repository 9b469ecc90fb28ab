package session

import (
	"context"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session/breaker"
	"github.com/mooring-dev/mooring/internal/session/pace"
)

const (
	// window is the time in which a server that loses sessions again and again is noticed.
	window = time.Minute
	// flapping is how many lost sessions within the window are no longer taken for a restart.
	flapping = 3
	// unnoticed is how long a session that is opened anew counts as connected still: most are back before anybody
	// need know.
	unnoticed = 2 * time.Second
)

// losses are the times at which sessions were lost in one way, within the window.
type losses []time.Time

// add notes another loss and returns how many there are.
func (l *losses) add(now time.Time) int {
	*l = append(l.recent(now), now)
	return len(*l)
}

func (l *losses) recent(now time.Time) losses {
	for len(*l) > 0 && now.Sub((*l)[0]) > window {
		*l = (*l)[1:]
	}
	return *l
}

// discovery is one incarnation of a server's discovery session: all that is done under one Connection and Reconnect.
// Its goroutine owns every connection that it dials, until that is closed. Its fields belong to that goroutine, but
// for wake and end, by which others reach it.
type discovery struct {
	srv  *server
	ctx  context.Context
	end  context.CancelCauseFunc
	wake chan struct{}

	lists  pace.Lists
	health pace.Health
	// forgotten are the sessions that the server had forgotten, dropped the connections that ended without a request.
	forgotten, dropped losses
	// since is when the present connection was opened. dropping: the server was put off for connections that ended
	// so, and none has outlived the window since.
	since    time.Time
	dropping bool
	// opened: there was a connection already.
	opened bool
	// redialling: a forgotten session that is still told to be connected is opened anew. It is guarded by the
	// server's lock. overdue ends that; it is nil before the first time.
	redialling bool
	overdue    *time.Timer
	// trying is the permit of the present attempt, catalog the hash that it began under.
	trying  breaker.Permit
	catalog string
}

// ending is why a live connection is given up. With permit set, the failure ends that permit.
type ending struct {
	failure failure.Failure
	permit  *breaker.Permit
	// ours: we gave it up ourselves; nothing failed.
	ours bool
}

func newDiscovery(base context.Context, srv *server) *discovery {
	d := &discovery{srv: srv, wake: make(chan struct{}, 1), lists: pace.NewLists(srv.sup.options.Rand)}
	d.ctx, d.end = context.WithCancelCause(base)
	d.health.Rand = srv.sup.options.Rand
	return d
}

// run holds the session until it is replaced or no longer wanted.
func (d *discovery) run() {
	defer d.redialled()
	for d.awaitTurn() {
		err := contained(d.srv.tell, func() error { d.attempt(); return nil })
		if err != nil {
			d.failed(d.trying, failure.Classify(err))
		}
	}
}

// change runs a transition, unless another discovery session has taken over.
func (d *discovery) change(transition func(g *guarded)) {
	d.srv.change(func(g *guarded) {
		if g.discovery == d {
			transition(g)
		}
	})
}

// awaitTurn waits until the breaker lets the session be tried. It reports false when it is no longer wanted.
func (d *discovery) awaitTurn() bool {
	for d.ctx.Err() == nil {
		now := time.Now()
		next, planned := d.next(now)
		if planned && !next.After(now) {
			return true
		}
		d.rest(planned, next.Sub(now))
	}
	return false
}

func (d *discovery) next(now time.Time) (time.Time, bool) {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	next, planned := d.srv.guarded.breaker.Next(now)
	return backoff.Later(next, d.srv.guarded.edits.turn), planned
}

// rest waits for a word from others, and no longer than wait if it is bounded.
func (d *discovery) rest(bounded bool, wait time.Duration) {
	var due <-chan time.Time
	if bounded {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-d.ctx.Done():
	case <-d.wake:
	case <-due:
	}
}

// attempt is one try: connect, list, and hold what was gained for as long as it lives.
func (d *discovery) attempt() {
	c, err := d.connect(d.begin())
	switch {
	case d.ctx.Err() != nil && err != nil:
		return
	case err != nil:
		d.failed(d.trying, failure.Classify(err))
		return
	}
	dispose := sync.OnceFunc(c.close)
	defer dispose() // in case of a panic
	end := d.hold(c)
	dispose() // before anything else, so that nothing is ever awaited on a connection that failed
	switch {
	case d.ctx.Err() != nil:
	case end.ours:
		d.change(func(g *guarded) { g.cancelled(d.trying) })
	case end.permit != nil:
		d.failed(*end.permit, end.failure)
	default:
		d.vanished(end.failure)
	}
}

// begin takes the permit of the next try.
func (d *discovery) begin() (config Config) {
	d.change(func(g *guarded) {
		d.trying, d.catalog = g.breaker.Begin(), g.config.Catalog
		config = g.config
		config.Urgent = config.Urgent || g.edits.pending
		g.known.attempting, g.edits.pending = true, false
	})
	return config
}

// pass is the leave for what is done over a live session.
func (d *discovery) pass() breaker.Permit {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	return d.srv.guarded.breaker.Pass()
}

func (d *discovery) connect(config Config) (*conn, error) {
	defer d.redialled()
	rank := unhurried
	if config.Urgent {
		rank = urgent
	}
	return d.srv.dial(d.ctx, config, rank, config.Dialer.Dial)
}

// reopen ends a try for which the server had forgotten the session. It stays connected for the moment that it takes to
// open it anew, but no longer.
func (d *discovery) reopen(permit breaker.Permit, f failure.Failure) {
	d.change(func(g *guarded) {
		g.cancelled(permit)
		d.redialling = g.known.connected
	})
	d.overdue = time.AfterFunc(unnoticed, func() {
		d.change(func(g *guarded) {
			if d.redialling {
				g.disconnected()
				g.known.fault = g.known.fault.follow(f)
			}
		})
	})
}

// redialled ends what reopen began.
func (d *discovery) redialled() {
	if d.overdue != nil {
		d.overdue.Stop()
	}
	d.change(func(*guarded) { d.redialling = false })
}

// hold lists the tools over a new connection and then serves it until it ends.
func (d *discovery) hold(c *conn) ending {
	d.since = time.Now()
	d.change(func(g *guarded) {
		if d.opened {
			g.tell(Event{Kind: EventRebuilt})
		}
		d.opened = true
		g.known.connected, g.known.info = true, c.mcp.Info()
		if g.breaker.State() == breaker.Closed {
			g.known.fault = nil
		}
	})
	if end := d.firstList(c, d.trying); end != nil {
		return *end
	}
	return d.serve(c)
}

// cancelled ends a try that taught nothing.
func (g *guarded) cancelled(permit breaker.Permit) {
	g.breaker.Cancelled(permit)
	g.known.attempting = false
}

// failed ends a try with a failure.
func (d *discovery) failed(permit breaker.Permit, f failure.Failure) {
	if f.Policy().Loses {
		if d.forgotten.add(time.Now()) < flapping && !permit.Probe {
			d.reopen(permit, f)
			return
		}
		f.Reason = failure.SessionFlapping
	}
	d.change(func(g *guarded) {
		d.srv.fail(g, permit, f, d.srv.suspect(g, f))
		g.attemptEnded(d.catalog)
		if f.Phase == failure.List {
			g.tools.fault = g.tools.fault.follow(f)
		}
		if f.Phase == failure.List && g.breaker.State() == breaker.Closed {
			return // the handshake works: the list is tried again before the session counts as lost
		}
		g.known.connected = false
		if g.breaker.Saved().Retirement != Refused || f.RetiresAtOnce() || f.RetiresAfterAttempts() || g.known.fault == nil {
			g.known.fault = g.known.fault.follow(f)
		}
	})
}

// vanished notes that a connection ended without a request. It is opened again soon, but where that happens again and
// again the server is put off as one that forgets its sessions, so that its status does not change all the time.
func (d *discovery) vanished(f failure.Failure) {
	if f.Policy().Loses {
		d.failed(d.pass(), f)
		return
	}
	now := time.Now()
	times := d.dropped.add(now)
	d.dropping = times >= flapping || d.dropping && now.Sub(d.since) < window
	d.change(func(g *guarded) {
		d.srv.suspect(g, f)
		g.tell(Event{Kind: EventFailed, Failure: f})
		g.disconnected()
		g.known.attempting = false
		g.known.fault = g.known.fault.follow(f)
		if d.dropping {
			flaps := f
			flaps.Reason = failure.SessionFlapping
			g.breaker.Failed(now, g.breaker.Pass(), flaps, true)
			return
		}
		g.breaker.Hold(now.Add(d.srv.sup.options.Rand.Delay(times)))
	})
}
