package session

import (
	"sync"
	"time"
)

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
