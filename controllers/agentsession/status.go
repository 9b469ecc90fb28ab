package agentsession

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/conditions"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/text"
)

// What of a server's standing is shown at most.
const (
	maxServers = 1000
	maxMessage = 512 // bytes, while the API counts characters
)

// summarise sets Ready, Reconciling and Stalled, and the plain status fields.
func (r *Reconciler) summarise(s *scope) {
	status := &s.session.Status
	status.ObservedGeneration = s.session.Generation
	status.Endpoint = ""
	if r.Gateway != "" {
		status.Endpoint = sessioncatalog.Endpoint(s.ref(), r.Gateway)
	}
	if s.memory.outcome != "" {
		status.Startup = &v1alpha1.StartupStatus{Outcome: s.memory.outcome}
	}
	if s.gate == gateOpen && s.write == writeSettled {
		status.LastHandledReloadAt = s.memory.reload
	}
	count := r.setServers(s)
	status.Summary = fmt.Sprintf("%d/%d", count.usable, count.selected)
	s.setReady(&count)
	conditions.Sort(status.Conditions, readingOrder)
}

// tally counts servers.
type tally struct {
	selected, usable, failed int
	required                 []string // those that are required and not usable
	restored                 bool     // of some, what was said before a restart is all that is known
}

// setServers sets status.servers and counts.
func (r *Reconciler) setServers(s *scope) tally {
	var count tally
	var entries []v1alpha1.SessionServerStatus
	for i := range s.servers {
		v := &s.servers[i]
		entry, kept := r.entry(s, v)
		count.restored = count.restored || kept || v.Server != nil && v.entry == nil
		usable := entry.State == v1alpha1.ServerConnected || entry.State == v1alpha1.ServerDeferred
		usable = usable && s.has(v)
		if v.Selected() {
			count.selected++
		}
		if usable {
			count.usable++
		} else if v.Required {
			count.required = append(count.required, v.Name)
		}
		if v.readiness.State == gate.Failed {
			count.failed++
		}
		entries = append(entries, entry)
	}
	s.session.Status.Servers = entries[:min(maxServers, len(entries))]
	return count
}

// has tells whether agents have a slice of the server, be it an empty one.
func (s *scope) has(v *server) bool {
	if s.agents.document == nil {
		return false
	}
	_, ok := s.agents.document.Server(v.Ref)
	return ok
}

// entry is what status says of one server, and whether that stands from before a restart.
func (r *Reconciler) entry(s *scope, v *server) (entry v1alpha1.SessionServerStatus, kept bool) {
	entry = v1alpha1.SessionServerStatus{
		Name: v.Name, Namespace: v.Namespace, Source: v.Source(), State: v.State, Message: v.Message,
	}
	if v.State != "" {
		return entry, false
	}
	former := formerEntry(s.before, v)
	kept = former != nil && v.readiness.State == gate.Pending && !s.memory.met[v.key] &&
		(former.State == v1alpha1.ServerConnected || former.State == v1alpha1.ServerDisconnected)
	if kept { // until an attempt has ended in this process
		entry = *former.DeepCopy()
		entry.Source = v.Source()
	} else {
		entry.State = state(s, v)
		r.explain(s, v, &entry)
	}
	entry.Tools = toolsOf(s.agents.document, v)
	if former != nil {
		entry.Calls = former.Calls.DeepCopy()
	}
	return entry, kept
}

func toolsOf(document *sessioncatalog.Document, v *server) *int32 {
	if document == nil {
		return nil
	}
	slice, _ := document.Server(v.Ref)
	return ptr.To(int32(len(slice.Tools))) //nolint:gosec // what fits into a ConfigMap
}

// formerEntry is what stood in status of a server that was offered then, too.
func formerEntry(before *v1alpha1.AgentSession, v *server) *v1alpha1.SessionServerStatus {
	for i := range before.Status.Servers {
		entry := &before.Status.Servers[i]
		if entry.Name != v.Name || entry.Namespace != v.Namespace {
			continue
		}
		switch entry.State {
		case v1alpha1.ServerFiltered, v1alpha1.ServerNotFound, v1alpha1.ServerNotPermitted:
			return nil
		}
		return entry
	}
	return nil
}

// state is the word for where a server stands.
func state(s *scope, v *server) string {
	connected := v.snapshot != nil && v.snapshot.State == session.Connected
	switch {
	case connected:
		return v1alpha1.ServerConnected
	case v.readiness.State == gate.Failed:
		return v1alpha1.ServerDisconnected
	case s.has(v):
		return v1alpha1.ServerDeferred
	}
	return v1alpha1.ServerConnecting
}

// explain says what keeps a server from being used.
func (r *Reconciler) explain(s *scope, v *server, entry *v1alpha1.SessionServerStatus) {
	switch {
	case slices.Contains(s.reduced.dropped, v.Ref):
		entry.Message = "its tools do not fit into the catalog beside those of the other servers; choose fewer servers, " +
			"or fewer tools by spec.tools"
		return
	case slices.Contains(s.reduced.collisions, v.Ref):
		entry.Message = "some of its tools are left out, because another server's have the same exposed names; " +
			"choose one of the two servers, or rename one"
		return
	}
	var trouble catalogstore.Trouble
	if v.entry != nil {
		trouble = v.entry.Trouble
	}
	switch fault := faultOf(v); {
	case fault != nil && trouble.Reason != string(fault.Reason): // it was not told yet
		trouble.Class, trouble.Message = string(fault.Class), failure.Message(fault.Failure, r.Target(&v.Server.Spec))
	case fault == nil && v.readiness.State == gate.Live && trouble.Class != "": // it was, and is over
		trouble = catalogstore.Trouble{}
	}
	entry.Class, entry.Message = trouble.Class, text.Fit(trouble.Message, maxMessage)
}

func faultOf(v *server) *session.Fault {
	if v.snapshot == nil {
		return nil
	}
	return v.snapshot.Fault
}

// setReady sets Ready and what to expect.
func (s *scope) setReady(count *tally) {
	const condition = v1alpha1.ConditionReady
	fault := s.chosen.Fault
	switch {
	case s.stall != nil:
		s.conds.False(condition, s.stall.ready, s.stall.message)
		if !s.stall.retried {
			s.conds.Stall(s.stall.reason, s.stall.message)
			return
		}
	case fault != nil:
		s.conds.False(condition, v1alpha1.ReasonDiscoveryFailed, fault.Message)
	case s.agents.document == nil:
		s.conds.False(condition, v1alpha1.ReasonAwaitingServers, awaitingMessage(s))
	case !s.before.Spec.Enabled():
		s.conds.True(condition, v1alpha1.ReasonDisabled, "spec.mcp is Disabled: nothing is offered")
	case len(count.required) > 0:
		s.conds.False(condition, v1alpha1.ReasonRequiredServerUnavailable,
			"required and not to be used now: "+first(count.required)+"; status.servers says why")
	case count.selected > 0 && count.usable == 0:
		s.conds.False(condition, v1alpha1.ReasonNoServersAvailable,
			"none of the selected servers can be used now; status.servers says why")
	default:
		reason, message := s.available(count)
		s.conds.True(condition, reason, message)
	}
	s.progress(count)
}

// available says how many servers can be used.
func (s *scope) available(count *tally) (reason, message string) {
	switch {
	case count.selected == 0 && len(s.servers) > 0:
		return v1alpha1.ReasonNoServersSelected,
			"every MCPServer that matches is left out: nothing is offered; status.servers says why"
	case count.selected == 0:
		return v1alpha1.ReasonNoServersSelected, "no MCPServer is selected: nothing is offered"
	case count.usable < count.selected:
		return v1alpha1.ReasonPartiallyAvailable,
			"some of the selected servers cannot be used now; status.servers says which and why"
	case s.deniesAll(), count.restored && s.formerCondition(v1alpha1.ConditionReady).Message == deniedAll:
		return v1alpha1.ReasonAllServersAvailable, deniedAll
	}
	return v1alpha1.ReasonAllServersAvailable, "every selected server can be used"
}

const deniedAll = "every selected server can be used, but spec.tools lets none of their tools through; it goes by " +
	"exposed names, mcp_<server>_<tool>"

// formerCondition is a condition as it stood of this generation; the zero condition where it does not.
func (s *scope) formerCondition(condition string) metav1.Condition {
	former := meta.FindStatusCondition(s.before.Status.Conditions, condition)
	if former == nil || former.ObservedGeneration != s.before.Generation {
		return metav1.Condition{}
	}
	return *former
}

// deniesAll tells whether there are tools, and the filters let none of them through.
func (s *scope) deniesAll() bool {
	return s.chosen.Patterns != "" && s.agents.document.ToolCount() == 0 &&
		slices.ContainsFunc(s.servers, func(v server) bool {
			return v.readiness.Stored != nil && len(v.readiness.Stored.Tools) > 0
		})
}

// progress sets Reconciling while Ready is not True: with retry when something failed and is tried again.
func (s *scope) progress(count *tally) {
	ready := meta.FindStatusCondition(s.session.Status.Conditions, v1alpha1.ConditionReady)
	reason := v1alpha1.ReasonProgressing
	former := s.formerCondition(v1alpha1.ConditionReconciling).Reason
	if count.failed > 0 || s.stall != nil || count.restored && former == v1alpha1.ReasonProgressingWithRetry {
		reason = v1alpha1.ReasonProgressingWithRetry
	}
	if ready.Status == metav1.ConditionTrue {
		s.conds.Settle()
		return
	}
	s.conds.Progress(reason, ready.Message)
}

// readingOrder is the verdict, what to expect, and the causes.
var readingOrder = []string{
	v1alpha1.ConditionReady, v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling,
	v1alpha1.ConditionServersResolved, v1alpha1.ConditionCatalogPublished,
}

// edge is what a status write tells.
type edge int

const (
	joinedEdge edge = iota // what servers did
	flipEdge               // what servers did, and Ready with it
	ownEdge                // what somebody did to the object itself
)

// What servers caused is joined to one status write per joinInterval. An edge of Ready does not wait for that:
// flipBurst of them are written at once, then one per flipInterval.
const (
	joinInterval = 10 * time.Second
	flipBurst    = 6
	flipInterval = 2 * time.Second
)

// statusWait is how long a status write has to wait.
func (m *memory) statusWait(told edge, now time.Time) time.Duration {
	switch told {
	case flipEdge:
		return m.flips.Next(now).Sub(now)
	case joinedEdge:
		return m.joined.Next(now).Sub(now)
	case ownEdge:
	}
	return 0
}

// statusWritten counts a status write.
func (m *memory) statusWritten(told edge, now time.Time) {
	if told != ownEdge {
		m.flips.Draw(now)
		m.joined.Draw(now)
	}
}

// edgeOf says what a status write tells: what somebody did to the object, an edge of Ready, or what servers did.
func edgeOf(before, after *v1alpha1.AgentSession) edge {
	was, is := &before.Status, &after.Status
	ready := func(status *v1alpha1.AgentSessionStatus) metav1.ConditionStatus {
		if found := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); found != nil {
			return found.Status
		}
		return ""
	}
	switch {
	case was.ObservedGeneration != is.ObservedGeneration, was.LastHandledReloadAt != is.LastHandledReloadAt,
		(was.Startup == nil) != (is.Startup == nil), (was.Catalog == nil) != (is.Catalog == nil):
		return ownEdge
	case ready(was) != ready(is):
		return flipEdge
	}
	return joinedEdge
}
