package directory

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// topic is what one may wait for news of.
type topic struct {
	kind string
	types.NamespacedName
}

func sessionTopic(name types.NamespacedName) topic { return topic{"session", name} }
func serverTopic(name types.NamespacedName) topic  { return topic{"server", name} }

// news wakes those who wait for a change. The zero value is ready.
type news struct {
	mu      sync.Mutex
	guarded map[topic]*waiters
}

type waiters struct {
	count  int
	change chan struct{} // closed by the next change
}

// hear returns a channel that the next change closes, and how to stop listening. Who listens before looking misses
// nothing.
func (n *news) hear(of topic) (change <-chan struct{}, leave func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.guarded[of]
	if w == nil {
		w = &waiters{change: make(chan struct{})}
		if n.guarded == nil {
			n.guarded = map[topic]*waiters{}
		}
		n.guarded[of] = w
	}
	w.count++
	return w.change, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if w.count--; w.count == 0 && n.guarded[of] == w {
			delete(n.guarded, of)
		}
	}
}

func (n *news) tell(of topic) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := n.guarded[of]; w != nil {
		close(w.change)
		delete(n.guarded, of)
	}
}
