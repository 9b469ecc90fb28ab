package mcpserver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
)

// connect declares the session to the supervisor and sets Connected from what the supervisor knows now.
func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	const condition = v1alpha1.ConditionConnected
	s.report = writeStatus
	switch {
	case s.server.Spec.Disabled:
		r.Sessions.Forget(s.key)
		s.conds.Unknown(condition, v1alpha1.ReasonDisabled, "the server is disabled: no session is held")
		return nil
	case s.wanted == nil:
		r.Sessions.Forget(s.key)
		s.conds.Unknown(condition, v1alpha1.ReasonConnecting,
			"no connection is made before the configuration is accepted")
		return nil
	}
	if err := r.recallEra(ctx, s); err != nil {
		s.report = skipStatus
		return err
	}
	r.Sessions.Ensure(s.key, s.wanted.Config)
	s.snapshot, _ = r.Sessions.Snapshot(s.key)
	if (!s.snapshot.Settled || s.snapshot.Restored) && s.toldOfSession() {
		s.report = skipStatus
	}
	r.setConnected(s)
	return nil
}

// setConnected sets Connected, Quarantined and Retired. A connection being made keeps what was said before under
// this generation, so that a new leader or a rotated credential does not flap a good server.
func (r *Reconciler) setConnected(s *scope) {
	const condition = v1alpha1.ConditionConnected
	switch {
	case s.snapshot.State == session.Connected:
		s.conds.True(condition, v1alpha1.ReasonConnected, "connected to "+connect.Target(&s.server.Spec))
	case s.snapshot.Fault != nil && s.snapshot.State != session.Connecting:
		s.conds.False(condition, string(s.snapshot.Fault.Reason), s.faultMessage(s.snapshot.Fault))
	case s.toldOfSession() && meta.FindStatusCondition(s.server.Status.Conditions, condition) != nil:
	default:
		s.conds.Unknown(condition, v1alpha1.ReasonConnecting, "connecting to "+connect.Target(&s.server.Spec))
	}
	setQuarantined(s)
	setRetired(s)
}

func setQuarantined(s *scope) {
	const condition = v1alpha1.ConditionQuarantined
	if s.snapshot.State != session.Quarantined || s.snapshot.Fault == nil {
		s.conds.Remove(condition)
		return
	}
	s.conds.True(condition, string(s.snapshot.Fault.Reason), "every attempt failed, so the server is left alone until "+
		"status.session.quarantinedUntil; then one probe decides. Calls are refused at once; tools that were published "+
		"stay offered. "+s.reconnectCommand()+" tries at once")
}

func setRetired(s *scope) {
	const condition = v1alpha1.ConditionRetired
	if s.snapshot.State != session.Retired || s.snapshot.Fault == nil {
		s.conds.Remove(condition)
		return
	}
	reason := string(s.snapshot.Fault.Reason)
	if s.snapshot.Retirement == session.Exhausted {
		s.conds.True(condition, reason, "the server did not answer through all quarantines; it is probed slowly and "+
			"comes back when it answers. "+s.reconnectCommand()+" tries at once")
	} else {
		s.conds.True(condition, reason, "trying again does not help: fix the cause, which Connected tells. A change of "+
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

// retirementText is the API's word.
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
