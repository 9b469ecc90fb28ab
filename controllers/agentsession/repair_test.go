package agentsession

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
)

// losses are what somebody may do to a ConfigMap.
var losses = map[string]func(w *world){
	"its labels": func(w *world) {
		object := w.configMap()
		object.Labels = nil
		w.Expect(w.api.Update(w.t.Context(), object)).To(Succeed())
	},
	"itself": func(w *world) { w.Expect(w.api.Delete(w.t.Context(), w.configMap())).To(Succeed()) },
}

// What was published outlives the ConfigMap: it stands there again, also where only the ConfigMap held it.
func TestWhatIsLostIsPutBack(t *testing.T) {
	unknown := func(w *world) { // a server of which nothing is stored, for one
		w.stands("a", session.Snapshot{State: session.Connecting}, catalogstore.Entry{})
	}
	for loss, loses := range losses {
		for name, during := range map[string]func(w *world){
			"a missing parent": func(w *world) { w.edit(faults["a missing parent"]) },
			"a mistake":        func(w *world) { w.edit(faults["a mistake"]) },
			"an outage":        unknown,
			"a reload": func(w *world) {
				unknown(w)
				w.annotate("1")
			},
		} {
			inBubble(t, loss+" during "+name, func(t *testing.T) {
				w := newWorld(t, agent().Obj(), declared("a").Obj())
				w.up("a", "x", "y")
				w.pass()
				w.advance(time.Minute)
				during(w)
				w.pass()
				loses(w)
				w.pass()
				w.Expect(w.offers()).To(Equal("mcp_a_x mcp_a_y"))
				w.Expect(w.configMap().Labels).To(HaveKeyWithValue(v1alpha1.LabelManagedBy, "mooring"))
				w.Expect(w.stores).To(Equal(2))
				w.Expect(w.servers()).NotTo(ContainSubstring("-"))
			})
		}
	}
	inBubble(t, "its labels while no manager ran", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		losses["its labels"](w)
		w.edit(faults["a missing parent"])
		w.restart()
		w.pass()
		w.advance(time.Minute)
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.Expect(w.configMap().Labels).To(HaveKeyWithValue(v1alpha1.LabelManagedBy, "mooring"))
	})
}

// Tools that were to be withdrawn and are still offered are told of: nothing is called Ready meanwhile.
func TestWithdrawalThatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(w *world)
		after   string
	}{
		"switched off": {func(w *world) {
			w.edit(func(s *v1alpha1.AgentSession) { s.Spec.MCP = v1alpha1.ToggleDisabled })
		}, "True Disabled"},
		"the only server is disabled": {func(w *world) {
			w.change("a", func(s *v1alpha1.MCPServer) { s.Spec.Disabled = true })
		}, "True NoServersSelected"},
		"the only server is deleted": {func(w *world) {
			w.Expect(w.api.Delete(w.t.Context(), declared("a").Obj())).To(Succeed())
		}, "True NoServersSelected"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, agent().Obj(), declared("a").Obj())
			w.up("a", "x")
			w.pass()
			c.happens(w)
			w.storeErrors = []error{forbidden()}
			w.pass()
			w.Expect(w.offers()).To(Equal("mcp_a_x"))
			w.Expect(w.ready()).To(Equal("False PublishFailed"))
			w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("False PublishFailed"))
			w.advance(configmap.RetryInterval)
			w.Expect(w.offers()).To(BeEmpty())
			w.Expect(w.ready()).To(Equal(c.after))
		})
		inBubble(t, name+", the API server being unwell", func(t *testing.T) {
			w := newWorld(t, agent().Obj(), declared("a").Obj())
			w.up("a", "x")
			w.pass()
			c.happens(w)
			w.storeErrors = []error{errUnwell}
			_, err := w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: coder})
			w.Expect(err).To(MatchError(errUnwell))
			w.Expect(w.ready()).To(Equal("False PublishFailed"))
			w.pass()
			w.Expect(w.ready()).To(Equal(c.after))
		})
	}
}

// A refusal is of one content in the place of one ConfigMap: what is other is tried at once.
func TestRefusalIsOfOneContent(t *testing.T) {
	grown := func(t *testing.T) *world {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.up("b", "y")
		w.pass()
		w.up("a", "x", "more")
		w.storeErrors = []error{forbidden()}
		w.pass()
		w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("False PublishFailed"))
		return w
	}
	inBubble(t, "a withdrawal", func(t *testing.T) {
		w := grown(t)
		w.change("b", func(s *v1alpha1.MCPServer) { s.Spec.Disabled = true })
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_more mcp_a_x"))
	})
	inBubble(t, "the ConfigMap in the way is deleted", func(t *testing.T) {
		w := grown(t)
		losses["itself"](w)
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_more mcp_a_x mcp_b_y"))
	})
	inBubble(t, "somebody asks for a reload", func(t *testing.T) {
		w := grown(t)
		w.annotate("1")
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_more mcp_a_x mcp_b_y"))
		w.Expect(w.get().Status.LastHandledReloadAt).To(Equal("1"))
	})
	inBubble(t, "an immutable one says what to do", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		object := w.configMap()
		yes := true
		object.Immutable = &yes
		w.Expect(w.api.Update(t.Context(), object)).To(Succeed())
		w.up("a", "x", "more")
		w.storeErrors = []error{apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, object.Name, nil)}
		w.pass()
		w.Expect(meta.FindStatusCondition(w.get().Status.Conditions, v1alpha1.ConditionCatalogPublished).Message).To(Equal(
			`ConfigMap "coder-mcp-catalog" was made immutable, so that it cannot be written; delete it, and it is written ` +
				`anew; the last catalog stays published`))
		losses["itself"](w)
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_more mcp_a_x"))
		w.Expect(w.configMap().Immutable).To(BeNil())
	})
}

// A reload is acknowledged with its outcome, which does not wait for its turn to be written.
func TestReloadIsAcknowledgedWithItsOutcome(t *testing.T) {
	inBubble(t, "written too often", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		for _, tool := range []string{"1", "2", "3"} {
			w.up("a", "x", tool)
			w.pass()
		}
		w.Expect(w.offers()).To(Equal("mcp_a_2 mcp_a_x"), "the third waits")
		w.annotate("1")
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_3 mcp_a_x"))
		w.Expect(w.get().Status.LastHandledReloadAt).To(Equal("1"))
	})
	inBubble(t, "the API server is unwell", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		w.annotate("1")
		w.up("a", "y")
		w.storeErrors = []error{errUnwell}
		_, err := w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: coder})
		w.Expect(err).To(MatchError(errUnwell))
		w.Expect(w.get().Status.LastHandledReloadAt).To(BeEmpty())
		w.pass()
		w.Expect(w.get().Status.LastHandledReloadAt).To(Equal("1"))
		w.Expect(w.offers()).To(Equal("mcp_a_y"))
	})
	inBubble(t, "an annotation that is taken away asks for nothing", func(t *testing.T) {
		w := newWorld(t, agent().Reload("1").Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		w.annotate("")
		w.pass()
		w.Expect(w.sessions.Refreshed()).To(BeEmpty())
		w.restart()
		w.up("a", "x")
		w.pass()
		w.Expect(w.sessions.Refreshed()).To(BeEmpty())
	})
}

// An object that could not choose its servers when the process came up has its gate once it can.
func TestGateAfterARestartUnderAFault(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Parent("lead").Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		w.advance(10 * time.Second)
		w.Expect(w.offers()).To(Equal(": DiscoveryFailed"))
		w.restart()
		w.late("a", "x")
		w.pass()
		lead := builder.AgentSession("lead").Namespace(testNamespace).Obj()
		w.Expect(w.api.Create(t.Context(), lead)).To(Succeed())
		w.stands("a", session.Snapshot{State: session.Connecting}, catalogstore.Entry{})
		w.pass()
		w.advance(time.Second)
		w.Expect(w.offers()).To(Equal(": DiscoveryFailed"), "nothing empty is published while it is only late")
		w.up("a", "x")
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
	})
}
