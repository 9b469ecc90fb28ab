package connect

import (
	"regexp"

	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
)

// restored is what status remembers of a session that another process held under the present spec. A reconnect that
// was asked for while nobody watched is made at once, and what was fixed meanwhile in a referenced object is tried at
// once: then only the strikes are remembered.
func restored(server *v1alpha1.MCPServer, references string) session.Restored {
	status := server.Status.Session
	if status == nil || server.Status.ObservedGeneration != server.Generation {
		return session.Restored{}
	}
	out := session.Restored{Strikes: int(ptr.Deref(status.Strikes, 0))}
	if status.LastFailure != nil {
		out.Failure = restoredFault(status.LastFailure)
	}
	if server.Annotations[v1alpha1.AnnotationReconnect] != server.Status.LastHandledReconnectAt ||
		status.References != references ||
		status.LastFailure == nil { // without the failure that led there, somebody else has written it
		return out
	}
	switch status.Retirement {
	case v1alpha1.RetirementRefused:
		out.Retirement = session.Refused
	case v1alpha1.RetirementExhausted:
		out.Retirement = session.Exhausted
	}
	if status.QuarantinedUntil != nil {
		out.QuarantinedUntil = status.QuarantinedUntil.Time
	}
	if status.RetiredAt != nil {
		out.RetiredAt = status.RetiredAt.Time
	}
	return out
}

// reasonPattern is what the API server takes for the reason of a condition.
var reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$`)

// restoredFault is the failure that status tells. One that could not be told again, because somebody edited it, is an
// unknown one.
func restoredFault(status *v1alpha1.FailureStatus) session.Fault {
	fault := session.Fault{}
	fault.Class, fault.Phase = failure.Class(status.Class), failure.Phase(status.Phase)
	fault.Reason = failure.Reason(status.Reason)
	if status.Class == "" || !reasonPattern.MatchString(status.Reason) {
		fault.Class, fault.Reason = failure.Unknown, failure.UnknownFailure
	}
	if status.HTTPStatus != nil {
		fault.HTTPStatus = int(*status.HTTPStatus)
	}
	if status.Since != nil {
		fault.Since = status.Since.Time
	}
	return fault
}
