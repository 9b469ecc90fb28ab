package agentsession

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
)

// entries are the bytes of each tool on offer, by exposed name.
func (w *world) entries() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, slice := range w.document().Servers {
		for _, tool := range slice.Tools {
			out[tool.Name] = string(tool.Entry)
		}
	}
	return out
}

// Seed rule: what comes late replaces its own server's slice, and no other's.
func TestSeedRule6_OneSliceIsReplaced(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x", "y")
		w.late("b", "z")
		w.pass()
		w.advance(quarter)
		before := w.entries()
		w.up("b", "z")
		w.pass()
		w.advance(time.Minute)
		w.Expect(w.stores).To(Equal(1), "deferred became live unchanged")
		w.Expect(w.servers()).To(Equal("a Connected 2, b Connected 1"))
		w.up("b", "z=changed")
		w.pass()
		w.Expect(w.stores).To(Equal(2))
		after := w.entries()
		w.Expect(after["mcp_b_z"]).NotTo(Equal(before["mcp_b_z"]))
		for _, name := range []string{"mcp_a_x", "mcp_a_y"} {
			w.Expect(after[name]).To(Equal(before[name]))
		}
	})
}

// Seed rule: tools are named mcp_<server>_<tool>, and one that is deferred is the same tool as when it is live.
func TestSeedRule7_DeferredToolsAreTheSameTools(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("git-hub").Obj())
		w.late("git-hub", "search_code", "search code")
		w.pass()
		w.advance(quarter)
		w.Expect(w.servers()).To(Equal("git-hub Deferred 2"))
		deferred := w.entries()
		w.Expect(deferred).To(HaveKey("mcp_git-hub_search_code"))
		w.Expect(deferred).To(HaveKey(catalog.ExposedName("git-hub", "search code")))
		w.up("git-hub", "search_code", "search code")
		w.pass()
		w.advance(time.Minute)
		w.Expect(w.servers()).To(Equal("git-hub Connected 2"))
		w.Expect(w.entries()).To(Equal(deferred))
		for name, route := range w.document().Routes() {
			w.Expect(catalog.ExposedName("git-hub", route.RawName)).To(Equal(name))
			w.Expect(route.UID).To(Equal("uid-git-hub"))
		}
	})
}

// Writes of one ConfigMap are drawn from a bucket; what takes tools away is never delayed.
func TestWritesAreDrawnFromABucket(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.up("b", "y")
		w.pass()
		for i := range 5 {
			w.up("a", fmt.Sprintf("x=%d", i))
			w.pass()
		}
		w.Expect(w.stores).To(Equal(3), "the first one, and two")
		w.advance(10*time.Second - time.Millisecond)
		w.Expect(w.stores).To(Equal(3))
		w.advance(time.Millisecond)
		w.Expect(w.stores).To(Equal(4))
		w.Expect(w.entries()["mcp_a_x"]).To(ContainSubstring(`"title":"4"`), "the last one, not those between")
		w.Expect(w.api.Delete(t.Context(), declared("b").Obj())).To(Succeed())
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.Expect(w.stores).To(Equal(5))
	})
}

// Seed rule: tools of a server that was torn down are removed; those of one that cannot be reached are not.
func TestSeedRule9_WithdrawalAndOutage(t *testing.T) {
	fault := func(reason failure.Reason) *session.Fault {
		return &session.Fault{Failure: failure.Failure{Class: failure.Auth, Reason: reason}}
	}
	for name, c := range map[string]struct {
		happens func(w *world)
		after   time.Duration
		want    string
	}{
		"deleted": {func(w *world) {
			w.Expect(w.api.Delete(w.t.Context(), declared("b").Obj())).To(Succeed())
		}, 0, "mcp_a_x"},
		"disabled": {func(w *world) { w.change("b", func(s *v1alpha1.MCPServer) { s.Spec.Disabled = true }) }, 0, "mcp_a_x"},
		"deselected": {func(w *world) {
			w.edit(func(s *v1alpha1.AgentSession) {
				s.Spec.Servers = &v1alpha1.ServerSelection{Refs: []v1alpha1.ServerReference{{Name: "a"}}}
			})
		}, 0, "mcp_a_x"},
		"declared anew under its name, and not known yet": {func(w *world) {
			w.Expect(w.api.Delete(w.t.Context(), declared("b").Obj())).To(Succeed())
			w.Expect(w.api.Create(w.t.Context(), declared("b").UID("uid-other").Obj())).To(Succeed())
		}, 0, "mcp_a_x b: Connecting"},
		"unreachable":                        {func(w *world) { w.down("b", "y") }, time.Hour, "mcp_a_x mcp_b_y"},
		"unreachable, and nothing is stored": {func(w *world) { w.down("b") }, time.Hour, "mcp_a_x mcp_b_y"},
		"quarantined": {func(w *world) {
			w.stands("b", session.Snapshot{State: session.Quarantined, Settled: true, Fault: fault(failure.ServerError)},
				catalogstore.Entry{Offered: offering("y")})
		}, time.Hour, "mcp_a_x mcp_b_y"},
		"exhausted": {func(w *world) {
			w.stands("b", session.Snapshot{State: session.Retired, Settled: true, Fault: fault(failure.ServerError),
				Retirement: session.Exhausted, RetiredAt: time.Now()}, catalogstore.Entry{Offered: offering("y")})
		}, time.Hour, "mcp_a_x mcp_b_y"},
		"refused": {func(w *world) { w.refuse("b", "y") }, gate.WithdrawAfter - time.Second, "mcp_a_x mcp_b_y"},
		"refused, five minutes on": {
			func(w *world) { w.refuse("b", "y") }, gate.WithdrawAfter, "mcp_a_x b: AuthenticationFailed",
		},
		"rejected for a mistake in its declaration": {func(w *world) {
			w.store.Set("uid-b", catalogstore.Entry{
				Generation: 1, Acceptance: catalogstore.NotAccepted, Trouble: catalogstore.Trouble{Reason: "X"},
			})
		}, time.Hour, "mcp_a_x mcp_b_y"},
		"its address was changed, and it does not answer yet": {func(w *world) {
			w.store.Set("uid-b", catalogstore.Entry{Generation: 2, ConfigHash: "other"})
		}, time.Hour, "mcp_a_x mcp_b_y"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
			w.up("a", "x")
			w.up("b", "y")
			w.pass()
			w.advance(time.Minute)
			c.happens(w)
			w.pass()
			w.advance(c.after)
			w.Expect(w.offers()).To(Equal(c.want))
		})
	}
}

func (w *world) refuse(name string, tools ...string) {
	w.t.Helper()
	fault := &session.Fault{Failure: failure.Failure{Class: failure.Auth, Reason: failure.AuthenticationFailed}}
	w.stands(name, session.Snapshot{
		State: session.Retired, Settled: true, Fault: fault, Retirement: session.Refused, RetiredAt: time.Now(),
	}, catalogstore.Entry{Offered: offering(tools...)})
}

// change edits a server as a person would.
func (w *world) change(name string, edit func(*v1alpha1.MCPServer)) {
	w.t.Helper()
	server := &v1alpha1.MCPServer{}
	w.Expect(w.api.Get(w.t.Context(), client.ObjectKey{Namespace: testNamespace, Name: name}, server)).To(Succeed())
	edit(server)
	w.Expect(w.api.Update(w.t.Context(), server)).To(Succeed())
}

// A server that is wanted by name and goes away leaves an error in the same write that takes its tools away.
func TestReferenceThatGoesAway(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Ref("a").RequiredRef("b").Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.up("b", "y")
		w.pass()
		w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
		w.Expect(w.api.Delete(t.Context(), declared("b").Obj())).To(Succeed())
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x b: RefNotFound"))
		w.Expect(w.stores).To(Equal(2))
		w.Expect(w.ready()).To(Equal("False RequiredServerUnavailable"))
		w.Expect(says(w.get(), v1alpha1.ConditionServersResolved)).To(Equal("False RefNotFound"))
	})
}

// After a restart nothing is written while the servers are being connected, nor when they turn out to be as before.
func TestRestartWritesNothing(t *testing.T) {
	for name, then := range map[string]func(w *world){
		"servers come back": func(w *world) {
			w.up("a", "x")
			w.down("b", "y")
			w.down("c")
		},
		"servers are late for ever": func(*world) {},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj(), declared("c").Obj())
			w.up("a", "x")
			w.down("b", "y")
			w.down("c")
			w.pass()
			w.Expect(w.offers()).To(Equal("mcp_a_x mcp_b_y c: ConnectFailed"))
			w.Expect(w.servers()).To(Equal("a Connected 1, b Disconnected 1, c Disconnected 0"))
			before, writes, stores := w.get(), w.statusWrites, w.stores
			w.restart()
			w.pass() // nothing is known of any server
			w.late("a", "x")
			w.pass()
			w.late("b", "y")
			w.late("c")
			w.pass()
			w.advance(time.Minute)
			then(w)
			w.pass()
			w.advance(time.Minute)
			w.Expect(w.statusWrites).To(Equal(writes))
			w.Expect(w.stores).To(Equal(stores))
			w.Expect(w.get().ResourceVersion).To(Equal(before.ResourceVersion))
		})
	}
}

// Nor is anything told: the words stand until the servers are heard of.
func TestRestartTellsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		session *builder.AgentSessionBuilder
		ready   string
	}{
		"all tools are denied":         {agent().Ref("a").Deny("*"), "True AllServersAvailable"},
		"a required server is down":    {agent().RequiredRef("b"), "False RequiredServerUnavailable"},
		"none can be chosen":           {agent().Parent("lead"), "False DiscoveryFailed"},
		"a required one lists nothing": {agent().RequiredRef("c"), "False RequiredServerUnavailable"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, c.session.Obj(), declared("a").Obj(), declared("b").Obj(), declared("c").Obj())
			lists := func() {
				w.up("a", "x")
				w.down("b")
				w.stands("c", session.Snapshot{
					State: session.Connected, Settled: true, ListFault: &session.Fault{},
				}, catalogstore.Entry{Trouble: catalogstore.Trouble{Reason: "ListToolsFailed", Message: "c lists nothing"}})
			}
			lists()
			w.pass()
			w.advance(time.Minute)
			w.Expect(w.ready()).To(Equal(c.ready))
			before := w.get()
			w.restart()
			w.pass()
			w.late("a", "x")
			w.late("b")
			w.late("c")
			w.pass()
			w.advance(time.Second)
			lists()
			w.pass()
			w.advance(time.Minute)
			w.Expect(w.get()).To(Equal(before))
		})
	}
}

// A ConfigMap that is not ours is left alone, is looked at again each minute, and its name is taken when it is free.
func TestNameConflict(t *testing.T) {
	inBubble(t, "a person's own", func(t *testing.T) {
		theirs := builder.ConfigMap(testNamespace, "coder-mcp-catalog").Key("mine", "value").Obj()
		w := newWorld(t, agent().Obj(), declared("a").Obj(), theirs)
		w.up("a", "x")
		w.pass()
		w.Expect(w.ready()).To(Equal("False NameConflict"))
		w.Expect(says(w.get(), v1alpha1.ConditionStalled)).To(Equal("True NameConflict"))
		w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("False NameConflict"))
		w.Expect(w.configMap().Data).To(Equal(map[string]string{"mine": "value"}))
		w.Expect(w.stores).To(Equal(1), "one was to be created")
		w.advance(2*configmap.RetryInterval - time.Second)
		w.Expect(w.stores).To(Equal(1))
		w.Expect(w.api.Delete(t.Context(), theirs)).To(Succeed())
		w.advance(configmap.RetryInterval)
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
	})
	inBubble(t, "that of an agent session of this name that is no more", func(t *testing.T) {
		w := newWorld(t, agent().UID("uid-former").Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.up("b", "y")
		w.pass()
		w.restart()
		w.Expect(w.api.Delete(t.Context(), w.get())).To(Succeed())
		w.Expect(w.api.Create(t.Context(), agent().Exclude().Ref("a").Obj())).To(Succeed())
		w.late("a")
		w.pass()
		w.advance(quarter)
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_b_y"), "the new one's gate has not opened")
		w.up("a", "x")
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.Expect(metav1.GetControllerOf(w.configMap()).UID).To(BeEquivalentTo("uid-coder"))
		w.Expect(w.configMap().OwnerReferences).To(HaveLen(1))
	})
	for name, theirs := range map[string]*corev1.ConfigMap{
		"another agent session's": owned("u", "tester", v1alpha1.GroupVersion.String(), "AgentSession"),
		"another kind's":          owned("u", "coder", v1alpha1.GroupVersion.String(), "MCPServer"),
		"another group's":         owned("u", "coder", "example.com/v1", "AgentSession"),
		"of an odd version":       owned("u", "coder", "a/b/c", "AgentSession"),
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, agent().Obj(), declared("a").Obj(), theirs)
			w.up("a", "x")
			w.pass()
			w.Expect(w.ready()).To(Equal("False NameConflict"))
			w.Expect(w.stores).To(BeZero())
		})
	}
}

// owned is a ConfigMap of our name and label that belongs to an object.
func owned(uid, name, version, kind string) *corev1.ConfigMap {
	object := builder.ConfigMap(testNamespace, "coder-mcp-catalog").Key("old", "value").Obj()
	object.Labels = map[string]string{v1alpha1.LabelManagedBy: v1alpha1.LabelManagedByValue}
	yes := true
	object.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: version, Kind: kind, Name: name, UID: types.UID(uid), Controller: &yes},
	}
	return object
}

// What somebody damaged or deleted is put right at once; for who goes on damaging it, in its turn.
func TestDamagedConfigMapIsPutRight(t *testing.T) {
	inBubble(t, "again and again", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		for range 20 {
			object := w.configMap()
			object.Data[catalog.CatalogKey] = "{}"
			w.Expect(w.api.Update(t.Context(), object)).To(Succeed())
			w.pass()
		}
		w.Expect(w.stores).To(Equal(1 + configmap.WriteBurst))
		w.Expect(w.servers()).To(Equal("a Connected 1"))
		w.advance(10 * time.Second)
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
	})
	inBubble(t, "once", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		object := w.configMap()
		object.Data[catalog.CatalogKey] = "{}"
		w.Expect(w.api.Update(t.Context(), object)).To(Succeed())
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.Expect(w.api.Delete(t.Context(), w.configMap())).To(Succeed())
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.advance(20 * time.Second)
		object = w.configMap()
		object.Labels = nil
		w.Expect(w.api.Update(t.Context(), object)).To(Succeed())
		w.pass()
		w.Expect(w.configMap().Labels).To(Equal(map[string]string{
			v1alpha1.LabelManagedBy: "mooring", v1alpha1.LabelComponent: "session-catalog", v1alpha1.LabelSession: "coder",
		}))
		object = w.configMap()
		delete(object.Data, catalog.MCPKey)
		w.Expect(w.api.Update(t.Context(), object)).To(Succeed())
		w.pass()
		w.Expect(w.configMap().Data).To(HaveKey(catalog.MCPKey))
	})
}

// Both filters hold: the server's, which the catalog store has applied, and the agent session's on exposed names.
func TestToolsFilter(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Allow("mcp_a_*", "mcp_c_*").Deny("*_y").Obj(),
			declared("a").Obj(), declared("b").Obj(), declared("c").Obj())
		w.up("a", "x", "y")
		w.up("b", "x")
		w.up("c", "x", "z")
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_c_x mcp_c_z"))
		w.Expect(w.servers()).To(Equal("a Connected 1, b Connected 0, c Connected 2"))
		w.pass()
		w.Expect(w.stores).To(Equal(1))

		// Also of what an earlier process published, when its server is not known.
		w.restart()
		w.up("a", "x", "y")
		w.edit(func(s *v1alpha1.AgentSession) { s.Spec.Tools = &v1alpha1.ToolFilter{Deny: []string{"*_z"}} })
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_a_y mcp_c_x"))
	})
}

// A server of another namespace has that namespace in its tools' names.
func TestB32_ForeignServerOfTheSameName(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		far := declared("a").Namespace("shared").UID("uid-far").Mutate(func(s *v1alpha1.MCPServer) {
			s.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesAll}
		}).Obj()
		w := newWorld(t, agent().Ref("a").ForeignRef("shared", "a").Obj(), declared("a").Obj(), far)
		w.up("a", "x")
		w.stands("far", session.Snapshot{State: session.Connected, Settled: true}, catalogstore.Entry{Offered: offering("x")})
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_shared-a_x"))
		routes := w.document().Routes()
		w.Expect(routes["mcp_a_x"].UID).To(Equal("uid-a"))
		w.Expect(routes["mcp_shared-a_x"].UID).To(Equal("uid-far"))
	})
}

// Of two tools of one exposed name the first server's is offered, and status says what the other one lost.
func TestB32_SameExposedNameOfTwoServers(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		far := declared("a").Namespace("shared").UID("uid-far").Mutate(func(s *v1alpha1.MCPServer) {
			s.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesAll}
		}).Obj()
		w := newWorld(t, agent().Ref("shared-a").ForeignRef("shared", "a").Obj(), declared("shared-a").Obj(), far)
		w.up("shared-a", "x")
		w.stands("far", session.Snapshot{State: session.Connected, Settled: true},
			catalogstore.Entry{Offered: offering("x", "y")})
		w.pass()
		w.Expect(w.document().Routes()["mcp_shared-a_x"].UID).To(Equal("uid-shared-a"))
		w.Expect(w.document().Routes()["mcp_shared-a_y"].UID).To(Equal("uid-far"))
		w.Expect(w.servers()).To(Equal("shared-a Connected 1, a Connected 1"))
		w.Expect(w.get().Status.Servers[1].Message).To(HavePrefix("some of its tools are left out"))
		w.Expect(w.get().Status.Servers[0].Message).To(BeEmpty())
		w.pass()
		w.Expect(w.stores + w.statusWrites).To(Equal(2))
	})
}

// A document that is too large loses its largest slices to errors, and is published.
func TestB40_LargestSlicesGiveWay(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		huge := huge(2 << 20)
		w.stands("b", session.Snapshot{State: session.Connected, Settled: true}, catalogstore.Entry{Offered: huge})
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x b: CatalogTooLarge"))
		w.Expect(w.ready()).To(Equal("True PartiallyAvailable"))
		w.Expect(w.servers()).To(Equal("a Connected 1, b Connected 0"))
		w.Expect(w.get().Status.Servers[1].Message).To(ContainSubstring("do not fit into the catalog"))
		w.Expect(w.get().Status.Summary).To(Equal("1/2"))
		w.pass()
		w.advance(time.Minute)
		w.Expect(w.get().Status.Servers[1].Message).NotTo(BeEmpty(), "it is still so when nothing is put together anew")
		w.Expect(w.stores).To(Equal(1))
		w.Expect(w.statusWrites).To(Equal(1))
	})
}

// huge is a catalog that does not compress: hexadecimal digests one after the other.
func huge(size int) *catalog.Catalog {
	var text strings.Builder
	for i := 0; text.Len() < size; i++ {
		text.WriteString(strings.TrimPrefix(string(catalog.Sum([]byte(fmt.Sprint(i)))), "sha256:"))
	}
	var tools []string
	const each = 100 << 10
	for i := 0; i*each < size; i++ {
		tools = append(tools, fmt.Sprintf("t%d=%s", i, text.String()[i*each:min((i+1)*each, size)]))
	}
	return offering(tools...)
}

// A ConfigMap that changed under us is read again; an API server that is unwell is an error of ours.
func TestWritesThatFail(t *testing.T) {
	conflict := apierrors.NewConflict(corev1.Resource("configmaps"), "coder-mcp-catalog", nil)
	inBubble(t, "the ConfigMap meets a conflict", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.storeErrors = []error{conflict}
		w.pass()
		w.Expect(w.offers()).To(Equal("nothing"))
		w.advance(conflictDelay)
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.advance(time.Minute)
		w.up("a", "y")
		w.storeErrors = []error{conflict}
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.Expect(w.servers()).To(Equal("a Connected 1"), "told once it is over")
		w.advance(conflictDelay)
		w.Expect(w.offers()).To(Equal("mcp_a_y"))
		w.advance(time.Minute)
		w.storeErrors = []error{conflict, conflict}
		w.down("a", "z")
		w.pass()
		w.advance(conflictDelay)
		w.Expect(w.servers()).To(Equal("a Disconnected 1"), "told although it goes on")
		w.advance(2 * configmap.RefillInterval)
		w.Expect(w.offers()).To(Equal("mcp_a_z"))
		w.up("a", "z")
		w.pass()
		w.advance(time.Minute)
		w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
	})
	inBubble(t, "the namespace is being deleted", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		ending := apierrors.NewForbidden(corev1.Resource("configmaps"), "coder-mcp-catalog", errUnwell)
		ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		w.storeErrors = []error{ending}
		w.pass()
		w.Expect(w.storeErrors).To(BeEmpty())
		w.Expect(w.offers()).To(Equal("nothing"))
	})
	inBubble(t, "the status meets conflicts", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.statusErrors = []error{conflict, conflict, apierrors.NewNotFound(corev1.Resource("x"), "coder")}
		w.pass()
		w.advance(2 * conflictDelay)
		w.Expect(w.ready()).To(BeEmpty(), "the object is gone, as far as the last answer tells")
		w.pass()
		w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
		w.Expect(w.get().Status.Startup.Outcome).To(Equal(v1alpha1.StartupSettled))
		w.Expect(w.told.take()).To(HaveLen(1))
	})
	inBubble(t, "the API server is unwell", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.refuse("a", "x") // a pass is due when its tools are to be withdrawn
		request := ctrl.Request{NamespacedName: coder}
		w.storeErrors = []error{errUnwell}
		result, err := w.reconciler.Reconcile(t.Context(), request)
		w.Expect(err).To(MatchError("catalog: " + errUnwell.Error()))
		w.Expect(result).To(BeZero(), "an error or a time, never both")
		w.Expect(w.servers()).To(Equal("a Disconnected -"), "how the servers stand is told all the same")
		w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("Unknown AwaitingServers"))
		result, err = w.reconciler.Reconcile(t.Context(), request)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(result.RequeueAfter).To(Equal(atOnce), "an agent's tools come before any status")
		w.Expect(*result.Priority).To(Equal(handler.LowPriority), "also those of other agents")
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.statusErrors = []error{errUnwell}
		result, err = w.reconciler.Reconcile(t.Context(), request)
		w.Expect(err).To(MatchError("status: " + errUnwell.Error()))
		w.Expect(result).To(BeZero())
		w.up("a", "x")
		w.pass()
		w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
	})
	inBubble(t, "a later one meets an unwell API server", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.up("b", "y")
		w.pass()
		w.up("a", "x", "z")
		w.down("b", "y")
		w.storeErrors = []error{errUnwell}
		_, err := w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: coder})
		w.Expect(err).To(MatchError("catalog: " + errUnwell.Error()))
		w.Expect(w.servers()).To(Equal("a Connected 1, b Disconnected 1"))
		w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("True Published"))
	})
}

// However many objects are reconciled at a time, few catalogs are encoded at a time. A pass whose gate is still shut
// waits for nobody, and is due at its time before any that only tells status.
func TestCatalogsAreEncodedByFew(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.late("a", "x")
		w.reconciler.encodeSlots = make(chan struct{}, 1)
		leave := w.reconciler.encodeSlot()
		result, err := w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: coder})
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(result.RequeueAfter).To(Equal(quarter))
		w.Expect(*result.Priority).To(BeZero())
		w.up("a", "x")
		passed := make(chan struct{})
		go func() {
			defer close(passed)
			w.pass()
		}()
		synctest.Wait()
		w.Expect(w.stores).To(BeZero())
		leave()
		<-passed
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.Expect(w.reconciler.encodeSlots).To(BeEmpty(), "every place was left")
	})
}

// What is gone takes its ConfigMap with it, if that is its own.
func TestDeletion(t *testing.T) {
	inBubble(t, "seen", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		w.Expect(w.api.Delete(t.Context(), w.get())).To(Succeed())
		w.pass()
		w.Expect(w.configMap()).To(BeNil())
	})
	inBubble(t, "while no manager ran", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		w.restart()
		w.Expect(w.api.Delete(t.Context(), w.get())).To(Succeed())
		w.pass()
		w.Expect(w.configMap()).To(BeNil())
	})
	for name, theirs := range map[string]*corev1.ConfigMap{
		"a person's own":          builder.ConfigMap(testNamespace, "coder-mcp-catalog").Key("mine", "value").Obj(),
		"another agent session's": owned("u", "tester", v1alpha1.GroupVersion.String(), "AgentSession"),
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, theirs)
			w.pass()
			w.Expect(w.configMap()).NotTo(BeNil())
		})
	}
	inBubble(t, "a later one of the same name keeps its own", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		remove := func(uid types.UID) error {
			return w.reconciler.store().Remove(t.Context(), catalogKind.Place(coder, uid), &v1alpha1.AgentSession{})
		}
		w.Expect(remove("uid-former")).To(Succeed())
		w.Expect(w.configMap()).NotTo(BeNil())
		w.Expect(remove("")).To(Succeed())
		w.Expect(w.configMap()).NotTo(BeNil(), "the object is still there")
	})
}
