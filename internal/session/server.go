package session

import (
	"context"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session/breaker"
	"github.com/mooring-dev/mooring/internal/session/limits"
	"github.com/mooring-dev/mooring/internal/session/pace"
)

// server is what one key stands for: its breaker, which sessions live below, and what is told of it.
type server struct {
	key   Key
	sup   *Supervisor
	slots *limits.Slots
	// closing ends when the server is shut: calls that wait are then told so, those in flight drain.
	closing context.Context
	close   context.CancelCauseFunc

	mu      sync.Mutex
	guarded guarded
}

// guarded is a server's state. It is read and changed under the server's lock only, which is never held across I/O
// or a call of anybody else's code.
type guarded struct {
	config  Config
	breaker *breaker.Breaker
	// base is the life of the sessions, nil before Run. shut: no session is opened any more, nothing is told.
	base context.Context
	shut bool
	// discovery is the present incarnation of the discovery session; older ones change nothing any more.
	discovery *discovery
	// calls are the sessions that calls opened, by their key.
	calls map[string]*callSession

	// connected: the handshake is done and the session is not known to be lost. attempted: an attempt has ended
	// under this connection; attempting: one is under way.
	connected, attempted, attempting bool
	settled                          bool
	// restored: the standing is what status remembered; no attempt has ended in this process.
	restored bool
	// edited: the configuration has changed since the last attempt began. The attempt that follows from that begins
	// at turn at the earliest.
	edited           bool
	turns            pace.Turns
	turn             time.Time
	info             Info
	listing          *Listing
	listingID        string
	listedAt         time.Time
	doubted          bool
	fault, listFault *Fault
	handledReconnect string
	// refreshAsked and refreshDone count calls of Refresh and those that a list has answered.
	refreshAsked, refreshDone int

	// last is what failed last, for callers that are refused.
	last failure.Failure

	// told is the standing that Notify last spoke of.
	told edge
	// events are told when the lock is released.
	events []Event
}

func newServer(sup *Supervisor, key Key, config Config) *server {
	s := &server{key: key, sup: sup, slots: limits.NewSlots(config.Calls.MaxConcurrent)}
	s.closing, s.close = context.WithCancelCause(context.Background())
	g := &s.guarded
	g.config = config
	g.calls = map[string]*callSession{}
	g.turns = pace.NewTurns()
	g.breaker = breaker.New(config.policy(sup.options.Discover), sup.options.Rand)
	if sup.options.Discover {
		g.breaker.Restore(time.Now(), config.Restore.standing())
		g.settled = g.breaker.State() != breaker.Closed
		g.restored = g.settled
	}
	if g.settled && config.Restore.Failure.Class != "" {
		fault := config.Restore.Failure
		g.fault = &fault
	}
	g.told = g.edge()
	return s
}

// open lets sessions be opened from now on. It tells nobody: the supervisor's lock is held.
func (s *server) open(base context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guarded.base = base
	s.discover(&s.guarded)
}

// discover starts an incarnation of the discovery session in the place of the one before.
func (s *server) discover(g *guarded) {
	if g.discovery != nil {
		g.discovery.end(errReplaced)
		g.discovery = nil
	}
	if g.base == nil || g.shut || !s.sup.options.Discover {
		return
	}
	g.discovery = newDiscovery(g.base, s)
	s.sup.running.Go(g.discovery.run)
}

// shut ends all sessions for good: discovery at once, call sessions when they have drained.
func (s *server) shut(cause error) {
	s.close(cause)
	s.change(func(g *guarded) {
		g.shut = true
		if g.discovery != nil {
			g.discovery.end(cause)
		}
		g.drain(cause)
	})
}

// ensure takes over a configuration.
func (s *server) ensure(config Config) {
	s.change(func(g *guarded) {
		old := g.config
		if config.Generation != 0 && config.Generation < old.Generation {
			return
		}
		g.config = config
		g.breaker.SetPolicy(time.Now(), config.policy(s.sup.options.Discover))
		s.slots.Resize(config.Calls.MaxConcurrent)
		if config.Catalog != old.Catalog {
			g.forgetListing()
		}
		other := config.Connection != old.Connection
		switch {
		case other || config.Reconnect != old.Reconnect:
			g.breaker.Wake(other)
			s.replace(g)
		case config.Wake != old.Wake:
			g.breaker.Wake(false)
		case config.RefreshInterval != old.RefreshInterval, config.HealthInterval != old.HealthInterval:
			g.nudge()
			return
		default:
			return
		}
		g.edited, g.turn = true, g.turns.Take(time.Now())
		g.nudge()
	})
}

// replace ends the sessions under the configuration before and begins anew.
func (s *server) replace(g *guarded) {
	g.breaker.Abandon()
	g.connected, g.attempted, g.attempting = false, false, false
	g.listFault = nil
	if g.breaker.State() == breaker.Closed {
		g.fault = nil
	}
	g.refreshDone = g.refreshAsked
	s.discover(g)
	g.drain(errReplaced)
}

// answered ends a permit with a proof of life.
func (g *guarded) answered(permit breaker.Permit) {
	g.breaker.Answered(permit)
	if g.connected && g.breaker.State() == breaker.Closed {
		g.fault = nil
	}
}

// fail ends a permit with a failure and notes what became of the breaker.
func (g *guarded) fail(permit breaker.Permit, f failure.Failure, blameless bool) {
	until, state := g.breaker.QuarantinedUntil(), g.breaker.State()
	g.breaker.Failed(time.Now(), permit, f, blameless)
	g.last = f
	g.events = append(g.events, Event{Kind: Failed, Failure: f})
	switch {
	case g.breaker.State() == breaker.Retired && state != breaker.Retired:
		g.events = append(g.events, Event{Kind: GivenUp, Failure: f, Retirement: g.retirement()})
	case !g.breaker.QuarantinedUntil().IsZero() && !g.breaker.QuarantinedUntil().Equal(until):
		g.events = append(g.events, Event{Kind: Struck, Failure: f})
	}
}

// attemptEnded notes the end of an attempt that began under a catalog hash.
func (g *guarded) attemptEnded(catalog string) {
	g.attempted, g.restored = true, false
	g.settled = g.settled || catalog == g.config.Catalog
	g.handledReconnect = g.config.Reconnect
}

// forgetListing drops what was listed under another catalog hash, and asks for a list under the new one.
func (g *guarded) forgetListing() {
	g.listing, g.listingID, g.listedAt, g.listFault, g.doubted = nil, "", time.Time{}, nil, false
	g.settled = false
	if g.connected {
		g.refreshAsked++
	}
	g.nudge()
}

func (s *server) refresh() {
	s.change(func(g *guarded) {
		if g.connected {
			g.refreshAsked++
			g.nudge()
		}
	})
}

// pardon takes back a strike that turned out to be our own fault.
func (s *server) pardon() {
	s.change(func(g *guarded) {
		if g.breaker.Pardon(time.Now()) {
			g.nudge()
		}
	})
}

// nudge lets the discovery session look at the state anew.
func (g *guarded) nudge() {
	if g.discovery != nil {
		signal(g.discovery.wake)
	}
}

// change runs a transition under the lock and tells of it afterwards, if it changed anything that is worth it.
func (s *server) change(transition func(g *guarded)) {
	changed, events := s.apply(transition)
	for _, event := range events {
		event.Key = s.key
		s.sup.tell(event)
	}
	if changed {
		s.sup.notify(s.key)
	}
}

func (s *server) apply(transition func(g *guarded)) (changed bool, events []Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	transition(&s.guarded)
	return s.guarded.settle()
}

// settle reports whether the standing has changed since it was last told, and takes the events to be told.
func (g *guarded) settle() (changed bool, events []Event) {
	now := g.edge()
	changed = now != g.told && !g.shut
	events = g.events
	g.told, g.events = now, nil
	return changed, events
}

func (s *server) tell(event Event) {
	event.Key = s.key
	s.sup.tell(event)
}

func (s *server) snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.guarded.snapshot()
}
