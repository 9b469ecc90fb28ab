package explain_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/cli/lease"
	"github.com/mooring-dev/mooring/test/builder"
)

// agent is an AgentSession in which Ready says what is given, for three minutes.
func agent(
	status metav1.ConditionStatus, reason, message string, servers ...v1alpha1.SessionServerStatus,
) *v1alpha1.AgentSession {
	s := builder.AgentSession("coder").Namespace("agents").Obj()
	s.Generation = 2
	s.Status.ObservedGeneration, s.Status.Servers = 2, servers
	s.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message,
		LastTransitionTime: *ago(3 * time.Minute),
	}}
	return s
}

func of(name, state, message string) v1alpha1.SessionServerStatus {
	return v1alpha1.SessionServerStatus{Name: name, Namespace: "agents", State: state, Message: message}
}

func TestAgent(t *testing.T) {
	const f, yes = metav1.ConditionFalse, metav1.ConditionTrue
	catalog := &v1alpha1.SessionCatalogStatus{
		ConfigMap: "coder-mcp-catalog", Revision: "0123456789ab", ToolCount: ptr.To[int32](7),
	}
	waiting := agent(f, v1alpha1.ReasonAwaitingServers, "waiting for the first answer of agents/slow",
		of("github", v1alpha1.ServerConnected, ""), of("slow", v1alpha1.ServerConnecting, ""),
		of("dead", v1alpha1.ServerDisconnected, refused), of("exa", v1alpha1.ServerFiltered, "the agent has it"))
	waiting.Status.Summary = "1/3"
	stalled := agent(f, v1alpha1.ReasonNameConflict, "ConfigMap exists; rename one of them")
	stalled.Status.Conditions = append(stalled.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionStalled, Status: yes, Reason: v1alpha1.ReasonNameConflict,
	})
	required := agent(f, v1alpha1.ReasonRequiredServerUnavailable,
		"required and not to be used now: none; status.servers says why",
		of("none", v1alpha1.ServerNotFound, `MCPServer "none" does not exist`), of("far", v1alpha1.ServerNotPermitted, ""))
	required.Status.Summary, required.Status.Catalog = "0/2", catalog
	many := agent(yes, v1alpha1.ReasonPartiallyAvailable, "some cannot be used; status.servers says which")
	many.Status.Summary, many.Status.Catalog = "0/7", catalog
	for i := range 7 {
		many.Status.Servers = append(many.Status.Servers, of(fmt.Sprintf("s%d", i), v1alpha1.ServerDeferred, ""))
	}
	first := agent(f, v1alpha1.ReasonAwaitingServers, "waiting for the first answer of agents/s0")
	first.Status.Servers = many.Status.Servers[:6]
	notStored := agent(f, v1alpha1.ReasonPublishFailed, refusal("coder-mcp-catalog"))
	notStored.Status.Summary = "1/1"
	inPassing := agent(f, v1alpha1.ReasonPublishFailed,
		`ConfigMap "coder-mcp-catalog" could not be written; it is tried again; the last catalog stays published`)
	inPassing.Status.Summary, inPassing.Status.Catalog = "1/1", catalog
	unknown := agent(f, v1alpha1.ReasonDiscoveryFailed,
		`AgentSession "lead", the parent of "coder", does not exist; create it, or correct spec.parentRef`)
	unknown.Status.Catalog = &v1alpha1.SessionCatalogStatus{
		ConfigMap: "coder-mcp-catalog", Revision: "0123456789ab", ToolCount: ptr.To[int32](0),
	}
	changed := agent(yes, v1alpha1.ReasonAllServersAvailable, "")
	changed.Generation = 3
	for name, object := range map[string]*v1alpha1.AgentSession{
		"first": first, "not-stored": notStored, "not-written": inPassing, "undiscovered": unknown,
		"waiting": waiting, "stalled": stalled, "required": required, "many": many, "changed": changed,
		"new": builder.AgentSession("coder").Namespace("agents").Obj(),
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "session-"+name, explain.Agent(object, explain.View{Now: now, Program: "mooring"}))
		})
	}
	stopped := lease.Report{State: lease.Stopped, Since: now.Add(-time.Hour)}
	golden(t, "session-stopped",
		explain.Agent(waiting, explain.View{Now: now, Program: "kubectl mooring", Manager: stopped}))
}

// Who knows nothing of the manager says nothing of it.
func TestNote(t *testing.T) {
	g := NewWithT(t)
	for _, state := range []lease.State{lease.Unknown, lease.Running} {
		view := explain.View{Now: now, Manager: lease.Report{State: state}}
		g.Expect(view.Note()).To(BeEmpty())
		g.Expect(view.NoManager()).To(Succeed())
	}
	stopped := explain.View{Now: now, Manager: lease.Report{State: lease.Stopped, Since: now.Add(-time.Minute)}}
	g.Expect(stopped.Note()).To(Equal(
		"No manager has been running since 2026-05-04 11:59:00 UTC (60s ago): what follows is what was last known."))
	const remains = "; the request remains, and is acted on once one runs: `kubectl mooring run` runs one here, and " +
		"`kubectl get pods -A -l app.kubernetes.io/name=mooring` lists those that are installed"
	stopped.Program = "kubectl mooring"
	g.Expect(stopped.NoManager()).To(
		MatchError("no manager has been running since 2026-05-04 11:59:00 UTC (60s ago)" + remains))
	absent := explain.View{Now: now, Program: "kubectl mooring", Manager: lease.Report{State: lease.Absent}}
	g.Expect(absent.Note()).To(Equal(
		"No manager is running (none holds a Lease in this cluster): what follows is what was last known."))
	g.Expect(absent.NoManager()).To(MatchError("no manager is running (none holds a Lease in this cluster)" + remains))
}
