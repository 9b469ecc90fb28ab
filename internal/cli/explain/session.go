package explain

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// refusedProbe is the least time between two probes of a server that refused.
const refusedProbe = 30 * time.Minute

// session tells where the session stands.
func (e *explanation) session() string {
	session := e.server.Status.Session
	if session == nil {
		return "none is held"
	}
	switch session.State {
	case v1alpha1.SessionConnected:
		return connected(e.server)
	case v1alpha1.SessionConnecting:
		return "the first attempt under this configuration has not ended"
	case v1alpha1.SessionWaiting:
		return "the last attempt failed" + phase(session) + "; the next one follows"
	case v1alpha1.SessionQuarantined:
		return fmt.Sprintf("quarantined%s: strike %d of %d; callers are refused at once",
			phase(session), ptr.Deref(session.Strikes, 0), e.server.Spec.Strikes())
	case v1alpha1.SessionRetired:
		kind := "it did not answer through all quarantines"
		if session.Retirement == v1alpha1.RetirementRefused {
			kind = "it refused" + phase(session)
		}
		return "retired" + e.retiredAt(session) + ": " + kind
	default:
		return session.State
	}
}

func (e *explanation) retiredAt(session *v1alpha1.SessionStatus) string {
	if session.RetiredAt == nil {
		return ""
	}
	return " at " + e.moment(session.RetiredAt.Time)
}

// phase is what was being done when it failed.
func phase(session *v1alpha1.SessionStatus) string {
	if session.LastFailure == nil || session.LastFailure.Phase == "" {
		return ""
	}
	return " while " + map[string]string{
		"connect": "connecting", "list": "listing tools", "probe": "its health was probed", "call": "a call was made",
		"stream": "its event stream was open",
	}[session.LastFailure.Phase]
}

func connected(server *v1alpha1.MCPServer) string {
	info := server.Status.Server
	if info == nil {
		return "connected"
	}
	return strings.TrimSpace(fmt.Sprintf("connected to %s %s, protocol %s", info.Name, info.Version, info.ProtocolVersion))
}

// next tells what happens by itself and when.
func (e *explanation) next(ready *metav1.Condition) string {
	session := e.server.Status.Session
	switch {
	case ready.Reason == v1alpha1.ReasonDisabled:
		return "nothing, until spec.disabled is removed"
	case session == nil && e.stalled():
		return "nothing, until the cause is mended"
	case session == nil:
		return "it goes on by itself as soon as what is missing is there"
	case session.State == v1alpha1.SessionQuarantined && session.QuarantinedUntil != nil:
		return fmt.Sprintf("one probe at %s; an answer ends the quarantine", e.moment(session.QuarantinedUntil.Time))
	case session.State == v1alpha1.SessionRetired:
		return e.probe(session)
	case session.State == v1alpha1.SessionWaiting:
		return e.attempt(session)
	default:
		return ""
	}
}

// attempt tells when a server that failed is tried again.
func (e *explanation) attempt(session *v1alpha1.SessionStatus) string {
	reason := ""
	if session.LastFailure != nil {
		reason = session.LastFailure.Reason
	}
	switch reason {
	case v1alpha1.ReasonRateLimited:
		return "tried again when the server allows it, within an hour at most"
	case v1alpha1.ReasonSessionFlapping:
		return "tried again after a pause, as the server keeps forgetting the session"
	}
	return fmt.Sprintf("tried again within seconds; after %d failures in a row it is left alone for a while",
		e.server.Spec.Attempts())
}

func (e *explanation) probe(session *v1alpha1.SessionStatus) string {
	interval := e.server.Spec.ProbeInterval()
	if interval == 0 {
		return "nothing: spec.recovery.probeInterval is 0s"
	}
	if session.Retirement == v1alpha1.RetirementRefused {
		interval = max(interval, refusedProbe)
	}
	return fmt.Sprintf("one probe about every %s; an answer brings it back", duration.HumanDuration(interval))
}
