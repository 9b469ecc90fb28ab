package agentsession

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/configmap"
)

// catalogKind is what the ConfigMaps of session catalogs have in common.
var catalogKind = configmap.Kind{
	Name: "AgentSession", Suffix: "-mcp-catalog",
	Component: v1alpha1.ComponentSessionCatalog, OwnerLabel: v1alpha1.LabelSession,
}

// conflictDelay is how long a pass that met a newer version of something waits before it looks again. The newer version
// normally wakes the controller before that.
const conflictDelay = 500 * time.Millisecond

// errForeign: an object of the name that we need is not ours.
var errForeign = errors.New("foreign object")

func (r *Reconciler) store() *configmap.Store {
	return &configmap.Store{Client: r.Client, Live: r.Live}
}

// loadCatalog reads what this object published. What was published stays so while the ConfigMap is gone or damaged: it
// is written again.
func (r *Reconciler) loadCatalog(ctx context.Context, s *scope) (err error) {
	m := s.memory
	published := m.lastPublished.document != nil || s.before.Status.Catalog != nil
	decode := func(object *corev1.ConfigMap) *sessioncatalog.Document {
		if metav1.GetControllerOf(object).UID != s.before.UID { // a former object's of this name
			return nil
		}
		defer r.encodeSlot()()
		if document, err := sessioncatalog.Decode(object.Data, object.BinaryData); err == nil {
			return &document
		}
		return nil
	}
	s.stored, err = m.configMap.Read(ctx, r.store(), s.place, published, decode)
	if s.stored.Document != nil {
		m.lastPublished = lastPublished{s.stored.Document, catalog.EncodingOf(s.stored.Object.BinaryData)}
	}
	if !s.stored.Foreign {
		s.agents = m.lastPublished
	}
	return err
}

// publish writes the catalog into the ConfigMap when it differs from what is there, and sets CatalogPublished.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	if s.agents.document == nil && s.gate == gateHeld {
		s.conds.Unknown(v1alpha1.ConditionCatalogPublished, v1alpha1.ReasonAwaitingServers, awaitingMessage(s))
		return nil
	}
	desired := r.desire(s)
	intact := s.stored.Document != nil && s.stored.Labelled()
	withdraws := s.withdraws(&desired)
	if !intact || withdraws || s.gate == gateOpen && s.chosen.Fault == nil {
		if err := r.renew(ctx, s, desired, withdraws); err != nil {
			return s.setNotPublished(err, withdraws)
		}
	}
	setPublished(s)
	return nil
}

// setNotPublished says why nothing could be written; what is no fault of ours or the API's is a condition.
func (s *scope) setNotPublished(err error, withdraws bool) error {
	var rejected *configmap.WriteRejected
	const failed = v1alpha1.ReasonPublishFailed
	switch {
	case errors.Is(err, configmap.ErrSuperseded):
		s.lookAgain(s.now.Add(conflictDelay))
		s.write = writePending
		if s.memory.conflicts++; s.memory.conflicts == 1 { // it is over in a moment
			s.report = skipStatus
			return nil
		}
		setPublished(s)
	case errors.Is(err, configmap.ErrEnding):
		setPublished(s)
	case errors.Is(err, errForeign):
		s.lookAgain(s.now.Add(configmap.RetryInterval)) // what is not ours is not watched
		s.stop(withdraws, stall{ready: v1alpha1.ReasonNameConflict, reason: v1alpha1.ReasonNameConflict, message: fmt.Sprintf(
			"ConfigMap %q exists and does not belong to this AgentSession; rename one of them, or delete the ConfigMap",
			s.stored.Name)})
	case errors.Is(err, catalog.ErrTooLarge):
		s.stop(withdraws, stall{ready: v1alpha1.ReasonNoServersAvailable, reason: v1alpha1.ReasonCatalogTooLarge,
			message: "the catalog does not fit into a ConfigMap even without any tools; choose fewer servers in spec.servers"})
	case errors.As(err, &rejected):
		s.lookAgain(rejected.Until)
		s.stop(withdraws, stall{ready: failed, reason: failed, message: rejected.Error(), retried: true})
	case withdraws:
		s.write = writePending
		s.stop(true, stall{ready: failed, reason: failed, retried: true,
			message: fmt.Sprintf("ConfigMap %q could not be written; it is tried again", s.stored.Name)})
		return err
	default:
		s.write = writePending
		setPublished(s)
		return err
	}
	return nil
}

// stop says that nothing can be published before somebody acts. What was published before stays, which is bad where it
// was to be withdrawn.
func (s *scope) stop(withdraws bool, why stall) {
	legible := s.stored.Document != nil
	if legible {
		s.setCatalog()
		why.message += "; the last catalog stays published"
	}
	if !legible || withdraws {
		s.stall = &why
	}
	s.conds.False(v1alpha1.ConditionCatalogPublished, why.reason, why.message)
}

// renew has the desired catalog stand in the ConfigMap, once it is its turn to be written.
func (r *Reconciler) renew(ctx context.Context, s *scope, desired desiredCatalog, withdraws bool) error {
	m := s.memory
	switch {
	case s.stored.Foreign:
		return errForeign
	case m.basis.covers(s, &desired):
		s.reduced = m.basis.reduced
		return nil
	}
	publication, err := r.encode(s, &desired)
	if err != nil {
		return err
	}
	made, before := s.basisOf(desired, &publication), s.stored.Version
	content := &configmap.Content{Place: *s.place, Encoded: publication.Encoded}
	urgent := withdraws || s.reloads() || s.neverPublished()
	wait, err := m.configMap.Write(ctx, r.store(), content, &s.stored, &publication.Document, urgent)
	switch {
	case errors.Is(err, configmap.ErrTaken):
		s.lookAgain(s.now)
		return err
	case wait > 0:
		s.lookAgain(s.now.Add(wait))
		s.reduced = m.basis.reduced
		return err
	case err != nil:
		return err
	}
	made.version = s.stored.Version
	m.basis, s.reduced = made, made.reduced
	if made.version != before { // else it was there
		s.published(ctx, lastPublished{&publication.Document, publication.Encoded.Encoding})
	}
	return nil
}

// neverPublished tells whether nothing of this object was published yet, and no write of it was rejected.
func (s *scope) neverPublished() bool {
	m := s.memory
	return s.agents.document == nil && m.basis.version == "" && m.configMap.Rejection() == nil
}

// published notes what agents have now. When many gates open at once, every agent's tools come before any status.
func (s *scope) published(ctx context.Context, now lastPublished) {
	first := s.agents.document == nil
	s.memory.conflicts, s.memory.lastPublished, s.agents = 0, now, now
	if !first {
		return
	}
	s.report, s.priority = skipStatus, lowPriority
	s.lookAgain(s.now)
	log.FromContext(ctx).Info("first catalog published", "after", time.Since(s.memory.begun),
		"tools", s.agents.document.ToolCount(), "errors", len(s.agents.document.Errors))
}

// encode merges and encodes the desired catalog.
func (r *Reconciler) encode(s *scope, desired *desiredCatalog) (sessioncatalog.Publication, error) {
	defer r.encodeSlot()()
	all := make([]sessioncatalog.ServerEntry, 0, len(desired.servers))
	for _, entry := range desired.servers {
		all = append(all, *entry)
	}
	publication, err := sessioncatalog.Publish(s.ref(), r.Gateway, all, desired.errors)
	if err != nil {
		return publication, fmt.Errorf("catalog: %w", err)
	}
	return publication, nil
}

// encodeSlot waits for one of the few slots in which catalogs are encoded or read, and returns how to free it.
func (r *Reconciler) encodeSlot() (free func()) {
	if r.encodeSlots == nil {
		return func() {}
	}
	r.encodeSlots <- struct{}{}
	return func() { <-r.encodeSlots }
}

// basisOf is what a ConfigMap of this publication is made of.
func (s *scope) basisOf(desired desiredCatalog, publication *sessioncatalog.Publication) basis {
	made := basis{
		desired: desired, patterns: s.chosen.Patterns, generations: map[catalog.Ref]int64{},
		reduced: reduced{dropped: publication.Dropped, collisions: publication.Collisions},
	}
	for i := range s.servers {
		if v := &s.servers[i]; v.entry != nil {
			made.generations[v.Ref] = v.entry.Generation
		}
	}
	return made
}

// covers tells whether the ConfigMap is the one that was made of this very catalog.
func (b *basis) covers(s *scope, desired *desiredCatalog) bool {
	return s.agents.document != nil && b.version != "" && b.version == s.stored.Version &&
		slices.Equal(b.desired.servers, desired.servers) && slices.Equal(b.desired.errors, desired.errors)
}

// setPublished says what agents have.
func setPublished(s *scope) {
	const condition = v1alpha1.ConditionCatalogPublished
	if s.agents.document == nil { // a write is under way
		s.conds.Unknown(condition, v1alpha1.ReasonAwaitingServers, "the first catalog is about to be published")
		return
	}
	s.setCatalog()
	switch fault := s.chosen.Fault; {
	case fault != nil && len(s.agents.document.Servers) == 0:
		s.conds.False(condition, v1alpha1.ReasonDiscoveryFailed,
			fault.Message+"; an empty catalog is published meanwhile")
	case fault != nil:
		s.conds.False(condition, v1alpha1.ReasonDiscoveryFailed, fault.Message+"; the last catalog stays published")
	case s.agents.document.ToolCount() == 0:
		s.conds.True(condition, v1alpha1.ReasonNoTools,
			"there are no tools to offer; ConfigMap "+s.stored.Name+" says so")
	default:
		s.conds.True(condition, v1alpha1.ReasonPublished, "the tools are in ConfigMap "+s.stored.Name)
	}
}

// setCatalog says which catalog agents have.
func (s *scope) setCatalog() {
	document := s.agents.document
	s.session.Status.Catalog = &v1alpha1.SessionCatalogStatus{
		ConfigMap: s.stored.Name, Encoding: s.agents.encoding, Digest: string(document.Digest),
		Revision:  document.Digest.Revision(),
		ToolCount: ptr.To(int32(document.ToolCount())), //nolint:gosec // what fits into a ConfigMap
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
	v := s.find(ref)
	switch {
	case v == nil:
	case v.State == v1alpha1.ServerNotFound:
		return " (which is not declared)"
	case v.State == v1alpha1.ServerNotPermitted:
		return " (which may not be used from here)"
	}
	return ""
}

// find is a server by name, nil when it is not chosen.
func (s *scope) find(ref catalog.Ref) *server {
	at := slices.IndexFunc(s.servers, func(v server) bool { return v.Ref == ref })
	if at < 0 {
		return nil
	}
	return &s.servers[at]
}
