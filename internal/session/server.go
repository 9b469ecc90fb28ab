package session

import (
	"context"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session/breaker"
)

// server is what belongs to one key: its breaker, which sessions live below, and what is told of it.
type server struct {
	key   Key
	sup   *Supervisor
	slots *limiter // of calls in flight
	// closing ends when the server is shut: calls that wait are then told so, those in flight drain.
	closing context.Context
	close   context.CancelCauseFunc

	mu      sync.Mutex
	guarded guarded
}

// guarded is a server's state. It is read and changed under the server's lock only, which is never held across I/O
// or a call of anybody else's code.
type guarded struct {
	// Set by the supervisor. base is the life of the sessions, nil before Run. shut: no session is opened any more,
	// nothing is told.
	config  Config
	base    context.Context
	shut    bool
	edits   edits
	breaker *breaker.Breaker

	// discovery is the present discovery session; older ones change nothing any more. It sets tools, and known; where
	// there is none, calls set known. calls are the sessions that calls opened, by their key.
	discovery *discovery
	tools     tools
	known     known
	calls     map[string]*callSession
	// sessionless is the Connection under which the server gave no session id, so that all sessions are one.
	sessionless string

	// told is the state that Notify last spoke of, effects what is to be done when the lock is released.
	told    Snapshot
	effects effects
}

// edits are the changes of the configuration since the last attempt began. The attempt that follows from them begins at
// turn at the earliest: a person who tries this and that is not kept waiting; two programs that change a Secret back
// and forth are.
type edits struct {
	pending bool
	turn    time.Time
	rate    backoff.Bucket
}

func newEdits() edits { return edits{rate: backoff.Bucket{Size: 5, Refill: 5 * time.Second}} }

// add notes a change. The attempt that was planned before it, where that has not begun, finds it too.
func (e *edits) add(now time.Time) {
	e.pending = true
	if !e.turn.After(now) {
		e.turn = e.rate.Next(now)
		e.rate.Draw(e.turn)
	}
}

// known is what is known of a server.
type known struct {
	// connected: the handshake is done and the session is not known to be lost. attempted: an attempt has ended under
	// this connection; attempting: one is under way. settled and restored are as in Snapshot.
	connected, attempted, attempting, settled, restored bool

	info             Info
	fault            *Fault
	handledReconnect string
	// last is what failed last, for callers that are refused.
	last failure.Failure
}

// tools is what was listed last, and which lists are wanted.
type tools struct {
	listing   *Listing
	listingID string
	listedAt  time.Time
	doubted   bool
	fault     *Fault
	// refreshAsked and refreshDone count calls of Refresh and those that a list has answered.
	refreshAsked, refreshDone int
}

// effects are what a transition leads to outside of the server.
type effects struct {
	events []Event
	pardon bool // of all servers: the fault is suspected to be ours
}

func newServer(sup *Supervisor, key Key, config Config) *server {
	s := &server{key: key, sup: sup, slots: newLimiter(config.Calls.MaxConcurrent, 0, 0)}
	s.closing, s.close = context.WithCancelCause(context.Background())
	g := &s.guarded
	g.config = config
	g.calls = map[string]*callSession{}
	g.edits = newEdits()
	g.breaker = breaker.New(config.policy(sup.options.Discover), sup.options.Rand)
	if sup.options.Discover {
		g.breaker.Restore(time.Now(), config.Restore.breaker())
		g.known.restored = g.breaker.State() != breaker.Closed
		g.known.settled = g.known.restored
	}
	if g.known.settled && config.Restore.Failure.Class != "" {
		g.known.fault = &config.Restore.Failure
	}
	g.told = g.notable()
	return s
}

// open lets sessions be opened from now on. It tells nobody: the supervisor's lock is held.
func (s *server) open(base context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guarded.base = base
	s.discover(&s.guarded)
}

// discover starts a discovery session in the place of the one before.
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
		s.slots.resize(config.Calls.MaxConcurrent)
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
		g.edits.add(time.Now())
		g.nudge()
	})
}

// replace ends the sessions under the configuration before and begins anew.
func (s *server) replace(g *guarded) {
	g.breaker.Abandon()
	g.disconnected()
	g.known.attempted, g.known.attempting = false, false
	g.tools.fault = nil
	if g.breaker.State() == breaker.Closed {
		g.known.fault = nil
	}
	s.discover(g)
	g.drain(errReplaced)
}

// disconnected notes that there is no session, so that no list is waited for: the next session begins with one.
func (g *guarded) disconnected() {
	g.known.connected = false
	g.tools.refreshDone = g.tools.refreshAsked
}

// answered ends a permit with a proof of life.
func (g *guarded) answered(permit breaker.Permit) {
	g.breaker.Answered(permit)
	if g.known.connected && g.breaker.State() == breaker.Closed {
		g.known.fault = nil
	}
}

// fail ends a permit with a failure and notes what became of the breaker.
func (s *server) fail(g *guarded, permit breaker.Permit, f failure.Failure, blameless bool) {
	before := g.breaker.Saved()
	g.breaker.Failed(time.Now(), permit, f, blameless)
	g.failed(f)
	switch after := g.breaker.Saved(); {
	case after.Retirement != "" && before.Retirement == "":
		g.tell(Event{Kind: EventRetired, Failure: f, Retirement: after.Retirement})
	case !after.QuarantinedUntil.IsZero() && !after.QuarantinedUntil.Equal(before.QuarantinedUntil):
		g.tell(Event{Kind: EventQuarantined, Failure: f})
	}
}

// suspect reports whether a failure must be our own fault: then no strike is added, and those that servers got before
// that was noticed are taken back. It is noticed under the server's lock, so that a server that adds a strike before is
// also found when they are taken back.
func (s *server) suspect(g *guarded, f failure.Failure) bool {
	ours := f.Policy().Suspect && s.sup.suspicion.failed(s.key, time.Now())
	g.effects.pardon = g.effects.pardon || ours
	return ours
}

// failed notes a failure for callers and observers.
func (g *guarded) failed(f failure.Failure) {
	g.known.last = f
	g.tell(Event{Kind: EventFailed, Failure: f})
}

// gate leaves the server alone for as long as it told, where that follows from f, and lets callers know why.
func (g *guarded) gate(f failure.Failure) {
	if f.Policy().Gates {
		g.known.last = f
		g.breaker.NotBefore(time.Now().Add(f.RetryAfter))
	}
}

// tell leaves an event to be told when the lock is released.
func (g *guarded) tell(event Event) { g.effects.events = append(g.effects.events, event) }

// attemptEnded notes the end of an attempt that began under a catalog hash.
func (g *guarded) attemptEnded(catalog string) {
	g.known.attempting = false
	g.known.attempted, g.known.restored = true, false
	g.known.settled = g.known.settled || catalog == g.config.Catalog
	g.known.handledReconnect = g.config.Reconnect
}

// forgetListing drops what was listed under another catalog hash, and asks for a list under the new one.
func (g *guarded) forgetListing() {
	g.tools = tools{refreshAsked: g.tools.refreshAsked, refreshDone: g.tools.refreshDone}
	g.known.settled = false
	if g.known.connected {
		g.tools.refreshAsked++
	}
	g.nudge()
}

func (s *server) refresh() {
	s.change(func(g *guarded) {
		if g.known.connected {
			g.tools.refreshAsked++
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

// change runs a transition under the lock. What it leads to is done afterwards: events are told, and Notify where the
// state is another.
func (s *server) change(transition func(g *guarded)) {
	changed, then := s.apply(transition)
	for _, event := range then.events {
		s.tell(event)
	}
	if changed {
		s.sup.notify(s.key)
	}
	if then.pardon {
		for srv := range s.sup.all {
			srv.pardon()
		}
	}
}

func (s *server) apply(transition func(g *guarded)) (changed bool, then effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &s.guarded
	transition(g)
	now := g.notable()
	changed = now != g.told && !g.shut
	then = g.effects
	g.told, g.effects = now, effects{}
	return changed, then
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
