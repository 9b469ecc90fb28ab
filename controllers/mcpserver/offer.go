package mcpserver

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
)

// offer puts what this pass decided into the catalog store, of which session catalogs are built.
func (r *Reconciler) offer(_ context.Context, s *scope) error {
	entry := catalogstore.Entry{
		Generation: s.server.Generation, ConfigHash: s.hash, Offered: s.offered, Trouble: trouble(s),
	}
	if s.write != writeSuperseded && s.snapshot.Listing != nil {
		entry.Listing = s.snapshot.ListingID
	}
	switch {
	case s.refused == nil:
	case s.refused.Final:
		entry.Acceptance = catalogstore.NotAccepted
	default:
		entry.Acceptance = catalogstore.AwaitsReference
	}
	r.Catalogs.Set(s.key, entry)
	return nil
}

// trouble is what keeps the server, or a newer catalog of it, from being used, in the words of its conditions.
func trouble(s *scope) catalogstore.Trouble {
	published := meta.FindStatusCondition(s.server.Status.Conditions, v1alpha1.ConditionCatalogPublished)
	switch fault := s.snapshot.Fault; {
	case s.refused != nil:
		return catalogstore.Trouble{Reason: s.refused.Reason, Message: s.refused.Message}
	case fault != nil:
		return catalogstore.Trouble{
			Class: string(fault.Class), Reason: string(fault.Reason), Message: s.faultMessage(fault),
		}
	case s.report == skipStatus || published == nil || published.Status != metav1.ConditionFalse:
		return catalogstore.Trouble{}
	case s.snapshot.ListFault != nil:
		return catalogstore.Trouble{
			Class: string(s.snapshot.ListFault.Class), Reason: published.Reason, Message: published.Message,
		}
	}
	return catalogstore.Trouble{Reason: published.Reason, Message: published.Message}
}
