package limits

import (
	"context"
	"slices"
	"sync"
	"time"
)

// dialPatience is how long a connect holds its place at most.
const dialPatience = 2 * time.Second

// Gate bounds connects in progress, in all and to one address. Those that a person waits for go first, the others
// in the order in which they came. A connect that takes longer than others should wait for counts no more.
type Gate struct {
	total, perAddress int

	mu      sync.Mutex
	guarded struct {
		inUse   int
		address map[string]int
		waiting []*entry
	}
}

type entry struct {
	address string
	urgent  bool
	open    chan struct{}
}

// NewGate returns a gate for total connects at once, perAddress of them to one address.
func NewGate(total, perAddress int) *Gate {
	g := &Gate{total: total, perAddress: perAddress}
	g.guarded.address = map[string]int{}
	return g
}

// Enter waits for a place and returns how to give it back. Its error is the cause of the context's end.
func (g *Gate) Enter(ctx context.Context, address string, urgent bool) (leave func(), err error) {
	e := &entry{address: address, urgent: urgent, open: make(chan struct{})}
	g.mu.Lock()
	g.enqueue(e)
	g.admit()
	g.mu.Unlock()
	select {
	case <-e.open:
		free := sync.OnceFunc(func() { g.leave(address) })
		timer := time.AfterFunc(dialPatience, free)
		return func() {
			timer.Stop()
			free()
		}, nil
	case <-ctx.Done():
		g.abandon(e)
		return nil, context.Cause(ctx)
	}
}

func (g *Gate) enqueue(e *entry) {
	at := slices.IndexFunc(g.guarded.waiting, func(w *entry) bool { return e.urgent && !w.urgent })
	if at < 0 {
		at = len(g.guarded.waiting)
	}
	g.guarded.waiting = slices.Insert(g.guarded.waiting, at, e)
}

// admit lets in whom there is a place for.
func (g *Gate) admit() {
	g.guarded.waiting = slices.DeleteFunc(g.guarded.waiting, func(e *entry) bool {
		if g.guarded.inUse >= g.total || g.guarded.address[e.address] >= g.perAddress {
			return false
		}
		g.guarded.inUse++
		g.guarded.address[e.address]++
		close(e.open)
		return true
	})
}

func (g *Gate) leave(address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.guarded.inUse--
	if g.guarded.address[address]--; g.guarded.address[address] == 0 {
		delete(g.guarded.address, address)
	}
	g.admit()
}

// abandon takes e out of the queue, or gives back the place that it was given meanwhile.
func (g *Gate) abandon(e *entry) {
	g.mu.Lock()
	at := slices.Index(g.guarded.waiting, e)
	if at >= 0 {
		g.guarded.waiting = slices.Delete(g.guarded.waiting, at, at+1)
	}
	g.mu.Unlock()
	if at < 0 {
		g.leave(e.address)
	}
}
