package agentsession

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/configmap"
)

// publish writes the catalog into the ConfigMap when its bytes differ from what stands there, and sets
// CatalogPublished.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	if s.document == nil && !s.open {
		s.conds.Unknown(v1alpha1.ConditionCatalogPublished, v1alpha1.ReasonAwaitingServers, awaitingMessage(s))
		return nil
	}
	d := r.draft(s)
	stands := s.stored.intact && (!s.open || s.chosen.Fault != nil) // what was published
	withdraws := s.takesAway(&d)
	if !stands || withdraws {
		if err := r.renew(ctx, s, d, withdraws); err != nil {
			return s.notPublished(err, withdraws)
		}
	}
	setPublished(s)
	return nil
}

// notPublished says why nothing could be written; what is no fault of ours or the API's is a condition.
func (s *scope) notPublished(err error, withdraws bool) error {
	var refused *configmap.RefusedError
	const failed = v1alpha1.ReasonPublishFailed
	switch {
	case errors.Is(err, configmap.ErrSuperseded):
		s.lookAgain(s.now.Add(conflictDelay))
		s.writePending = true
		if s.memory.conflicts++; s.memory.conflicts == 1 { // it is over in a moment
			s.skipStatus = true
			return nil
		}
		setPublished(s)
	case errors.Is(err, configmap.ErrEnding):
		setPublished(s)
	case errors.Is(err, errForeign):
		s.lookAgain(s.now.Add(configmap.RetryInterval)) // what is not ours is not watched
		s.stop(withdraws, stall{ready: v1alpha1.ReasonNameConflict, reason: v1alpha1.ReasonNameConflict, message: fmt.Sprintf(
			"ConfigMap %q exists and does not belong to this AgentSession; rename one of them, or delete the ConfigMap",
			s.stored.name)})
	case errors.Is(err, catalog.ErrTooLarge):
		s.stop(withdraws, stall{ready: v1alpha1.ReasonNoServersAvailable, reason: v1alpha1.ReasonCatalogTooLarge,
			message: "the catalog does not fit into a ConfigMap even without any tools; choose fewer servers in spec.servers"})
	case errors.As(err, &refused):
		s.lookAgain(refused.Until)
		s.stop(withdraws, stall{ready: failed, reason: failed, message: refused.Error(), retried: true})
	case withdraws:
		s.writePending = true
		s.stop(true, stall{ready: failed, reason: failed, retried: true,
			message: fmt.Sprintf("ConfigMap %q could not be written; it is tried again", s.stored.name)})
		return err
	default:
		s.writePending = true
		setPublished(s)
		return err
	}
	return nil
}

// errForeign: an object of the name that we need is not ours.
var errForeign = errors.New("foreign object")

// stop says that nothing can be published before somebody acts. What was published before stands, which is bad where
// it was to be withdrawn.
func (s *scope) stop(withdraws bool, why stall) {
	if s.stored.legible {
		s.setCatalog()
		why.message += "; the last catalog stays published"
	}
	if !s.stored.legible || withdraws {
		s.stall = &why
	}
	s.conds.False(v1alpha1.ConditionCatalogPublished, why.reason, why.message)
}

// renew brings the ConfigMap in line with the draft.
func (r *Reconciler) renew(ctx context.Context, s *scope, d draft, withdraws bool) error {
	if s.stored.foreign {
		return errForeign
	}
	if s.memory.last.covers(s, d) {
		s.reduced = s.memory.last.reduced
		return nil
	}
	publication, err := r.encode(s, d)
	if err != nil {
		return err
	}
	return r.replace(ctx, s, d, publication, withdraws)
}

func (r *Reconciler) encode(s *scope, d draft) (sessioncatalog.Publication, error) {
	defer r.encodeSlot()()
	return d.publish(s)
}

// encodeSlot waits for one of the few places where catalogs are encoded or read, and returns how to leave it.
func (r *Reconciler) encodeSlot() (leave func()) {
	if r.encodeSlots == nil {
		return func() {}
	}
	r.encodeSlots <- struct{}{}
	return func() { <-r.encodeSlots }
}

// replace writes what was put together, if it is not what stands there and its turn has come.
func (r *Reconciler) replace(
	ctx context.Context, s *scope, d draft, publication sessioncatalog.Publication, withdraws bool,
) (err error) {
	m, first := s.memory, s.document == nil
	last, content := s.made(d, &publication), s.content(publication.Encoded)
	switch {
	case s.stored.object != nil && content.Stands(s.stored.object):
		m.last, s.reduced, m.refused = last, last.reduced, nil
		return nil
	case m.refused.Stands(s.now, content.Encoded, s.stored.object):
		return m.refused
	case first && m.last.version == "" && m.refused == nil, withdraws, s.reloads():
	default:
		if wait := m.budget.Take(s.now); wait > 0 {
			s.lookAgain(s.now.Add(wait))
			s.reduced = m.last.reduced
			if m.refused != nil { // what was refused last is all that can be told yet
				return m.refused
			}
			return nil
		}
	}
	if last.version, err = r.write(ctx, s, content); err != nil {
		return err
	}
	if first { // when many gates open at once, every agent's tools come before any status
		s.skipStatus, s.lowPriority = true, true
		s.lookAgain(s.now)
		log.FromContext(ctx).Info("first catalog published", "after", time.Since(m.begun),
			"tools", publication.Document.ToolCount(), "errors", len(publication.Document.Errors))
	}
	m.refused, m.conflicts = nil, 0
	m.last, m.good = last, good{&publication.Document, publication.Encoded.Encoding}
	m.decoded = decoded{version: last.version, document: m.good.document}
	s.document, s.encoding, s.reduced = m.good.document, m.good.encoding, last.reduced
	return nil
}

// made is what a ConfigMap of the present version would have been made of.
func (s *scope) made(d draft, publication *sessioncatalog.Publication) published {
	made := published{
		version: s.stored.version(), slices: d.slices, errors: d.errors, patterns: s.chosen.Patterns,
		reduced:     reduced{dropped: publication.Dropped, collisions: publication.Collisions},
		generations: map[catalog.Ref]int64{},
	}
	for i := range s.servers {
		if v := &s.servers[i]; v.entry != nil {
			made.generations[v.Ref] = v.entry.Generation
		}
	}
	return made
}

// covers tells whether the ConfigMap is the one that was made of this very draft.
func (p *published) covers(s *scope, d draft) bool {
	return s.document != nil && p.version != "" && p.version == s.stored.version() &&
		slices.Equal(p.slices, d.slices) && slices.Equal(p.errors, d.errors)
}

// setPublished says what agents have.
func setPublished(s *scope) {
	const condition = v1alpha1.ConditionCatalogPublished
	if s.document == nil { // a write is under way
		s.conds.Unknown(condition, v1alpha1.ReasonAwaitingServers, "the first catalog is about to be published")
		return
	}
	s.setCatalog()
	switch fault := s.chosen.Fault; {
	case fault != nil && len(s.document.Servers) == 0:
		s.conds.False(condition, v1alpha1.ReasonDiscoveryFailed, fault.Message+"; an empty catalog is published meanwhile")
		return
	case fault != nil:
		s.conds.False(condition, v1alpha1.ReasonDiscoveryFailed, fault.Message+"; the last catalog stays published")
		return
	}
	if s.document.ToolCount() == 0 {
		s.conds.True(condition, v1alpha1.ReasonNoTools, "there are no tools to offer; ConfigMap "+s.stored.name+" says so")
		return
	}
	s.conds.True(condition, v1alpha1.ReasonPublished, "the tools are in ConfigMap "+s.stored.name)
}

// setCatalog says which catalog agents have.
func (s *scope) setCatalog() {
	s.session.Status.Catalog = &v1alpha1.SessionCatalogStatus{
		ConfigMap: s.stored.name, Encoding: s.encoding, Digest: string(s.document.Digest),
		Revision:  s.document.Digest.Revision(),
		ToolCount: ptr.To(int32(s.document.ToolCount())), //nolint:gosec // what fits into a ConfigMap
	}
}

// awaitingMessage names the first few servers that hold the gate.
func awaitingMessage(s *scope) string {
	const most = 5
	if s.chosen.Fault != nil {
		return s.chosen.Fault.Message
	}
	var names []string
	for _, ref := range s.decision.Awaited[:min(most, len(s.decision.Awaited))] {
		names = append(names, ref.String()+s.absence(ref))
	}
	switch rest := len(s.decision.Awaited) - most; {
	case len(names) == 0:
		return "waiting a few seconds for MCPServers to be declared and to answer"
	case rest > 0:
		return fmt.Sprintf("waiting for the first answer of %s and %d more, with no tools stored",
			strings.Join(names, ", "), rest)
	}
	return "waiting for the first answer of " + strings.Join(names, ", ") + ", with no tools stored"
}

// absence says of a server that cannot answer why that is; "" for any other.
func (s *scope) absence(ref catalog.Ref) string {
	at := slices.IndexFunc(s.servers, func(v server) bool { return v.Ref == ref })
	if at < 0 {
		return ""
	}
	switch s.servers[at].State {
	case v1alpha1.ServerNotFound:
		return " (which is not declared)"
	case v1alpha1.ServerNotPermitted:
		return " (which may not be used from here)"
	}
	return ""
}
