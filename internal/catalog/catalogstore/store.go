package catalogstore

import (
	"sync"

	"github.com/mooring-dev/mooring/internal/catalog"
)

// Entry is what one pass over a server decided.
type Entry struct {
	// Generation is that of the declaration which was judged.
	Generation int64
	// ConfigHash identifies the configuration of that declaration.
	ConfigHash string
	// Listing is the id of the list that was judged, whatever came of it; empty when there was none in this process.
	Listing string
	// Offered are the tools that may be offered: those of the catalog that is stored for ConfigHash, without what the
	// server's filter or a missing approval withholds. Nil: no catalog is stored.
	Offered *catalog.Catalog
	// Trouble is what keeps the server, or a newer catalog of it, from being used; the zero Trouble: nothing does.
	Trouble Trouble
	// Acceptance tells what became of the declaration itself.
	Acceptance Acceptance
}

// Trouble is a fault in the words of the server's own status.
type Trouble struct {
	// Class is the failure's, empty for what is no failure of the server.
	Class, Reason, Message string
}

// Acceptance says what became of a declaration.
type Acceptance int

// The kinds of acceptance.
const (
	// Accepted: the declaration can be acted on.
	Accepted Acceptance = iota
	// AwaitsReference: something that the declaration refers to is missing; it may come.
	AwaitsReference
	// NotAccepted: somebody must change the declaration, or what is in its way.
	NotAccepted
)

// Store holds an Entry per server. The zero value is ready; it must not be copied. It is safe for concurrent use.
type Store struct {
	// Changed is told the key of a server whose Entry is another now. It must not block. It is set before the first use.
	Changed func(key string)

	mu      sync.Mutex
	guarded map[string]Entry
}

// Set replaces the Entry of a server.
func (s *Store) Set(key string, entry Entry) {
	s.mu.Lock()
	before, had := s.guarded[key]
	if s.guarded == nil {
		s.guarded = map[string]Entry{}
	}
	s.guarded[key] = entry
	s.mu.Unlock()
	if !had || before != entry {
		s.notify(key)
	}
}

// Get returns what was decided of a server, false when nothing was yet.
func (s *Store) Get(key string) (Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry, ok := s.guarded[key]
	return entry, ok
}

// Delete forgets a server that is gone.
func (s *Store) Delete(key string) {
	s.mu.Lock()
	_, had := s.guarded[key]
	delete(s.guarded, key)
	s.mu.Unlock()
	if had {
		s.notify(key)
	}
}

func (s *Store) notify(key string) {
	if s.Changed != nil {
		s.Changed(key)
	}
}
