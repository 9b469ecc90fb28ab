package explain

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// session tells the state of the session.
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
