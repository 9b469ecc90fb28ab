package mcpserver

import (
	"encoding/json"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/conditions"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/session"
)

// summarise sets Ready, Reconciling and Stalled from the phases' conditions, and the plain status fields from the
// snapshot.
func summarise(s *scope) {
	s.server.Status.ObservedGeneration = s.server.Generation
	s.server.Status.Transport = connect.Transport(&s.server.Spec)
	s.server.Status.Session = sessionStatus(s)
	s.server.Status.Server = serverStatus(s)
	acknowledgeReconnect(s)
	switch {
	case s.stall != nil:
		s.conds.False(v1alpha1.ConditionReady, s.stall.reason, s.stall.message)
		s.conds.Stall(s.stall.reason, s.stall.message)
	case s.server.Spec.Disabled:
		s.conds.True(v1alpha1.ConditionReady, v1alpha1.ReasonDisabled,
			"the server is disabled: its declaration is kept, no session is held")
		s.conds.Settle()
	default:
		s.conds.Summarize(conditions.Summary{
			Type:    v1alpha1.ConditionReady,
			Roots:   readyRoots(s),
			Reason:  v1alpha1.ReasonReady,
			Message: "connected, and the catalog is published",
		})
		progress(s)
	}
	conditions.Sort(s.server.Status.Conditions, readingOrder)
}

// readingOrder is the verdict, what to expect, and the causes, the first one first.
var readingOrder = []string{
	v1alpha1.ConditionReady, v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling, v1alpha1.ConditionAccepted,
	v1alpha1.ConditionConnected, v1alpha1.ConditionQuarantined, v1alpha1.ConditionRetired,
	v1alpha1.ConditionCatalogPublished, v1alpha1.ConditionToolsDrifted,
}

// readyRoots are the conditions that Ready follows from. Once a catalog of this configuration stands, a later list
// that fails does not take Ready away.
func readyRoots(s *scope) []string {
	roots := []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionConnected}
	if s.catalog != validCatalog {
		roots = append(roots, v1alpha1.ConditionCatalogPublished)
	}
	return roots
}

// progress sets Reconciling while Ready is not True: with retry when something failed and is tried again.
func progress(s *scope) {
	ready := meta.FindStatusCondition(s.server.Status.Conditions, v1alpha1.ConditionReady)
	if ready.Status == metav1.ConditionTrue {
		s.conds.Settle()
		return
	}
	reason := v1alpha1.ReasonProgressing
	if s.snapshot.Fault != nil || s.snapshot.ListFault != nil || ready.Reason == v1alpha1.ReasonPublishFailed {
		reason = v1alpha1.ReasonProgressingWithRetry
	}
	s.conds.Progress(reason, ready.Message)
}

// acknowledgeReconnect echoes the annotation once an attempt that it asked for has ended and what it listed is stored.
func acknowledgeReconnect(s *scope) {
	wanted := s.server.Annotations[v1alpha1.AnnotationReconnect]
	if s.wanted == nil || s.snapshot.HandledReconnect == wanted && s.write == writeSettled {
		s.server.Status.LastHandledReconnectAt = wanted
	}
}

// reconnected tells whether an attempt that the annotation asked for has ended, and this is not told yet.
func (s *scope) reconnected() bool {
	wanted := s.server.Annotations[v1alpha1.AnnotationReconnect]
	return s.snapshot.HandledReconnect == wanted && s.before.Status.LastHandledReconnectAt != wanted
}

// serverStatus is what the server said of itself; the last word stands while it cannot be asked.
func serverStatus(s *scope) *v1alpha1.ServerStatus {
	info := s.snapshot.Info
	if info == (session.Info{}) {
		return s.before.Status.Server
	}
	return &v1alpha1.ServerStatus{
		Name: info.Name, Title: info.Title, Version: info.Version, ProtocolVersion: info.ProtocolVersion,
	}
}

// sessionStatus is what a person, and the next process, needs to know of the session.
func sessionStatus(s *scope) *v1alpha1.SessionStatus {
	if s.wanted == nil {
		return nil
	}
	snapshot := &s.snapshot
	status := &v1alpha1.SessionStatus{
		State:       string(snapshot.State),
		Retirement:  retirementText(snapshot.Retirement),
		LastFailure: lastFailure(s),
	}
	if snapshot.Strikes > 0 {
		status.Strikes = ptr.To(int32(snapshot.Strikes)) //nolint:gosec // bounded by recovery.strikes
	}
	if snapshot.State == session.Quarantined {
		status.QuarantinedUntil = timestamp(snapshot.QuarantinedUntil)
	}
	if snapshot.State == session.Retired {
		status.RetiredAt = timestamp(snapshot.RetiredAt)
	}
	if snapshot.State == session.Quarantined || snapshot.State == session.Retired {
		status.References = s.wanted.References
	}
	return status
}

// lastFailure describes the fault. While the same kind of fault goes on, also through a restart, the time at which it
// began stands.
func lastFailure(s *scope) *v1alpha1.FailureStatus {
	fault := s.snapshot.Fault
	if fault == nil {
		return nil
	}
	status := &v1alpha1.FailureStatus{
		Class:   string(fault.Class),
		Phase:   string(fault.Phase),
		Reason:  string(fault.Reason),
		Message: conditions.Message(s.faultMessage(fault)),
		Since:   timestamp(fault.Since),
	}
	if fault.HTTPStatus != 0 {
		status.HTTPStatus = ptr.To(int32(fault.HTTPStatus)) //nolint:gosec // three digits
	}
	if former := s.formerFailure(); former != nil && former.Class == status.Class && former.Phase == status.Phase &&
		former.Reason == status.Reason && ptr.Equal(former.HTTPStatus, status.HTTPStatus) {
		status.Since = former.Since
	}
	return status
}

// formerFailure is the failure that status told of before this pass.
func (s *scope) formerFailure() *v1alpha1.FailureStatus {
	if s.before.Status.Session == nil {
		return nil
	}
	return s.before.Status.Session.LastFailure
}

// timestamp is a time as the API stores it, in whole seconds; nil for the zero time.
func timestamp(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return ptr.To(metav1.NewTime(t.Truncate(time.Second)))
}

// lastWritten is the status that this process wrote last, or found to be right, of each object. What differs from that
// is somebody else's, and put right.
type lastWritten struct {
	mu      sync.Mutex
	guarded map[types.UID]*statement
}

type statement struct {
	text  string
	mends backoff.Bucket
}

// Two corrections of one status may follow each other at once, then one per mendInterval: two managers that were
// started by mistake do not outshout each other.
const (
	mendBurst    = 2
	mendInterval = 10 * time.Second
)

// statusText is a status as the API server has it: with times in whole seconds.
func statusText(server *v1alpha1.MCPServer) string {
	text, _ := json.Marshal(server.Status) // plain data always encodes
	return string(text)
}

// of returns what was said of an object; the caller holds the lock.
func (s *lastWritten) of(uid types.UID) *statement {
	if s.guarded == nil {
		s.guarded = map[types.UID]*statement{}
	}
	if s.guarded[uid] == nil {
		s.guarded[uid] = &statement{mends: backoff.Bucket{Size: mendBurst, Refill: mendInterval}}
	}
	return s.guarded[uid]
}

// note notes what is said of an object from now on, before it is written, as the write is heard of before it returns.
// If it fails, it is to be taken back.
func (s *lastWritten) note(server *v1alpha1.MCPServer) (takeBack func()) {
	text := statusText(server)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.of(server.UID)
	former := known.text
	known.text = text
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		known.text = former
	}
}

// differs tells whether the status of an object is not what was said of it.
func (s *lastWritten) differs(server *v1alpha1.MCPServer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.guarded[server.UID]
	return known != nil && known.text != "" && known.text != statusText(server)
}

// again is how long to wait before the status is written, if it only says once more what somebody else has changed.
func (s *lastWritten) again(server *v1alpha1.MCPServer) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.of(server.UID)
	if known.text != statusText(server) {
		return 0
	}
	return known.mends.Take(time.Now())
}

func (s *lastWritten) drop(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.guarded, uid)
}
