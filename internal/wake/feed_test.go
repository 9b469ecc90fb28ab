package wake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// queues are both kinds that a controller may hand to its sources.
var queues = map[string]func() queue{
	"priority queue": func() queue { return priorityqueue.New[reconcile.Request]("wake-test") },
	"plain queue": func() queue {
		return workqueue.NewTypedRateLimitingQueue(
			workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	},
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "agents", Name: name}
}

// take gets n keys as a controller's worker does, sorted by name.
func take(t *testing.T, q queue, n int) []string {
	t.Helper()
	var names []string
	for range n {
		request, shutdown := q.Get()
		if shutdown {
			t.Fatalf("queue ended after %d of %d keys", len(names), n)
		}
		q.Done(request)
		names = append(names, request.String())
	}
	slices.Sort(names)
	return names
}

// forEachQueue runs a case over both kinds of queue and ends the queue after it.
func forEachQueue(t *testing.T, run func(t *testing.T, q queue)) {
	for name, build := range queues {
		t.Run(name, func(t *testing.T) {
			q := build()
			t.Cleanup(q.ShutDown)
			run(t, q)
		})
	}
}

func TestKeysBeforeStartAreKeptOnceAndAddedAtStart(t *testing.T) {
	forEachQueue(t, func(t *testing.T, q queue) {
		var feed Feed
		for range 3 {
			feed.Wake(key("a"))
			feed.Wake(key("b"))
		}
		if err := feed.Start(t.Context(), q); err != nil {
			t.Fatalf("start: %v", err)
		}
		if got, want := take(t, q, 2), []string{"agents/a", "agents/b"}; !slices.Equal(got, want) {
			t.Fatalf("keys = %v, want %v", got, want)
		}
		if q.Len() != 0 {
			t.Fatalf("%d keys too many in the queue", q.Len())
		}
	})
}

func TestKeysAfterStartReachTheQueueOncePerKey(t *testing.T) {
	forEachQueue(t, func(t *testing.T, q queue) {
		var feed Feed
		if err := feed.Start(t.Context(), q); err != nil {
			t.Fatalf("start: %v", err)
		}
		for range 5 {
			feed.Wake(key("a"))
		}
		feed.Wake(key("b"))
		if got, want := take(t, q, 2), []string{"agents/a", "agents/b"}; !slices.Equal(got, want) {
			t.Fatalf("keys = %v, want %v", got, want)
		}
		if q.Len() != 0 {
			t.Fatalf("%d keys too many in the queue", q.Len())
		}
	})
}

func TestSecondStartIsRefusedAndTheFirstQueueKeepsItsKeys(t *testing.T) {
	forEachQueue(t, func(t *testing.T, q queue) {
		var feed Feed
		if err := feed.Start(t.Context(), q); err != nil {
			t.Fatalf("start: %v", err)
		}
		if err := feed.Start(t.Context(), q); !errors.Is(err, errStarted) {
			t.Fatalf("second start = %v, want %v", err, errStarted)
		}
		feed.Wake(key("a"))
		if got, want := take(t, q, 1), []string{"agents/a"}; !slices.Equal(got, want) {
			t.Fatalf("keys = %v, want %v", got, want)
		}
	})
}

func TestWakeAfterTheQueueEndedIsIgnored(t *testing.T) {
	for name, build := range queues {
		t.Run(name, func(t *testing.T) {
			var feed Feed
			q := build()
			if err := feed.Start(t.Context(), q); err != nil {
				t.Fatalf("start: %v", err)
			}
			q.ShutDown()
			feed.Wake(key("a"))
			if _, shutdown := q.Get(); !shutdown {
				t.Fatal("a key came out of a queue that has ended")
			}
		})
	}
}

// A wake that races with the start must land in exactly one of the two ways, never in none.
func TestNoKeyIsLostWhileStarting(t *testing.T) {
	forEachQueue(t, func(t *testing.T, q queue) {
		const wakers, perWaker = 8, 100
		var feed Feed
		var wakersDone sync.WaitGroup
		for w := range wakers {
			wakersDone.Go(func() {
				for i := range perWaker {
					feed.Wake(key(fmt.Sprintf("%d-%d", w, i)))
				}
			})
		}
		if err := feed.Start(context.Background(), q); err != nil {
			t.Fatalf("start: %v", err)
		}
		wakersDone.Wait()
		if got := sets.New(take(t, q, wakers*perWaker)...); got.Len() != wakers*perWaker {
			t.Fatalf("%d distinct keys, want %d", got.Len(), wakers*perWaker)
		}
	})
}

func TestFeedNamesItselfInLogs(t *testing.T) {
	if got := fmt.Sprint(&Feed{}); !strings.Contains(got, "wake") {
		t.Fatalf("String() = %q", got)
	}
}
