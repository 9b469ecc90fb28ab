package session

import (
	"context"
	"time"

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
	// forgotten are the times at which the server had forgotten our session, lost those at which a connection
	// ended of itself, both within the window.
	forgotten, lost []time.Time
	// since is when the present connection was opened. dropping: the server was put off for connections that end of
	// themselves, and none has outlived the window since.
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
	d := &discovery{srv: srv, wake: make(chan struct{}, 1)}
	d.ctx, d.end = context.WithCancelCause(base)
	d.lists, d.health.Rand = pace.NewLists(srv.sup.options.Rand), srv.sup.options.Rand
	return d
}

// run holds the session until it is replaced or no longer wanted.
func (d *discovery) run() {
	defer d.redialled()
	for d.awaitTurn() {
		err := contained(d.srv.tell, func() error { d.attempt(); return nil })
		if err != nil {
			d.failed(d.trying, failureOf(err))
		}
	}
}

// change runs a transition, unless another incarnation has taken over.
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
		d.pause(planned, next.Sub(now))
	}
	return false
}

func (d *discovery) next(now time.Time) (time.Time, bool) {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	next, planned := d.srv.guarded.breaker.Next(now)
	if turn := d.srv.guarded.turn; turn.After(next) {
		next = turn
	}
	return next, planned
}

// pause waits for a word from others, and no longer than wait if it is bounded.
func (d *discovery) pause(bounded bool, wait time.Duration) {
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
	config := d.begin()
	l, err := d.connect(config)
	if err != nil {
		d.failed(d.trying, failureOf(err))
		return
	}
	if l == nil {
		return
	}
	closed := false
	dispose := func() {
		if !closed {
			closed = true
			l.close(d.srv.tell)
			d.srv.tell(Event{Kind: Disposed})
		}
	}
	defer dispose() // in case of a panic
	end := d.hold(l)
	dispose() // before anything else, so that nothing is ever awaited on a connection that failed
	switch {
	case d.ctx.Err() != nil:
	case end.ours:
		d.cancelled(d.trying)
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
		config.Urgent = config.Urgent || g.edited
		g.attempting, g.edited = true, false
	})
	return config
}

// pass is the leave for what is done over a live session.
func (d *discovery) pass() (permit breaker.Permit) {
	d.change(func(g *guarded) { permit = g.breaker.Pass() })
	return permit
}

// connect dials when there is a place for it. Both results are nil when the session is no longer wanted.
func (d *discovery) connect(config Config) (*link, error) {
	defer d.redialled()
	leave, err := d.srv.sup.gate.Enter(d.ctx, config.Address, config.Urgent)
	if err != nil {
		return nil, nil
	}
	defer leave()
	started := time.Now()
	l, err := dial(d.ctx, config, d.srv.tell)
	if err != nil {
		if d.ctx.Err() != nil {
			return nil, nil
		}
		return nil, err
	}
	d.srv.tell(Event{Kind: Dialled, Duration: time.Since(started)})
	return l, nil
}

// redial leaves a forgotten session connected for the moment that it takes to open it anew, but no longer.
func (d *discovery) redial(f failure.Failure) {
	d.change(func(g *guarded) { d.redialling = g.connected })
	d.overdue = time.AfterFunc(unnoticed, func() {
		d.change(func(g *guarded) {
			if !d.redialling {
				return
			}
			g.connected = false
			g.refreshDone = g.refreshAsked
			g.fault = g.fault.follow(f)
		})
	})
}

// redialled ends what redial began.
func (d *discovery) redialled() {
	if d.overdue != nil {
		d.overdue.Stop()
	}
	d.change(func(*guarded) { d.redialling = false })
}

// hold lists the tools over a new connection and then serves it until it ends.
func (d *discovery) hold(l *link) ending {
	d.since = time.Now()
	d.change(func(g *guarded) {
		if d.opened {
			g.events = append(g.events, Event{Kind: Rebuilt})
		}
		d.opened = true
		g.connected, g.info = true, l.conn.Info()
		if g.breaker.State() == breaker.Closed {
			g.fault = nil
		}
	})
	if end := d.firstList(l, d.trying); end != nil {
		return *end
	}
	return d.serve(l)
}

// cancelled ends a try of which nothing was learnt.
func (d *discovery) cancelled(permit breaker.Permit) {
	d.change(func(g *guarded) {
		g.breaker.Cancelled(permit)
		g.attempting = false
	})
}

// failed ends a try with a failure.
func (d *discovery) failed(permit breaker.Permit, f failure.Failure) {
	now := time.Now()
	if f.Policy().Loses {
		if d.forgotten = recent(append(d.forgotten, now)); len(d.forgotten) < flapping && !permit.Probe {
			d.cancelled(permit)
			d.redial(f)
			return
		}
		f.Reason = failure.SessionFlapping
	}
	d.srv.sup.judge(d.srv.key, f, d.change, func(g *guarded, blameless bool) {
		g.fail(permit, f, blameless)
		g.attempting = false
		g.attemptEnded(d.catalog)
		if f.Phase == failure.List {
			g.listFault = g.listFault.follow(f)
		}
		if f.Phase == failure.List && g.breaker.State() == breaker.Closed {
			return // the handshake works: the list is tried again before the session counts as lost
		}
		g.connected = false
		if !g.breaker.Refused() || f.RetiresAtOnce() || f.RetiresAfterAttempts() || g.fault == nil {
			g.fault = g.fault.follow(f)
		}
	})
}

// vanished notes that a connection ended of itself. It is opened again soon, but where that happens again and again the
// server is put off as one that forgets its sessions, so that its status does not change all the time.
func (d *discovery) vanished(f failure.Failure) {
	if f.Policy().Loses {
		d.failed(d.pass(), f)
		return
	}
	now := time.Now()
	d.lost = recent(append(d.lost, now))
	d.dropping = len(d.lost) >= flapping || d.dropping && now.Sub(d.since) < window
	d.srv.sup.judge(d.srv.key, f, d.change, func(g *guarded, _ bool) {
		g.events = append(g.events, Event{Kind: Failed, Failure: f})
		g.connected, g.attempting = false, false
		g.refreshDone = g.refreshAsked
		g.fault = g.fault.follow(f)
		if d.dropping {
			flaps := f
			flaps.Reason = failure.SessionFlapping
			g.breaker.Failed(now, g.breaker.Pass(), flaps, true)
			return
		}
		g.breaker.Hold(now.Add(d.srv.sup.options.Rand.Delay(len(d.lost))))
	})
}
