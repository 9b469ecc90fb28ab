package mcpserver

import (
	"fmt"
	"regexp"

	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/mcpserver/endpoint"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
)

// sessionConfig is what the supervisor needs to keep the session that the spec and its references describe.
func sessionConfig(s *scope) session.Config {
	spec := &s.server.Spec
	return session.Config{
		Generation:      s.server.Generation,
		Dialer:          s.dialer,
		Connection:      s.endpoint.Fingerprint(),
		Catalog:         s.hash,
		Wake:            secret.Fingerprint(fmt.Sprint(s.server.Generation), s.endpoint.Fingerprint()),
		Reconnect:       s.server.Annotations[v1alpha1.AnnotationReconnect],
		Address:         s.endpoint.Address(),
		Restore:         restored(s),
		Timeouts:        endpoint.Timeouts(spec),
		Recovery:        recovery(spec),
		Calls:           session.Calls{MaxConcurrent: spec.MaxConcurrent(), IdleTimeout: spec.IdleTimeout()},
		HealthInterval:  spec.HealthInterval(),
		RefreshInterval: spec.RefreshInterval(),
	}
}

// recovery translates the API's "0s", never probe, into the supervisor's negative.
func recovery(spec *v1alpha1.MCPServerSpec) session.Recovery {
	interval := spec.ProbeInterval()
	if interval == 0 {
		interval = -1
	}
	return session.Recovery{
		Attempts: spec.Attempts(), Cooldown: spec.Cooldown(), Strikes: spec.Strikes(), ProbeInterval: interval,
	}
}

// restored is what status remembers of a session that another process held under the present spec. A reconnect that
// was asked for while nobody watched is made at once, and what was mended meanwhile in a referenced object is tried at
// once: then only the strikes are remembered.
func restored(s *scope) session.Restored {
	status := s.before.Status.Session
	if status == nil || !s.sameGeneration() {
		return session.Restored{}
	}
	out := session.Restored{Strikes: int(ptr.Deref(status.Strikes, 0))}
	if status.LastFailure != nil {
		out.Failure = restoredFault(status.LastFailure)
	}
	if s.server.Annotations[v1alpha1.AnnotationReconnect] != s.before.Status.LastHandledReconnectAt ||
		status.References != s.endpoint.References ||
		status.LastFailure == nil { // without the failure that led there, somebody else has written it
		return out
	}
	out.Retirement = retirementOf(status.Retirement)
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

// retirementOf and retirementText translate between the API's words and the supervisor's.
func retirementOf(text string) session.Retirement {
	switch text {
	case v1alpha1.RetirementRefused:
		return session.Refused
	case v1alpha1.RetirementExhausted:
		return session.Exhausted
	default:
		return ""
	}
}

func retirementText(kind session.Retirement) string {
	switch kind {
	case session.Refused:
		return v1alpha1.RetirementRefused
	case session.Exhausted:
		return v1alpha1.RetirementExhausted
	default:
		return ""
	}
}
