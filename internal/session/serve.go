package session

import (
	"errors"
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session/breaker"
)

// firstList reads the tools over a new connection. What it returns ends the connection; nil keeps it.
func (d *discovery) firstList(c *conn, permit breaker.Permit) *ending {
	listing, began, err := d.list(c)
	f := failure.Classify(err)
	switch {
	case err == nil:
		d.listed(permit, listing, began)
		return nil
	case d.ctx.Err() != nil:
		return &ending{ours: true}
	case f.Answered:
		d.listFailed(permit, f, began)
		return nil
	}
	return &ending{failure: f, permit: &permit}
}

// beginning is what a list began under.
type beginning struct {
	config  Config
	refresh int
}

// list asks for the tools once, when there is a place for it.
func (d *discovery) list(c *conn) (listing *Listing, began beginning, err error) {
	leave, err := d.srv.sup.lists.enter(c.ctx, "", unhurried)
	if err != nil {
		return nil, began, errors.Join(errDisposed, c.ended())
	}
	defer leave()
	started := time.Now()
	d.change(func(g *guarded) {
		began = beginning{config: g.config, refresh: g.tools.refreshAsked}
		d.lists.Began(started, g.config.RefreshInterval)
	})
	listing, err = c.list(began.config.Timeouts.List)
	if err == nil {
		c.Alive()
		d.srv.tell(Event{Kind: EventListed, Duration: time.Since(started)})
	}
	return listing, began, err
}

// listed takes over what was listed.
func (d *discovery) listed(permit breaker.Permit, listing *Listing, began beginning) {
	now := time.Now()
	d.change(func(g *guarded) {
		g.known.connected, g.known.attempting = true, false
		g.answered(permit)
		g.tools.fault = nil
		g.tools.refreshDone = began.refresh
		if g.config.Catalog != began.config.Catalog {
			return // another list was asked for when the hash changed
		}
		g.attemptEnded(began.config.Catalog)
		empty := len(listing.Tools) == 0 && !listing.NoTools
		believed := g.tools.listing != nil && len(g.tools.listing.Tools) == 0
		if empty && !believed && d.lists.Empty(now) {
			g.tools.doubted = true
			return
		}
		g.tools.doubted, g.tools.listedAt = false, now
		d.lists.Listed(now, listing.TTL)
		if id := listing.digest(); g.tools.listing == nil || id != g.tools.listingID {
			g.tools.listing, g.tools.listingID = listing, id
		}
	})
}

// listFailed notes a failed list over a session that is kept.
func (d *discovery) listFailed(permit breaker.Permit, f failure.Failure, began beginning) {
	now := time.Now()
	d.lists.Failed(now, f.RetryAfter)
	d.change(func(g *guarded) {
		if f.Answered {
			g.answered(permit)
		}
		g.gate(f)
		g.attemptEnded(began.config.Catalog)
		g.tools.fault = g.tools.fault.follow(f)
		g.tools.refreshDone = began.refresh
		g.tell(Event{Kind: EventFailed, Failure: f})
	})
}

// serve keeps a listed session fresh and watches that it lives, until it ends.
func (d *discovery) serve(c *conn) ending {
	d.health.Start(time.Now())
	for {
		if d.ctx.Err() != nil {
			return ending{ours: true}
		}
		if err := c.ended(); err != nil {
			return ending{failure: failure.Classify(err)}
		}
		now := time.Now()
		next, ok := d.plan(now, c.aliveAt())
		if !ok {
			return ending{ours: true}
		}
		var end *ending
		switch {
		case !next.list.IsZero() && !next.list.After(now):
			end = d.relist(c)
		case !next.probe.After(now):
			end = d.checkHealth(c, next.listTimeout)
		default:
			d.listen(c, next.sooner().Sub(now))
		}
		if end != nil {
			return *end
		}
	}
}

// plan is what is due over a live session: the next list (zero: none is planned) and the next probe.
type plan struct {
	list, probe time.Time
	listTimeout time.Duration
}

func (p plan) sooner() time.Time {
	if !p.list.IsZero() && p.list.Before(p.probe) {
		return p.list
	}
	return p.probe
}

// plan says what is due under the present configuration: not while the server wants to be left alone. A list that is
// asked for meanwhile comes later, and is not waited for. It reports false when the session is to be given up, as calls
// have opened the breaker or another session has taken over.
func (d *discovery) plan(now, alive time.Time) (next plan, ok bool) {
	d.change(func(g *guarded) {
		if g.breaker.State() != breaker.Closed {
			g.disconnected()
			return
		}
		earliest := g.breaker.Earliest()
		if g.tools.refreshDone != g.tools.refreshAsked {
			d.lists.Demand()
			if earliest.After(now) {
				g.tools.refreshDone = g.tools.refreshAsked
			}
		}
		next = plan{
			list:        d.lists.Due(now, g.config.RefreshInterval),
			probe:       backoff.Later(d.health.Due(now, alive, g.config.HealthInterval), earliest),
			listTimeout: g.config.Timeouts.List,
		}
		if !next.list.IsZero() {
			next.list = backoff.Later(next.list, earliest)
		}
		ok = true
	})
	return next, ok
}

// listen waits for the session to end, for a word, or for what is due next.
func (d *discovery) listen(c *conn, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-c.ctx.Done():
	case <-d.wake:
	case <-c.changed:
		d.lists.Changed(time.Now())
	case <-timer.C:
	}
}

// relist lists a live session again. A failure keeps the session: whether it is lost is for the health probe to
// say, which is asked at once where the failure suggests it.
func (d *discovery) relist(c *conn) *ending {
	listing, began, err := d.list(c)
	if c.ctx.Err() != nil {
		return nil // the loop finds out why
	}
	permit, f := d.pass(), failure.Classify(err)
	switch policy := f.Policy(); {
	case err == nil:
		d.listed(permit, listing, began)
	case policy.Loses:
		return &ending{failure: f, permit: &permit}
	default:
		d.listFailed(permit, f, began)
		if policy.ProbeNext {
			d.health.Demand()
		}
	}
	return nil
}

// checkHealth probes a session. A refusal ends it at once, silence only when it is the third in a row. An answer that
// keeps arriving is waited for as long as a list.
func (d *discovery) checkHealth(c *conn, limit time.Duration) *ending {
	d.health.Began(time.Now())
	err := c.probe(limit)
	if c.ctx.Err() != nil {
		return nil // the loop finds out why
	}
	now, permit, f := time.Now(), d.pass(), failure.Classify(err)
	switch policy := f.Policy(); {
	case err == nil, f.Answered, policy.Gates:
		d.health.Answered(now)
		d.change(func(g *guarded) {
			if err == nil || f.Answered {
				g.answered(permit)
			}
			g.gate(f)
		})
	case policy.Silence && !d.health.Unanswered(now):
		d.srv.tell(Event{Kind: EventFailed, Failure: f})
	default:
		return &ending{failure: f, permit: &permit}
	}
	return nil
}
