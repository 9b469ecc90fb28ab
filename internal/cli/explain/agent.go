package explain

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
)

// mostServers is how many servers that cannot be used are told of.
const mostServers = 5

// inWords are the states that are two words.
var inWords = map[string]string{v1alpha1.ServerNotFound: "not found", v1alpha1.ServerNotPermitted: "not permitted"}

// Agent explains an AgentSession, in lines of plain text.
func Agent(session *v1alpha1.AgentSession, view View) string {
	p := &page{View: view}
	ready := meta.FindStatusCondition(session.Status.Conditions, v1alpha1.ConditionReady)
	name := fmt.Sprintf("AgentSession %s in namespace %s", session.Name, session.Namespace)
	if ready == nil || session.Status.ObservedGeneration < session.Generation {
		return p.unseen(name, ready)
	}
	p.headline(name, ready, stalledSession(session))
	if ready.Status != metav1.ConditionTrue {
		p.say("Because", ready.Message)
	}
	p.turned(ready)
	p.say("Servers", p.servers(session))
	p.say("Next", p.nextOf(session, ready))
	p.say("Tools", offered(session.Status.Catalog))
	if p.Manager.Missing() {
		p.say("You can", managerPods)
	}
	return p.String()
}

func stalledSession(session *v1alpha1.AgentSession) bool {
	return meta.IsStatusConditionTrue(session.Status.Conditions, v1alpha1.ConditionStalled)
}

// nextOf tells what happens automatically, and when.
func (p *page) nextOf(session *v1alpha1.AgentSession, ready *metav1.Condition) string {
	switch {
	case p.Manager.Missing():
		return awaitsManager
	case ready.Status == metav1.ConditionTrue:
		return ""
	case stalledSession(session):
		return untilFixed
	case ready.Reason == v1alpha1.ReasonAwaitingServers:
		return fmt.Sprintf("the catalog is published once each server has answered, after %s at most",
			duration.HumanDuration(gate.HoldLimit))
	case ready.Reason == v1alpha1.ReasonPublishFailed:
		return writtenAgain
	case ready.Reason == v1alpha1.ReasonDiscoveryFailed:
		return onceFixed
	default:
		return "continues automatically as soon as its servers can be used"
	}
}

// servers tells how many can be used, and what keeps the first few others.
func (p *page) servers(session *v1alpha1.AgentSession) string {
	var out []string
	if session.Status.Summary != "" {
		out = append(out, session.Status.Summary+" can be used")
	}
	unusable := 0
	for i := range session.Status.Servers {
		server := &session.Status.Servers[i]
		if server.State == v1alpha1.ServerConnected && server.Message == "" || server.State == v1alpha1.ServerFiltered {
			continue
		}
		if unusable++; unusable <= mostServers {
			out = append(out, p.server(server))
		}
	}
	if unusable > mostServers {
		out = append(out, fmt.Sprintf("and %d more", unusable-mostServers))
	}
	return strings.Join(out, "\n")
}

func (p *page) server(server *v1alpha1.SessionServerStatus) string {
	state, absent := inWords[server.State]
	if !absent {
		state = strings.ToLower(server.State)
	}
	text := fmt.Sprintf("%s: %s", server.Name, state)
	if server.Message != "" {
		text += ", " + server.Message
	}
	if absent { // there is nothing to look into
		return text
	}
	return fmt.Sprintf("%s (%s why %s -n %s)", text, p.Program, server.Name, server.Namespace)
}

// offered tells what the agent has.
func offered(catalog *v1alpha1.SessionCatalogStatus) string {
	if catalog == nil || catalog.ConfigMap == "" {
		return "none are published"
	}
	return fmt.Sprintf("%d in ConfigMap %s, revision %s",
		ptr.Deref(catalog.ToolCount, 0), catalog.ConfigMap, catalog.Revision)
}
