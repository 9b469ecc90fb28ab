package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// An agent session without any spec is offered every server of its namespace, in a ConfigMap that its pod can mount.
func TestAgentSessionPublishesTheToolsOfItsServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := mcpfake.New(t, mcpfake.WithTools(tools("a", 2)...)), mcpfake.New(t, mcpfake.WithTools(tools("b", 1)...))
	w.apply(
		builder.MCPServer("one").URL(one.URL()).Mutate(func(s *v1alpha1.MCPServer) {
			s.Spec.Provider, s.Spec.Notes = "claude-code", "for ones"
		}).Obj(),
		builder.MCPServer("two").URL(two.URL()).Obj(),
		builder.AgentSession("coder").Obj())
	session := w.awaitAgent("coder", "True AllServersAvailable")
	w.Expect(sessionSays(session, v1alpha1.ConditionServersResolved)).To(Equal("True Resolved"))
	w.Expect(sessionSays(session, v1alpha1.ConditionCatalogPublished)).To(Equal("True Published"))
	w.Expect(session.Status.Summary).To(Equal("2/2"))
	w.Expect(session.Status.Endpoint).To(Equal(
		gatewayURL + "/sessions/" + w.namespace + "/coder/mcp"))
	w.awaitServers("coder", "one Connected 2", "two Connected 1")
	w.Expect(session.Status.Servers[0].Source).To(Equal("mcp:one via claude-code"))
	w.Expect(session.Status.Servers[1].Source).To(Equal("mcp:two"))

	w.awaitOffer("coder", "mcp_one_a-0", "mcp_one_a-1", "mcp_two_b-0")
	object := w.configMap("coder-mcp-catalog")
	owner := metav1.GetControllerOf(object)
	w.Expect(owner).NotTo(BeNil())
	w.Expect(owner.UID).To(Equal(session.UID))
	w.Expect(object.Annotations).To(BeEmpty(), "applied by the server: no copy of the payload")
	w.Expect(object.Data["mcp.json"]).To(Equal(`{"mcpServers":{"mooring":{"type":"http","url":"` + gatewayURL + `/` +
		`sessions/` + w.namespace + `/coder/mcp"}}}`))
	document := w.mustOffer("coder")
	w.Expect(document.Servers[0].Notes).To(Equal("for ones"))
	w.Expect(session.Status.Catalog.Digest).To(BeEquivalentTo(document.Digest))
	w.Expect(session.Status.Catalog.Revision).To(Equal(document.Digest.Revision()))
	w.Expect(*session.Status.Catalog.ToolCount).To(BeEquivalentTo(3))
}

// One server that is down, and one that hangs, cost the agent their own tools and nothing else.
func TestB22_OneBadTargetRemovesNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good, refusing, hung := mcpfake.New(t), mcpfake.New(t), mcpfake.New(t)
	w.Expect(refusing.Refuse()).To(Succeed())
	hung.Freeze()
	w.apply(builder.MCPServer("good").URL(good.URL()).Obj(),
		builder.MCPServer("refusing").URL(refusing.URL()).Obj(),
		builder.MCPServer("hung").URL(hung.URL()).ConnectTimeout(seconds(2).Duration).Obj(),
		builder.AgentSession("coder").Ref("good").Ref("refusing").Ref("hung").Obj())
	session := w.awaitAgent("coder", "True PartiallyAvailable")
	w.Expect(session.Status.Summary).To(Equal("1/3"))
	w.Expect(session.Status.Startup.Outcome).To(Equal(v1alpha1.StartupWaited))
	w.awaitServers("coder", "good Connected 5", "hung Disconnected 0", "refusing Disconnected 0")
	w.Expect(errorsOf(w.mustOffer("coder"))).To(Equal([]string{"hung ConnectTimeout", "refusing ConnectFailed"}))

	document := w.version("coder-mcp-catalog")
	w.Expect(good.Refuse()).To(Succeed())
	good.CutConnections(true)
	down := w.awaitAgent("coder", "False NoServersAvailable")
	w.Expect(sessionSays(down, v1alpha1.ConditionReconciling)).To(Equal("True ProgressingWithRetry"))
	w.awaitServers("coder", "good Disconnected 5", "hung Disconnected 0", "refusing Disconnected 0")
	w.Expect(w.version("coder-mcp-catalog")).To(Equal(document), "an outage takes no tools away")
}
