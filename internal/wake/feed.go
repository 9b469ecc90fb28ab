package wake

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

var _ source.TypedSource[reconcile.Request] = (*Feed)(nil)

// errStarted: a feed has one listener. A second queue would silently take the keys away from the first.
var errStarted = errors.New("wake feed already started")

// Feed hands keys to one controller. The zero value is ready; it must not be copied after its first use.
type Feed struct {
	mu      sync.Mutex
	guarded guarded
}

type guarded struct {
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	// early holds the keys that were woken before there was a queue.
	early sets.Set[types.NamespacedName]
}

// Wake has the controller look at the object. It is safe for concurrent use.
func (f *Feed) Wake(key types.NamespacedName) {
	if queue := f.queueOrKeep(key); queue != nil {
		queue.Add(reconcile.Request{NamespacedName: key})
	}
}

// Start captures the queue and adds what was woken so far. The controller calls it; it does not block. It gives an
// error when the feed was started before.
func (f *Feed) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	early, err := f.capture(queue)
	if err != nil {
		return err
	}
	for key := range early {
		queue.Add(reconcile.Request{NamespacedName: key})
	}
	return nil
}

// String names the source in controller-runtime's logs.
func (*Feed) String() string { return "wake feed" }

// queueOrKeep returns the queue, or keeps the key when there is none yet.
func (f *Feed) queueOrKeep(key types.NamespacedName) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.guarded.queue == nil {
		if f.guarded.early == nil {
			f.guarded.early = sets.New[types.NamespacedName]()
		}
		f.guarded.early.Insert(key)
	}
	return f.guarded.queue
}

func (f *Feed) capture(
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) (sets.Set[types.NamespacedName], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.guarded.queue != nil {
		return nil, errStarted
	}
	early := f.guarded.early
	f.guarded = guarded{queue: queue}
	return early, nil
}
