package catalogstore

import (
	"sync"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/session"
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

// Server is what is known of one server.
type Server struct {
	// Snapshot is how its session is now, nil when there is none.
	Snapshot *session.Snapshot
	// Entry is what was decided of its catalog, nil when nothing was yet.
	Entry *Entry
}

// Sessions knows how each server's session is now. No method does network I/O.
type Sessions interface {
	Snapshot(key session.Key) (session.Snapshot, bool)
}

// Store holds an Entry per server, beside what Sessions knows of it. It must not be copied, and is safe for concurrent
// use.
type Store struct {
	Sessions Sessions
	// Changed is told the key of a server of which something else is known now. It must not block. It is set before the
	// first use.
	Changed func(key session.Key)

	mu      sync.Mutex
	guarded map[session.Key]Entry
}

// Notify has Changed told that there is news of a server, such as of its session.
func (s *Store) Notify(key session.Key) {
	if s.Changed != nil {
		s.Changed(key)
	}
}

// Set replaces the Entry of a server.
func (s *Store) Set(key session.Key, entry Entry) {
	s.mu.Lock()
	before, had := s.guarded[key]
	if s.guarded == nil {
		s.guarded = map[session.Key]Entry{}
	}
	s.guarded[key] = entry
	s.mu.Unlock()
	if !had || before != entry {
		s.Notify(key)
	}
}

// Get returns what is known of a server. The snapshot is the older part: no Entry speaks of an older list than it.
func (s *Store) Get(key session.Key) (server Server) {
	if snapshot, ok := s.Sessions.Snapshot(key); ok {
		server.Snapshot = &snapshot
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry, ok := s.guarded[key]; ok {
		server.Entry = &entry
	}
	return server
}

// Delete forgets a server that is gone.
func (s *Store) Delete(key session.Key) {
	s.mu.Lock()
	_, had := s.guarded[key]
	delete(s.guarded, key)
	s.mu.Unlock()
	if had {
		s.Notify(key)
	}
}
