package integration

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/kstatustest"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// eight are the servers of the scenario that startup is about: five that are quick, one that is slow, one that hangs,
// one that refuses and never worked.
type eight struct {
	quick                []*mcpfake.Server
	slow, hung, refusing *mcpfake.Server
}

func newEight(t *testing.T) *eight {
	e := &eight{}
	for range 5 {
		e.quick = append(e.quick, mcpfake.New(t, mcpfake.WithTools(tools("q", 2)...)))
	}
	e.slow = mcpfake.New(t, mcpfake.WithTools(tools("s", 3)...))
	e.hung = mcpfake.New(t, mcpfake.WithTools(tools("h", 4)...))
	e.refusing = mcpfake.New(t)
	return e
}

// declare applies their objects.
func (e *eight) declare(w *world) {
	w.t.Helper()
	for i, fake := range e.quick {
		w.apply(builder.MCPServer(fmt.Sprintf("quick-%d", i)).URL(fake.URL()).Obj())
	}
	w.Expect(e.refusing.Refuse()).To(Succeed())
	w.apply(builder.MCPServer("slow").URL(e.slow.URL()).Obj(),
		builder.MCPServer("hung").URL(e.hung.URL()).ConnectTimeout(15*time.Second).Obj(),
		builder.MCPServer("refusing").URL(e.refusing.URL()).Obj())
}

// turn makes the slow one slow and the hung one hang.
func (e *eight) turn() {
	for _, quick := range e.quick {
		quick.Fault(mcpfake.Any, mcpfake.Forever, mcpfake.Delay(20*time.Millisecond))
	}
	e.slow.Fault(mcpfake.Any, 1, mcpfake.Delay(2*time.Second))
	e.hung.Freeze()
}

const settled = "quick-0 Connected 2, quick-1 Connected 2, quick-2 Connected 2, quick-3 Connected 2, " +
	"quick-4 Connected 2, hung Disconnected 4, refusing Disconnected 0, slow Connected 3"

// Five are live, two are deferred by what is stored of them, one is an error. The slow one's coming writes nothing.
func TestStartupWithStoredCatalogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := newEight(t)
	e.declare(w)
	for i := range 5 {
		w.ready(fmt.Sprintf("quick-%d", i))
	}
	w.ready("slow")
	w.ready("hung")
	w.await("refusing", v1alpha1.ConditionReady, "False ConnectFailed")
	w.manager.stop()
	e.turn()
	w.startManager()
	// Long enough for the refusing one to have refused, too short for the slow one.
	w.apply(builder.AgentSession("coder").StartupTimeout(1500 * time.Millisecond).Obj())
	document := w.mustOffer("coder")
	w.Expect(document.ToolCount()).To(Equal(17))
	w.Expect(errorsOf(document)).To(Equal([]string{"refusing ConnectFailed"}))
	session := w.awaitAgent("coder", "True PartiallyAvailable")
	w.Expect(session.Status.Startup.Outcome).To(Equal(v1alpha1.StartupDeferred))
	version := w.version("coder-mcp-catalog")
	w.awaitServers("coder", split(settled)...)
	w.Expect(w.version("coder-mcp-catalog")).To(Equal(version))
	w.Expect(w.manager.writes.offers.Load()).To(BeEquivalentTo(1))
	w.Expect(w.agent("coder").Status.Summary).To(Equal("6/8"))
}

// Without stored catalogs the gate holds until the slow one's and the hung one's attempts have ended.
func TestStartupWithoutStoredCatalogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := newEight(t)
	e.turn()
	e.declare(w)
	w.apply(builder.AgentSession("coder").Obj())
	waiting := w.awaitAgent("coder", "False AwaitingServers")
	w.Expect(sessionSays(waiting, v1alpha1.ConditionReconciling)).NotTo(BeEmpty())
	w.Expect(w.verdict("coder")).To(Equal(status.InProgressStatus))
	w.Expect(w.configMap("coder-mcp-catalog")).To(BeNil())
	session := w.awaitAgent("coder", "True PartiallyAvailable")
	w.Expect(session.Status.Startup.Outcome).To(Equal(v1alpha1.StartupWaited))
	document := w.mustOffer("coder")
	w.Expect(errorsOf(document)).To(Equal([]string{"hung ConnectTimeout", "refusing ConnectFailed"}))
	w.Expect(document.ToolCount()).To(Equal(13))
	w.Expect(w.manager.writes.offers.Load()).To(BeEquivalentTo(1))
	w.Expect(w.verdict("coder")).To(Equal(status.CurrentStatus))
}

// A server that hangs longer than 30 s, which no attempt ends before, holds the gate for those 30 s and not until its
// attempt ends. Its tools come when it does.
func TestStartupHoldsNoLongerThanThirtySeconds(t *testing.T) {
	t.Parallel() // it mostly waits
	w := newWorld(t)
	w.fleetOf(2)
	hung := mcpfake.New(t, mcpfake.WithTools(tools("h", 3)...))
	hung.Freeze()
	w.apply(builder.MCPServer("hung").URL(hung.URL()).ConnectTimeout(10 * time.Minute).Obj())
	w.ready("s-0")
	w.ready("s-1")
	created := time.Now()
	w.apply(builder.AgentSession("coder").Obj())
	w.awaitAgent("coder", "False AwaitingServers")
	document := w.mustOffer("coder")
	w.Expect(time.Since(created)).To(BeNumerically(">=", 30*time.Second), "its attempt may still end well")
	w.Expect(says(w.get("hung"), v1alpha1.ConditionConnected)).To(Equal("Unknown Connecting"), "it has not ended yet")
	w.Expect(errorsOf(document)).To(Equal([]string{"hung Connecting"}))
	w.Expect(document.ToolCount()).To(Equal(4))
	session := w.awaitAgent("coder", "True PartiallyAvailable")
	w.Expect(session.Status.Startup.Outcome).To(Equal(v1alpha1.StartupWaited))
	w.Expect(serversOf(session)).To(Equal([]string{"hung Connecting 0", "s-0 Connected 2", "s-1 Connected 2"}))
	w.Expect(w.manager.writes.offers.Load()).To(BeEquivalentTo(1))

	w.Expect(hung.Restore()).To(Succeed())
	hung.CutConnections(true)
	w.awaitAgent("coder", "True AllServersAvailable")
	document = w.mustOffer("coder")
	w.Expect(document.Errors).To(BeEmpty())
	w.Expect(document.ToolCount()).To(Equal(7))
	w.Expect(w.manager.writes.offers.Load()).To(BeEquivalentTo(2))
}

// Manifests in the order in which GitOps may apply them: one catalog or two, never an empty one, never Failed.
func TestGitOpsOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open, locked := mcpfake.New(t, mcpfake.WithTools(tools("o", 1)...)),
		mcpfake.New(t, mcpfake.WithTools(tools("l", 1)...), mcpfake.WithBearer("token-1"))
	statuses := versionsOf[*v1alpha1.AgentSession](w.ctx, w, &v1alpha1.AgentSessionList{})
	catalogs := versionsOf[*corev1.ConfigMap](w.ctx, w, &corev1.ConfigMapList{})
	w.apply(builder.AgentSession("coder").Obj())
	w.hold(3 * time.Second)
	w.apply(builder.MCPServer("open").URL(open.URL()).Obj(),
		builder.MCPServer("locked").URL(locked.URL()).Bearer("login", "token").Obj())
	w.hold(3 * time.Second)
	w.apply(builder.Secret(w.namespace, "login").Key("token", "token-1").Obj())
	w.awaitAgent("coder", "True AllServersAvailable")
	w.Expect(exposed(w.mustOffer("coder"))).To(Equal([]string{"mcp_locked_l-0", "mcp_open_o-0"}))
	w.Expect(w.manager.writes.offers.Load()).To(BeNumerically("<=", 2))
	for _, session := range awaitVersion(w, statuses, w.agent("coder").ResourceVersion) {
		w.Expect(kstatustest.Check(t, session)).NotTo(Equal(status.FailedStatus), describeAgent(session))
	}
	for _, object := range awaitVersion(w, catalogs, w.version("coder-mcp-catalog")) {
		if object.Name == "coder-mcp-catalog" {
			document, err := sessioncatalog.Decode(object.Data, object.BinaryData)
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(document.ToolCount()).NotTo(BeZero(), "no empty catalog")
		}
	}
}

// hold lets a scenario's time pass while no catalog may appear.
func (w *world) hold(d time.Duration) {
	w.t.Helper()
	w.Consistently(func() bool { return w.configMap("coder-mcp-catalog") == nil }, d, 200*time.Millisecond).
		Should(BeTrue(), "nothing is published before there is something to publish")
}

// A manager that starts while every server is down leaves agents what they have, and gives new ones the stored tools.
func TestRestartWithEveryServerDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var fakes []*mcpfake.Server
	for i := range 3 {
		fake := mcpfake.New(t, mcpfake.WithTools(tools("t", 2)...))
		fakes = append(fakes, fake)
		w.apply(builder.MCPServer(fmt.Sprintf("s-%d", i)).URL(fake.URL()).Obj())
	}
	w.apply(builder.AgentSession("old").Obj())
	w.awaitAgent("old", "True AllServersAvailable")
	version := w.version("old-mcp-catalog")
	w.manager.stop()
	for _, fake := range fakes {
		w.Expect(fake.Refuse()).To(Succeed())
	}
	w.startManager()
	w.apply(builder.AgentSession("new").Obj())
	document := w.mustOffer("new")
	w.Expect(document.ToolCount()).To(Equal(6))
	w.Expect(document.Errors).To(BeEmpty())
	w.awaitAgent("old", "False NoServersAvailable")
	w.awaitAgent("new", "False NoServersAvailable")
	w.Expect(w.version("old-mcp-catalog")).To(Equal(version))
	w.Expect(w.manager.writes.offers.Load()).To(BeEquivalentTo(1), "the new one's")
	for _, fake := range fakes {
		w.Expect(fake.Restore()).To(Succeed())
	}
	w.awaitAgent("old", "True AllServersAvailable")
	w.awaitAgent("new", "True AllServersAvailable")
	w.Expect(w.version("old-mcp-catalog")).To(Equal(version))
	w.Expect(w.manager.writes.offers.Load()).To(BeEquivalentTo(1))
}

// An empty catalog with mcp: Disabled, at once.
func TestAgentSessionWithoutMCP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t)
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj(), builder.AgentSession("coder").MCPDisabled().Obj())
	w.awaitAgent("coder", "True Disabled")
	w.Expect(w.mustOffer("coder").Servers).To(BeEmpty())
	w.ready("fs")
	w.changeAgent("coder", func(s *v1alpha1.AgentSession) { s.Spec.MCP = v1alpha1.ToggleEnabled })
	w.awaitAgent("coder", "True AllServersAvailable")
	w.Expect(w.mustOffer("coder").ToolCount()).To(Equal(len(mcpfake.DefaultTools())))
}
