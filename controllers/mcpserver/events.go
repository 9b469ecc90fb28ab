package mcpserver

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/events"
)

// What was being done when an event came about.
const (
	actionResolve = "Resolve"
	actionConnect = "Connect"
	actionPublish = "Publish"
)

// troubles are the conditions whose turn for the worse is worth a Warning, the weightiest first, and how each looks
// when it is bad.
var troubles = []struct {
	condition string
	bad       metav1.ConditionStatus
	action    string
}{
	{v1alpha1.ConditionRetired, metav1.ConditionTrue, actionConnect},
	{v1alpha1.ConditionQuarantined, metav1.ConditionTrue, actionConnect},
	{v1alpha1.ConditionAccepted, metav1.ConditionFalse, actionResolve},
	{v1alpha1.ConditionConnected, metav1.ConditionFalse, actionConnect},
	{v1alpha1.ConditionCatalogPublished, metav1.ConditionFalse, actionPublish},
	{v1alpha1.ConditionToolsDrifted, metav1.ConditionTrue, actionPublish},
}

// transitions are the events of one status write: at most one Warning, about the weightiest turn for the worse, and a
// Normal event for each of a connection made and a catalog published. What did not change tells nothing.
func transitions(before, after *v1alpha1.MCPServer) []events.Event {
	var out []events.Event
	for _, trouble := range troubles {
		was := meta.FindStatusCondition(before.Status.Conditions, trouble.condition)
		is := meta.FindStatusCondition(after.Status.Conditions, trouble.condition)
		if is == nil || is.Status != trouble.bad || was != nil && was.Status == is.Status && was.Reason == is.Reason {
			continue
		}
		out = append(out, events.Warning(is.Reason, trouble.action, cause(after, is)))
		break
	}
	if became(before, after, v1alpha1.ConditionConnected) {
		connected := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionConnected)
		out = append(out, events.Normal(v1alpha1.ReasonConnected, actionConnect, connected.Message))
	}
	if digestOf(after) != "" && digestOf(before) != digestOf(after) {
		out = append(out, events.Normal(v1alpha1.ReasonPublished, actionPublish,
			"the tools are in ConfigMap "+after.Status.Catalog.ConfigMap))
	}
	return out
}

// cause is what a Warning says. Of a server that is left alone an event tells why it is; the condition tells what
// follows from that.
func cause(server *v1alpha1.MCPServer, trouble *metav1.Condition) string {
	connected := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionConnected)
	switch {
	case connected == nil || connected.Reason != trouble.Reason:
		return trouble.Message
	case trouble.Type == v1alpha1.ConditionQuarantined:
		return connected.Message + "; the server is left alone until status.session.quarantinedUntil"
	case trouble.Type == v1alpha1.ConditionRetired:
		return connected.Message + "; the server is retired: condition Retired says what brings it back"
	}
	return trouble.Message
}

// became tells whether a condition turned True.
func became(before, after *v1alpha1.MCPServer, condition string) bool {
	return !meta.IsStatusConditionTrue(before.Status.Conditions, condition) &&
		meta.IsStatusConditionTrue(after.Status.Conditions, condition)
}

func digestOf(server *v1alpha1.MCPServer) string {
	if server.Status.Catalog == nil {
		return ""
	}
	return server.Status.Catalog.Digest
}
