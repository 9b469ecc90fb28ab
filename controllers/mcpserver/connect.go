package mcpserver

import (
	"context"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
)

// connect declares the session to the supervisor and sets Connected from what the supervisor knows now.
func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	const condition = v1alpha1.ConditionConnected
	switch {
	case s.server.Spec.Disabled:
		r.Sessions.Forget(s.key)
		s.say.Unknown(condition, v1alpha1.ReasonDisabled, "the server is disabled: no session is held")
		return nil
	case s.endpoint == nil:
		r.Sessions.Forget(s.key)
		s.say.Unknown(condition, v1alpha1.ReasonConnecting,
			"no connection is made before the configuration is accepted")
		return nil
	}
	if err := r.recallEra(ctx, s); err != nil {
		return err
	}
	r.Sessions.Ensure(s.key, sessionConfig(s))
	s.snapshot, _ = r.Sessions.Snapshot(s.key)
	s.restful = (!s.snapshot.Settled || s.snapshot.Restored) && s.toldOfSession()
	r.tellConnected(s)
	return nil
}

// tellConnected sets Connected, Quarantined and Retired. A connection being made keeps what was said before under
// this generation, so that a new leader or a rotated credential does not flap a good server.
func (r *Reconciler) tellConnected(s *scope) {
	const condition = v1alpha1.ConditionConnected
	switch {
	case s.snapshot.State == session.Connected:
		s.say.True(condition, v1alpha1.ReasonConnected, "connected to "+connect.Target(&s.server.Spec))
	case s.snapshot.Fault != nil && s.snapshot.State != session.Connecting:
		s.say.False(condition, string(s.snapshot.Fault.Reason), s.faultMessage(s.snapshot.Fault))
	case s.toldOfSession() && meta.FindStatusCondition(s.server.Status.Conditions, condition) != nil:
	default:
		s.say.Unknown(condition, v1alpha1.ReasonConnecting, "connecting to "+connect.Target(&s.server.Spec))
	}
	tellQuarantined(s)
	tellRetired(s)
}

func tellQuarantined(s *scope) {
	const condition = v1alpha1.ConditionQuarantined
	if s.snapshot.State != session.Quarantined || s.snapshot.Fault == nil {
		s.say.Remove(condition)
		return
	}
	s.say.True(condition, string(s.snapshot.Fault.Reason), "every attempt failed, so the server is left alone until "+
		"status.session.quarantinedUntil; then one probe decides. Calls are refused at once; tools that were published "+
		"stay offered. "+s.reconnectCommand()+" tries at once")
}

func tellRetired(s *scope) {
	const condition = v1alpha1.ConditionRetired
	if s.snapshot.State != session.Retired || s.snapshot.Fault == nil {
		s.say.Remove(condition)
		return
	}
	reason := string(s.snapshot.Fault.Reason)
	if s.snapshot.Retirement == session.Exhausted {
		s.say.True(condition, reason, "the server did not answer through all quarantines; it is probed slowly and "+
			"comes back by itself. "+s.reconnectCommand()+" tries at once")
	} else {
		s.say.True(condition, reason, "trying again would not help: mend the cause, which Connected tells. A change of "+
			"the spec or of a referenced Secret or ConfigMap tries at once, and so does "+s.reconnectCommand())
	}
	if s.snapshot.Retirement == session.Refused || s.server.Spec.ProbeInterval() == 0 {
		s.stallFor(reason, s.faultMessage(s.snapshot.Fault))
	}
}

// faultMessage says what happened to the server and what to do about it. A fault that another process met and status
// remembered keeps the words that stand there: its details did not survive.
func (s *scope) faultMessage(fault *session.Fault) string {
	former := s.formerFailure()
	if former != nil && former.Since != nil && former.Since.Time.Equal(fault.Since) &&
		former.Reason == string(fault.Reason) {
		return former.Message
	}
	return failure.Message(fault.Failure, connect.Target(&s.server.Spec))
}

// reconnectCommand is what a person runs who has mended something that Mooring does not see.
func (s *scope) reconnectCommand() string {
	return fmt.Sprintf("`kubectl annotate --overwrite -n %s mcpserver %s %s=$(date +%%s)`",
		s.name.Namespace, s.name.Name, v1alpha1.AnnotationReconnect)
}

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
		Timeouts:        connect.Timeouts(spec),
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
