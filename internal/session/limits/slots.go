package limits

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// queueLength is how many calls of one caller may wait for a place.
const queueLength = 64

// ErrOverloaded is returned to a caller that has too many calls waiting already.
var ErrOverloaded = errors.New("too many calls waiting")

// Slots bounds the calls in flight to one server. Callers take turns, each in its own order, so that one that sends
// many never keeps another waiting for more than one call each.
type Slots struct {
	mu      sync.Mutex
	guarded struct {
		limit, inUse int
		queues       map[string][]*turn
		// order holds the callers that wait, the next one first.
		order []string
	}
}

type turn struct{ open chan struct{} }

// NewSlots returns n places.
func NewSlots(n int) *Slots {
	s := &Slots{}
	s.guarded.limit = n
	s.guarded.queues = map[string][]*turn{}
	return s
}

// Resize changes the number of places. Calls in flight stay.
func (s *Slots) Resize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guarded.limit = n
	s.admit()
}

// Enter waits for a place and returns how to give it back. Its error is ErrOverloaded, or the cause of the
// context's end.
func (s *Slots) Enter(ctx context.Context, caller string) (leave func(), err error) {
	t := &turn{open: make(chan struct{})}
	if err := s.enqueue(caller, t); err != nil {
		return nil, err
	}
	select {
	case <-t.open:
		return sync.OnceFunc(s.leave), nil
	case <-ctx.Done():
		s.abandon(caller, t)
		return nil, context.Cause(ctx)
	}
}

func (s *Slots) enqueue(caller string, t *turn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.guarded.queues[caller]) >= queueLength {
		return ErrOverloaded
	}
	if len(s.guarded.queues[caller]) == 0 {
		s.guarded.order = append(s.guarded.order, caller)
	}
	s.guarded.queues[caller] = append(s.guarded.queues[caller], t)
	s.admit()
	return nil
}

// admit lets in whom there is a place for, one of each caller in turn.
func (s *Slots) admit() {
	for s.guarded.inUse < s.guarded.limit && len(s.guarded.order) > 0 {
		caller := s.guarded.order[0]
		next := s.guarded.queues[caller][0]
		s.dequeue(caller, next)
		if len(s.guarded.queues[caller]) > 0 {
			s.guarded.order = append(s.guarded.order[1:], caller)
		}
		s.guarded.inUse++
		close(next.open)
	}
}

// dequeue takes t out of its caller's queue, and the caller out of the order when nothing of it waits any more.
func (s *Slots) dequeue(caller string, t *turn) bool {
	queue := s.guarded.queues[caller]
	at := slices.Index(queue, t)
	if at < 0 {
		return false
	}
	if queue = slices.Delete(queue, at, at+1); len(queue) > 0 {
		s.guarded.queues[caller] = queue
		return true
	}
	delete(s.guarded.queues, caller)
	at = slices.Index(s.guarded.order, caller)
	s.guarded.order = slices.Delete(s.guarded.order, at, at+1)
	return true
}

func (s *Slots) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guarded.inUse--
	s.admit()
}

func (s *Slots) abandon(caller string, t *turn) {
	s.mu.Lock()
	waiting := s.dequeue(caller, t)
	s.mu.Unlock()
	if !waiting {
		s.leave()
	}
}
