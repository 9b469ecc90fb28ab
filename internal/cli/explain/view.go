package explain

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/lease"
)

// View is from where an object is looked at.
type View struct {
	Now time.Time
	// Program is what Mooring's command line is called here, such as "kubectl mooring".
	Program string
	// Manager is what is known of the manager, without which status is only what was last known.
	Manager lease.Report
}

// Note says that no manager runs, so that status is only what was last known; it is empty unless that is known.
func (v View) Note() string {
	if absence := v.absence(); absence != "" {
		return fmt.Sprintf("No %s: what follows is what was last known.", absence)
	}
	return ""
}

// NoManager is the error of a request that nobody acts on, because no manager runs; nil unless that is known.
func (v View) NoManager() error {
	absence := v.absence()
	if absence == "" {
		return nil
	}
	return fmt.Errorf("no %s; the request remains, and is acted on once one runs: `%s run` runs one here, and `%s` lists "+
		"those that are installed", absence, v.Program, listManagers)
}

// absence says, after "no", that no manager runs; it is empty unless that is known.
func (v View) absence() string {
	switch v.Manager.State {
	case lease.Stopped:
		return "manager has been running since " + v.moment(v.Manager.Since)
	case lease.Absent:
		return "manager is running (none holds a Lease in this cluster)"
	default:
		return ""
	}
}

// moment tells a time and how far it is away.
func (v View) moment(at time.Time) string {
	if distance := v.Now.Sub(at); distance >= 0 {
		return fmt.Sprintf("%s (%s ago)", stamp(at), duration.HumanDuration(distance))
	}
	return fmt.Sprintf("%s (in %s)", stamp(at), duration.HumanDuration(at.Sub(v.Now)))
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

// line is one labelled part of an explanation.
type line struct{ label, text string }

// page gathers the lines about one object.
type page struct {
	View
	head  string
	lines []line
}

// say adds a line, unless there is nothing to say.
func (p *page) say(label, text string) {
	if text != "" {
		p.lines = append(p.lines, line{label, text})
	}
}

// String puts the labels in one column and the texts in another.
func (p *page) String() string {
	var out strings.Builder
	if note := p.Note(); note != "" {
		out.WriteString(note + "\n")
	}
	out.WriteString(p.head + "\n")
	for _, l := range p.lines {
		text := strings.ReplaceAll(l.text, "\n", "\n"+strings.Repeat(" ", 12))
		fmt.Fprintf(&out, "  %-9s %s\n", l.label, text)
	}
	return out.String()
}

// unseen is what there is to say of an object before the manager has acted on its declaration.
func (p *page) unseen(name string, ready *metav1.Condition) string {
	p.head = name + " has not been processed yet."
	if ready != nil {
		p.head = name + " was changed, and the change has not been processed yet."
	}
	if p.Manager.Missing() {
		p.say("Next", awaitsManager)
	}
	p.say("You can", managerPods)
	return p.String()
}

const (
	awaitsManager = "nothing, until a manager runs"
	managerPods   = "check that the manager runs: " + listManagers
	listManagers  = "kubectl get pods -A -l app.kubernetes.io/name=mooring"
)

// turned tells since when Ready is what it is. The reason may have changed since: when a server was disabled that was
// ready before is known to nobody.
func (p *page) turned(ready *metav1.Condition) {
	if ready.Reason == v1alpha1.ReasonDisabled {
		return
	}
	label := map[metav1.ConditionStatus]string{
		metav1.ConditionTrue: "Ready", metav1.ConditionFalse: "Not ready", metav1.ConditionUnknown: "Undecided",
	}[ready.Status]
	p.say(label, "since "+p.moment(ready.LastTransitionTime.Time))
}

// headline sums it up.
func (p *page) headline(name string, ready *metav1.Condition, stalled bool) {
	what := "is ready"
	switch {
	case ready.Status == metav1.ConditionTrue && ready.Reason == v1alpha1.ReasonDisabled:
		what = "is disabled"
	case stalled:
		what = "is stalled: waiting will not help"
	case ready.Status != metav1.ConditionTrue:
		what = "is not ready yet"
		if p.Manager.Missing() {
			what = "is not ready"
		}
	}
	if ready.Status != metav1.ConditionTrue {
		what += " (" + ready.Reason + ")"
	}
	p.head = fmt.Sprintf("%s %s.", name, what)
}
