package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
)

// publish writes the last good list into the catalog ConfigMap when it differs from what stands there, and sets
// CatalogPublished. A list that failed, or is empty and not yet believed, leaves the last good catalog alone.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	if s.server.Spec.Disabled {
		s.conds.Unknown(v1alpha1.ConditionCatalogPublished, v1alpha1.ReasonDisabled,
			"the server is disabled: nothing is listed")
		return nil
	}
	stored, err := r.loadCatalog(ctx, s, s.snapshot.Listing != nil || s.before.Status.Catalog != nil)
	if err != nil {
		if s.before.Status.Catalog != nil && s.before.Status.Catalog.ConfigHash == s.hash {
			s.catalog = validCatalog // as it was found last
		}
		return err
	}
	err = r.renew(ctx, s, stored)
	s.catalog = s.expire(stored)
	s.offered = s.memory.offered(s, stored)
	return s.setStored(stored, err)
}

// setStored sets CatalogPublished from what became of the ConfigMap.
func (s *scope) setStored(stored *storedCatalog, err error) error {
	var unpublished *problem
	switch {
	case errors.Is(err, configmap.ErrSuperseded):
		s.write = writeSuperseded
		s.requeue.RequeueAfter = conflictDelay
	case errors.Is(err, configmap.ErrEnding):
		s.report, s.write = skipStatus, writePending // there is nobody left to tell
		return nil
	case errors.As(err, &unpublished):
		if unpublished.final || s.catalog != validCatalog && unpublished.reason != v1alpha1.ReasonPublishFailed {
			s.stallFor(unpublished.reason, unpublished.message)
		}
		s.conds.False(v1alpha1.ConditionCatalogPublished, unpublished.reason, unpublished.message+keptNote(s))
		return nil
	case err != nil:
		s.write = writePending
		return err
	}
	setPublished(s, stored)
	return nil
}

// renew brings the ConfigMap in line with the last good list. It returns a *problem for what a person must fix.
func (r *Reconciler) renew(ctx context.Context, s *scope, stored *storedCatalog) error {
	if stored.Foreign {
		s.requeue.RequeueAfter = configmap.RetryInterval // what is not ours is not watched
		return &problem{reason: v1alpha1.ReasonNameConflict, final: true, message: fmt.Sprintf(
			"ConfigMap %q exists and does not belong to this MCPServer; rename one of them, or delete the ConfigMap",
			stored.Name)}
	}
	if s.memory.view.covers(s, stored) {
		s.memory.view.tell(s)
		return nil
	}
	if s.snapshot.Listing == nil || s.snapshot.EmptyUnconfirmed {
		return r.reappraise(ctx, s, stored)
	}
	document := catalog.ServerDocument{
		Server:     catalog.Ref{Namespace: s.name.Namespace, Name: s.name.Name},
		ConfigHash: s.hash,
		Catalog:    catalog.Parse(s.snapshot.Listing.Tools),
	}
	verdict := approve(s, stored.Document.approved, document.Catalog)
	document.Approved = verdict.Baseline
	encoding, err := r.storeCatalog(ctx, s, stored, &document)
	if encoding == "" {
		return err
	}
	s.memory.view = newView(s, stored, &document.Catalog, verdict)
	s.memory.view.status.Encoding = encoding
	s.memory.view.tell(s)
	return nil
}

// reappraise judges the stored catalog by the present declaration while there is no list to judge: what is approved
// while the server cannot be reached is recorded, and status speaks of it, as it would with a list. Else the ConfigMap
// is only written when it lost its label.
func (r *Reconciler) reappraise(ctx context.Context, s *scope, stored *storedCatalog) error {
	if !stored.good(s.hash) || s.refused != nil && s.refused.Final {
		return nil
	}
	document := *stored.Document.document
	verdict := approve(s, stored.Document.approved, document.Catalog)
	encoding := catalog.EncodingOf(stored.Object.BinaryData)
	document.Approved = verdict.Baseline
	if !sameBaseline(verdict.Baseline, stored.Document.approved) || !stored.Labelled() {
		var err error
		if encoding, err = r.storeCatalog(ctx, s, stored, &document); encoding == "" {
			return err
		}
	}
	s.memory.view = newView(s, stored, &document.Catalog, verdict)
	s.memory.view.status.Encoding = encoding
	// What there was to remark on the list is not stored with it.
	s.memory.view.listing, s.memory.view.warnings = "", s.before.Status.Warnings
	s.memory.view.count = ptr.Deref(s.before.Status.WarningCount, 0)
	s.memory.view.tell(s)
	return nil
}

// sameBaseline tells whether two records approve the same tools.
func sameBaseline(a, b *catalog.Baseline) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Digest() == b.Digest()
}

// newView is what status is to say of a catalog: how much of it agents are offered, and what is remarkable.
func newView(s *scope, stored *storedCatalog, all *catalog.Catalog, verdict catalog.Verdict) *view {
	offered := verdict.Offered.Filter(s.filter)
	warnings := all.Warnings
	if listing := s.snapshot.Listing; listing != nil && listing.Loop {
		warnings = warnings.With(catalog.NewWarning(catalog.PaginationLoop, "",
			"the server's cursor led back to a page that was already read; each tool is listed once"))
	}
	if tokens := offered.EstimatedTokens(); tokens > largeTokens {
		warnings = warnings.With(catalog.NewWarning(catalog.CatalogLarge, "",
			"the tools take a large part of a model's context; offer fewer with tools.allow and tools.deny"))
	}
	return &view{
		listing: s.snapshot.ListingID, hash: s.hash, generation: s.server.Generation, version: stored.Version,
		pinned: pinnedDigest(s), verdict: verdict,
		status: v1alpha1.CatalogStatus{
			ConfigMap: stored.Name, Digest: string(all.Digest), ConfigHash: s.hash,
			PinnedDigest:    string(verdict.Recorded),
			ToolCount:       ptr.To(int32(len(offered.Tools))), //nolint:gosec // at most 2,000
			Bytes:           ptr.To(int64(offered.Bytes)),
			EstimatedTokens: ptr.To(int64(offered.EstimatedTokens())),
		},
		warnings: warningsOf(warnings),
		count:    int32(warnings.Count), //nolint:gosec // a few per tool
	}
}

// largeTokens is the size of a catalog, in estimated tokens, from which on people are warned.
const largeTokens = 25_000

func warningsOf(warnings catalog.Warnings) []v1alpha1.Warning {
	var out []v1alpha1.Warning
	for _, warning := range warnings.Items {
		out = append(out, v1alpha1.Warning{
			Type: string(warning.Type), Tool: warning.Tool, Message: warning.Message,
		})
	}
	return out
}

// setPublished sets CatalogPublished from the last list and what is stored.
func setPublished(s *scope, stored *storedCatalog) {
	const condition = v1alpha1.ConditionCatalogPublished
	listing, fault := s.snapshot.Listing, s.snapshot.ListFault
	switch {
	case fault != nil:
		reason := listReason(fault)
		if reason == v1alpha1.ReasonCatalogTooLarge && s.catalog != validCatalog {
			s.stallFor(reason, s.faultMessage(fault))
		}
		s.conds.False(condition, reason, s.faultMessage(fault)+keptNote(s))
	case s.snapshot.EmptyUnconfirmed:
		s.conds.False(condition, v1alpha1.ReasonEmptyCatalog,
			"the server listed no tools, which is asked again before it is believed; if it should have some, look into its "+
				"own logs"+keptNote(s))
	case listing != nil && len(listing.Tools) == 0:
		s.conds.True(condition, v1alpha1.ReasonNoTools, "the server offers no tools")
	case s.catalog == validCatalog:
		s.conds.True(condition, v1alpha1.ReasonPublished, "the tools are in ConfigMap "+stored.Name)
	default:
		s.conds.Unknown(condition, v1alpha1.ReasonAwaitingConnection,
			"the tools are listed once the server is connected"+keptNote(s))
	}
}

// listReason is the word for a list that failed.
func listReason(fault *session.Fault) string {
	switch {
	case fault.Reason == failure.CatalogTooLarge:
		return v1alpha1.ReasonCatalogTooLarge
	case fault.Policy().Silence:
		return v1alpha1.ReasonListToolsTimeout
	default:
		return v1alpha1.ReasonListToolsFailed
	}
}

// keptNote tells what becomes of the last good catalog.
func keptNote(s *scope) string {
	switch s.catalog {
	case validCatalog:
		return "; the last good catalog stays published"
	case expiredCatalog:
		return "; those that are stored are offered to no new AgentSession, because the server has not listed them " +
			"for 30 days"
	case noCatalog:
	}
	return ""
}

// setDrift sets ToolsDrifted while tools are withheld, and says how they are approved.
func setDrift(s *scope, verdict *catalog.Verdict) {
	const condition = v1alpha1.ConditionToolsDrifted
	approve := "; look at them, and approve them by setting spec.tools.approvedDigest to status.catalog.digest"
	switch verdict.Withheld {
	case "":
		s.conds.Remove(condition)
	case catalog.ToolsChanged:
		s.conds.True(condition, v1alpha1.ReasonToolsChanged, "withheld, because not as approved: "+
			driftedNames(verdict.Drifted)+approve)
	case catalog.AwaitingApproval:
		s.conds.True(condition, v1alpha1.ReasonAwaitingApproval, "what the server lists was not approved, so that no tools "+
			"are offered"+approve)
	case catalog.BaselineLost:
		s.conds.True(condition, v1alpha1.ReasonBaselineLost, "the record of what was approved is missing or was altered, "+
			"so that no tools are offered"+approve)
	}
}

// driftedNames are the first few, and how many more there are.
func driftedNames(drifted []catalog.DriftedTool) string {
	const most = 10
	var names []string
	for _, tool := range drifted[:min(most, len(drifted))] {
		shown := catalog.NewWarning("", tool.Name, "").Tool
		names = append(names, fmt.Sprintf("%s (%s)", shown, strings.ToLower(string(tool.Kind))))
	}
	if rest := len(drifted) - most; rest > 0 {
		names = append(names, fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(names, ", ")
}
