package refs

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnyMissingVerbIsDeniedBeforeAnythingIsListed(t *testing.T) {
	for _, verb := range needed {
		t.Run(verb, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.refuse(verb + " secrets agents")
				w.run()
				if w.tracker.denied("agents", Secret) {
					t.Fatal("denied although nobody refers to it")
				}
				w.tracker.Track(named("agents", "github"), []Ref{secretRef("agents", "gh")})
				w.expectWakes("denied", map[string]int{"agents/github": 1})
				if !w.tracker.denied("agents", Secret) {
					t.Fatal("not denied")
				}
				if w.tracker.denied("agents", ConfigMap) || w.tracker.denied("elsewhere", Secret) {
					t.Fatal("denial has spread")
				}
				if lists, watches := w.requests("agents"); lists != 0 || watches != 0 {
					t.Fatalf("%d lists and %d watches were tried", lists, watches)
				}
			})
		})
	}
}

func TestDeniedAccessIsAskedForEveryRecheckAndWakesOnceWhenGranted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.refuse("list secrets agents")
		for _, name := range []string{"a", "b", "c"} {
			w.tracker.Track(named("agents", name), []Ref{secretRef("agents", name)})
		}
		w.run()
		w.expectWakes("denied", map[string]int{"agents/a": 1, "agents/b": 1, "agents/c": 1})
		before := w.reviewed("agents")

		time.Sleep(10*DefaultRecheck + time.Second)
		w.expectWakes("still denied", map[string]int{})
		if got := w.reviewed("agents") - before; got != 10 {
			t.Fatalf("asked %d times in 10 rechecks for 3 referrers, want 10", got)
		}

		w.put(secretRef("agents", "a"), "1")
		w.grant("list secrets agents")
		time.Sleep(DefaultRecheck)
		w.expectWakes("granted", map[string]int{"agents/a": 1, "agents/b": 1, "agents/c": 1})
		if w.tracker.denied("agents", Secret) {
			t.Fatal("denied after the grant")
		}
		before = w.reviewed("agents")
		time.Sleep(10 * DefaultRecheck)
		w.expectWakes("calm", map[string]int{})
		if got := w.reviewed("agents") - before; got != 0 {
			t.Fatalf("asked %d times while granted, want 0", got)
		}
	})
}

func TestDeniedScopeThatNobodyNeedsIsNotAskedFor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.refuse(verbs("secrets", "agents")...)
		w.run()
		w.tracker.Track(named("agents", "github"), []Ref{secretRef("agents", "gh")})
		w.wakes()
		w.tracker.Track(named("agents", "github"), nil)
		before := w.reviewed("agents")
		time.Sleep(2 * defaultGrace)
		synctest.Wait()
		if got := w.reviewed("agents") - before; got != 0 {
			t.Fatalf("asked %d times for nobody", got)
		}
		if w.tracker.denied("agents", Secret) {
			t.Fatal("denial outlived its watch")
		}
	})
}

func TestDenialOfOneNamespaceLeavesOthersAlone(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		w.refuse(verbs("secrets", "closed")...)
		w.run()
		w.tracker.Track(named("closed", "github"), []Ref{secretRef("closed", "gh")})
		w.tracker.Track(named("agents", "github"), []Ref{secretRef("agents", "gh")})
		w.wakes()
		w.put(secretRef("agents", "gh"), "1")
		w.expectWakes("open namespace", map[string]int{"agents/github": 1})
	})
}

// The review may allow what the request is then refused: another replica of the API server, another moment.
func TestRefusedListIsDeniedAndNotTriedInALoop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.brokenReviews = true
		w.refuse("list secrets agents")
		w.run()
		w.tracker.Track(named("agents", "github"), []Ref{secretRef("agents", "gh")})
		w.expectWakes("refused", map[string]int{"agents/github": 1})
		if !w.tracker.denied("agents", Secret) {
			t.Fatal("not denied")
		}
		time.Sleep(10 * DefaultRecheck)
		w.expectWakes("without an answer", map[string]int{})
		if lists, _ := w.requests("agents"); lists != 1 {
			t.Fatalf("%d lists, want 1", lists)
		}

		w.mu.Lock()
		w.brokenReviews = false
		w.mu.Unlock()
		w.grant("list secrets agents")
		time.Sleep(DefaultRecheck)
		w.expectWakes("granted", map[string]int{"agents/github": 1})
	})
}

func TestReviewWithoutAnAnswerDoesNotHoldTheWatchUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.brokenReviews = true
		w.run()
		w.tracker.Track(named("agents", "github"), []Ref{secretRef("agents", "gh")})
		w.expectWakes("watch is up", map[string]int{"agents/github": 1})
		if w.tracker.denied("agents", Secret) {
			t.Fatal("denied without a refusal")
		}
	})
}

func TestListThatFailsOtherwiseIsTriedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.metadata.PrependReactor("list", "*", w.failOnce())
		w.run()
		w.tracker.Track(named("agents", "github"), []Ref{secretRef("agents", "gh")})
		w.expectWakes("list failed", map[string]int{})
		time.Sleep(10 * time.Second)
		w.expectWakes("watch is up", map[string]int{"agents/github": 1})
		if w.tracker.denied("agents", Secret) {
			t.Fatal("denied without a refusal")
		}
	})
}

func TestRefusedReadDeniesAndWakesAllReferrers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		gh := secretRef("agents", "gh")
		w.tracker.Track(named("agents", "github"), []Ref{gh})
		w.tracker.Track(named("agents", "exa"), []Ref{secretRef("agents", "exa")})
		w.wakes()

		time.Sleep(3*DefaultRecheck + time.Second) // between two rechecks
		reviewed := w.reviewed("agents")
		w.refuse("get secrets agents")
		_, _, err := w.tracker.Read(t.Context(), gh)
		want := AccessDeniedError{Kind: Secret, Namespace: "agents", Grant: GrantCommand(identity, "agents")}
		if !errors.Is(err, want) {
			t.Fatalf("read = %v, want %v", err, want)
		}
		w.expectWakes("refused", map[string]int{"agents/github": 1, "agents/exa": 1})
		if got := w.reviewed("agents") - reviewed; got != 0 {
			t.Fatalf("asked %d times before the next recheck, want 0", got)
		}

		w.kube.ClearActions()
		if _, _, err := w.tracker.Read(t.Context(), gh); !errors.Is(err, want) {
			t.Fatalf("read while denied = %v, want %v", err, want)
		}
		if n := len(w.kube.Actions()); n != 0 {
			t.Fatalf("%d requests while denied, want none", n)
		}

		w.grant("get secrets agents")
		w.fill(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "gh"},
			Data:       map[string][]byte{"token": []byte("t")},
		})
		time.Sleep(DefaultRecheck)
		w.expectWakes("granted", map[string]int{"agents/github": 1, "agents/exa": 1})
		if value, _, err := w.tracker.Read(t.Context(), gh); err != nil || value.Reveal() != "t" {
			t.Fatalf("read = %q, %v, want t", value.Reveal(), err)
		}
	})
}

// A request that was under way when access was revoked and granted again brings old news.
func TestRefusalOfAnEarlierRoundIsIgnored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		gh := secretRef("agents", "gh")
		w.tracker.Track(named("agents", "github"), []Ref{gh})
		w.wakes()
		watch, earlier, _ := w.tracker.standing(gh.scope())
		watch.refuse(earlier)
		time.Sleep(2 * DefaultRecheck)
		w.expectWakes("denied and granted", map[string]int{"agents/github": 2})

		watch.refuse(earlier)
		w.expectWakes("old news", map[string]int{})
		if w.tracker.denied("agents", Secret) {
			t.Fatal("old news denied the present round")
		}
	})
}

func TestGrantCommandNamesWhoAsks(t *testing.T) {
	const role = "kubectl create rolebinding mooring-secret-reader --clusterrole=mooring-secret-reader "
	for name, test := range map[string]struct{ identity, want string }{
		"service account": {identity, role + "--serviceaccount=mooring-system:mooring-manager -n agents"},
		"user":            {"jane@example.com", role + "--user=jane@example.com -n agents"},
		"node":            {"system:node:n1", role + "--user=system:node:n1 -n agents"},
		"odd user":        {"o'brien $(id)", role + `--user='o'\''brien $(id)' -n agents`},
		"nobody":          {"", role + "--user='' -n agents"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := GrantCommand(test.identity, "agents"); got != test.want {
				t.Fatalf("command = %s\nwant      %s", got, test.want)
			}
		})
	}
}

func TestAccessDeniedSaysHowToGrant(t *testing.T) {
	err := AccessDeniedError{Kind: Secret, Namespace: "agents", Grant: GrantCommand(identity, "agents")}
	if got := err.Error(); !strings.HasPrefix(got, `not permitted to read secrets in namespace "agents"`) ||
		!strings.HasSuffix(got, err.Grant) {
		t.Fatalf("message = %q", got)
	}
}
