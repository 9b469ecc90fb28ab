package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// A server of another namespace is offered where its owner permits it, from the moment that it is permitted and for as
// long as it is. What is said without a permission is the same whether or not there is such a server.
func TestB51_ServersOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	w := newNamespace(t)
	shared := newNamespace(t).namespace
	w.startManager(func(s *cli.Settings) { s.WatchNamespaces = append(s.WatchNamespaces, shared) })
	fake := mcpfake.New(t, mcpfake.WithTools(tools("t", 1)...))
	server := builder.MCPServer("wiki").Namespace(shared).URL(fake.URL()).Obj()
	w.Expect(admin.Create(w.ctx, server)).To(Succeed())
	local := mcpfake.New(t, mcpfake.WithTools(tools("t", 1)...))
	w.apply(builder.MCPServer("wiki").URL(local.URL()).Obj(),
		builder.AgentSession("coder").Ref("wiki").ForeignRef(shared, "wiki").ForeignRef(shared, "other").Obj())
	session := w.awaitAgentCondition("coder", v1alpha1.ConditionServersResolved, "False RefNotPermitted")
	w.Eventually(func() []string { return serversOf(w.agent("coder")) }).Should(ConsistOf(
		HavePrefix("wiki Connected"), "wiki NotPermitted -", "other NotPermitted -"))
	words := map[string]bool{}
	for _, entry := range session.Status.Servers {
		if entry.State == v1alpha1.ServerNotPermitted {
			words[replaceName(entry.Message, entry.Name)] = true
		}
	}
	w.Expect(words).To(HaveLen(1), "the same text, whether or not the server exists")

	permit := func(allowed *v1alpha1.AllowedNamespaces) {
		before := server.DeepCopy()
		server.Spec.AllowedNamespaces = allowed
		w.Expect(admin.Patch(w.ctx, server, client.MergeFrom(before))).To(Succeed())
	}
	permit(&v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesAll})
	both := []string{"mcp_" + shared + "-wiki_t-0", "mcp_wiki_t-0"}
	w.awaitOffer("coder", both...)
	permit(&v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesSelector, Selector: &metav1.LabelSelector{
		MatchLabels: map[string]string{"team": "red"},
	}})
	w.awaitOffer("coder", "mcp_wiki_t-0")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.Expect(admin.Patch(w.ctx, namespace, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"team":"red"}}}`)))).To(Succeed())
	w.awaitOffer("coder", both...)
	w.Expect(admin.Delete(w.ctx, server)).To(Succeed())
	w.awaitOffer("coder", "mcp_wiki_t-0")
}

func replaceName(message, name string) string {
	out := ""
	for _, word := range strings.Fields(message) {
		if word == `"`+name+`"` {
			word = `"…"`
		}
		out += word + " "
	}
	return out
}

// A subagent has a part of what its parent has, also when the parent changes, and says what is wrong with the chain.
func TestSeedRule10_SubagentsFollowTheirParent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fleetOf(3)
	w.apply(builder.AgentSession("child").Parent("lead").Obj())
	w.awaitAgentCondition("child", v1alpha1.ConditionServersResolved, "False ParentNotFound")
	w.apply(builder.AgentSession("lead").Ref("s-0").Ref("s-1").Deny("*_t-1").Obj(),
		builder.AgentSession("picky").Parent("lead").Ref("s-1").Ref("s-2").Obj())
	w.awaitOffer("child", "mcp_s-0_t-0", "mcp_s-1_t-0")
	w.awaitOffer("picky", "mcp_s-1_t-0")
	w.awaitServers("picky", "s-1 Connected 1", "s-2 Filtered -")
	w.changeAgent("lead", func(s *v1alpha1.AgentSession) {
		s.Spec.Servers.Refs = append(s.Spec.Servers.Refs[:1], v1alpha1.ServerReference{Name: "s-2"})
		s.Spec.Tools = nil
	})
	w.awaitOffer("child", "mcp_s-0_t-0", "mcp_s-0_t-1", "mcp_s-2_t-0", "mcp_s-2_t-1")
	w.awaitOffer("picky", "mcp_s-2_t-0", "mcp_s-2_t-1")
	w.changeAgent("lead", func(s *v1alpha1.AgentSession) {
		s.Spec.ParentRef = &v1alpha1.AgentSessionReference{Name: "child"}
	})
	for _, name := range []string{"lead", "child", "picky"} {
		cycle := w.awaitAgent(name, "False DiscoveryFailed")
		w.Expect(sessionSays(cycle, v1alpha1.ConditionStalled)).To(Equal("True ParentCycle"))
	}
	w.awaitOffer("picky", "mcp_s-2_t-0", "mcp_s-2_t-1")
	w.changeAgent("lead", func(s *v1alpha1.AgentSession) { s.Spec.ParentRef = nil })
	w.awaitAgent("picky", "True AllServersAvailable")
}

// The session is not ready without a server that is required, and has all others' tools meanwhile.
func TestRequiredServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fakes := w.fleetOf(2)
	w.apply(builder.AgentSession("coder").Ref("s-0").RequiredRef("s-1").Obj())
	w.awaitAgent("coder", "True AllServersAvailable")
	w.Expect(fakes[1].Refuse()).To(Succeed())
	fakes[1].CutConnections(true)
	session := w.awaitAgent("coder", "False RequiredServerUnavailable")
	w.Expect(sessionSays(session, v1alpha1.ConditionReconciling)).To(Equal("True ProgressingWithRetry"))
	w.Expect(w.mustOffer("coder").ToolCount()).To(Equal(4))
	w.Expect(fakes[1].Restore()).To(Succeed())
	w.awaitAgent("coder", "True AllServersAvailable")
}

// What the declaration leaves out is told as such, and counts for nothing.
func TestSeedRule1_WhatIsLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t)
	w.apply(
		builder.MCPServer("mine").URL(fake.URL()).Mutate(func(s *v1alpha1.MCPServer) {
			s.Spec.Level = v1alpha1.LevelUser
		}).Obj(),
		builder.MCPServer("project").URL(fake.URL()).Obj(),
		builder.MCPServer("off").URL(fake.URL()).Disabled().Obj(),
		builder.MCPServer("exa").URL(fake.URL()).Bearer("exa", "key").Mutate(func(s *v1alpha1.MCPServer) {
			s.Spec.Level = v1alpha1.LevelUser
		}).Obj(),
		builder.Secret(w.namespace, "exa").Key("key", "canary-key").Obj(),
		builder.AgentSession("coder").WithoutProjectConfig().Native(v1alpha1.NativeExa).Obj())
	session := w.awaitAgent("coder", "True AllServersAvailable")
	w.awaitServers("coder", "exa Filtered -", "mine Connected 5", "off Filtered -", "project Filtered -")
	w.Expect(session.Status.Summary).To(Equal("1/1"))
	w.Expect(session.Status.NativeKeys).To(Equal([]v1alpha1.NativeKey{{
		Env: "EXA_API_KEY", SecretKeyRef: &v1alpha1.NativeKeySource{Name: "exa", Key: "key"},
	}}))
	w.Expect(describeAgent(session)).NotTo(ContainSubstring("canary-key"))
	w.Expect(w.configMap("coder-mcp-catalog").Data["catalog.json"]).NotTo(ContainSubstring("canary-key"))
}

// Both filters hold, and so does a pin: what an agent is offered passed all of them.
func TestFiltersAndPinsHoldForAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithTools(tools("t", 4)...))
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Deny("t-3").Pin(v1alpha1.PinTrustOnFirstUse).Obj(),
		builder.AgentSession("coder").Deny("*_t-0").Obj())
	w.awaitOffer("coder", "mcp_fs_t-1", "mcp_fs_t-2")
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Streams == 1 })
	fake.SetTools(append(tools("t", 1), mcpfake.RawTool(`{"name":"t-1","title":"new","inputSchema":{"type":"object"}}`),
		tools("t", 3)[2], mcpfake.RawTool(`{"name":"late","inputSchema":{"type":"object"}}`))...)
	fake.NotifyListChanged()
	drifted := w.await("fs", v1alpha1.ConditionToolsDrifted, "True ToolsChanged")
	w.awaitOffer("coder", "mcp_fs_t-2")
	w.Expect(says(drifted, v1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.change("fs", func(s *v1alpha1.MCPServer) { s.Spec.Tools.ApprovedDigest = drifted.Status.Catalog.Digest })
	w.awaitOffer("coder", "mcp_fs_late", "mcp_fs_t-1", "mcp_fs_t-2")
	w.Eventually(func() string { return says(w.get("fs"), v1alpha1.ConditionToolsDrifted) }).Should(BeEmpty())
	w.Expect(w.get("fs").Status.Catalog.PinnedDigest).To(Equal(drifted.Status.Catalog.Digest))
}

// A reload asks each server for one list over the session that it has; nothing is connected anew.
func TestSeedRule8_ReloadAsksOverTheSameSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake, other := mcpfake.New(t, mcpfake.WithTools(tools("a", 1)...)), mcpfake.New(t, mcpfake.WithTools(tools("b", 1)...))
	w.apply(builder.MCPServer("one").URL(fake.URL()).Obj(), builder.MCPServer("two").URL(other.URL()).Obj(),
		builder.MCPServer("not-mine").URL(mcpfake.New(t).URL()).Obj(),
		builder.AgentSession("coder").Ref("one").Ref("two").Obj())
	w.awaitAgent("coder", "True AllServersAvailable")
	lists, opened := fake.Count("tools/list"), fake.Stats().Opened
	fake.SetTools(tools("a", 2)...) // and it does not say so
	const asked = "2026-11-30T12:00:00Z"
	w.changeAgent("coder", func(s *v1alpha1.AgentSession) {
		s.Annotations = map[string]string{v1alpha1.AnnotationReload: asked}
	})
	w.Eventually(func() string { return w.agent("coder").Status.LastHandledReloadAt }).Should(Equal(asked))
	w.awaitOffer("coder", "mcp_one_a-0", "mcp_one_a-1", "mcp_two_b-0")
	w.Expect(fake.Count("tools/list") - lists).To(Equal(1))
	w.Expect(fake.Stats().Opened).To(Equal(opened))
	w.Expect(other.Count("tools/list")).To(Equal(2))
}
