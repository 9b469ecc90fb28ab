package refs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

func TestChangesWakeOnlyThoseThatReferToTheName(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		gh, other := secretRef("agents", "gh"), secretRef("agents", "other")
		w.tracker.Track(named("agents", "github"), []Ref{gh})
		w.tracker.Track(named("agents", "mirror"), []Ref{gh, other})
		w.tracker.Track(named("agents", "exa"), []Ref{other})
		w.run()
		w.expectWakes("watch is up", map[string]int{"agents/github": 1, "agents/mirror": 1, "agents/exa": 1})

		w.put(gh, "1")
		w.expectWakes("created", map[string]int{"agents/github": 1, "agents/mirror": 1})
		w.put(gh, "2")
		w.expectWakes("changed", map[string]int{"agents/github": 1, "agents/mirror": 1})
		w.remove(gh)
		w.expectWakes("deleted", map[string]int{"agents/github": 1, "agents/mirror": 1})
		w.put(secretRef("agents", "unknown"), "1")
		w.put(secretRef("elsewhere", "gh"), "1")
		w.put(Ref{Kind: ConfigMap, Namespace: "agents", Name: "gh"}, "1")
		w.expectWakes("others", map[string]int{})
	})
}

func TestFirstListWakesEachReferrerOnceWhateverItHolds(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		gh, other := secretRef("agents", "gh"), secretRef("agents", "other")
		w.put(gh, "1")
		w.put(other, "1")
		w.tracker.Track(named("agents", "github"), []Ref{gh, other, secretRef("agents", "missing")})
		w.expectWakes("before run", map[string]int{})
		w.run()
		w.expectWakes("watch is up", map[string]int{"agents/github": 1})
	})
}

func TestOneWatchServesANamespaceAndKind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		for _, name := range []string{"a", "b", "c"} {
			w.tracker.Track(named("agents", name), []Ref{secretRef("agents", name)})
		}
		synctest.Wait()
		if lists, watches := w.requests("agents"); lists != 1 || watches != 1 {
			t.Fatalf("%d lists and %d watches, want 1 and 1", lists, watches)
		}
		w.tracker.Track(named("agents", "d"), []Ref{{Kind: ConfigMap, Namespace: "agents", Name: "ca"}})
		synctest.Wait()
		if lists, watches := w.requests("agents"); lists != 2 || watches != 2 {
			t.Fatalf("with ConfigMaps %d lists and %d watches, want 2 and 2", lists, watches)
		}
	})
}

func TestTrackReplacesWhatWasDeclared(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		before, after := secretRef("agents", "before"), secretRef("agents", "after")
		owner := named("agents", "github")
		w.tracker.Track(owner, []Ref{before})
		w.tracker.Track(owner, []Ref{after})
		w.expectWakes("watch is up", map[string]int{"agents/github": 1})

		w.put(before, "1")
		w.expectWakes("no longer referred to", map[string]int{})
		w.put(after, "1")
		w.expectWakes("referred to", map[string]int{"agents/github": 1})

		w.tracker.Track(owner, nil)
		w.tracker.Track(owner, nil)
		w.put(after, "2")
		w.expectWakes("forgotten", map[string]int{})
		if n := len(w.tracker.guarded.owners); n != 0 {
			t.Fatalf("%d owners remembered, want none", n)
		}
	})
}

func TestTwoKeysOfOneSecretAreOneReference(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		w.run()
		token, user := secretRef("agents", "gh"), secretRef("agents", "gh")
		user.Key = "user"
		w.tracker.Track(named("agents", "github"), []Ref{token, user})
		w.tracker.Track(named("agents", "github"), []Ref{token})
		w.wakes()
		w.put(token, "1")
		w.expectWakes("created", map[string]int{"agents/github": 1})
	})
}

func TestWatchEndsAfterGrace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		watches := w.takeWatches()
		w.run()
		w.tracker.Track(named("agents", "github"), []Ref{secretRef("agents", "gh")})
		w.wakes()
		taken := <-watches
		w.tracker.Track(named("agents", "github"), nil)
		time.Sleep(defaultGrace - time.Second)
		synctest.Wait()
		if taken.IsStopped() {
			t.Fatal("watch ended within grace")
		}
		time.Sleep(DefaultRecheck + time.Second)
		synctest.Wait()
		if !taken.IsStopped() {
			t.Fatal("watch goes on after grace")
		}
	})
}

func TestWatchOutlivesItsLastReferenceByGrace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		owner, gh := named("agents", "github"), secretRef("agents", "gh")
		w.tracker.Track(owner, []Ref{gh})
		w.wakes()
		w.tracker.Track(owner, nil)

		time.Sleep(defaultGrace - time.Second)
		w.tracker.Track(owner, []Ref{gh})
		w.put(gh, "1")
		w.expectWakes("referred to again within grace", map[string]int{"agents/github": 1})
		if lists, watches := w.requests("agents"); lists != 1 || watches != 1 {
			t.Fatalf("%d lists and %d watches, want the first ones kept", lists, watches)
		}

		time.Sleep(10 * defaultGrace)
		w.put(gh, "2")
		w.expectWakes("still referred to long after", map[string]int{"agents/github": 1})

		w.tracker.Track(owner, nil)
		time.Sleep(defaultGrace + DefaultRecheck)
		synctest.Wait()
		if n := len(w.tracker.guarded.watches); n != 0 {
			t.Fatalf("%d watches after grace, want none", n)
		}

		w.tracker.Track(owner, []Ref{gh})
		w.expectWakes("referred to after grace", map[string]int{"agents/github": 1})
		if lists, _ := w.requests("agents"); lists != 2 {
			t.Fatalf("%d lists, want a new watch", lists)
		}
	})
}

// A watch that breaks is listed again. What did not change in between is no news.
func TestListAfterABrokenWatchWakesOnlyForChanges(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		watches := w.takeWatches()
		same, changed, gone := secretRef("agents", "same"), secretRef("agents", "changed"), secretRef("agents", "gone")
		for _, ref := range []Ref{same, changed, gone} {
			w.put(ref, "1")
			w.tracker.Track(named("agents", ref.Name), []Ref{ref})
		}
		w.run()
		w.wakes()

		w.put(changed, "2")
		w.remove(gone)
		w.expectWakes("unheard", map[string]int{})
		(<-watches).Error(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410})
		time.Sleep(time.Minute)
		w.expectWakes("listed again", map[string]int{"agents/changed": 1, "agents/gone": 1})
	})
}

func TestRunEndsEverythingAndIsForOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.refuse("list secrets closed")
		w.run()
		w.tracker.Track(named("agents", "github"), []Ref{secretRef("agents", "gh")})
		w.tracker.Track(named("closed", "github"), []Ref{secretRef("closed", "gh")})
		w.wakes()
		w.stop()
		if err := w.tracker.Run(t.Context()); !errors.Is(err, errRunning) {
			t.Fatalf("second run = %v, want %v", err, errRunning)
		}
		// Nobody is left to start this; it must not be in anybody's way either.
		w.tracker.Track(named("later", "github"), []Ref{secretRef("later", "gh")})
		w.expectWakes("after the end", map[string]int{})
		if lists, _ := w.requests("later"); lists != 0 {
			t.Fatalf("%d lists after the end, want none", lists)
		}
	})
}

func TestRunWaitsForWhatItStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := make(chan struct{}), make(chan struct{})
		kube := kubefake.NewClientset()
		kube.PrependReactor("create", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			close(asked)
			<-answer // a request that does not heed its context
			return true, nil, forbidden("secrets")
		})
		tracker := New(Options{Kube: kube, Wake: func(types.NamespacedName) {}})
		tracker.Track(named("agents", "github"), []Ref{secretRef("agents", "gh")})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- tracker.Run(ctx) }()
		<-asked
		cancel()
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("run returned while a request was under way")
		default:
		}
		close(answer)
		if err := <-ended; err != nil {
			t.Fatalf("run: %v", err)
		}
	})
}

func TestTrackerNeedsNoElection(t *testing.T) {
	if New(Options{}).NeedLeaderElection() {
		t.Fatal("a manager would start the tracker only after its election")
	}
}

func TestOnlyNamesAndVersionsAreKept(t *testing.T) {
	full := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "agents", Name: "gh", UID: "u", ResourceVersion: "7",
			Annotations:   map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "hunter2"},
			Labels:        map[string]string{"a": "b"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
	}
	kept, err := slim(full)
	if err != nil {
		t.Fatal(err)
	}
	want := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "gh", UID: "u", ResourceVersion: "7"},
	}
	if got := kept.(*metav1.PartialObjectMetadata); got.String() != want.String() {
		t.Fatalf("kept %v, want %v", got, want)
	}
	tombstone := cache.DeletedFinalStateUnknown{Key: "agents/gh", Obj: kept}
	if got, err := slim(tombstone); err != nil || got != any(tombstone) {
		t.Fatalf("slim(tombstone) = %v, %v, want it untouched", got, err)
	}
	if got := nameOf(tombstone); got != "gh" {
		t.Fatalf("name of a tombstone = %q, want gh", got)
	}
	if got := versionOf(tombstone); got != "" {
		t.Fatalf("version of a tombstone = %q, want none", got)
	}
}
