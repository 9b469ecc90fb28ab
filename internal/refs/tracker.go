package refs

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
)

const (
	defaultGrace = 10 * time.Minute
	// DefaultRecheck is how often denied access is asked for again where Options do not say.
	DefaultRecheck = 30 * time.Second
)

var errRunning = errors.New("tracker was already run")

// Options are what a Tracker needs.
type Options struct {
	// Kube reads values and asks for access. It must not answer from a cache.
	Kube kubernetes.Interface
	// Metadata lists and watches.
	Metadata metadata.Interface
	// Wake has an owner looked at again. It does not block and may be called from any goroutine.
	Wake func(owner types.NamespacedName)
	// Identity is the user name of this process, as the function Identity tells it, for the command that grants access.
	Identity string
	// Grace is how long a watch outlives its last reference; 0 means 10 minutes.
	Grace time.Duration
	// Recheck is how often denied access is asked for again, and the step of Grace; 0 means DefaultRecheck.
	Recheck time.Duration
	// Log hears of access that is denied and granted. The zero value is silent.
	Log logr.Logger
}

// Tracker knows who refers to what. It is safe for concurrent use; New makes one.
type Tracker struct {
	kube     kubernetes.Interface
	metadata metadata.Interface
	wake     func(types.NamespacedName)
	identity string
	grace    time.Duration
	recheck  time.Duration
	log      logr.Logger
	// watchTimeout ends each watch after that time; 0 leaves it to client-go (5 to 10 minutes).
	watchTimeout time.Duration

	running sync.WaitGroup

	mu      sync.Mutex
	guarded guarded
}

type guarded struct {
	// start runs a watch; nil while Run does not.
	start   func(*watch)
	wasRun  bool
	owners  map[owner]sets.Set[Ref] // without keys
	watches map[scope]*watch
}

// New returns a Tracker that watches nothing before Run.
func New(o Options) *Tracker {
	return &Tracker{
		kube:     o.Kube,
		metadata: o.Metadata,
		wake:     o.Wake,
		identity: o.Identity,
		grace:    cmp.Or(o.Grace, defaultGrace),
		recheck:  cmp.Or(o.Recheck, DefaultRecheck),
		log:      o.Log,
		guarded:  guarded{owners: map[owner]sets.Set[Ref]{}, watches: map[scope]*watch{}},
	}
}

// NeedLeaderElection tells a manager to run the Tracker before and without an election: it follows only what is asked
// of it.
func (*Tracker) NeedLeaderElection() bool { return false }

// Run watches until ctx ends, and returns when all that it started has ended. It can be run once.
func (t *Tracker) Run(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	defer t.end()
	tick := time.NewTicker(t.recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			t.sweep(now)
		}
	}
}

// Start is Run under the name that a controller-runtime manager calls.
func (t *Tracker) Start(ctx context.Context) error { return t.Run(ctx) }

// Track declares all that owner refers to, replacing what it declared before; nothing means that it is
// forgotten. It is to be called before what is referred to is read.
func (t *Tracker) Track(owner types.NamespacedName, refs []Ref) {
	wanted := sets.New[Ref]()
	for _, ref := range refs {
		wanted.Insert(ref.object())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	present := t.guarded.owners[owner]
	for ref := range wanted.Difference(present) {
		t.watchOf(ref.scope()).guarded.refer(ref.Name, owner)
	}
	for ref := range present.Difference(wanted) {
		t.guarded.watches[ref.scope()].guarded.release(ref.Name, owner)
	}
	t.guarded.owners[owner] = wanted
	if wanted.Len() == 0 {
		delete(t.guarded.owners, owner)
	}
}

// begin starts every watch that was asked for before Run.
func (t *Tracker) begin(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.guarded.wasRun {
		return errRunning
	}
	t.guarded.wasRun = true
	t.guarded.start = func(w *watch) {
		watchCtx, stop := context.WithCancel(ctx)
		w.guarded.stop = stop
		t.running.Go(func() {
			defer stop()
			w.run(watchCtx)
		})
	}
	for _, w := range t.guarded.watches {
		t.guarded.start(w)
	}
	return nil
}

// end lets no watch start any more, and waits for those that did.
func (t *Tracker) end() {
	t.mu.Lock()
	t.guarded.start = nil
	t.mu.Unlock()
	t.running.Wait()
}

// sweep stops the watches that nobody has needed for Grace, and has the denied ones ask again.
func (t *Tracker) sweep(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s, w := range t.guarded.watches {
		switch {
		case len(w.guarded.referrers) > 0:
			if w.guarded.denied {
				w.askAgain()
			}
		case now.Sub(w.guarded.idleSince) >= t.grace:
			delete(t.guarded.watches, s)
			w.guarded.stop()
		}
	}
}

// watchOf returns the watch that covers s, starting it if need be. The lock is held.
func (t *Tracker) watchOf(s scope) *watch {
	w := t.guarded.watches[s]
	if w == nil {
		w = newWatch(t, s)
		t.guarded.watches[s] = w
		if t.guarded.start != nil {
			t.guarded.start(w)
		}
	}
	return w
}

// standing returns what is known of a scope: its watch and the round that the watch is in, both nil when there is none,
// and whether it is denied.
func (t *Tracker) standing(s scope) (*watch, *round, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.guarded.watches[s]
	if w == nil {
		return nil, nil, false
	}
	return w, w.guarded.round, w.guarded.denied
}
