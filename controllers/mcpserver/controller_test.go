package mcpserver

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/session"
)

// replaced is the object that took over the name of declared().
const (
	replacedUID = types.UID("0d5c8f0e-8f0e-4b5e-9d7c-000000000002")
	replacedKey = session.Key(replacedUID)
)

func (w *world) remove() {
	w.t.Helper()
	w.Expect(w.api.Delete(w.t.Context(), w.get())).To(Succeed())
}

func TestDeletionEndsEverythingOfAnObject(t *testing.T) {
	w := newWorld(t, declared().Bearer("login", "token").Obj())
	w.references.values[refs.Ref{Kind: refs.Secret, Namespace: testNamespace, Name: "login", Key: "token"}] = "first"
	w.settle(connected("echo"))
	w.Expect(w.metrics()).NotTo(BeEmpty())
	w.remove()
	w.pass()
	w.Expect(w.sessions.Forgotten()).To(Equal([]session.Key{testKey}))
	w.Expect(w.catalog()).To(BeNil())
	w.Expect(w.references.tracked[len(w.references.tracked)-1]).To(BeEmpty())
	w.Expect(w.metrics()).To(BeEmpty())
	_, known := w.reconciler.Keys.unbind(testName)
	w.Expect(known).To(BeFalse())
	w.pass() // the deletion of the ConfigMap wakes us once more
}

// metrics are the series about the object.
func (w *world) metrics() map[string]float64 {
	w.t.Helper()
	families, err := w.series.Gather()
	w.Expect(err).NotTo(HaveOccurred())
	out := map[string]float64{}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			if labelled(series, "fs") {
				out[family.GetName()] += series.GetGauge().GetValue()
			}
		}
	}
	return out
}

// states are those that the metrics say the object is in.
func (w *world) states() (states []string) {
	w.t.Helper()
	families, err := w.series.Gather()
	w.Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		for _, series := range family.GetMetric() {
			if family.GetName() != "mooring_server_state" || series.GetGauge().GetValue() != 1 {
				continue
			}
			for _, label := range series.GetLabel() {
				if label.GetName() == "state" {
					states = append(states, label.GetValue())
				}
			}
		}
	}
	return states
}

// A server that nobody disabled is not called so.
func TestStateOfAServerWithoutASession(t *testing.T) {
	w := newWorld(t, declared().Bearer("login", "token").Obj())
	w.pass()
	w.Expect(w.states()).To(Equal([]string{"NotAccepted"}))
	w.references.values[refs.Ref{Kind: refs.Secret, Namespace: testNamespace, Name: "login", Key: "token"}] = "first"
	w.settle(connected("echo"))
	w.Expect(w.states()).To(Equal([]string{"Connected"}))
	w.edit(func(s *v1alpha1.MCPServer) { s.Spec.Disabled = true })
	w.pass()
	w.Expect(w.states()).To(Equal([]string{"Disabled"}))
	w.edit(func(s *v1alpha1.MCPServer) { s.Spec.Tools = &v1alpha1.Tools{Allow: []string{"["}} })
	w.pass()
	w.Expect(w.states()).To(Equal([]string{"NotAccepted"}), "what is disabled can be wrong, too")
}

func labelled(series *dto.Metric, name string) bool {
	for _, label := range series.GetLabel() {
		if label.GetName() == "name" && label.GetValue() == name {
			return true
		}
	}
	return false
}

func TestMetricsFollowStatus(t *testing.T) {
	w := newWorld(t, declared().Obj())
	w.settle(connected("echo", "list"))
	w.Expect(w.metrics()).To(Equal(map[string]float64{
		"mooring_server_state": 1, "mooring_server_ready": 1, "mooring_server_tools": 2,
	}))
	w.sessions.Set(testKey, failing(session.Waiting))
	w.pass()
	w.Expect(w.metrics()).To(HaveKeyWithValue("mooring_server_ready", 0.0))
	w.Expect(w.metrics()).To(HaveKeyWithValue("mooring_server_state", 1.0), "exactly one state")
}

// An object that somebody else's finalizer keeps is over for us: nothing of ours waits for it.
func TestObjectThatIsBeingDeletedIsOver(t *testing.T) {
	server := declared().Obj()
	server.Finalizers = []string{"example.com/audit"}
	w := newWorld(t, server)
	w.settle(connected("echo"))
	w.remove()
	w.Expect(w.get().DeletionTimestamp).NotTo(BeNil())
	before := w.get()
	w.pass()
	w.Expect(w.sessions.Forgotten()).To(Equal([]session.Key{testKey}))
	w.Expect(w.catalog()).To(BeNil())
	w.Expect(w.get()).To(Equal(before), "its status is left alone")
}

// What went away while nobody watched leaves a ConfigMap behind. It is deleted if the API server says that the object
// is really gone, not when only our cache does not have it.
func TestOrphanedCatalog(t *testing.T) {
	w := newWorld(t, declared().Obj())
	w.settle(connected("echo"))
	w.restart()
	w.reconciler.Client = blind{w.reconciler.Client}
	w.pass()
	w.Expect(w.catalog()).NotTo(BeNil(), "the object is there")
	w.remove()
	w.pass()
	w.Expect(w.catalog()).To(BeNil())
}

// A name that is declared again is another session; its predecessor is closed, and what that left is taken over.
func TestObjectThatTookOverAName(t *testing.T) {
	w := newWorld(t, declared().Obj())
	w.settle(connected("echo"))
	w.remove()
	w.Expect(w.api.Create(t.Context(), declared().UID(replacedUID).Obj())).To(Succeed())
	w.pass()
	w.Expect(w.sessions.Forgotten()).To(Equal([]session.Key{testKey}))
	w.sessions.Set(replacedKey, connected("echo"))
	w.pass()
	w.Expect(metav1.GetControllerOf(w.catalog()).UID).To(Equal(replacedUID))
	w.Expect(w.get().Status.Conditions).NotTo(BeEmpty())
	w.Expect(standing(w.get())).To(HaveKeyWithValue("Ready", "True Ready"))
}

// The late news of a deletion does not take away what the successor has published.
func TestLateDeletionSparesTheSuccessor(t *testing.T) {
	w := newWorld(t, declared().Obj())
	w.settle(connected("echo"))
	first := w.reconciler.Keys
	w.remove()
	w.Expect(w.api.Create(t.Context(), declared().UID(replacedUID).Obj())).To(Succeed())
	w.pass()
	w.sessions.Set(replacedKey, connected("list"))
	w.pass()
	first.bind(testName, testKey) // as if the predecessor had only just been looked at
	w.reconciler.Client = blind{w.reconciler.Client}
	w.pass()
	w.Expect(w.published()).To(Equal([]string{"list"}))
}

func TestDisabledServerHasNoSession(t *testing.T) {
	w := newWorld(t, declared().Obj())
	w.settle(connected("echo"))
	w.edit(func(s *v1alpha1.MCPServer) { s.Spec.Disabled = true })
	w.pass()
	w.Expect(w.sessions.Forgotten()).To(Equal([]session.Key{testKey}))
	w.Expect(w.get().Status.Session).To(BeNil())
	w.Expect(w.metrics()).To(HaveKeyWithValue("mooring_server_ready", 1.0))
	w.Expect(w.published()).To(Equal([]string{"echo"}), "the catalog is kept for when it is enabled again")
	ensured := w.sessions.Ensured(testKey)
	w.pass()
	w.Expect(w.sessions.Ensured(testKey)).To(Equal(ensured))
}

// References are declared before they are read, so that one that is missing wakes the object when it comes, and are
// not read where no session is wanted.
func TestReferencesAreDeclared(t *testing.T) {
	login := refs.Ref{Kind: refs.Secret, Namespace: testNamespace, Name: "login", Key: "token"}
	w := newWorld(t, declared().Bearer("login", "token").Obj())
	w.pass()
	w.Expect(w.references.tracked).To(Equal([][]refs.Ref{{login}}))
	w.Expect(standing(w.get())).To(HaveKeyWithValue("Accepted", "False SecretNotFound"))
	w.Expect(w.sessions.Ensured(testKey)).To(BeZero())
	w.references.values[login] = "first"
	w.pass()
	w.Expect(standing(w.get())).To(Equal(map[string]string{
		"Ready": "Unknown Connecting", "Reconciling": "True Progressing", "Accepted": "True Valid",
		"Connected": "Unknown Connecting", "CatalogPublished": "Unknown AwaitingConnection",
	}), "that it came is told before any attempt has ended")
	w.Expect(message(w.get(), "Connected")).To(Equal("connecting to " + testURL))
	w.edit(func(s *v1alpha1.MCPServer) { s.Spec.Disabled = true })
	w.pass()
	w.Expect(w.references.tracked[2]).To(BeEmpty())
}

// A session whose credential was taken away is closed: it must not live on under what is no longer declared.
func TestMissingCredentialEndsTheSession(t *testing.T) {
	login := refs.Ref{Kind: refs.Secret, Namespace: testNamespace, Name: "login", Key: "token"}
	w := newWorld(t, declared().Bearer("login", "token").Obj())
	w.references.values[login] = "first"
	w.settle(connected("echo"))
	delete(w.references.values, login)
	w.pass()
	w.Expect(w.sessions.Forgotten()).To(Equal([]session.Key{testKey}))
	w.Expect(w.published()).To(Equal([]string{"echo"}), "agents keep their tools")
	w.Expect(standing(w.get())).To(HaveKeyWithValue("Ready", "False SecretNotFound"))
}

// An address is judged without its variables, and before any reference is read.
func TestAddressIsJudgedFirst(t *testing.T) {
	w := newWorld(t, declared().URL("http://10.0.0.1:8080/$(ORG)?key=$(KEY)").SecretVariable("KEY", "login", "key").Obj())
	w.pass()
	w.Expect(standing(w.get())).To(HaveKeyWithValue("Accepted", "False AddressNotAllowed"))
	w.Expect(message(w.get(), "Accepted")).To(HavePrefix("the address of http://10.0.0.1:8080/$(ORG) is not allowed"))
}

// So is that of a token endpoint. What is told of it leaves out the query.
func TestTokenEndpointIsJudgedToo(t *testing.T) {
	w := newWorld(t, declared().OAuth("https://10.0.0.2/token?tenant=a", "me", "login", "secret").Obj())
	w.pass()
	w.Expect(standing(w.get())).To(HaveKeyWithValue("Accepted", "False AddressNotAllowed"))
	w.Expect(message(w.get(), "Accepted")).To(HavePrefix("the address of https://10.0.0.2/token is not allowed"))
}

// unreadable is a client whose API server does not give ConfigMaps away.
type unreadable struct{ client.Client }

func (c unreadable) Get(
	ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption,
) error {
	if _, isConfigMap := object.(*corev1.ConfigMap); isConfigMap {
		return errUnwell
	}
	return c.Client.Get(ctx, key, object, options...)
}

// What the Kubernetes API fails us with is an error of the pass. What the session does is told even where the catalog
// is concerned.
func TestErrorsOfTheAPI(t *testing.T) {
	t.Run("a reference", func(t *testing.T) {
		w := newWorld(t, declared().Bearer("login", "token").Obj())
		login := refs.Ref{Kind: refs.Secret, Namespace: testNamespace, Name: "login", Key: "token"}
		w.references.errs = map[refs.Ref]error{login: errUnwell}
		w.fails()
		w.Expect(w.sessions.Forgotten()).To(BeEmpty())
	})
	t.Run("a status write", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.statusErrors = []error{errUnwell}
		w.fails()
		w.Expect(w.told.take()).To(BeEmpty())
	})
	t.Run("a catalog write", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.pass()
		w.sessions.Set(testKey, connected("echo"))
		w.storeErrors = []error{errUnwell}
		w.fails()
		w.Expect(standing(w.get())).To(And(
			HaveKeyWithValue("Connected", "True Connected"), HaveKeyWithValue("CatalogPublished", unlisted)))
		w.pass()
		w.Expect(standing(w.get())).To(HaveKeyWithValue("Ready", "True Ready"))
	})
	t.Run("a catalog that cannot be read", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.settle(connected("echo"))
		w.settle(with(connected("echo"), func(s *session.Snapshot) {
			s.ListFault = fault(failure.Server, failure.List, failure.ServerError)
		}))
		w.era(w.get()).Confirm("modern") // so that it is not read for that
		w.reconciler.Client = unreadable{w.reconciler.Client}
		w.fails()
		w.Expect(standing(w.get())).To(HaveKeyWithValue("Ready", "True Ready"), "it was there when it was looked at last")
		w.sessions.Set(testKey, failing(session.Quarantined))
		w.fails()
		w.Expect(standing(w.get())).To(HaveKeyWithValue("Quarantined", "True ConnectFailed"))
	})
	t.Run("an object that went away during the pass is none", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.statusErrors = []error{apierrors.NewNotFound(schema.GroupResource{}, "fs")}
		w.Expect(w.pass()).To(BeZero())
	})
}

// fails reconciles the object once, which is to end in errUnwell.
func (w *world) fails() {
	w.t.Helper()
	_, err := w.reconciler.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: testName})
	w.Expect(err).To(MatchError(errUnwell))
}

// Our own status writes do not wake us; what a person writes does.
func TestWhatWakes(t *testing.T) {
	g := NewWithT(t)
	reconciler := &Reconciler{}
	reconciler.written.note(declared().Obj())
	wakes := func(change func(*v1alpha1.MCPServer)) bool {
		before, after := declared().Obj(), declared().Obj()
		change(after)
		return reconciler.changedByOthers().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
	}
	g.Expect(wakes(func(s *v1alpha1.MCPServer) { s.Generation++ })).To(BeTrue())
	g.Expect(wakes(func(s *v1alpha1.MCPServer) {
		s.Annotations = map[string]string{v1alpha1.AnnotationReconnect: "now"}
	})).To(BeTrue())
	g.Expect(wakes(func(s *v1alpha1.MCPServer) { s.Labels = map[string]string{"a": "b"} })).To(BeFalse())

	edit := func(s *v1alpha1.MCPServer) { s.Status.ObservedGeneration = 7 }
	g.Expect(wakes(edit)).To(BeTrue(), "written by somebody else")
	told := declared().Mutate(edit).Obj()
	takeBack := reconciler.written.note(told)
	g.Expect(wakes(edit)).To(BeFalse(), "written by us")
	takeBack()
	g.Expect(wakes(edit)).To(BeTrue(), "not written after all")
	reconciler.written.drop(testUID)
	g.Expect(wakes(edit)).To(BeFalse(), "an object of which nothing was said yet")
}

// A status that somebody else wrote is put right, and a second one that keeps doing it is not outshouted.
func TestEditedStatusIsPutRight(t *testing.T) {
	w := newWorld(t, declared().Obj())
	w.settle(connected("echo"))
	right := w.get().Status
	w.Expect(right.Conditions).NotTo(BeEmpty())
	writes := w.statusWrites
	lie := func() {
		server := w.get()
		server.Status.Conditions[0].Reason = "Lie"
		w.Expect(w.api.Status().Update(t.Context(), server)).To(Succeed())
	}
	for range mendBurst {
		lie()
		w.Expect(w.pass()).To(BeZero())
		w.Expect(statusText(w.get())).To(Equal(statusText(&v1alpha1.MCPServer{Status: right})))
	}
	lie()
	w.Expect(w.pass().RequeueAfter).To(BeNumerically("~", mendInterval, time.Second))
	w.Expect(w.statusWrites - writes).To(Equal(mendBurst))
	w.Expect(w.get().Status.Conditions[0].Reason).To(Equal("Lie"))

	w.sessions.Set(testKey, session.Snapshot{State: session.Connecting, Settled: true}) // news is told at once
	w.pass()
	w.Expect(w.statusWrites - writes).To(Equal(mendBurst + 1))
}

// A namespace that is being deleted takes no new ConfigMap: that is no fault of ours, and there is nobody left to tell.
func TestEndingNamespaceIsNoError(t *testing.T) {
	w := newWorld(t, declared().Obj())
	w.pass()
	writes := w.statusWrites
	ending := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "fs-mcp-tools", errUnwell)
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	w.storeErrors = []error{ending}
	w.Expect(w.settle(connected("echo"))).To(BeZero())
	w.Expect(w.stores).To(Equal(1))
	w.Expect(w.statusWrites).To(Equal(writes))
}

// blind does not see MCPServers, as a cache that has been told of a deletion.
type blind struct{ client.Client }

func (b blind) Get(
	ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption,
) error {
	if _, ok := object.(*v1alpha1.MCPServer); ok {
		return apierrors.NewNotFound(schema.GroupResource{Group: "mooring.dev", Resource: "mcpservers"}, key.Name)
	}
	return b.Client.Get(ctx, key, object, options...)
}
