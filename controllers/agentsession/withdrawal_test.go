package agentsession

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// foreign is a server of another namespace that may be used from all.
func foreign(name string) *builder.MCPServerBuilder {
	return builder.MCPServer(name).Namespace("shared").UID("uid-foreign").Generation(1).
		URL("https://shared.example/mcp").Created(time.Now().Add(-time.Hour)).
		Mutate(func(s *v1alpha1.MCPServer) {
			s.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesAll}
		})
}

// faults are what keeps it from being known which servers there are.
var faults = map[string]func(s *v1alpha1.AgentSession){
	"a mistake": func(s *v1alpha1.AgentSession) { s.Spec.Tools = &v1alpha1.ToolFilter{Deny: []string{"["}} },
	"a missing parent": func(s *v1alpha1.AgentSession) {
		s.Spec.ParentRef = &v1alpha1.AgentSessionReference{Name: "lead"}
	},
}

// While a fault keeps it from being known which servers there are, what was published stands, but for the tools of
// servers that are gone, disabled or no longer permitted.
func TestWithdrawalUnderAFault(t *testing.T) {
	for fault, breaks := range faults {
		for name, c := range map[string]struct {
			happens func(w *world)
			want    string
		}{
			"nothing": {func(*world) {}, "mcp_a_x mcp_b_y mcp_shared-fs_z c: ConnectFailed"},
			"deleted": {func(w *world) {
				w.Expect(w.api.Delete(w.t.Context(), declared("b").Obj())).To(Succeed())
			}, "mcp_a_x mcp_shared-fs_z c: ConnectFailed"},
			"declared anew": {func(w *world) {
				w.Expect(w.api.Delete(w.t.Context(), declared("b").Obj())).To(Succeed())
				w.Expect(w.api.Create(w.t.Context(), declared("b").UID("uid-b2").Obj())).To(Succeed())
			}, "mcp_a_x mcp_shared-fs_z c: ConnectFailed"},
			"disabled": {func(w *world) {
				w.change("b", func(s *v1alpha1.MCPServer) { s.Spec.Disabled = true })
			}, "mcp_a_x mcp_shared-fs_z c: ConnectFailed"},
			"a foreign one deleted": {func(w *world) {
				w.Expect(w.api.Delete(w.t.Context(), foreign("fs").Obj())).To(Succeed())
			}, "mcp_a_x mcp_b_y c: ConnectFailed"},
			"a foreign one no longer permitted": {func(w *world) {
				server := &v1alpha1.MCPServer{}
				w.Expect(w.api.Get(w.t.Context(), client.ObjectKeyFromObject(foreign("fs").Obj()), server)).To(Succeed())
				server.Spec.AllowedNamespaces = nil
				w.Expect(w.api.Update(w.t.Context(), server)).To(Succeed())
			}, "mcp_a_x mcp_b_y c: ConnectFailed"},
		} {
			inBubble(t, fault+"/"+name, func(t *testing.T) {
				w := newWorld(t, agent().SelectAll().ForeignRef("shared", "fs").Obj(), declared("a").Obj(),
					declared("b").Obj(), declared("c").Obj(), foreign("fs").Obj())
				w.up("a", "x")
				w.up("b", "y")
				w.down("c")
				w.up("foreign", "z")
				w.pass()
				before := w.entries()
				w.edit(breaks)
				w.pass()
				w.advance(time.Minute)
				w.Expect(w.reconciler.Wakes.named(client.ObjectKeyFromObject(foreign("fs").Obj()))).To(HaveKey(coder))
				stores := w.stores
				w.Expect(stores).To(Equal(1))
				c.happens(w)
				w.pass()
				w.Expect(w.offers()).To(Equal(c.want))
				w.Expect(w.ready()).To(Equal("False DiscoveryFailed"))
				w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("False DiscoveryFailed"))
				for name, entry := range w.entries() {
					w.Expect(entry).To(Equal(before[name]))
				}
				w.pass()
				writes := 1
				if name == "nothing" {
					writes = 0
				}
				w.Expect(w.stores).To(Equal(stores + writes))
			})
		}
	}
}

// What other declarations withdraw is withdrawn also while the object's own cannot be read, and comes back with it.
func TestRevocationUnderAnOwnFault(t *testing.T) {
	lead := func(w *world, change func(s *v1alpha1.AgentSession)) {
		found := &v1alpha1.AgentSession{}
		w.Expect(w.api.Get(w.t.Context(), client.ObjectKey{Namespace: testNamespace, Name: "lead"}, found)).To(Succeed())
		change(found)
		w.Expect(w.api.Update(w.t.Context(), found)).To(Succeed())
	}
	for name, c := range map[string]struct {
		happens func(w *world)
		want    string
	}{
		"its parent denies": {func(w *world) {
			lead(w, func(s *v1alpha1.AgentSession) { s.Spec.Tools = &v1alpha1.ToolFilter{Deny: []string{"*_y"}} })
		}, "mcp_a_x mcp_b_z"},
		"its parent has fewer servers": {func(w *world) {
			lead(w, func(s *v1alpha1.AgentSession) {
				s.Spec.Servers = &v1alpha1.ServerSelection{Refs: []v1alpha1.ServerReference{{Name: "b"}}}
			})
		}, "mcp_b_z"},
		"its parent is switched off": {func(w *world) {
			lead(w, func(s *v1alpha1.AgentSession) { s.Spec.MCP = v1alpha1.ToggleDisabled })
		}, ""},
		"its parent cannot be read either": {func(w *world) {
			lead(w, func(s *v1alpha1.AgentSession) { s.Spec.Tools = &v1alpha1.ToolFilter{Deny: []string{"["}} })
		}, "mcp_a_x mcp_a_y mcp_b_z"},
		"a server denies": {func(w *world) {
			w.change("a", func(s *v1alpha1.MCPServer) { s.Spec.Tools = &v1alpha1.Tools{Deny: []string{"y"}} })
		}, "mcp_a_x mcp_b_z"},
		"a server offers more": {func(w *world) { w.up("a", "x", "y", "z") }, "mcp_a_x mcp_a_y mcp_b_z"},
		"a server offers less": {func(w *world) { w.up("a", "x") }, "mcp_a_x mcp_a_y mcp_b_z"},
		"a server refuses": {func(w *world) {
			w.refuse("a", "x", "y")
			w.pass()
			w.Expect(w.offers()).To(Equal("mcp_a_x mcp_a_y mcp_b_z"))
			w.advance(gate.WithdrawAfter)
		}, "mcp_b_z a: AuthenticationFailed"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, agent().Parent("lead").Obj(), builder.AgentSession("lead").Namespace(testNamespace).Obj(),
				declared("a").Obj(), declared("b").Obj())
			w.up("a", "x", "y")
			w.up("b", "z")
			w.pass()
			w.edit(faults["a mistake"])
			w.pass()
			w.Expect(w.servers()).To(Equal("a Connected 2, b Connected 1"), "what they have is told under a fault, too")
			c.happens(w)
			w.pass()
			w.Expect(w.offers()).To(Equal(c.want))
			w.Expect(w.ready()).To(Equal("False DiscoveryFailed"))
			w.advance(time.Minute)
			writes := w.stores + w.statusWrites
			w.pass()
			w.advance(time.Hour)
			w.Expect(w.stores+w.statusWrites).To(Equal(writes), "status says the same each time")
		})
	}
}

// While nothing is stored of a server under its present configuration, agents keep what they have of it, but for what
// its declaration withholds.
func TestServerWithholdsWhileNothingIsStored(t *testing.T) {
	for name, c := range map[string]struct {
		tools *v1alpha1.Tools
		want  string
	}{
		"nothing":                  {nil, "mcp_a_x mcp_a_y"},
		"denied":                   {&v1alpha1.Tools{Deny: []string{"y"}}, "mcp_a_x"},
		"not allowed":              {&v1alpha1.Tools{Allow: []string{"y"}}, "mcp_a_y"},
		"not to be read":           {&v1alpha1.Tools{Deny: []string{"["}}, "mcp_a_x mcp_a_y"},
		"strict without approval":  {&v1alpha1.Tools{Pin: v1alpha1.PinStrict}, ""},
		"strict, and approved":     {&v1alpha1.Tools{Pin: v1alpha1.PinStrict, ApprovedDigest: "sha256:1"}, "mcp_a_x mcp_a_y"},
		"what is used first":       {&v1alpha1.Tools{Pin: v1alpha1.PinTrustOnFirstUse}, "mcp_a_x mcp_a_y"},
		"denied, by exposed names": {&v1alpha1.Tools{Deny: []string{"mcp_a_y"}}, "mcp_a_x mcp_a_y"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, agent().Obj(), declared("a").Obj())
			w.up("a", "x", "y")
			w.pass()
			w.change("a", func(s *v1alpha1.MCPServer) { s.Spec.Tools = c.tools })
			w.store.Set("uid-a", catalogstore.Entry{Generation: 2, ConfigHash: "other"})
			w.pass()
			w.Expect(w.offers()).To(Equal(c.want))
			w.pass()
			writes := 1
			if c.want != "mcp_a_x mcp_a_y" {
				writes = 2
			}
			w.Expect(w.stores).To(Equal(writes))
			w.upAs("a", 2, "x", "y")
			w.pass()
			w.advance(time.Minute)
			w.Expect(w.offers()).To(Equal("mcp_a_x mcp_a_y"), "what the store has was judged")
		})
	}
}

// Under a fault, a server that cannot be read is not taken for one that is gone.
func TestWithdrawalWaitsForAnAnswer(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().ForeignRef("shared", "fs").Obj(), foreign("fs").Obj())
		w.up("foreign", "z")
		w.pass()
		w.edit(faults["a mistake"])
		cached := w.reconciler.Client
		w.reconciler.Client = interceptor.NewClient(w.api, interceptor.Funcs{Get: func(
			ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption,
		) error {
			if _, isServer := object.(*v1alpha1.MCPServer); isServer {
				return errUnwell
			}
			return cached.Get(ctx, key, object, options...)
		}})
		_, err := w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: coder})
		w.Expect(err).To(MatchError("shared/fs: " + errUnwell.Error()))
		w.Expect(w.offers()).To(Equal("mcp_shared-fs_z"))
	})
}

// Tools that somebody's edit withholds are taken away at once, also when the bucket is empty; what a server no longer
// lists by itself waits for its turn.
func TestEditsTakeAwayAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(w *world)
		want    string
	}{
		"a filter of the session": {func(w *world) {
			w.edit(func(s *v1alpha1.AgentSession) { s.Spec.Tools = &v1alpha1.ToolFilter{Deny: []string{"*_y"}} })
		}, "mcp_a_x"},
		"a filter of its parent": {func(w *world) {
			lead := &v1alpha1.AgentSession{}
			w.Expect(w.api.Get(w.t.Context(), client.ObjectKey{Namespace: testNamespace, Name: "lead"}, lead)).To(Succeed())
			lead.Spec.Tools = &v1alpha1.ToolFilter{Deny: []string{"*_y"}}
			w.Expect(w.api.Update(w.t.Context(), lead)).To(Succeed())
		}, "mcp_a_x"},
		"a filter of the server": {func(w *world) {
			w.upAs("a", 2, "x")
		}, "mcp_a_x"},
		"a filter that leaves nothing": {func(w *world) {
			w.edit(func(s *v1alpha1.AgentSession) { s.Spec.Tools = &v1alpha1.ToolFilter{Deny: []string{"*"}} })
		}, ""},
		"a filter that lets more through": {func(w *world) { w.upAs("a", 2, "x", "y", "z") }, "mcp_a_x mcp_a_y"},
		"the server's own list":           {func(w *world) { w.up("a", "x") }, "mcp_a_x mcp_a_y"},
	} {
		inBubble(t, name, func(t *testing.T) {
			lead := builder.AgentSession("lead").Namespace(testNamespace).Obj()
			w := newWorld(t, agent().Parent("lead").Obj(), lead, declared("a").Obj())
			w.up("a", "x", "y")
			w.pass()
			for i := range configmap.WriteBurst {
				w.up("a", "x", fmt.Sprintf("y=%d", i))
				w.pass()
			}
			w.up("a", "x", "y")
			w.pass()
			w.Expect(w.stores).To(Equal(1+configmap.WriteBurst), "the bucket is empty")
			c.happens(w)
			w.pass()
			w.Expect(w.offers()).To(Equal(c.want))
		})
	}
}

// The tools of a server that is gone are taken away at once also where another one of its name has come in its place.
func TestServerInThePlaceOfAnother(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		for i := range configmap.WriteBurst {
			w.up("a", fmt.Sprint("x=", i))
			w.pass()
		}
		w.Expect(w.stores).To(Equal(1+configmap.WriteBurst), "the bucket is empty")
		w.Expect(w.api.Delete(t.Context(), declared("a").Obj())).To(Succeed())
		w.Expect(w.api.Create(t.Context(), declared("a").UID("uid-a2").Obj())).To(Succeed())
		w.store.Delete("uid-a")
		w.up("a2", "x")
		w.pass()
		w.Expect(w.document().Routes()).To(HaveKeyWithValue("mcp_a_x", HaveField("UID", "uid-a2")))
	})
}

// What an edit denies is taken away at once also where it is not known what the catalog was made of: after a restart,
// while a reload waits.
func TestEditBeforeARestartTakesAwayAtOnce(t *testing.T) {
	for name, edit := range map[string]func(w *world){
		"a filter of the session": func(w *world) {
			w.edit(func(s *v1alpha1.AgentSession) { s.Spec.Tools = &v1alpha1.ToolFilter{Deny: []string{"*_y"}} })
		},
		"a filter of the server": func(w *world) {
			w.change("a", func(s *v1alpha1.MCPServer) { s.Spec.Tools = &v1alpha1.Tools{Deny: []string{"y"}} })
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
			w.up("a", "x", "y")
			w.up("b", "z")
			w.pass()
			w.annotate("1")
			edit(w)
			w.restart()
			w.stands("b", session.Snapshot{State: session.Connecting}, catalogstore.Entry{})
			w.pass()
			w.Expect(w.offers()).To(Equal("mcp_a_x mcp_b_z"))
			w.Expect(w.get().Status.LastHandledReloadAt).To(BeEmpty(), "the gate holds")
		})
	}
}

// A server's declaration that is rejected keeps what was offered by an earlier one, but for what can be read in it.
func TestRejectedDeclarationWithholds(t *testing.T) {
	for name, c := range map[string]struct {
		tools v1alpha1.Tools
		want  string
	}{
		"nothing that can be read": {v1alpha1.Tools{Deny: []string{"y", "["}}, "mcp_a_x mcp_a_y"},
		"a filter":                 {v1alpha1.Tools{Deny: []string{"y"}}, "mcp_a_x"},
		"the need of an approval":  {v1alpha1.Tools{Deny: []string{"["}, Pin: v1alpha1.PinStrict}, ""},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, agent().Obj(), declared("a").Obj())
			w.up("a", "x", "y")
			w.pass()
			w.change("a", func(s *v1alpha1.MCPServer) { s.Spec.Tools = &c.tools })
			rejected := catalogstore.Entry{
				Generation: 2, ConfigHash: "h", Acceptance: catalogstore.NotAccepted, Offered: offering("x", "y"),
				Trouble: catalogstore.Trouble{Reason: "InvalidConfiguration"},
			}
			w.sessions.Forget("uid-a")
			w.store.Set("uid-a", rejected)
			w.pass()
			w.Expect(w.offers()).To(Equal(c.want))
			w.advance(time.Minute)
			stores := w.stores
			w.restart()
			w.pass()
			rejected.Offered = nil
			w.store.Set("uid-a", rejected)
			w.pass()
			w.advance(time.Minute)
			w.Expect(w.offers()).To(Equal(c.want))
			w.Expect(w.stores).To(Equal(stores), "a restart writes nothing")
		})
	}
}

// An edit lifts the limit once: a list that comes and goes afterwards does not use it.
func TestFlappingListAfterAnEdit(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x", "y")
		w.pass()
		w.edit(func(s *v1alpha1.AgentSession) { s.Spec.Tools = &v1alpha1.ToolFilter{Deny: []string{"*_y"}} })
		w.pass()
		w.Expect(w.stores).To(Equal(2))
		for range 20 {
			w.up("a", "x", "y", "z")
			w.pass()
			w.up("a", "x", "y")
			w.pass()
		}
		w.Expect(w.stores).To(Equal(2 + configmap.WriteBurst))
	})
}

// upAs is a server that offers these tools by a later declaration.
func (w *world) upAs(name string, generation int64, tools ...string) {
	w.t.Helper()
	w.stands(name, session.Snapshot{
		State: session.Connected, Settled: true, Listing: sessiontest.Tools(tools...), ListingID: fmt.Sprint(tools),
	}, catalogstore.Entry{Generation: generation, Offered: offering(tools...)})
}

// A server that is enabled late gets the time to connect that a new one has.
func TestServerThatIsEnabledLate(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Disabled().Obj())
		w.up("a", "x")
		w.pass()
		w.advance(time.Hour)
		w.change("b", func(s *v1alpha1.MCPServer) { s.Spec.Disabled = false })
		w.late("b")
		w.pass()
		w.advance(gate.HoldLimit - time.Second)
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.up("b", "y")
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_b_y"))
		w.Expect(w.stores).To(Equal(2), "no error was written in between")
	})
}

// A reload that cannot find out which servers there are is over when its gate is, and Ready says why.
func TestReloadUnderAFault(t *testing.T) {
	for fault, breaks := range faults {
		inBubble(t, fault, func(t *testing.T) {
			w := newWorld(t, agent().Obj(), declared("a").Obj())
			w.up("a", "x")
			w.pass()
			w.advance(time.Minute)
			w.edit(breaks)
			w.pass()
			w.annotate("1")
			w.pass()
			w.advance(quarter)
			w.Expect(w.get().Status.LastHandledReloadAt).To(Equal("1"))
			w.Expect(w.ready()).To(Equal("False DiscoveryFailed"))
			w.Expect(w.offers()).To(Equal("mcp_a_x"))
			w.edit(func(s *v1alpha1.AgentSession) { s.Spec.Tools, s.Spec.ParentRef = nil, nil })
			w.pass()
			w.advance(time.Minute)
			w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
			w.Expect(w.stores).To(Equal(1))
		})
	}
}
