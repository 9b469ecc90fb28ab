package refs

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	kubefake "k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

const identity = "system:serviceaccount:mooring-system:mooring-manager"

// world is a cluster made of fakes: it lives in a synctest bubble, where time is fake and waiting is exact.
type world struct {
	t        *testing.T
	kube     *kubefake.Clientset
	metadata *metadatafake.FakeMetadataClient
	tracker  *Tracker
	stop     func()

	mu      sync.Mutex
	woken   map[string]int
	refused sets.Set[string] // "<verb> <resource> <namespace>"
	reviews map[string]int   // by namespace
	// brokenReviews makes access reviews fail.
	brokenReviews bool
}

// inWorld runs a test in a bubble and ends the Tracker after it. A goroutine that outlives Run fails the test.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		scheme := metadatafake.NewTestScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		w := &world{
			t:        t,
			kube:     kubefake.NewClientset(),
			metadata: metadatafake.NewSimpleMetadataClient(scheme),
			woken:    map[string]int{},
			refused:  sets.New[string](),
			reviews:  map[string]int{},
		}
		w.kube.PrependReactor("create", "selfsubjectaccessreviews", w.review)
		w.kube.PrependReactor("get", "*", w.authorize)
		w.metadata.PrependReactor("list", "*", w.authorize)
		w.tracker = New(Options{Kube: w.kube, Metadata: w.metadata, Wake: w.wake, Identity: identity})
		test(t, w)
		if w.stop != nil {
			w.stop()
		}
	})
}

// run starts the Tracker; w.stop ends it and waits.
func (w *world) run() {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.tracker.Start(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("run: %v", err)
		}
	})
	synctest.Wait()
}

func (w *world) wake(owner types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.woken[owner.String()]++
}

// wakes waits until nothing moves any more, and returns who was woken how often since it was last asked.
func (w *world) wakes() map[string]int {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	woken := w.woken
	w.woken = map[string]int{}
	return woken
}

func (w *world) expectWakes(what string, want map[string]int) {
	w.t.Helper()
	if got := w.wakes(); !maps.Equal(got, want) {
		w.t.Fatalf("%s: woken %v, want %v", what, got, want)
	}
}

// refuse and grant change what this process may do: "<verb> <resource> <namespace>".
func (w *world) refuse(rights ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused.Insert(rights...)
}

func (w *world) grant(rights ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused.Delete(rights...)
}

func (w *world) review(action clienttesting.Action) (bool, runtime.Object, error) {
	review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
	asked := review.Spec.ResourceAttributes
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reviews[asked.Namespace]++
	if w.brokenReviews {
		return true, nil, apierrors.NewInternalError(context.DeadlineExceeded)
	}
	review.Status.Allowed = !w.refused.Has(strings.Join([]string{asked.Verb, asked.Resource, asked.Namespace}, " "))
	return true, review, nil
}

func (w *world) authorize(action clienttesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	resource := action.GetResource()
	if w.refused.Has(strings.Join([]string{action.GetVerb(), resource.Resource, action.GetNamespace()}, " ")) {
		return true, nil, forbidden(resource.Resource)
	}
	return false, nil, nil
}

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
}

func (w *world) reviewed(namespace string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reviews[namespace]
}

// requests returns how many list and watch requests of a namespace were made.
func (w *world) requests(namespace string) (lists, watches int) {
	for _, action := range w.metadata.Actions() {
		if action.GetNamespace() != namespace {
			continue
		}
		switch action.GetVerb() {
		case "list":
			lists++
		case "watch":
			watches++
		}
	}
	return lists, watches
}

// takeWatches gives the test the watches of Secrets, which then tell only what the test has them tell.
func (w *world) takeWatches() <-chan *apiwatch.RaceFreeFakeWatcher {
	watches := make(chan *apiwatch.RaceFreeFakeWatcher, 10)
	w.metadata.PrependWatchReactor("secrets", func(clienttesting.Action) (bool, apiwatch.Interface, error) {
		watcher := apiwatch.NewRaceFreeFake()
		watches <- watcher
		return true, watcher, nil
	})
	return watches
}

// put creates or changes an object as the metadata watch sees it.
func (w *world) put(ref Ref, version string) {
	w.t.Helper()
	object := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: string(ref.Kind)},
		ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name, ResourceVersion: version},
	}
	resource := ref.Kind.groupVersionResource()
	err := w.metadata.Tracker().Update(resource, object, ref.Namespace)
	if apierrors.IsNotFound(err) {
		err = w.metadata.Tracker().Create(resource, object, ref.Namespace)
	}
	if err != nil {
		w.t.Fatalf("put %v: %v", ref, err)
	}
}

func (w *world) remove(ref Ref) {
	w.t.Helper()
	if err := w.metadata.Tracker().Delete(ref.Kind.groupVersionResource(), ref.Namespace, ref.Name); err != nil {
		w.t.Fatalf("remove %v: %v", ref, err)
	}
}

// fill gives the live object its values.
func (w *world) fill(objects ...runtime.Object) {
	w.t.Helper()
	for _, object := range objects {
		name, err := meta.Accessor(object)
		if err != nil {
			w.t.Fatal(err)
		}
		resource := ConfigMap.groupVersionResource()
		if _, ok := object.(*corev1.Secret); ok {
			resource = Secret.groupVersionResource()
		}
		if err := w.kube.Tracker().Create(resource, object, name.GetNamespace()); err != nil {
			w.t.Fatalf("fill %s: %v", name.GetName(), err)
		}
	}
}

func secretRef(namespace, name string) Ref {
	return Ref{Kind: Secret, Namespace: namespace, Name: name, Key: "token"}
}

func named(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func verbs(resource, namespace string) []string {
	rights := []string{}
	for _, verb := range slices.Sorted(slices.Values(needed)) {
		rights = append(rights, verb+" "+resource+" "+namespace)
	}
	return rights
}

// denied reports whether reading the kind in the namespace is known to be refused. It is false for what nobody
// refers to.
func (t *Tracker) denied(namespace string, kind Kind) bool {
	_, _, denied := t.standing(scope{namespace: namespace, kind: kind})
	return denied
}
