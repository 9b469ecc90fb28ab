package explain

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

func (e *explanation) stalled() bool {
	return meta.IsStatusConditionTrue(e.server.Status.Conditions, v1alpha1.ConditionStalled)
}

// parted takes a message apart into what happened and what to do. That it is tried again stands under Next.
func parted(message string) (what, advice string) {
	const again = "it is tried again"
	what, advice, _ = strings.Cut(message, "; ")
	if strings.HasPrefix(advice, again) {
		return what, ""
	}
	advice, _, _ = strings.Cut(advice, "; "+again)
	return what, advice
}

// advice is what the message tells to do, and the command that tries at once where one does.
func (e *explanation) advice(ready *metav1.Condition) string {
	if ready.Status == metav1.ConditionTrue {
		return ""
	}
	var out []string
	if _, next := parted(ready.Message); next != "" {
		out = append(out, next)
	}
	session := e.server.Status.Session
	switch {
	case e.Manager.Missing():
		out = append(out, managerPods)
	case session != nil && session.State != v1alpha1.SessionConnected && session.State != v1alpha1.SessionConnecting:
		out = append(out, fmt.Sprintf("try at once: %s reconnect %s -n %s", e.Program, e.server.Name, e.server.Namespace))
	}
	return strings.Join(out, "\n")
}

// tools tells what agents are offered.
func (e *explanation) tools() string {
	catalog := e.server.Status.Catalog
	if catalog == nil || catalog.ToolCount == nil {
		return "none are published"
	}
	text := fmt.Sprintf("%d in ConfigMap %s", *catalog.ToolCount, catalog.ConfigMap)
	session := e.server.Status.Session
	switch {
	case catalog.ConfirmedAt != nil && e.Now.Sub(catalog.ConfirmedAt.Time) >= validity:
		text += fmt.Sprintf(", not confirmed for %.0f days and offered to no new agent session", validity.Hours()/24)
	case session == nil || session.State != v1alpha1.SessionConnected:
		text += ", from the last good list"
	}
	return text
}

// validity is how long tools are offered after they were confirmed: what the API says of status.catalog.confirmedAt. A
// server that is connected confirms them each day.
const validity = 30 * 24 * time.Hour

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
