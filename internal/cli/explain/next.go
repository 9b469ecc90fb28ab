package explain

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/session/breaker"
)

// What happens automatically to servers and to agent sessions alike.
var (
	onceFixed    = "continues automatically as soon as the cause is fixed"
	untilFixed   = "nothing, until the cause is fixed"
	writtenAgain = fmt.Sprintf("the catalog is written again automatically: every %s after a refusal, with backoff after "+
		"any other error", duration.HumanDuration(configmap.RetryInterval))
)

// emptyBelieved is how long a first list without tools is doubted.
func emptyBelieved() time.Duration {
	var total time.Duration
	for n := 1; ; n++ {
		wait, again := backoff.Empty(n)
		if !again {
			return total
		}
		total += wait
	}
}

// next tells what happens automatically, and when.
func (e *explanation) next(ready *metav1.Condition) string {
	session := e.server.Status.Session
	switch {
	case ready.Reason == v1alpha1.ReasonDisabled:
		return "nothing, until spec.disabled is removed"
	case e.Manager.Missing():
		return awaitsManager
	case session == nil:
		return e.acceptance(ready)
	case session.State == v1alpha1.SessionQuarantined && session.QuarantinedUntil != nil:
		return fmt.Sprintf("one probe at %s; an answer ends the quarantine", e.moment(session.QuarantinedUntil.Time))
	case session.State == v1alpha1.SessionRetired:
		return e.probe(session)
	case session.State == v1alpha1.SessionWaiting:
		return e.attempt(session)
	case session.State == v1alpha1.SessionConnecting:
		longest := e.server.Spec.ConnectTimeout() + e.server.Spec.ListTimeout()
		return fmt.Sprintf("the attempt ends within %s", duration.HumanDuration(longest))
	default:
		return e.listing(ready)
	}
}

// acceptance tells what a declaration waits for.
func (e *explanation) acceptance(ready *metav1.Condition) string {
	switch {
	case e.stalled():
		return untilFixed
	case ready.Reason == v1alpha1.ReasonSecretAccessDenied:
		return fmt.Sprintf("access is checked again every %s, also after a reconnect; continues automatically once granted",
			duration.HumanDuration(refs.DefaultRecheck))
	default:
		return "continues automatically as soon as what is missing exists"
	}
}

// listing tells what a server that is connected waits for; nothing when all is well.
func (e *explanation) listing(ready *metav1.Condition) string {
	published := e.published()
	switch {
	case ready.Reason == v1alpha1.ReasonCallsFailing:
		return "it is ready again once a call is answered"
	case published == nil || published.Status == metav1.ConditionTrue:
		return ""
	}
	switch published.Reason {
	case v1alpha1.ReasonAwaitingConnection:
		return fmt.Sprintf("its tools are listed, within %s", duration.HumanDuration(e.server.Spec.ListTimeout()))
	case v1alpha1.ReasonListToolsFailed, v1alpha1.ReasonListToolsTimeout:
		return "its tools are listed again within seconds, with backoff"
	case v1alpha1.ReasonEmptyCatalog:
		return fmt.Sprintf("its tools are listed again; after %s without any, an empty catalog is published",
			duration.HumanDuration(emptyBelieved()))
	case v1alpha1.ReasonCatalogTooLarge:
		return "its tools are listed again from time to time, at least every " +
			duration.HumanDuration(e.server.Spec.RefreshInterval())
	case v1alpha1.ReasonPublishFailed:
		return writtenAgain
	default:
		return onceFixed
	}
}

// attempt tells when a server that failed is tried again.
func (e *explanation) attempt(session *v1alpha1.SessionStatus) string {
	switch last := session.LastFailure; {
	case gated(session):
		return "retried when the server allows it, within an hour at most"
	case last != nil && last.Reason == v1alpha1.ReasonSessionFlapping:
		return "retried after a pause, because the server keeps forgetting the session"
	}
	return fmt.Sprintf("retried within seconds; after %d failures in a row it is quarantined",
		e.server.Spec.Attempts())
}

func (e *explanation) probe(session *v1alpha1.SessionStatus) string {
	interval := e.server.Spec.ProbeInterval()
	if interval == 0 {
		return "nothing: spec.recovery.probeInterval is 0s"
	}
	if session.Retirement == v1alpha1.RetirementRefused {
		interval = max(interval, breaker.RefusedProbe)
	}
	return fmt.Sprintf("one probe about every %s; an answer brings it back", duration.HumanDuration(interval))
}
