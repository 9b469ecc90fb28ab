package oauth

import (
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/secret"
)

// forgotten is how long a Source is remembered that nobody uses.
const forgotten = time.Hour

// Sources is the process's memory of its sources. It is safe for concurrent use.
type Sources struct {
	mu    sync.Mutex
	known map[string]*Source
	sweep *time.Timer // set while known is not empty
}

// NewSources returns an empty memory.
func NewSources() *Sources { return &Sources{known: map[string]*Source{}} }

// For returns the source of cfg, the same for the same cfg as long as it is used at least once an hour. It connects to
// nothing. A Source that was forgotten goes on to work for those who hold it.
func (s *Sources) For(cfg Config) (*Source, error) {
	key := secret.FingerprintOf(cfg)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.known[key]; known != nil {
		known.touch()
		return known, nil
	}
	m, err := newMinter(cfg)
	if err != nil {
		return nil, err
	}
	source := newSource(m.mint)
	source.fingerprint = key
	s.known[key] = source
	if s.sweep == nil {
		s.sweep = time.AfterFunc(forgotten, s.forget)
	}
	return source, nil
}

// forget drops the sources that were not used for an hour, and comes back when the next one may be due.
func (s *Sources) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	next := forgotten
	for key, source := range s.known {
		left := forgotten - source.unused(now)
		if left <= 0 {
			delete(s.known, key)
			continue
		}
		next = min(next, left)
	}
	s.sweep = nil
	if len(s.known) > 0 {
		s.sweep = time.AfterFunc(next, s.forget)
	}
}
