package limits

import (
	"sync"
	"time"
)

const (
	suspicionWindow = 30 * time.Second
	suspicionFleet  = 10
)

// Suspicion notices when so many servers fail by transport at once that the fault must be ours: more than half of at
// least 10 within 30 s.
type Suspicion struct {
	mu      sync.Mutex
	guarded struct{ failed map[string]time.Time }
}

// Failed notes that one of fleet servers failed by transport, and reports whether we are the suspect.
func (s *Suspicion) Failed(server string, now time.Time, fleet int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guarded.failed == nil {
		s.guarded.failed = map[string]time.Time{}
	}
	s.guarded.failed[server] = now
	for other, at := range s.guarded.failed {
		if now.Sub(at) > suspicionWindow {
			delete(s.guarded.failed, other)
		}
	}
	return fleet >= suspicionFleet && 2*len(s.guarded.failed) > fleet
}

// Forget removes a server that is no longer part of the fleet.
func (s *Suspicion) Forget(server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.guarded.failed, server)
}
