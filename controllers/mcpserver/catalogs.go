package mcpserver

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/session"
)

// Two writes of one ConfigMap may follow each other at once, then one per refillInterval.
const (
	writeBurst     = 2
	refillInterval = 10 * time.Second
)

// catalogs remembers, per session, what was made of its last list, so that a pass without news parses nothing.
type catalogs struct {
	mu      sync.Mutex
	guarded map[session.Key]*seenCatalog
}

// of returns the memory of one session. One object is reconciled by one worker at a time, so what is returned is only
// used by the caller.
func (c *catalogs) of(key session.Key) *seenCatalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.guarded == nil {
		c.guarded = map[session.Key]*seenCatalog{}
	}
	if c.guarded[key] == nil {
		c.guarded[key] = &seenCatalog{limiter: rate.NewLimiter(rate.Every(refillInterval), writeBurst)}
	}
	return c.guarded[key]
}

func (c *catalogs) drop(key session.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.guarded, key)
}

// seenCatalog is what was made of one session's last list, and of the ConfigMap in one version.
type seenCatalog struct {
	limiter *rate.Limiter
	view    *view
	decoded struct{ version, hash string }
	eraKey  string // under which the memory of eras has the server
}

// delay is how long a write must wait; a first publication never does.
func (c *seenCatalog) delay(exists bool) time.Duration {
	if !exists {
		return 0
	}
	reservation := c.limiter.Reserve()
	delay := reservation.Delay()
	if delay > 0 {
		reservation.Cancel()
	}
	return delay
}

// view is what status says of one list.
type view struct {
	listing, hash string
	generation    int64
	version       string // of the stored ConfigMap
	status        v1alpha1.CatalogStatus
	warnings      []v1alpha1.Warning
	count         int32
}

// covers tells whether list, spec and stored ConfigMap are those that the view was made of.
func (v *view) covers(s *scope, stored *storedCatalog) bool {
	return v != nil && v.listing == s.snapshot.ListingID && v.generation == s.server.Generation &&
		v.hash == s.hash && stored.exists && v.version == stored.version
}

// tell puts the view into status.
func (v *view) tell(s *scope) {
	s.server.Status.Catalog = v.status.DeepCopy()
	s.server.Status.Warnings = v.warnings
	s.server.Status.WarningCount = nil
	if v.count > 0 {
		s.server.Status.WarningCount = ptr.To(v.count)
	}
}
