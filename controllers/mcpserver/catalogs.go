package mcpserver

import (
	"sync"
	"time"

	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/configmap"
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
		c.guarded[key] = &seenCatalog{writes: backoff.Bucket{Size: writeBurst, Refill: refillInterval}}
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
	writes  backoff.Bucket
	view    *view
	decoded decoded
	offer   offer
	// refused is what the API server said when it refused to store the catalog.
	refused *configmap.RefusedError
}

// decoded is what a ConfigMap of one version holds.
type decoded struct {
	version  string
	document *catalog.ServerDocument
	approved *catalog.Baseline
}

// offer is the part of a stored catalog that may be offered, and what that follows from.
type offer struct {
	from    origin
	catalog *catalog.Catalog
}

// origin is what an offer follows from: a version of the ConfigMap, listed under a config hash, the generation of the
// declaration, and what was recorded as approved.
type origin struct {
	version, hash, recorded string
	generation              int64
}

// offered returns what agents may be offered: what is stored for this configuration, without what the filter and the
// pin withhold. Nil when nothing is stored, or nothing that is still valid. While the declaration is rejected, what was
// offered before stands: its filter may be what is wrong.
func (c *seenCatalog) offered(s *scope, stored *storedCatalog) *catalog.Catalog {
	from := origin{
		version: stored.version, hash: s.hash, recorded: pinnedDigest(s), generation: s.server.Generation,
	}
	rejected := s.refused != nil && s.refused.Final
	switch {
	case !s.stored, rejected && c.offer.from.hash != s.hash:
		c.offer = offer{}
	case !rejected && c.offer.from != from:
		part := approve(s, stored.approved, stored.document.Catalog).Offered.Filter(s.filter)
		c.offer = offer{from: from, catalog: &part}
	}
	return c.offer.catalog
}

// approve says what of a list is approved by the declaration's pin.
func approve(s *scope, found *catalog.Baseline, current catalog.Catalog) catalog.Verdict {
	return Approve(&s.server.Spec, pinnedDigest(s), found, current)
}

// Approve says what of a list is approved by a declaration's pin; without one, everything is. Recorded is
// status.catalog.pinnedDigest, and found the baseline that stands beside the list; nil when there is none to be read.
func Approve(
	spec *v1alpha1.MCPServerSpec, recorded string, found *catalog.Baseline, current catalog.Catalog,
) catalog.Verdict {
	policy := spec.PinPolicy()
	if policy == v1alpha1.PinNone {
		return catalog.Verdict{Offered: current}
	}
	pin := catalog.Pin{Strict: policy == v1alpha1.PinStrict, Recorded: catalog.Digest(recorded)}
	if spec.Tools != nil {
		pin.Approved = catalog.Digest(spec.Tools.ApprovedDigest)
	}
	return pin.Judge(found, current)
}

// pinnedDigest is what status remembers of what was approved.
func pinnedDigest(s *scope) string {
	if s.before.Status.Catalog == nil {
		return ""
	}
	return s.before.Status.Catalog.PinnedDigest
}

// delay is how long a write must wait; a first publication never does.
func (c *seenCatalog) delay(exists bool) time.Duration {
	if !exists {
		return 0
	}
	return c.writes.Take(time.Now())
}

// view is what status says of one list.
type view struct {
	listing, hash string
	generation    int64
	version       string // of the stored ConfigMap
	pinned        string // what was recorded as approved when the view was made
	status        v1alpha1.CatalogStatus
	warnings      []v1alpha1.Warning
	count         int32
	verdict       catalog.Verdict
}

// covers tells whether list, spec and stored ConfigMap are those that the view was made of.
func (v *view) covers(s *scope, stored *storedCatalog) bool {
	return v != nil && v.listing == s.snapshot.ListingID && v.generation == s.server.Generation &&
		v.hash == s.hash && stored.exists && v.version == stored.version &&
		(pinnedDigest(s) == v.pinned || pinnedDigest(s) == v.status.PinnedDigest)
}

// tell puts the view into status.
func (v *view) tell(s *scope) {
	s.server.Status.Catalog = v.status.DeepCopy()
	s.server.Status.Catalog.ConfirmedAt = v.confirmedAt(s)
	s.server.Status.Warnings = v.warnings
	s.server.Status.WarningCount = nil
	if v.count > 0 {
		s.server.Status.WarningCount = ptr.To(v.count)
	}
	setDrift(s, &v.verdict)
}
