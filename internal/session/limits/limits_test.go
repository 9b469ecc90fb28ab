package limits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit)) }

// log collects who entered, in order.
type log struct {
	mu    sync.Mutex
	names []string
}

func (l *log) add(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = append(l.names, name)
}

func (l *log) is(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.names, want) {
		t.Fatalf("entered %v, want %v", l.names, want)
	}
}

// enter enters in a goroutine of its own and leaves when told to.
func (l *log) enter(name string, enter func() (func(), error)) (leave func()) {
	going := make(chan struct{})
	go func() {
		leave, err := enter()
		if err != nil {
			l.add(name + ": " + err.Error())
			return
		}
		l.add(name)
		<-going
		leave()
		leave() // twice is as good as once
	}()
	synctest.Wait()
	return func() { close(going); synctest.Wait() }
}

func TestGateBoundsTotalAndPerAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := NewGate(3, 2), &log{}
		enter := func(name, address string, urgent bool) func() {
			return l.enter(name, func() (func(), error) { return g.Enter(t.Context(), address, urgent) })
		}
		a1, a2, a3 := enter("a1", "a", false), enter("a2", "a", false), enter("a3", "a", false)
		b1 := enter("b1", "b", false)
		l.is(t, "a1", "a2", "b1")
		c1 := enter("c1", "c", false)
		b1()
		l.is(t, "a1", "a2", "b1", "c1") // a3 waits for its address, c1 only for a place
		a1()
		l.is(t, "a1", "a2", "b1", "c1", "a3")
		a2()
		a3()
		c1()
		if g.guarded.inUse != 0 || len(g.guarded.address) != 0 || len(g.guarded.waiting) != 0 {
			t.Fatalf("left behind: %+v", g.guarded)
		}
	})
}

func TestGateLetsPeopleGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := NewGate(1, 1), &log{}
		enter := func(name string, urgent bool) func() {
			return l.enter(name, func() (func(), error) { return g.Enter(t.Context(), name, urgent) })
		}
		leaves := []func(){
			enter("first", false), enter("start-up 1", false), enter("start-up 2", false),
			enter("edit 1", true), enter("edit 2", true),
		}
		for _, i := range []int{0, 3, 4, 1, 2} {
			leaves[i]()
		}
		l.is(t, "first", "edit 1", "edit 2", "start-up 1", "start-up 2")
	})
}

func TestGateGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1, 1)
		leave, _ := g.Enter(t.Context(), "a", false)
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		if _, err := g.Enter(ctx, "b", false); !errors.Is(err, gone) {
			t.Fatalf("got %v", err)
		}
		leave()
		if leave, err := g.Enter(t.Context(), "b", false); err != nil {
			t.Fatal("the place is lost")
		} else {
			leave()
		}
	})
}

func TestGateReturnsAPlaceGivenTooLate(t *testing.T) {
	g := NewGate(1, 1)
	e := &entry{address: "a", open: make(chan struct{})}
	g.enqueue(e)
	g.admit()
	g.abandon(e)
	if g.guarded.inUse != 0 || len(g.guarded.address) != 0 {
		t.Fatalf("left behind: %+v", g.guarded)
	}
}

func TestConnectsGiveTheirPlaceBackAfterTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		gate := NewGate(2, 1)
		hung, _ := gate.Enter(t.Context(), "a", false)
		quick, err := gate.Enter(t.Context(), "a", false)
		if err != nil || time.Since(start) != 2*time.Second {
			t.Fatalf("entered after %s, %v", time.Since(start), err)
		}
		hung()
		other, _ := gate.Enter(t.Context(), "b", false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := gate.Enter(ctx, "c", true); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("what was given back twice is given out twice: %v", err)
		}
		quick()
		other()
		if g := &gate.guarded; g.inUse != 0 || len(g.address) != 0 {
			t.Fatalf("left behind: %+v", g)
		}
	})
}

func TestListsGiveTheirPlaceBackAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		lists := NewLists(1)
		hung, _ := lists.Enter(t.Context())
		quick, err := lists.Enter(t.Context())
		if err != nil || time.Since(start) != time.Second {
			t.Fatalf("entered after %s, %v", time.Since(start), err)
		}
		quick()
		hung()
		third, _ := lists.Enter(t.Context())
		defer third()
		if time.Since(start) != time.Second {
			t.Fatalf("third entered after %s", time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := lists.Enter(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestSuspicion(t *testing.T) {
	now := time.Date(2026, 8, 18, 12, 0, 0, 0, time.UTC)
	name := func(i int) string { return fmt.Sprint(i) }
	t.Run("more than half of at least ten", func(t *testing.T) {
		var s Suspicion
		for i := range 10 {
			if s.Failed(name(i), now, 20) {
				t.Fatalf("suspected at %d of 20", i+1)
			}
			if s.Failed(name(i), now, 20) {
				t.Fatal("one server counts twice")
			}
		}
		if !s.Failed(name(10), now, 20) {
			t.Fatal("not suspected at 11 of 20")
		}
	})
	t.Run("fewer than ten are no fleet", func(t *testing.T) {
		var s Suspicion
		for i := range 9 {
			if s.Failed(name(i), now, 9) {
				t.Fatal("suspected")
			}
		}
	})
	t.Run("within 30 s", func(t *testing.T) {
		var s Suspicion
		for i := range 20 {
			if s.Failed(name(i), now.Add(time.Duration(i)*7*time.Second), 10) {
				t.Fatal("suspected over a minute")
			}
		}
	})
	t.Run("the forgotten do not count", func(t *testing.T) {
		var s Suspicion
		for i := range 10 {
			s.Failed(name(i), now, 20)
		}
		s.Forget(name(0))
		if s.Failed(name(10), now, 20) {
			t.Fatal("suspected")
		}
	})
}

func TestSlotsTakeTurnsBetweenCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := NewSlots(1), &log{}
		enter := func(caller, name string) func() {
			return l.enter(name, func() (func(), error) { return s.Enter(t.Context(), caller) })
		}
		leaves := map[string]func(){}
		for _, name := range []string{"a1", "a2", "a3", "a4", "b1", "b2", "c1"} {
			leaves[name] = enter(name[:1], name)
		}
		for _, name := range []string{"a1", "a2", "b1", "c1", "a3", "b2", "a4"} {
			leaves[name]()
		}
		l.is(t, "a1", "a2", "b1", "c1", "a3", "b2", "a4")
		if s.guarded.inUse != 0 || len(s.guarded.queues) != 0 || len(s.guarded.order) != 0 {
			t.Fatalf("left behind: %+v", s.guarded)
		}
	})
}

func TestSlotsOverloadIsPerCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := NewSlots(1), &log{}
		ctx, cancel := context.WithCancel(t.Context())
		leave, _ := s.Enter(ctx, "a")
		for range 64 {
			l.enter("waiting", func() (func(), error) { return s.Enter(ctx, "a") })
		}
		if _, err := s.Enter(ctx, "a"); !errors.Is(err, ErrOverloaded) {
			t.Fatalf("the 65th: %v", err)
		}
		other := l.enter("other", func() (func(), error) { return s.Enter(t.Context(), "b") })
		cancel()
		synctest.Wait()
		leave()
		other()
		if l.names[len(l.names)-1] != "other" || len(l.names) != 65 {
			t.Fatalf("entered %v", l.names)
		}
		if s.guarded.inUse != 0 || len(s.guarded.queues) != 0 || len(s.guarded.order) != 0 {
			t.Fatalf("left behind: %+v", s.guarded)
		}
	})
}

func TestSlotsResize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := NewSlots(1), &log{}
		enter := func(name string) func() {
			return l.enter(name, func() (func(), error) { return s.Enter(t.Context(), name) })
		}
		a, b, c := enter("a"), enter("b"), enter("c")
		l.is(t, "a")
		s.Resize(2)
		l.is(t, "a", "b")
		s.Resize(1)
		a()
		l.is(t, "a", "b")
		b()
		l.is(t, "a", "b", "c")
		c()
	})
}

func TestSlotsReturnAPlaceGivenTooLate(t *testing.T) {
	s := NewSlots(1)
	turn := &turn{open: make(chan struct{})}
	if err := s.enqueue("a", turn); err != nil {
		t.Fatal(err)
	}
	s.abandon("a", turn)
	if s.guarded.inUse != 0 {
		t.Fatal("the place is lost")
	}
}
