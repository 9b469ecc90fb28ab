package sessiontest

import (
	"slices"
	"sync"

	"github.com/mooring-dev/mooring/internal/session"
)

// Sessions stands in for a session.Supervisor: what is ensured is recorded, and a snapshot is what the test has set.
// A key that was ensured but not set is Connecting.
type Sessions struct {
	// Notify is told the key of every Set, like session.Options.Notify.
	Notify func(session.Key)

	mu        sync.Mutex
	configs   map[session.Key]session.Config
	snapshots map[session.Key]session.Snapshot
	ensured   map[session.Key]int
	forgotten []session.Key
	refreshed []session.Key
}

// NewSessions returns a fake that holds nothing.
func NewSessions(notify func(session.Key)) *Sessions {
	return &Sessions{
		Notify:    notify,
		configs:   map[session.Key]session.Config{},
		snapshots: map[session.Key]session.Snapshot{},
		ensured:   map[session.Key]int{},
	}
}

// Ensure records the configuration. Another Connection or Catalog than before forgets what was set.
func (s *Sessions) Ensure(key session.Key, config session.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.configs[key]
	if !known || old.Connection != config.Connection || old.Catalog != config.Catalog {
		delete(s.snapshots, key)
	}
	s.configs[key] = config
	s.ensured[key]++
}

// Snapshot returns what was set, under the configuration that was ensured last.
func (s *Sessions) Snapshot(key session.Key) (session.Snapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	config, known := s.configs[key]
	if !known {
		return session.Snapshot{}, false
	}
	snapshot, set := s.snapshots[key]
	if !set {
		snapshot.State = session.Connecting
	}
	snapshot.Connection, snapshot.Catalog, snapshot.Reconnect = config.Connection, config.Catalog, config.Reconnect
	return snapshot, true
}

// Forget records the key and drops what was ensured and set for it.
func (s *Sessions) Forget(key session.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.configs, key)
	delete(s.snapshots, key)
	s.forgotten = append(s.forgotten, key)
}

// Refresh records the key.
func (s *Sessions) Refresh(key session.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshed = append(s.refreshed, key)
}

// Set lets the key stand so from now on, and notifies.
func (s *Sessions) Set(key session.Key, snapshot session.Snapshot) {
	s.mu.Lock()
	s.snapshots[key] = snapshot
	s.mu.Unlock()
	if s.Notify != nil {
		s.Notify(key)
	}
}

// Config returns what was last ensured, false when nothing is.
func (s *Sessions) Config(key session.Key) (session.Config, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	config, known := s.configs[key]
	return config, known
}

// Ensured returns how often the key was ensured.
func (s *Sessions) Ensured(key session.Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ensured[key]
}

// Forgotten returns the keys that were forgotten, in order.
func (s *Sessions) Forgotten() []session.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.forgotten)
}

// Refreshed returns the keys that were to be refreshed, in order.
func (s *Sessions) Refreshed() []session.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refreshed)
}
