package mcpserver

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/session"
)

// CatalogValidity is how long a stored catalog is worth offering to new agent sessions after the server last confirmed
// it (status.catalog.confirmedAt).
const CatalogValidity = 30 * 24 * time.Hour

const (
	// confirmInterval is how long status waits before it moves the time of a confirmation: a server that is well and does
	// not change costs one write a day.
	confirmInterval = 24 * time.Hour
	// confirmRecheck is how soon it is looked again whether a server that is connected has confirmed what is a day old: it
	// lists in its own time, and a list that is as before wakes nobody.
	confirmRecheck = time.Hour
)

// confirmedAt is when the server last gave what the view tells of, as status has it: moved once it is a day off.
func (v *view) confirmedAt(s *scope) *metav1.Time {
	var known *metav1.Time
	before := s.before.Status.Catalog
	if before != nil && before.Digest == v.status.Digest && before.ConfigHash == v.hash {
		known = before.ConfirmedAt
	}
	listed := s.snapshot.ListedAt
	if v.listing == "" || listed.IsZero() || known != nil && listed.Sub(known.Time).Abs() < confirmInterval {
		return known
	}
	return timestamp(listed)
}

// expire tells whether what is stored may be offered, or was confirmed too long ago, and has the object looked at again
// when that is due, or the time of the confirmation. What a connected server has listed does not expire.
func (s *scope) expire(stored *storedCatalog) catalogState {
	if !stored.good(s.hash) {
		return noCatalog
	}
	confirmed := stored.confirmed(s.server.Status.Catalog)
	if confirmed.IsZero() {
		return validCatalog
	}
	age := time.Since(confirmed)
	switch {
	case s.snapshot.State == session.Connected && s.snapshot.Listing != nil:
		s.lookAgain(max(confirmInterval-age, confirmRecheck))
	case age >= CatalogValidity:
		return expiredCatalog
	default:
		s.lookAgain(CatalogValidity - age)
	}
	return validCatalog
}

// confirmed is when the server last gave the stored catalog, as far as is known: as status tells, or at least when it
// was written. Zero when neither is known.
func (c *storedCatalog) confirmed(status *v1alpha1.CatalogStatus) time.Time {
	if status != nil && status.ConfirmedAt != nil && status.ConfigHash == c.Document.document.ConfigHash &&
		status.Digest == string(c.Document.document.Catalog.Digest) {
		return status.ConfirmedAt.Time
	}
	if c.Object == nil {
		return time.Time{}
	}
	return configmap.WrittenAt(c.Object)
}
