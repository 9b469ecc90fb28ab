package mcpserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// conflict is what the API server answers to a write of an old version.
func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "fs", errUnwell)
}

func TestCatalogIsOwnedAndDescribed(t *testing.T) {
	w := newWorld(t, declared().Allow("e*").Obj())
	w.settle(connected("echo", "list"))
	object := w.catalog()
	w.Expect(object.Labels).To(Equal(map[string]string{
		v1alpha1.LabelManagedBy: "mooring", v1alpha1.LabelComponent: "server-catalog", v1alpha1.LabelServer: "fs",
	}))
	w.Expect(object.OwnerReferences).To(Equal([]metav1.OwnerReference{{
		APIVersion: "mooring.dev/v1alpha1", Kind: "MCPServer", Name: "fs", UID: testUID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(false),
	}}))
	w.Expect(object.Annotations).To(BeEmpty())
	w.Expect(w.published()).To(Equal([]string{"echo", "list"}), "what is stored is not filtered")
	document, err := catalog.Decode(object.Data, object.BinaryData)
	w.Expect(err).NotTo(HaveOccurred())
	status := w.get().Status.Catalog
	w.Expect(status.ConfigMap).To(Equal("fs-mcp-tools"))
	w.Expect(status.Encoding).To(Equal(v1alpha1.EncodingIdentity))
	w.Expect(status.Digest).To(BeEquivalentTo(document.Catalog.Digest))
	w.Expect(status.ConfigHash).To(Equal(document.ConfigHash))
	w.Expect(*status.ToolCount).To(BeEquivalentTo(1), "what is offered is")
	w.Expect(*status.Bytes).To(BeNumerically(">", 0))
	w.Expect(*status.EstimatedTokens).To(BeNumerically(">", 0))

	// A filter is not a matter of what is stored.
	stores := w.stores
	w.edit(func(s *v1alpha1.MCPServer) { s.Spec.Tools = nil })
	w.pass()
	w.Expect(*w.get().Status.Catalog.ToolCount).To(BeEquivalentTo(2))
	w.Expect(w.stores).To(Equal(stores))
}

func TestWarningsOfACatalog(t *testing.T) {
	w := newWorld(t, declared().Obj())
	snapshot := connected("echo")
	snapshot.Listing.Loop = true
	w.settle(snapshot)
	w.Expect(w.get().Status.Warnings).To(HaveLen(1))
	w.Expect(w.get().Status.Warnings[0].Type).To(Equal("PaginationLoop"))
	w.Expect(*w.get().Status.WarningCount).To(BeEquivalentTo(1))

	large := connected()
	for i := range 60 {
		const form = `{"name":"t-%d","description":%q,"inputSchema":{"type":"object"}}`
		tool := fmt.Sprintf(form, i, strings.Repeat("word ", 400))
		large.Listing.Tools = append(large.Listing.Tools, []byte(tool))
	}
	large.ListingID = "large"
	w.settle(large)
	w.Expect(*w.get().Status.Catalog.EstimatedTokens).To(BeNumerically(">", largeTokens))
	w.Expect(w.get().Status.Warnings[0].Type).To(Equal("CatalogLarge"))

	w.edit(func(s *v1alpha1.MCPServer) { s.Spec.Tools = &v1alpha1.Tools{Allow: []string{"t-1"}} })
	w.pass()
	w.Expect(w.get().Status.Warnings).To(BeEmpty(), "few of them are offered")
	w.Expect(w.get().Status.WarningCount).To(BeNil())
}

// random are tools that do not compress.
func random(n int) *session.Listing {
	source := rand.New(rand.NewPCG(1, 2))
	listing := &session.Listing{}
	for i := range n {
		text := make([]byte, 200_000)
		for j := range text {
			text[j] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"[source.IntN(64)]
		}
		tool := fmt.Sprintf(`{"name":"t-%d","description":"%s","inputSchema":{"type":"object"}}`, i, text)
		listing.Tools = append(listing.Tools, []byte(tool))
	}
	return listing
}

// What does not fit is told, and costs nobody the catalog that fits.
func TestCatalogThatDoesNotFit(t *testing.T) {
	w := newWorld(t, declared().Obj())
	huge := session.Snapshot{State: session.Connected, Settled: true, Listing: random(8), ListingID: "huge"}
	w.settle(huge)
	w.Expect(standing(w.get())).To(And(
		HaveKeyWithValue("Ready", "False CatalogTooLarge"), HaveKeyWithValue("Stalled", "True CatalogTooLarge")))
	w.Expect(w.catalog()).To(BeNil())
	w.settle(connected("echo"))
	w.Expect(standing(w.get())).To(HaveKeyWithValue("Ready", "True Ready"))
	w.settle(huge)
	got := w.get()
	w.Expect(standing(got)).To(And(
		HaveKeyWithValue("Ready", "True Ready"), HaveKeyWithValue("CatalogPublished", "False CatalogTooLarge")))
	w.Expect(message(got, "CatalogPublished")).To(HaveSuffix("; the last good catalog stays published"))
	w.Expect(w.published()).To(Equal([]string{"echo"}))
}

// Two writes may follow the first publication at once, then one every ten seconds; what is written then is the newest.
func TestWritesOfACatalogAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		for i, tool := range []string{"a", "b", "c"} {
			w.Expect(w.settle(connected(tool))).To(BeZero())
			w.Expect(w.stores).To(Equal(i + 1))
		}
		w.Expect(w.settle(connected("d"))).To(Equal(ctrl.Result{RequeueAfter: 10 * time.Second}))
		time.Sleep(4 * time.Second)
		w.Expect(w.settle(connected("e")).RequeueAfter).To(BeNumerically("~", 6*time.Second, time.Microsecond))
		w.Expect(w.published()).To(Equal([]string{"c"}))
		w.Expect(standing(w.get())).To(HaveKeyWithValue("Ready", "True Ready"), "what is published is good")
		time.Sleep(6 * time.Second)
		w.Expect(w.pass()).To(BeZero())
		w.Expect(w.published()).To(Equal([]string{"e"}))
		w.Expect(w.stores).To(Equal(4))
	})
}

// A first publication never waits, whatever was written under the name before.
func TestFirstPublicationIsNotLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		for _, tool := range []string{"a", "b", "c"} {
			w.settle(connected(tool))
		}
		w.Expect(w.api.Delete(t.Context(), w.catalog())).To(Succeed())
		w.Expect(w.pass()).To(BeZero())
		w.Expect(w.published()).To(Equal([]string{"c"}))
	})
}

// An object that changed between our read and our write is read again before it is judged.
func TestCatalogThatChangedMeanwhile(t *testing.T) {
	w := newWorld(t, declared().Obj())
	w.storeErrors = []error{conflict()}
	w.Expect(w.settle(connected("echo")).RequeueAfter).To(Equal(conflictDelay))
	w.Expect(standing(w.get())).To(HaveKeyWithValue("CatalogPublished", "Unknown AwaitingConnection"))
	w.Expect(w.pass()).To(BeZero())
	w.Expect(w.published()).To(Equal([]string{"echo"}))
}

// forbidden is what the API server answers to a write that a quota does not leave room for.
func forbidden() error {
	return apierrors.NewForbidden(corev1.Resource("configmaps"), "fs-mcp-tools", errors.New("exceeded quota: few"))
}

// What the API server refuses to store is told in its words, silences nothing else, and is tried again in a minute.
func TestRefusedFirstCatalog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.storeErrors = []error{forbidden()}
		w.Expect(w.settle(connected("echo"))).To(Equal(ctrl.Result{RequeueAfter: time.Minute}))
		w.Expect(standing(w.get())).To(Equal(map[string]string{
			"Ready": "False PublishFailed", "Reconciling": "True ProgressingWithRetry", "Accepted": "True Valid",
			"Connected": "True Connected", "CatalogPublished": "False PublishFailed",
		}))
		w.Expect(message(w.get(), "CatalogPublished")).To(Equal(`the API server refused to store ConfigMap ` +
			`"fs-mcp-tools" (configmaps "fs-mcp-tools" is forbidden: exceeded quota: few); change what it goes by, such ` +
			`as a quota, an admission policy or the manager's role; it is tried again every minute`))
		w.Expect(w.told.take()).To(Equal([]string{"Warning PublishFailed Publish", "Normal Connected Connect"}))

		time.Sleep(20 * time.Second)
		quarantined := failing(session.Quarantined)
		quarantined.Listing, quarantined.ListingID = connected("echo").Listing, connected("echo").ListingID
		w.Expect(w.settle(quarantined)).To(Equal(ctrl.Result{RequeueAfter: 40 * time.Second}))
		w.Expect(standing(w.get())).To(And(HaveKeyWithValue("Quarantined", "True ConnectFailed"),
			HaveKeyWithValue("CatalogPublished", "False PublishFailed")))
		w.Expect(w.stores).To(Equal(1), "it is not asked again before its time")

		time.Sleep(40 * time.Second)
		w.Expect(w.settle(connected("echo"))).To(BeZero())
		w.Expect(standing(w.get())).To(HaveKeyWithValue("Ready", "True Ready"))
		w.Expect(w.published()).To(Equal([]string{"echo"}))
	})
}

// A later list that is refused is not told as published, however often it is looked at; the last good one stands.
func TestRefusedLaterCatalog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.settle(connected("echo"))
		w.sessions.Set(testKey, connected("echo", "more"))
		w.storeErrors = []error{forbidden()}
		for range 6 {
			w.Expect(w.pass()).To(Equal(ctrl.Result{RequeueAfter: time.Minute}))
			w.Expect(standing(w.get())).To(And(
				HaveKeyWithValue("Ready", "True Ready"), HaveKeyWithValue("CatalogPublished", "False PublishFailed")))
		}
		w.Expect(message(w.get(), "CatalogPublished")).To(HaveSuffix("; the last good catalog stays published"))
		w.Expect(w.published()).To(Equal([]string{"echo"}))
		w.Expect(w.stores).To(Equal(2))
	})
}

// Who asks for a reconnect waits for its list: it is stored at once, whatever was refused or written a moment ago. What
// comes later takes its turn again.
func TestReconnectStoresAtOnce(t *testing.T) {
	for name, before := range map[string]func(w *world){
		"refused": func(w *world) {
			w.storeErrors = []error{forbidden()}
			w.settle(connected("echo", "more"))
			w.Expect(standing(w.get())).To(HaveKeyWithValue("CatalogPublished", "False PublishFailed"))
		},
		"too often": func(w *world) {
			for i := range configmap.WriteBurst {
				w.settle(connected("echo", fmt.Sprint(i)))
			}
			w.settle(connected("echo", "more"))
			w.Expect(w.published()).NotTo(ContainElement("more"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, declared().Obj())
				w.settle(connected("echo"))
				before(w)
				w.edit(func(s *v1alpha1.MCPServer) {
					s.Annotations = map[string]string{v1alpha1.AnnotationReconnect: "1"}
				})
				handled := func(tools ...string) session.Snapshot {
					return with(connected(tools...), func(s *session.Snapshot) { s.HandledReconnect = "1" })
				}
				w.settle(handled("echo", "more"))
				w.Expect(w.published()).To(Equal([]string{"echo", "more"}))
				w.Expect(w.get().Status.LastHandledReconnectAt).To(Equal("1"))
				w.Expect(standing(w.get())).To(HaveKeyWithValue("CatalogPublished", "True Published"))
				for i := range configmap.WriteBurst + 1 {
					w.settle(handled("echo", fmt.Sprint("late-", i)))
				}
				w.Expect(w.published()).NotTo(ContainElement(fmt.Sprint("late-", configmap.WriteBurst)))
			})
		})
	}
}

// A reconnect whose list could not be stored yet is not acknowledged before it is.
func TestReconnectIsAcknowledgedWithItsOutcome(t *testing.T) {
	for name, answer := range map[string]error{"changed meanwhile": conflict(), "unwell": errUnwell} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, declared().Reconnect("1").Obj())
			w.settle(connected("echo"))
			w.sessions.Set(testKey, with(connected("echo", "more"), func(s *session.Snapshot) { s.HandledReconnect = "1" }))
			w.storeErrors = []error{answer}
			_, _ = w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: testName})
			w.Expect(w.storeErrors).To(BeEmpty())
			w.Expect(w.get().Status.LastHandledReconnectAt).To(BeEmpty())
			w.pass()
			w.Expect(w.get().Status.LastHandledReconnectAt).To(Equal("1"))
			w.Expect(w.published()).To(Equal([]string{"echo", "more"}))
		})
	}
}

// A ConfigMap that lost its label is not in the cache any more. It gets it back, whether or not the server can be
// listed, and what it holds stands meanwhile.
func TestLostLabelIsPutBack(t *testing.T) {
	for name, snapshot := range map[string]session.Snapshot{
		"connected": connected("echo"), "waiting": failing(session.Waiting),
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", restarted: ", restarted), func(t *testing.T) {
				w := newWorld(t, declared().Obj())
				w.settle(connected("echo"))
				object := w.catalog()
				object.Labels = nil
				w.Expect(w.api.Update(t.Context(), object)).To(Succeed())
				if restarted {
					w.restart()
				}
				w.settle(snapshot)
				w.Expect(w.catalog().Labels).To(HaveKeyWithValue(v1alpha1.LabelManagedBy, "mooring"))
				w.Expect(w.offered()).To(Equal("echo"))
				w.Expect(w.stores).To(Equal(2))
			})
		}
	}
}

// catalogOf is the ConfigMap that another life of the server left behind.
func catalogOf(owner metav1.OwnerReference, tools ...string) *corev1.ConfigMap {
	document := catalog.ServerDocument{
		Server:     catalog.Ref{Namespace: testNamespace, Name: "fs"},
		ConfigHash: connect.Hash(&declared().Obj().Spec),
		Catalog:    catalog.Parse(sessiontest.Tools(tools...).Tools),
	}
	encoded, _ := document.Encode() // small: cannot fail
	object := builder.ConfigMap(testNamespace, "fs-mcp-tools").Obj()
	object.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	object.Data, object.BinaryData = encoded.Data, encoded.BinaryData
	object.Labels = map[string]string{v1alpha1.LabelManagedBy: v1alpha1.LabelManagedByValue}
	object.OwnerReferences = []metav1.OwnerReference{owner}
	return object
}

func ownedBy(change func(*metav1.OwnerReference)) metav1.OwnerReference {
	owner := metav1.OwnerReference{
		APIVersion: "mooring.dev/v1alpha1", Kind: "MCPServer", Name: "fs", UID: "another", Controller: ptr.To(true),
	}
	change(&owner)
	return owner
}

// What a former object of this name owned is ours and is taken over; what belongs to anybody else is not touched.
func TestWhoseCatalogItIs(t *testing.T) {
	for name, test := range map[string]struct {
		owner metav1.OwnerReference
		ours  bool
	}{
		"a former object of this name": {ownedBy(func(*metav1.OwnerReference) {}), true},
		"the same in another version":  {ownedBy(func(o *metav1.OwnerReference) { o.APIVersion = "mooring.dev/v1" }), true},
		"another server":               {ownedBy(func(o *metav1.OwnerReference) { o.Name = "other" }), false},
		"another kind":                 {ownedBy(func(o *metav1.OwnerReference) { o.Kind = "AgentSession" }), false},
		"another group":                {ownedBy(func(o *metav1.OwnerReference) { o.APIVersion = "example.com/v1" }), false},
		"no group at all":              {ownedBy(func(o *metav1.OwnerReference) { o.APIVersion = "a/b/c" }), false},
		"an owner that does not control it": {ownedBy(func(o *metav1.OwnerReference) {
			o.Controller = nil
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, declared().Obj())
			left, err := runtime.DefaultUnstructuredConverter.ToUnstructured(catalogOf(test.owner, "echo"))
			w.Expect(err).NotTo(HaveOccurred())
			applied := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: left})
			w.Expect(w.api.Apply(t.Context(), applied, configmap.FieldOwner)).To(Succeed())
			before := w.catalog()
			w.settle(connected("echo"))
			if test.ours {
				w.Expect(metav1.GetControllerOf(w.catalog()).UID).To(Equal(testUID))
				w.Expect(standing(w.get())).To(HaveKeyWithValue("Ready", "True Ready"))
				return
			}
			w.Expect(w.catalog()).To(Equal(before))
			w.Expect(standing(w.get())).To(HaveKeyWithValue("Ready", "False NameConflict"))
			w.Expect(w.api.Delete(t.Context(), declared().Obj())).To(Succeed())
			w.pass()
			w.Expect(w.catalog()).To(Equal(before), "nor is it deleted")
		})
	}
}

// A stored catalog counts only if it is whole and was listed under this very declaration.
func TestWhichStoredCatalogCounts(t *testing.T) {
	mine := ownedBy(func(o *metav1.OwnerReference) { o.UID = testUID })
	for name, test := range map[string]struct {
		change func(*corev1.ConfigMap)
		want   string
	}{
		"whole":                    {func(*corev1.ConfigMap) {}, "True Published"},
		"of another declaration":   {func(c *corev1.ConfigMap) { swap(c, `"configHash":"`, `"configHash":"0`) }, unlisted},
		"with a tool slipped in":   {func(c *corev1.ConfigMap) { swap(c, `"name":"echo"`, `"name":"evil"`) }, unlisted},
		"cut short":                {func(c *corev1.ConfigMap) { swap(c, "}", "") }, unlisted},
		"emptied":                  {func(c *corev1.ConfigMap) { c.Data = nil }, unlisted},
		"of a schema yet to come":  {func(c *corev1.ConfigMap) { swap(c, `Version":1`, `Version":9`) }, unlisted},
		"with other keys besides":  {func(c *corev1.ConfigMap) { c.Data["note"] = "mine" }, "True Published"},
		"with somebody else's tag": {func(c *corev1.ConfigMap) { c.Labels["team"] = "a" }, "True Published"},
	} {
		t.Run(name, func(t *testing.T) {
			stored := catalogOf(mine, "echo")
			test.change(stored)
			w := newWorld(t, declared().Obj(), stored)
			w.settle(session.Snapshot{State: session.Connected, Settled: true})
			w.Expect(standing(w.get())).To(HaveKeyWithValue("CatalogPublished", test.want))
			w.settle(connected("echo"))
			w.Expect(w.published()).To(Equal([]string{"echo"}))
			w.Expect(standing(w.get())).To(HaveKeyWithValue("Ready", "True Ready"))
		})
	}
}

const unlisted = "Unknown AwaitingConnection"

func swap(c *corev1.ConfigMap, old, replacement string) {
	c.Data["catalog.json"] = strings.ReplaceAll(c.Data["catalog.json"], old, replacement)
}

// What failed says that agents keep what they have, if they have something.
func TestFailedListTellsWhatIsKept(t *testing.T) {
	failed := session.Snapshot{
		State: session.Connected, Settled: true, ListFault: fault(failure.Server, failure.List, failure.ServerError),
	}
	w := newWorld(t, declared().Obj())
	w.settle(failed)
	w.Expect(message(w.get(), "CatalogPublished")).To(Equal(failure.Message(failed.ListFault.Failure, testURL)))
	w.settle(connected("echo"))
	w.settle(with(connected("echo"), func(s *session.Snapshot) { s.ListFault = failed.ListFault }))
	w.Expect(message(w.get(), "CatalogPublished")).To(Equal(
		failure.Message(failed.ListFault.Failure, testURL) + "; the last good catalog stays published"))
}

// What the server told of its era outlives the process, as long as the declaration is the same and the catalog whole.
func TestEraStandsBesideTheCatalog(t *testing.T) {
	published := func(t *testing.T) *world {
		w := newWorld(t, declared().Obj())
		w.pass()
		w.era(w.get()).Confirm("modern")
		w.sessions.Set(testKey, connected("echo"))
		w.pass()
		w.Expect(w.catalog().Annotations).To(Equal(map[string]string{v1alpha1.AnnotationProtocolEra: "modern"}))
		return w
	}
	t.Run("after a restart", func(t *testing.T) {
		w := published(t)
		w.restart()
		stores := w.stores
		w.settle(connected("echo"))
		era, confirmed := w.era(w.get()).Confirmed()
		w.Expect(era).To(BeEquivalentTo("modern"))
		w.Expect(confirmed).To(BeTrue())
		w.Expect(w.stores).To(Equal(stores), "nothing is written for it")
	})
	t.Run("not under another declaration", func(t *testing.T) {
		w := published(t)
		w.edit(func(s *v1alpha1.MCPServer) { s.Spec.HTTP.URL = testURL + "/v2" })
		w.pass()
		w.Expect(w.era(w.get())).To(Equal(&connect.EraMemory{}))
		w.restart()
		w.pass()
		w.Expect(w.era(w.get())).To(Equal(&connect.EraMemory{}))
	})
	t.Run("not beside a damaged catalog", func(t *testing.T) {
		w := published(t)
		object := w.catalog()
		swap(object, `"name":"echo"`, `"name":"evil"`)
		w.Expect(w.api.Update(t.Context(), object)).To(Succeed())
		w.restart()
		w.pass()
		w.Expect(w.era(w.get())).To(Equal(&connect.EraMemory{}))
	})
	t.Run("not of an object that is gone", func(t *testing.T) {
		w := published(t)
		gone := w.get()
		w.remove()
		w.pass()
		w.Expect(w.era(gone)).To(Equal(&connect.EraMemory{}))
	})
}
