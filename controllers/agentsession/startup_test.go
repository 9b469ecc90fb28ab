package agentsession

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
)

const quarter = 250 * time.Millisecond

// Seed rule: a race between all servers and 250 ms; what has come is live, what failed is an error, what is late is
// deferred if it is cached, and waited for if it is not.
func TestSeedRule3_GateOpens(t *testing.T) {
	inBubble(t, "at once when all have settled", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x", "y")
		w.down("b")
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_a_y b: ConnectFailed"))
		w.Expect(w.ready()).To(Equal("True PartiallyAvailable"))
		w.Expect(w.servers()).To(Equal("a Connected 2, b Disconnected 0"))
		session := w.get()
		w.Expect(session.Status.Summary).To(Equal("1/2"))
		w.Expect(session.Status.Startup.Outcome).To(Equal(v1alpha1.StartupSettled))
		w.Expect(session.Status.Servers[1].Class).To(Equal("transport"))
		w.Expect(session.Status.Servers[1].Message).To(Equal("b is down"))
		w.Expect(w.statusWrites).To(Equal(1))
	})
	inBubble(t, "after a quarter second, with deferred tools", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.late("b", "y")
		w.pass()
		w.advance(quarter - time.Millisecond)
		w.Expect(w.offers()).To(Equal("nothing"))
		w.Expect(w.statusWrites).To(BeZero())
		w.advance(time.Millisecond)
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_b_y"))
		w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
		w.Expect(w.servers()).To(Equal("a Connected 1, b Deferred 1"))
		w.Expect(w.get().Status.Startup.Outcome).To(Equal(v1alpha1.StartupDeferred))
	})
	inBubble(t, "later when a server without stored tools settles", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.late("b")
		w.pass()
		w.advance(quarter)
		w.Expect(w.offers()).To(Equal("nothing"))
		w.advance(time.Second)
		w.Expect(w.ready()).To(Equal("False AwaitingServers"))
		w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("Unknown AwaitingServers"))
		w.Expect(w.servers()).To(Equal("a Connected -, b Connecting -"))
		w.up("b", "y")
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_b_y"))
		w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
		w.Expect(w.get().Status.Startup.Outcome).To(Equal(v1alpha1.StartupWaited))
	})
	inBubble(t, "after thirty seconds when one never settles", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.late("b")
		w.pass()
		w.advance(gate.HoldLimit - time.Millisecond)
		w.Expect(w.offers()).To(Equal("nothing"))
		w.advance(time.Millisecond)
		w.Expect(w.offers()).To(Equal("mcp_a_x b: Connecting"))
		w.Expect(w.servers()).To(Equal("a Connected 1, b Connecting 0"))
	})
	inBubble(t, "with its own timeout", func(t *testing.T) {
		w := newWorld(t, agent().StartupTimeout(2*time.Second).Obj(), declared("a").Obj())
		w.late("a", "x")
		w.pass()
		w.advance(2*time.Second - time.Millisecond)
		w.Expect(w.offers()).To(Equal("nothing"))
		w.Expect(w.ready()).To(Equal("False AwaitingServers"), "two seconds are worth telling of")
		w.advance(time.Millisecond)
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
	})
}

// A list that came and was not judged yet is worth the moment that it takes.
func TestGateWaitsForAListToBeJudged(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		item := *w.store.Get("uid-a").Entry
		item.Listing, item.Offered = "an older one", offering("old")
		w.store.Set("uid-a", item)
		w.pass()
		w.Expect(w.offers()).To(Equal("nothing"))
		w.up("a", "x")
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
	})
}

// Manifests are applied in any order: the agent session first, its servers seconds after it, a Secret after them.
func TestGitOpsOrder(t *testing.T) {
	inBubble(t, "servers after the agent session", func(t *testing.T) {
		w := newWorld(t, agent().Obj())
		w.pass()
		w.advance(3 * time.Second)
		w.Expect(w.offers()).To(Equal("nothing"), "an empty selection is not published yet")
		w.Expect(w.ready()).To(Equal("False AwaitingServers"))
		w.Expect(w.api.Create(t.Context(), declared("a").Created(time.Now()).Obj())).To(Succeed())
		w.up("a", "x")
		w.pass()
		w.advance(quarter / 2)
		w.Expect(w.offers()).To(Equal("nothing"), "another one may be applied after the first")
		w.Expect(w.api.Create(t.Context(), declared("b").Created(time.Now()).Obj())).To(Succeed())
		w.stands("b", session.Snapshot{State: session.Connecting}, catalogstore.Entry{
			Acceptance: catalogstore.AwaitsReference,
			Trouble:    catalogstore.Trouble{Reason: "SecretNotFound", Message: "Secret b is missing"},
		})
		w.pass()
		w.advance(3 * time.Second)
		w.Expect(w.offers()).To(Equal("nothing"), "the Secret may still come")
		w.up("b", "y")
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_b_y"))
		w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
		w.Expect(w.stores).To(Equal(1))
	})
	inBubble(t, "nothing comes", func(t *testing.T) {
		w := newWorld(t, agent().Obj())
		w.pass()
		w.advance(gate.JoinWindow - time.Millisecond)
		w.Expect(w.offers()).To(Equal("nothing"))
		w.advance(time.Millisecond)
		w.Expect(w.offers()).To(Equal(""))
		w.Expect(w.ready()).To(Equal("True NoServersSelected"))
		w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("True NoTools"))
	})
	inBubble(t, "a Secret that never comes", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Created(time.Now()).Obj())
		w.store.Set("uid-a", catalogstore.Entry{
			Generation: 1, Acceptance: catalogstore.AwaitsReference,
			Trouble: catalogstore.Trouble{Reason: "SecretNotFound"},
		})
		w.pass()
		w.advance(gate.ReferenceGrace)
		w.Expect(w.offers()).To(Equal("a: SecretNotFound"))
		w.Expect(w.ready()).To(Equal("False NoServersAvailable"))
	})
	inBubble(t, "a reference to nothing holds the gate and is told", func(t *testing.T) {
		w := newWorld(t, agent().Ref("gone").ForeignRef("elsewhere", "gone").Obj())
		w.pass()
		w.advance(time.Second)
		w.Expect(says(w.get(), v1alpha1.ConditionServersResolved)).To(Equal("False RefNotPermitted"))
		w.advance(gate.HoldLimit)
		w.Expect(w.offers()).To(Equal("gone: RefNotFound gone: RefNotPermitted"))
		w.Expect(w.servers()).To(Equal("gone NotFound -, gone NotPermitted -"))
		w.Expect(w.get().Status.Summary).To(Equal("0/2"))
		w.Expect(w.ready()).To(Equal("False NoServersAvailable"))
	})
}

// The gate runs once: a server that comes later is offered when it answers, and costs nobody a wait.
func TestLateServers(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		w.advance(time.Minute)
		w.Expect(w.api.Create(t.Context(), declared("b").Created(time.Now()).Obj())).To(Succeed())
		w.late("b")
		w.pass()
		w.advance(gate.HoldLimit - time.Second)
		w.Expect(w.offers()).To(Equal("mcp_a_x"), "it is only late")
		w.Expect(w.servers()).To(Equal("a Connected 1, b Connecting 0"))
		w.advance(time.Second)
		w.Expect(w.offers()).To(Equal("mcp_a_x b: Connecting"))
		w.down("b")
		w.pass()
		w.advance(time.Minute)
		w.Expect(w.offers()).To(Equal("mcp_a_x b: Connecting"), "what was said stands until it is offered or gone")
		w.up("b", "y")
		w.pass()
		w.advance(time.Minute)
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_b_y"))
		w.Expect(w.get().Status.Startup.Outcome).To(Equal(v1alpha1.StartupSettled), "that of the first catalog")
	})
}

// Seed rule: a reload asks the servers again and rebinds without a restart.
func TestSeedRule8_Reload(t *testing.T) {
	inBubble(t, "each server is asked once, and the gate runs again", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.up("b", "y")
		w.pass()
		w.Expect(w.get().Status.LastHandledReloadAt).To(BeEmpty())
		w.advance(time.Minute)
		w.annotate("1")
		refreshing, _ := w.sessions.Snapshot(key("a"))
		refreshing.RefreshPending = true
		w.sessions.Set(key("a"), refreshing)
		w.pass()
		w.Expect(w.sessions.Refreshed()).To(Equal([]session.Key{"uid-a", "uid-b"}))
		w.Expect(w.get().Status.LastHandledReloadAt).To(BeEmpty(), "a has not answered yet")
		w.up("b", "z")
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_b_y"), "what is new is published together")
		w.up("a", "w")
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_w mcp_b_z"))
		w.Expect(w.get().Status.LastHandledReloadAt).To(Equal("1"))
		w.Expect(w.sessions.Refreshed()).To(HaveLen(2))
		w.Expect(w.stores).To(Equal(2))
	})
	inBubble(t, "one that does not answer is deferred after a quarter second", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		refreshing, _ := w.sessions.Snapshot(key("a"))
		refreshing.RefreshPending = true
		w.sessions.Set(key("a"), refreshing)
		w.annotate("1")
		w.pass()
		w.advance(quarter)
		w.Expect(w.get().Status.LastHandledReloadAt).To(Equal("1"))
		w.Expect(w.get().Status.Startup.Outcome).To(Equal(v1alpha1.StartupDeferred))
		w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
		w.Expect(w.stores).To(Equal(1), "nothing changed")
	})
	inBubble(t, "of a session that was created with the annotation there is nothing to reload", func(t *testing.T) {
		w := newWorld(t, agent().Reload("0").Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		w.Expect(w.sessions.Refreshed()).To(BeEmpty())
		w.Expect(w.get().Status.LastHandledReloadAt).To(Equal("0"))
		w.restart()
		w.up("a", "x")
		w.pass()
		w.Expect(w.sessions.Refreshed()).To(BeEmpty())
	})
	inBubble(t, "asked for while no manager ran, it is done by the next", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		w.restart()
		w.annotate("1")
		w.late("a", "x")
		w.pass()
		w.Expect(w.get().Status.LastHandledReloadAt).To(BeEmpty())
		w.advance(quarter)
		w.Expect(w.get().Status.LastHandledReloadAt).To(Equal("1"))
		w.Expect(w.stores).To(Equal(1))
	})
	inBubble(t, "in the middle of the first gate it asks for fresh lists and the gate goes on", func(t *testing.T) {
		w := newWorld(t, agent().Obj())
		w.pass()
		w.advance(time.Second)
		w.annotate("1")
		w.pass()
		w.Expect(w.offers()).To(Equal("nothing"))
		w.advance(4 * time.Second)
		w.Expect(w.offers()).To(Equal(""))
		w.Expect(w.get().Status.LastHandledReloadAt).To(Equal("1"))
	})
	inBubble(t, "tools of a server that goes meanwhile are taken away at once", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.up("b", "y")
		w.pass()
		refreshing, _ := w.sessions.Snapshot(key("a"))
		refreshing.RefreshPending = true
		w.sessions.Set(key("a"), refreshing)
		w.store.Set("uid-a", catalogstore.Entry{Generation: 1, ConfigHash: "h"}) // no stored tools: it holds the gate
		w.annotate("1")
		w.pass()
		w.advance(time.Second)
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_b_y"))
		w.Expect(w.api.Delete(t.Context(), declared("b").Obj())).To(Succeed())
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.Expect(w.get().Status.LastHandledReloadAt).To(BeEmpty())
	})
}

// With mcp: Disabled nothing is looked for, and an empty catalog is there at once.
func TestSeedRule1_Disabled(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().MCPDisabled().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		w.Expect(w.offers()).To(Equal(""))
		w.Expect(w.ready()).To(Equal("True Disabled"))
		w.Expect(says(w.get(), v1alpha1.ConditionServersResolved)).To(Equal("Unknown Disabled"))
		w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("True NoTools"))
		w.Expect(w.servers()).To(BeEmpty())
		w.edit(func(s *v1alpha1.AgentSession) { s.Spec.MCP = v1alpha1.ToggleEnabled })
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.edit(func(s *v1alpha1.AgentSession) { s.Spec.MCP = v1alpha1.ToggleDisabled })
		w.pass()
		w.Expect(w.offers()).To(Equal(""), "what is taken away is taken away at once")
	})
}

// Seed rule: when it cannot be found out which servers there are, an empty catalog with one error is published.
func TestSeedRule2_DiscoveryFailed(t *testing.T) {
	inBubble(t, "a parent that may still come", func(t *testing.T) {
		w := newWorld(t, agent().Parent("lead").Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		w.advance(2 * time.Second)
		w.Expect(w.offers()).To(Equal("nothing"))
		w.Expect(w.ready()).To(Equal("False DiscoveryFailed"))
		w.Expect(says(w.get(), v1alpha1.ConditionReconciling)).To(Equal("True Progressing"))
		w.advance(3 * time.Second)
		w.Expect(w.offers()).To(Equal(": DiscoveryFailed"))
		w.Expect(w.document().Errors).To(HaveLen(1))
		w.Expect(says(w.get(), v1alpha1.ConditionServersResolved)).To(Equal("False ParentNotFound"))
		w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("False DiscoveryFailed"))
		lead := builder.AgentSession("lead").Namespace(testNamespace).Obj()
		w.Expect(w.api.Create(t.Context(), lead)).To(Succeed())
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.Expect(w.ready()).To(Equal("True AllServersAvailable"))

		w.Expect(w.api.Delete(t.Context(), lead)).To(Succeed())
		w.pass()
		w.advance(time.Minute)
		w.Expect(w.offers()).To(Equal("mcp_a_x"), "the last catalog stands")
		w.Expect(w.ready()).To(Equal("False DiscoveryFailed"))
		w.Expect(w.stores).To(Equal(2))
	})
	inBubble(t, "a declaration that must be corrected", func(t *testing.T) {
		w := newWorld(t, agent().Deny("[").Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		w.advance(silence)
		w.Expect(w.offers()).To(Equal(": DiscoveryFailed"))
		w.Expect(w.ready()).To(Equal("False DiscoveryFailed"))
		w.Expect(says(w.get(), v1alpha1.ConditionStalled)).To(Equal("True InvalidSelector"))
		w.edit(func(s *v1alpha1.AgentSession) { s.Spec.Tools = nil })
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.Expect(w.get().Status.Startup.Outcome).To(Equal(v1alpha1.StartupSettled))
	})
}
