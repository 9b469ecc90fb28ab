package agentsession

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/events"
)

// What was being done when an event came about.
const (
	actionResolve = "Resolve"
	actionPublish = "Publish"
	actionOffer   = "Offer"
)

// transitions are the events of one status write: what turned for the worse, servers that were lost after the gate, and
// a catalog that was published. What did not change tells nothing.
func transitions(before, after *v1alpha1.AgentSession) []events.Event {
	var out []events.Event
	for _, watched := range []struct{ condition, action string }{
		{v1alpha1.ConditionServersResolved, actionResolve},
		{v1alpha1.ConditionCatalogPublished, actionPublish},
		{v1alpha1.ConditionReady, actionOffer},
	} {
		if bad := turnedBad(before, after, watched.condition); bad != nil {
			out = append(out, events.Warning(bad.Reason, watched.action, bad.Message))
			break
		}
	}
	if lost := lostServers(before, after); lost != "" && len(out) == 0 {
		out = append(out, events.Warning(v1alpha1.ReasonPartiallyAvailable, actionOffer, lost))
	}
	if digestOf(after) != "" && digestOf(before) != digestOf(after) {
		out = append(out, events.Normal(v1alpha1.ReasonPublished, actionPublish,
			"revision "+after.Status.Catalog.Revision+" is in ConfigMap "+after.Status.Catalog.ConfigMap))
	}
	return out
}

// turnedBad is a condition that turned False, or did so for another reason; nil for any other. To wait is not bad.
func turnedBad(before, after *v1alpha1.AgentSession, condition string) *metav1.Condition {
	was := meta.FindStatusCondition(before.Status.Conditions, condition)
	is := meta.FindStatusCondition(after.Status.Conditions, condition)
	if is == nil || is.Status != metav1.ConditionFalse || is.Reason == v1alpha1.ReasonAwaitingServers {
		return nil
	}
	if was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return nil
	}
	return is
}

// lostServers says which servers cannot be used any more that could be, or were waited for, before.
func lostServers(before, after *v1alpha1.AgentSession) string {
	states := map[string]string{}
	for i := range before.Status.Servers {
		states[before.Status.Servers[i].Namespace+"/"+before.Status.Servers[i].Name] = before.Status.Servers[i].State
	}
	var lost []string
	for i := range after.Status.Servers {
		entry := &after.Status.Servers[i]
		was, known := states[entry.Namespace+"/"+entry.Name]
		if entry.State == v1alpha1.ServerDisconnected && known && was != entry.State {
			lost = append(lost, entry.Name)
		}
	}
	if len(lost) == 0 {
		return ""
	}
	return "these servers cannot be used now: " + first(lost) + "; status.servers says why"
}

// first names the first few.
func first(names []string) string {
	const most = 5
	if rest := len(names) - most; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), rest)
	}
	return strings.Join(names, ", ")
}

func digestOf(session *v1alpha1.AgentSession) string {
	if session.Status.Catalog == nil {
		return ""
	}
	return session.Status.Catalog.Digest
}
