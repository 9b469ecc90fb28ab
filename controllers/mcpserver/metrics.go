package mcpserver

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// stateNotAccepted is the state, in metrics, of a server that has no session since its declaration is not accepted.
const stateNotAccepted = "NotAccepted"

// States are all values of the label state of metrics: those of status.session, and why there is no session.
func States() []string {
	return []string{
		v1alpha1.SessionConnecting, v1alpha1.SessionConnected, v1alpha1.SessionWaiting, v1alpha1.SessionQuarantined,
		v1alpha1.SessionRetired, v1alpha1.ReasonDisabled, stateNotAccepted,
	}
}

// measure sets the gauges of one server, of which status says what is given.
func (r *Reconciler) measure(s *scope, status *v1alpha1.MCPServerStatus) {
	server, state := s.name, stateNotAccepted
	switch {
	case status.Session != nil:
		state = status.Session.State
	case s.server.Spec.Disabled && s.refused == nil:
		state = v1alpha1.ReasonDisabled
	}
	r.Metrics.ServerState(server.Namespace, server.Name, state)
	r.Metrics.ServerReady(server.Namespace, server.Name,
		meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady))
	if status.Catalog != nil && status.Catalog.ToolCount != nil {
		r.Metrics.ServerTools(server.Namespace, server.Name, int(*status.Catalog.ToolCount))
	}
}
