package explain

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// Server explains an MCPServer, in lines of plain text.
func Server(server *v1alpha1.MCPServer, view View) string {
	e := &explanation{server: server, page: page{View: view}}
	ready := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady)
	name := fmt.Sprintf("MCPServer %s in namespace %s", server.Name, server.Namespace)
	if ready == nil || server.Status.ObservedGeneration < server.Generation {
		return e.unseen(name, ready)
	}
	e.headline(name, ready, e.stalled())
	e.because(ready)
	e.since(ready)
	e.say("Session", e.session())
	e.say("Next", e.next(ready))
	e.say("Tools", e.tools())
	if drifted := e.drifted(); drifted != nil {
		e.say("Drift", drifted.Message)
	}
	e.say("Calls", calls(server))
	e.say("Warnings", warnings(server))
	e.say("You can", e.advice(ready))
	return e.String()
}

// explanation gathers the lines about one server.
type explanation struct {
	page
	server *v1alpha1.MCPServer
}

// because tells what went wrong and what to do about it. A server that is ready needs none, but a refresh that failed
// is worth a word.
func (e *explanation) because(ready *metav1.Condition) {
	if ready.Status != metav1.ConditionTrue {
		e.say("Because", ready.Message)
		return
	}
	if published := e.published(); published != nil && published.Status == metav1.ConditionFalse {
		e.say("But", published.Message)
	}
}

// since is when the failure began, or else when Ready became what it is.
func (e *explanation) since(ready *metav1.Condition) {
	session := e.server.Status.Session
	if ready.Status != metav1.ConditionTrue && session != nil && session.LastFailure != nil &&
		session.LastFailure.Since != nil {
		e.say("Failing", "since "+e.moment(session.LastFailure.Since.Time))
		return
	}
	e.turned(ready)
}

// published is the condition about the catalog; nil before it is set.
func (e *explanation) published() *metav1.Condition {
	return meta.FindStatusCondition(e.server.Status.Conditions, v1alpha1.ConditionCatalogPublished)
}
