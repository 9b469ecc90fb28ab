package explain

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/mcpserver"
	"github.com/mooring-dev/mooring/internal/failure"
)

func (e *explanation) stalled() bool {
	return meta.IsStatusConditionTrue(e.server.Status.Conditions, v1alpha1.ConditionStalled)
}

// advice is what there is to do besides what the messages say, as commands.
func (e *explanation) advice(ready *metav1.Condition) string {
	var out []string
	session := e.server.Status.Session
	if ready.Status != metav1.ConditionTrue {
		out = missing(e.server, ready.Reason)
	}
	switch {
	case ready.Status == metav1.ConditionTrue:
	case e.Manager.Missing():
		out = append(out, managerPods)
	case session != nil && canBeTried(session):
		out = append(out, fmt.Sprintf("try at once: %s reconnect %s -n %s", e.Program, e.server.Name, e.server.Namespace))
	}
	if e.drifted() != nil {
		out = append(out, fmt.Sprintf("see what is withheld, and how to approve it: %s diff %s -n %s",
			e.Program, e.server.Name, e.server.Namespace))
	}
	return strings.Join(out, "\n")
}

// canBeTried tells whether a reconnect helps: not where the server has told when it wants to be asked again.
func canBeTried(session *v1alpha1.SessionStatus) bool {
	return session.State != v1alpha1.SessionConnected && session.State != v1alpha1.SessionConnecting && !gated(session)
}

// gated reports whether the last failure is of a class that puts off every attempt to the time that the server told.
func gated(session *v1alpha1.SessionStatus) bool {
	last := session.LastFailure
	return last != nil && failure.PolicyOf(failure.Class(last.Class)).Gates
}

// tools tells what agents are offered.
func (e *explanation) tools() string {
	catalog := e.server.Status.Catalog
	if catalog == nil || catalog.ToolCount == nil {
		return "none are published"
	}
	text := fmt.Sprintf("%d in ConfigMap %s", *catalog.ToolCount, catalog.ConfigMap)
	if e.drifted() != nil {
		text = fmt.Sprintf("%d of those in ConfigMap %s", *catalog.ToolCount, catalog.ConfigMap)
	}
	session := e.server.Status.Session
	switch {
	case catalog.ConfirmedAt != nil && e.Now.Sub(catalog.ConfirmedAt.Time) >= mcpserver.CatalogValidity:
		text += fmt.Sprintf(", not confirmed for %.0f days and offered to no new agent session",
			mcpserver.CatalogValidity.Hours()/24)
	case session == nil || session.State != v1alpha1.SessionConnected:
		text += ", from the last good list"
	}
	return text
}

// drifted is the condition that tells of tools that are withheld; nil while none are.
func (e *explanation) drifted() *metav1.Condition {
	condition := meta.FindStatusCondition(e.server.Status.Conditions, v1alpha1.ConditionToolsDrifted)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return nil
	}
	return condition
}

// calls tells what the gateways see, where they see trouble.
func calls(server *v1alpha1.MCPServer) string {
	status := server.Status.Calls
	if status == nil || status.State == "" || status.State == v1alpha1.CallsHealthy {
		return ""
	}
	return fmt.Sprintf("%s (%s)", strings.ToLower(status.State), status.Class)
}

// warnings are the first few things that are remarkable about the tools, and how many there are.
func warnings(server *v1alpha1.MCPServer) string {
	const most = 5
	var out []string
	for i, warning := range server.Status.Warnings {
		if i == most {
			break
		}
		text := warning.Type
		if warning.Tool != "" {
			text += " " + warning.Tool
		}
		out = append(out, text+": "+warning.Message)
	}
	if more := int(ptr.Deref(server.Status.WarningCount, 0)) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, "\n")
}
