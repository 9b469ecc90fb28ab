package session

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/failure"
)

// Options are what a Supervisor is made with. The zero value is a gateway's that tells nobody.
type Options struct {
	// Discover keeps one discovery session per server and lets breakers retire, as a manager does. Without it only
	// calls open sessions, and a breaker never retires a server.
	Discover bool
	// Notify is told the key of a server whose Snapshot changed otherwise than in NextAttempt. It is called
	// outside all locks, from any goroutine, and must not block; the Snapshot may have changed again by then.
	Notify func(Key)
	// Observe is told of events, for logs and metrics. It must not block.
	Observe func(Event)
	// Reread is asked after a 401 to a call: it reads the credential anew and returns the configuration that
	// follows. A Connection other than the present one replaces the session, and the call is sent again. Nil means
	// that there is nothing to read.
	Reread func(ctx context.Context, key Key) (Config, error)
	// DrainTimeout is how long calls in flight may go on when their session is replaced or we shut down.
	// Default 60 s; negative: not at all.
	DrainTimeout time.Duration
	// Limits bound what is done at once.
	Limits Limits
	// Rand draws the jitter; nil draws from the process's own source.
	Rand backoff.Rand
}

// Limits bound what a process does at once. Defaults: 64, 4, 8. A connect counts for two seconds at
// most, a list for one.
type Limits struct {
	Connects, ConnectsPerAddress, Lists int
}

// EventKind says what an Event tells.
type EventKind string

// The kinds.
const (
	EventConnected     EventKind = "connected"     // Duration: of the handshake
	EventListed        EventKind = "listed"        // Duration: of the traversal
	EventFailed        EventKind = "failed"        // Failure: of a try, a refresh, a probe or a call
	EventQuarantined   EventKind = "quarantined"   // Failure: the last one
	EventRetired       EventKind = "retired"       // Failure: the last one; Retirement
	EventRebuilt       EventKind = "rebuilt"       // a session is opened in the place of a lost one
	EventClosed        EventKind = "closed"        // a connection was closed
	EventPanicked      EventKind = "panicked"      // Stack
	EventCloseTimedOut EventKind = "closeTimedOut" // a session did not end in time at shutdown
)

// Event is something that happened to a server, for logs and metrics. Nothing in it is secret.
type Event struct {
	Key        Key
	Kind       EventKind
	Failure    failure.Failure
	Retirement Retirement
	Duration   time.Duration
	Stack      string
}

// Supervisor keeps the sessions of all servers. Its methods are safe for concurrent use and do no I/O of their own.
type Supervisor struct {
	options      Options
	dials, lists *limiter
	suspicion    suspicion
	// servers holds a *server for each Key. It is read without a lock, and changed under mu.
	servers sync.Map

	// running counts the goroutines that own something.
	running sync.WaitGroup
	mu      sync.Mutex
	guarded struct {
		// base is the life of all sessions: nil before Run.
		base  context.Context
		ended bool
	}
}

// New returns a supervisor that holds nothing. What is ensured before Run starts with it.
func New(options Options) *Supervisor {
	options.DrainTimeout = cmp.Or(options.DrainTimeout, time.Minute)
	options.Limits.Connects = cmp.Or(options.Limits.Connects, 64)
	options.Limits.ConnectsPerAddress = cmp.Or(options.Limits.ConnectsPerAddress, 4)
	options.Limits.Lists = cmp.Or(options.Limits.Lists, 8)
	return &Supervisor{
		options: options,
		dials:   newLimiter(options.Limits.Connects, options.Limits.ConnectsPerAddress, dialPatience),
		lists:   newLimiter(options.Limits.Lists, 0, listPatience),
	}
}

var (
	errStartedTwice  = errors.New("session supervisor started twice")
	errCloseTimedOut = errors.New("sessions did not end in time")
)

// Run holds the sessions until ctx ends, then drains and closes them: calls in flight get DrainTimeout, after which
// everything ends within 10 s and every waiter has an answer. It is called once.
func (s *Supervisor) Run(ctx context.Context) error {
	base, end := context.WithCancelCause(context.Background())
	defer end(errShutdown)
	if err := s.start(base); err != nil {
		return err
	}
	<-ctx.Done()
	s.drain()
	return s.wait()
}

func (s *Supervisor) start(base context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guarded.base != nil {
		return errStartedTwice
	}
	s.guarded.base = base
	for srv := range s.all {
		srv.open(base)
	}
	return nil
}

// drain refuses what is new, ends discovery at once and lets the calls in flight go on.
func (s *Supervisor) drain() {
	s.mu.Lock()
	s.guarded.ended = true
	s.mu.Unlock()
	for srv := range s.all {
		srv.shut(errShutdown)
	}
}

// wait returns when all goroutines have ended, or with an error when some did not within the close timeout.
func (s *Supervisor) wait() error {
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(s.grace()):
		s.tell(Event{Kind: EventCloseTimedOut})
		return errCloseTimedOut
	}
}

// grace is how long the end may take: what drains, what closes, and a moment for both to be noticed.
func (s *Supervisor) grace() time.Duration {
	return max(s.options.DrainTimeout, 0) + closeTimeout + time.Second
}

// Ensure says how a server is to be held. It is level-triggered: the same configuration again, or one of a lower
// Generation, changes nothing.
func (s *Supervisor) Ensure(key Key, config Config) {
	srv := s.find(key)
	if srv == nil {
		srv = s.add(key, config)
	}
	if srv != nil {
		srv.ensure(config)
	}
}

// add returns the server of a key, which may be new; nil when no new one is taken.
func (s *Supervisor) add(key Key, config Config) *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if srv := s.find(key); srv != nil || s.guarded.ended {
		return srv
	}
	srv := newServer(s, key, config)
	s.servers.Store(key, srv)
	s.suspicion.joined()
	if s.guarded.base != nil {
		srv.open(s.guarded.base)
	}
	return srv
}

// Forget ends the session of a server and forgets its state. It returns at once: closing goes on behind it, and
// nothing more is told of the key.
func (s *Supervisor) Forget(key Key) {
	s.mu.Lock()
	srv, known := s.servers.LoadAndDelete(key)
	s.mu.Unlock()
	if known {
		s.suspicion.left(key)
		srv.(*server).shut(errForgotten)
	}
}

// EndCalls ends the call sessions whose keys match: they take no new call, those in flight get the drain timeout, and
// the servers are told. The next call under such a key opens another session.
func (s *Supervisor) EndCalls(match func(session string) bool) {
	for srv := range s.all {
		srv.endCalls(match)
	}
}

// Refresh asks for one list over the present session, at once. Snapshot.RefreshPending tells when it has ended;
// without a session it ends at once, as the next session begins with a list.
func (s *Supervisor) Refresh(key Key) {
	if srv := s.find(key); srv != nil {
		srv.refresh()
	}
}

// Snapshot returns a server's state, false for one that is not ensured.
func (s *Supervisor) Snapshot(key Key) (Snapshot, bool) {
	srv := s.find(key)
	if srv == nil {
		return Snapshot{}, false
	}
	return srv.snapshot(), true
}

func (s *Supervisor) find(key Key) *server {
	srv, _ := s.servers.Load(key)
	found, _ := srv.(*server)
	return found
}

// all yields the servers.
func (s *Supervisor) all(yield func(*server) bool) {
	s.servers.Range(func(_, srv any) bool { return yield(srv.(*server)) })
}

func (s *Supervisor) notify(key Key) {
	if s.options.Notify != nil {
		s.options.Notify(key)
	}
}

func (s *Supervisor) tell(event Event) {
	if s.options.Observe != nil {
		s.options.Observe(event)
	}
}

const (
	suspicionWindow = 30 * time.Second
	suspicionFleet  = 10
)

// suspicion notices when so many servers fail by transport at once that the fault must be ours: more than half of at
// least 10 within 30 s.
type suspicion struct {
	mu      sync.Mutex
	guarded struct {
		fleet  int
		failed map[Key]time.Time
	}
}

// joined counts another server.
func (s *suspicion) joined() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guarded.fleet++
}

// left removes a server that is no longer part of the fleet.
func (s *suspicion) left(server Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guarded.fleet--
	delete(s.guarded.failed, server)
}

// failed notes that a server failed by transport, and reports whether we are the suspect.
func (s *suspicion) failed(server Key, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guarded.failed == nil {
		s.guarded.failed = map[Key]time.Time{}
	}
	s.guarded.failed[server] = now
	for other, at := range s.guarded.failed {
		if now.Sub(at) > suspicionWindow {
			delete(s.guarded.failed, other)
		}
	}
	return s.guarded.fleet >= suspicionFleet && 2*len(s.guarded.failed) > s.guarded.fleet
}
