package session

import (
	"context"
	"errors"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session/breaker"
)

// firstList reads the tools over a new connection. What it returns ends the connection; nil keeps it.
func (d *discovery) firstList(l *link, permit breaker.Permit) *ending {
	listing, began, err := d.list(l)
	switch {
	case err == nil:
		d.listed(permit, listing, began)
		return nil
	case d.ctx.Err() != nil:
		return &ending{ours: true}
	case failureOf(err).Answered:
		d.listFailed(permit, failureOf(err), began)
		return nil
	}
	return &ending{failure: failureOf(err), permit: &permit}
}

// beginning is what a list began under.
type beginning struct {
	config  Config
	refresh int
}

// list asks for the tools once, when there is a place for it.
func (d *discovery) list(l *link) (listing *Listing, began beginning, err error) {
	leave, err := d.srv.sup.lists.Enter(l.ctx)
	if err != nil {
		return nil, began, errors.Join(errDisposed, l.ended())
	}
	defer leave()
	started := time.Now()
	d.change(func(g *guarded) { began = beginning{config: g.config, refresh: g.refreshAsked} })
	d.lists.Began(started, began.config.RefreshInterval)
	listing, err = l.list(began.config.Timeouts.List, d.srv.tell)
	if err == nil {
		l.Alive()
		d.srv.tell(Event{Kind: Listed, Duration: time.Since(started)})
	}
	return listing, began, err
}

// listed takes over what was listed.
func (d *discovery) listed(permit breaker.Permit, listing *Listing, began beginning) {
	now := time.Now()
	d.change(func(g *guarded) {
		g.connected, g.attempting = true, false
		g.answered(permit)
		g.listFault = nil
		g.refreshDone = began.refresh
		if g.config.Catalog != began.config.Catalog {
			return // another list was asked for when the hash changed
		}
		g.attemptEnded(began.config.Catalog)
		empty := len(listing.Tools) == 0 && !listing.NoTools
		known := g.listing != nil && len(g.listing.Tools) == 0
		if empty && !known && d.lists.Empty(now) {
			g.doubted = true
			return
		}
		g.doubted, g.listedAt = false, now
		d.lists.Listed(now, listing.TTL)
		if id := listing.digest(); g.listing == nil || id != g.listingID {
			g.listing, g.listingID = listing, id
		}
	})
}

// listFailed notes a failed list over a session that is kept.
func (d *discovery) listFailed(permit breaker.Permit, f failure.Failure, began beginning) {
	now := time.Now()
	d.change(func(g *guarded) {
		if f.Answered {
			g.answered(permit)
		}
		if f.Policy().Gates {
			g.breaker.Gate(now.Add(f.RetryAfter))
		}
		g.attempting = false
		g.attemptEnded(began.config.Catalog)
		g.listFault = g.listFault.follow(f)
		g.refreshDone = began.refresh
		g.events = append(g.events, Event{Kind: Failed, Failure: f})
	})
	d.lists.Failed(now, f.RetryAfter)
}

// serve keeps a listed session fresh and watches that it lives, until it ends.
func (d *discovery) serve(l *link) ending {
	d.health.Start(time.Now())
	for {
		config := d.look()
		if end := d.over(l); end != nil {
			return *end
		}
		now := time.Now()
		list, probe := d.due(now, l, config)
		var end *ending
		switch {
		case !list.IsZero() && !list.After(now):
			end = d.relist(l)
		case !probe.After(now):
			end = d.checkHealth(l)
		default:
			d.listen(l, now, list, probe)
		}
		if end != nil {
			return *end
		}
	}
}

// due returns when the next list (zero: none is planned) and the next probe are to be sent: not while the server
// wants to be left alone.
func (d *discovery) due(now time.Time, l *link, config Config) (list, probe time.Time) {
	list = d.lists.Due(now, config.RefreshInterval)
	probe = d.health.Due(now, l.aliveAt(), config.HealthInterval)
	d.change(func(g *guarded) {
		gate := g.breaker.Gated()
		if !list.IsZero() && gate.After(list) {
			list = gate
		}
		if gate.After(probe) {
			probe = gate
		}
	})
	return list, probe
}

// look reads the configuration and what others asked for. A list that is asked for while the server wants to be left
// alone comes later, and is not waited for.
func (d *discovery) look() (config Config) {
	d.change(func(g *guarded) {
		config = g.config
		if g.refreshDone == g.refreshAsked {
			return
		}
		d.lists.Demand()
		if g.breaker.Gated().After(time.Now()) {
			g.refreshDone = g.refreshAsked
		}
	})
	return config
}

// over returns why the session is to be given up, nil while it is not: it was lost or replaced, or calls have
// opened the breaker.
func (d *discovery) over(l *link) *ending {
	if d.ctx.Err() != nil {
		return &ending{ours: true}
	}
	if err := l.ended(); err != nil {
		return &ending{failure: failureOf(err)}
	}
	open := false
	d.change(func(g *guarded) {
		if open = g.breaker.State() != breaker.Closed; open {
			g.connected = false
			g.refreshDone = g.refreshAsked
		}
	})
	if open {
		return &ending{ours: true}
	}
	return nil
}

// ended is the failure that a lost connection counts as, nil while it lives or was given up by us.
func (l *link) ended() error {
	lost := new(lostError)
	if !errors.As(context.Cause(l.ctx), &lost) {
		return nil
	}
	f := failure.ClassifyAt(failure.Stream, lostFailure(lost))
	return &failure.Error{Failure: f, Cause: lost}
}

// listen waits for the session to end, for a word, or for what is due next.
func (d *discovery) listen(l *link, now, list, probe time.Time) {
	due := probe
	if !list.IsZero() && list.Before(probe) {
		due = list
	}
	timer := time.NewTimer(due.Sub(now))
	defer timer.Stop()
	select {
	case <-l.ctx.Done():
	case <-d.wake:
	case <-l.changed:
		d.lists.Changed(time.Now())
	case <-timer.C:
	}
}

// relist lists a live session again. A failure keeps the session: whether it is lost is for the health probe to
// say, which is asked at once where the failure suggests it.
func (d *discovery) relist(l *link) *ending {
	listing, began, err := d.list(l)
	if l.ctx.Err() != nil {
		return nil // the loop finds out why
	}
	permit := d.pass()
	if err == nil {
		d.listed(permit, listing, began)
		return nil
	}
	f := failureOf(err)
	if f.Policy().Loses {
		return &ending{failure: f, permit: &permit}
	}
	d.listFailed(permit, f, began)
	if f.Policy().ProbeNext {
		d.health.Demand()
	}
	return nil
}

// checkHealth probes a session. A refusal ends it at once, silence only when it is the third in a row.
func (d *discovery) checkHealth(l *link) *ending {
	d.health.Began(time.Now())
	err := l.probe(d.srv.tell)
	if l.ctx.Err() != nil {
		return nil // the loop finds out why
	}
	permit := d.pass()
	f := failureOf(err)
	switch policy := f.Policy(); {
	case err == nil, f.Answered:
		d.health.Answered(time.Now())
		d.change(func(g *guarded) { g.answered(permit) })
	case policy.Gates:
		d.health.Answered(time.Now())
		d.change(func(g *guarded) { g.breaker.Gate(time.Now().Add(f.RetryAfter)) })
	case policy.Silence && !d.health.Unanswered(time.Now()):
		d.srv.tell(Event{Kind: Failed, Failure: f})
	default:
		return &ending{failure: f, permit: &permit}
	}
	return nil
}
