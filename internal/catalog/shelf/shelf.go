package shelf

import (
	"sync"

	"github.com/mooring-dev/mooring/internal/catalog"
)

// Item is what one pass over a server decided.
type Item struct {
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
	// Refusal tells whether the declaration itself was refused.
	Refusal Refusal
}

// Trouble is a fault in the words of the server's own status.
type Trouble struct {
	// Class is the failure's, empty for what is no failure of the server.
	Class, Reason, Message string
}

// Refusal says what became of a declaration.
type Refusal int

// The kinds of refusal.
const (
	// Accepted: the declaration can be acted on.
	Accepted Refusal = iota
	// Incomplete: something that the declaration refers to is missing; it may come.
	Incomplete
	// Rejected: somebody must change the declaration, or what is in its way.
	Rejected
)

// Shelf holds an Item per server. The zero value is ready; it must not be copied. It is safe for concurrent use.
type Shelf struct {
	// Changed is told the key of a server whose Item is another now. It must not block. It is set before the first use.
	Changed func(key string)

	mu      sync.Mutex
	guarded map[string]Item
}

// Put sets the Item of a server.
func (s *Shelf) Put(key string, item Item) {
	s.mu.Lock()
	before, had := s.guarded[key]
	if s.guarded == nil {
		s.guarded = map[string]Item{}
	}
	s.guarded[key] = item
	s.mu.Unlock()
	if !had || before != item {
		s.tell(key)
	}
}

// Item returns what was decided of a server, false when nothing was yet.
func (s *Shelf) Item(key string) (Item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item, ok := s.guarded[key]
	return item, ok
}

// Drop forgets a server that is gone.
func (s *Shelf) Drop(key string) {
	s.mu.Lock()
	_, had := s.guarded[key]
	delete(s.guarded, key)
	s.mu.Unlock()
	if had {
		s.tell(key)
	}
}

func (s *Shelf) tell(key string) {
	if s.Changed != nil {
		s.Changed(key)
	}
}
