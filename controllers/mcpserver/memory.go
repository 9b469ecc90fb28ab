package mcpserver

import (
	"sync"

	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/session"
)

// memories are what is remembered of each session from pass to pass.
type memories struct {
	mu      sync.Mutex
	guarded map[session.Key]*memory
}

// memory is of one session: what was made of its last list, so that a pass without news parses nothing, and its
// ConfigMap. One object is reconciled by one worker at a time, so it needs no lock.
type memory struct {
	configMap configmap.Owned[contents]
	view      *view
	offer     offer
}

// of returns the memory of one session.
func (m *memories) of(key session.Key) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.guarded == nil {
		m.guarded = map[session.Key]*memory{}
	}
	if m.guarded[key] == nil {
		m.guarded[key] = &memory{configMap: configmap.NewOwned[contents]()}
	}
	return m.guarded[key]
}

func (m *memories) drop(key session.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.guarded, key)
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
func (m *memory) offered(s *scope, stored *storedCatalog) *catalog.Catalog {
	from := origin{
		version: stored.Version, hash: s.hash, recorded: pinnedDigest(s), generation: s.server.Generation,
	}
	rejected := s.refused != nil && s.refused.Final
	switch {
	case s.catalog != validCatalog, rejected && m.offer.from.hash != s.hash:
		m.offer = offer{}
	case !rejected && m.offer.from != from:
		part := approve(s, stored.Document.approved, stored.Document.document.Catalog).Offered.Filter(s.filter)
		m.offer = offer{from: from, catalog: &part}
	}
	return m.offer.catalog
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
		v.hash == s.hash && stored.Version != "" && v.version == stored.Version &&
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
