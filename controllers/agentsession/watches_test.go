package agentsession

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/pace"
)

func named(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func of(found []reconcile.Request) []string {
	var out []string
	for _, request := range found {
		out = append(out, request.String())
	}
	slices.Sort(out)
	return out
}

// Whoever follows a session is woken by it, and by nothing that it does not follow any more.
func TestWakesFollowers(t *testing.T) {
	g := NewWithT(t)
	w := &Wakes{}
	queue := priorityqueue.New[reconcile.Request]("followers")
	t.Cleanup(queue.ShutDown)
	g.Expect(w.Feed.Start(t.Context(), queue)).To(Succeed())
	woken := func(wanted ...string) {
		t.Helper()
		var out []reconcile.Request
		g.Eventually(func() []string {
			for queue.Len() > 0 {
				request, _ := queue.Get()
				queue.Done(request)
				out = append(out, request)
			}
			return of(out)
		}).WithTimeout(pace.Patience).Should(Equal(wanted))
	}
	w.Notify("x")
	g.Expect(queue.Len()).To(BeZero())
	w.follow(named("n", "a"), following{keys: []session.Key{"x", "y"}, names: []types.NamespacedName{named("n", "s")}})
	w.follow(named("n", "b"), following{keys: []session.Key{"x"}})
	w.Notify("x")
	woken("n/a", "n/b")
	w.Notify("y")
	woken("n/a")
	g.Expect(w.named(named("n", "s")).UnsortedList()).To(Equal([]types.NamespacedName{named("n", "a")}))
	w.follow(named("n", "a"), following{keys: []session.Key{"y"}})
	w.Notify("x")
	woken("n/b")
	g.Expect(w.named(named("n", "s"))).To(BeEmpty())
	w.unfollow(named("n", "b"))
	w.unfollow(named("n", "a"))
	g.Expect(w.guarded.byKey).To(BeEmpty())
	g.Expect(w.guarded.byName).To(BeEmpty())
	g.Expect(w.guarded.of).To(BeEmpty())
}

// A change of a declaration wakes those whom it may concern.
func TestWhomADeclarationConcerns(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		elsewhere := builder.AgentSession("far").Namespace("other").Ref("x").Obj()
		w := newWorld(t, agent().ForeignRef("shared", "s").Obj(), elsewhere,
			builder.AgentSession("child").Namespace(testNamespace).Parent("coder").Obj(),
			builder.AgentSession("plain").Namespace(testNamespace).Obj())
		w.pass()
		r := w.reconciler
		server := declared("a").Obj()
		w.Expect(of(r.choosers(t.Context(), server))).To(Equal([]string{"agents/child", "agents/coder", "agents/plain"}))
		shared := declared("s").Namespace("shared").Obj()
		w.Expect(of(r.choosers(t.Context(), shared))).To(Equal([]string{"agents/coder"}))
		w.Expect(of(r.children(t.Context(), w.get()))).To(Equal([]string{"agents/child"}))
		w.Expect(of(r.inhabitants(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testNamespace}}))).
			To(Equal([]string{"agents/child", "agents/coder"}))
		r.Watches = func(namespace string) bool { return namespace == "other" }
		w.Expect(of(r.choosers(t.Context(), server))).To(BeEmpty(), "what cannot be seen is not looked for")
		w.Expect(of(r.choosers(t.Context(), declared("x").Namespace("other").Obj()))).To(Equal([]string{"other/far"}))
	})
}

// A namespace that this manager does not watch permits nothing, to the letter as one that does not permit.
func TestB51_NamespaceThatIsNotWatched(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		shared := declared("s").Namespace("shared").Mutate(func(s *v1alpha1.MCPServer) {
			s.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesAll}
		}).Obj()
		w := newWorld(t, agent().ForeignRef("shared", "s").Obj(), shared)
		w.reconciler.Watches = func(namespace string) bool { return namespace == testNamespace }
		w.pass()
		w.advance(silence)
		w.Expect(w.servers()).To(Equal("s NotPermitted -"))
		w.reconciler.Watches = nil
		w.pass()
		w.Expect(w.reconciler.Wakes.named(named("shared", "s")).Has(coder)).To(BeTrue())
		w.stands("s", session.Snapshot{State: session.Connected, Settled: true}, catalogstore.Entry{Offered: offering("x")})
		w.pass()
		w.advance(quarter)
		w.Expect(w.offers()).To(Equal("mcp_shared-s_x"))
	})
}

// What was made of a server's tools is made once for all agents, and forgotten with the server.
func TestEntriesAreSharedAndForgotten(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		made := w.reconciler.exposed.guarded["uid-a"][false].entry
		w.change("a", func(s *v1alpha1.MCPServer) { s.Spec.Notes = "for all" })
		w.pass()
		again := w.reconciler.exposed.guarded["uid-a"][false].entry
		w.Expect(again).NotTo(BeIdenticalTo(made))
		w.Expect(w.document().Servers[0].Notes).To(Equal("for all"))
		w.pass()
		w.Expect(w.reconciler.exposed.guarded["uid-a"][false].entry).To(BeIdenticalTo(again))
		w.store.Delete("uid-a")
		w.reconciler.ServerChanged("uid-a")
		w.Expect(w.reconciler.exposed.guarded).To(BeEmpty())
		w.Expect(client.IgnoreNotFound(w.api.Delete(t.Context(), w.get()))).To(Succeed())
		w.pass()
		w.Expect(w.reconciler.memories.guarded).To(BeEmpty())
	})
}
