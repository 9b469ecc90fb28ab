package explain

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// line is one labelled part of an explanation.
type line struct{ label, text string }

// Server explains an MCPServer as of now, in lines of plain text.
func Server(server *v1alpha1.MCPServer, now time.Time) string {
	e := &explanation{server: server, now: now}
	ready := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || server.Status.ObservedGeneration < server.Generation {
		return e.unseen(ready)
	}
	e.headline(ready)
	e.because(ready)
	e.since(ready)
	e.say("Session", e.session())
	e.say("Next", e.next(ready))
	e.say("Tools", e.tools())
	e.say("Calls", calls(server))
	e.say("Warnings", warnings(server))
	e.say("You can", e.advice(ready))
	return e.String()
}

// explanation gathers the lines about one server.
type explanation struct {
	server *v1alpha1.MCPServer
	now    time.Time
	head   string
	lines  []line
}

// say adds a line, unless there is nothing to say.
func (e *explanation) say(label, text string) {
	if text != "" {
		e.lines = append(e.lines, line{label, text})
	}
}

// String puts the labels in one column and the texts in another.
func (e *explanation) String() string {
	var out strings.Builder
	out.WriteString(e.head + "\n")
	for _, l := range e.lines {
		text := strings.ReplaceAll(l.text, "\n", "\n"+strings.Repeat(" ", 12))
		fmt.Fprintf(&out, "  %-9s %s\n", l.label, text)
	}
	return out.String()
}

// unseen is what there is to say before the manager has acted on the declaration.
func (e *explanation) unseen(ready *metav1.Condition) string {
	e.head = fmt.Sprintf("%s is not judged yet.", e.name())
	if ready != nil {
		e.head = fmt.Sprintf("%s was changed, and the change is not judged yet.", e.name())
	}
	e.say("You can", "check that the manager runs: kubectl get pods -A -l app.kubernetes.io/name=mooring")
	return e.String()
}

func (e *explanation) name() string {
	return fmt.Sprintf("MCPServer %s in namespace %s", e.server.Name, e.server.Namespace)
}

func (e *explanation) headline(ready *metav1.Condition) {
	what := "is ready"
	switch {
	case ready.Status == metav1.ConditionTrue && ready.Reason == v1alpha1.ReasonDisabled:
		what = "is disabled"
	case meta.IsStatusConditionTrue(e.server.Status.Conditions, v1alpha1.ConditionStalled):
		what = "is not ready, and waiting will not help"
	case ready.Status != metav1.ConditionTrue:
		what = "is not ready; it is being worked on"
	}
	if ready.Status != metav1.ConditionTrue {
		what += " (" + ready.Reason + ")"
	}
	e.head = fmt.Sprintf("%s %s.", e.name(), what)
}

// because tells what went wrong, without the advice that follows it in the message. A server that is ready needs none,
// but a refresh that failed is worth a word.
func (e *explanation) because(ready *metav1.Condition) {
	if ready.Status != metav1.ConditionTrue {
		what, _, _ := strings.Cut(ready.Message, "; ")
		e.say("Because", what)
		return
	}
	published := meta.FindStatusCondition(e.server.Status.Conditions, v1alpha1.ConditionCatalogPublished)
	if published != nil && published.Status == metav1.ConditionFalse {
		e.say("But", published.Message)
	}
}

// since is when the failure began, or else when Ready became what it is.
func (e *explanation) since(ready *metav1.Condition) {
	at, session := ready.LastTransitionTime, e.server.Status.Session
	if session != nil && session.LastFailure != nil && session.LastFailure.Since != nil {
		at = *session.LastFailure.Since
	}
	e.say("Since", e.moment(at.Time))
}

// moment tells a time and how far it is away.
func (e *explanation) moment(at time.Time) string {
	if distance := e.now.Sub(at); distance >= 0 {
		return fmt.Sprintf("%s (%s ago)", stamp(at), duration.HumanDuration(distance))
	}
	return fmt.Sprintf("%s (in %s)", stamp(at), duration.HumanDuration(at.Sub(e.now)))
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }
