package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// entries collects who entered, in order.
type entries struct {
	mu    sync.Mutex
	names []string
}

func (l *entries) add(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = append(l.names, name)
}

func (l *entries) is(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.names, want) {
		t.Fatalf("entered %v, want %v", l.names, want)
	}
}

// enter enters in a goroutine of its own and leaves when told to.
func (l *entries) enter(name string, enter func() (func(), error)) (leave func()) {
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

func TestDialLimiterBoundsTotalAndPerAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := newLimiter(3, 2, dialPatience), &entries{}
		enter := func(name, address string, rank int) func() {
			return l.enter(name, func() (func(), error) { return g.enter(t.Context(), address, rank) })
		}
		a1, a2, a3 := enter("a1", "a", unhurried), enter("a2", "a", unhurried), enter("a3", "a", unhurried)
		b1 := enter("b1", "b", unhurried)
		l.is(t, "a1", "a2", "b1")
		c1 := enter("c1", "c", unhurried)
		b1()
		l.is(t, "a1", "a2", "b1", "c1") // a3 waits for its address, c1 only for a place
		a1()
		l.is(t, "a1", "a2", "b1", "c1", "a3")
		a2()
		a3()
		c1()
		if g.guarded.inUse != 0 || len(g.guarded.ofKey) != 0 || len(g.guarded.waiting) != 0 {
			t.Fatalf("left behind: %+v", g.guarded)
		}
	})
}

func TestDialLimiterLetsPeopleGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := newLimiter(1, 1, dialPatience), &entries{}
		enter := func(name string, rank int) func() {
			return l.enter(name, func() (func(), error) { return g.enter(t.Context(), name, rank) })
		}
		leaves := []func(){
			enter("first", unhurried), enter("start-up 1", unhurried), enter("start-up 2", unhurried),
			enter("edit 1", urgent), enter("edit 2", urgent),
		}
		for _, i := range []int{0, 3, 4, 1, 2} {
			leaves[i]()
		}
		l.is(t, "first", "edit 1", "edit 2", "start-up 1", "start-up 2")
	})
}

func TestLimiterGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLimiter(1, 1, dialPatience)
		leave, _ := g.enter(t.Context(), "a", unhurried)
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		if _, err := g.enter(ctx, "b", unhurried); !errors.Is(err, gone) {
			t.Fatalf("got %v", err)
		}
		leave()
		if leave, err := g.enter(t.Context(), "b", unhurried); err != nil {
			t.Fatal("the place is lost")
		} else {
			leave()
		}
	})
}

func TestLimiterReturnsAPlaceGivenTooLate(t *testing.T) {
	g := newLimiter(1, 1, dialPatience)
	given := &ticket{key: "a", open: make(chan struct{})}
	g.enqueue(given)
	g.abandon(given)
	if g.guarded.inUse != 0 || len(g.guarded.ofKey) != 0 {
		t.Fatalf("left behind: %+v", g.guarded)
	}
}

func TestConnectsGiveTheirPlaceBackAfterTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		gate := newLimiter(2, 1, dialPatience)
		hung, _ := gate.enter(t.Context(), "a", unhurried)
		quick, err := gate.enter(t.Context(), "a", unhurried)
		if err != nil || time.Since(start) != 2*time.Second {
			t.Fatalf("entered after %s, %v", time.Since(start), err)
		}
		hung()
		other, _ := gate.enter(t.Context(), "b", unhurried)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := gate.enter(ctx, "c", urgent); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("what was given back twice is given out twice: %v", err)
		}
		quick()
		other()
		if g := &gate.guarded; g.inUse != 0 || len(g.ofKey) != 0 {
			t.Fatalf("left behind: %+v", g)
		}
	})
}

func TestListsGiveTheirPlaceBackAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		lists := newLimiter(1, 0, listPatience)
		hung, _ := lists.enter(t.Context(), "", 0)
		quick, err := lists.enter(t.Context(), "", 0)
		if err != nil || time.Since(start) != time.Second {
			t.Fatalf("entered after %s, %v", time.Since(start), err)
		}
		quick()
		hung()
		third, _ := lists.enter(t.Context(), "", 0)
		defer third()
		if time.Since(start) != time.Second {
			t.Fatalf("third entered after %s", time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := lists.enter(ctx, "", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestCallersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLimiter(1, 0, 0), &entries{}
		enter := func(caller, name string) func() {
			return l.enter(name, func() (func(), error) { return s.takeTurn(t.Context(), caller) })
		}
		leaves := map[string]func(){}
		for _, name := range []string{"a1", "a2", "a3", "a4", "b1", "b2", "c1"} {
			leaves[name] = enter(name[:1], name)
		}
		for _, name := range []string{"a1", "a2", "b1", "c1", "a3", "b2", "a4"} {
			leaves[name]()
		}
		l.is(t, "a1", "a2", "b1", "c1", "a3", "b2", "a4")
		if s.guarded.inUse != 0 || len(s.guarded.ofKey) != 0 || len(s.guarded.waiting) != 0 {
			t.Fatalf("left behind: %+v", s.guarded)
		}
	})
}

func TestOverloadIsPerCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLimiter(1, 0, 0), &entries{}
		ctx, cancel := context.WithCancel(t.Context())
		leave, _ := s.takeTurn(ctx, "a")
		for range 64 {
			l.enter("waiting", func() (func(), error) { return s.takeTurn(ctx, "a") })
		}
		if _, err := s.takeTurn(ctx, "a"); !errors.Is(err, errOverloaded) {
			t.Fatalf("the 65th: %v", err)
		}
		other := l.enter("other", func() (func(), error) { return s.takeTurn(t.Context(), "b") })
		cancel()
		synctest.Wait()
		leave()
		other()
		if l.names[len(l.names)-1] != "other" || len(l.names) != 65 {
			t.Fatalf("entered %v", l.names)
		}
		if s.guarded.inUse != 0 || len(s.guarded.ofKey) != 0 || len(s.guarded.waiting) != 0 {
			t.Fatalf("left behind: %+v", s.guarded)
		}
	})
}

func TestLimiterIsResized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLimiter(1, 0, 0), &entries{}
		enter := func(name string) func() {
			return l.enter(name, func() (func(), error) { return s.takeTurn(t.Context(), name) })
		}
		a, b, c := enter("a"), enter("b"), enter("c")
		l.is(t, "a")
		s.resize(2)
		l.is(t, "a", "b")
		s.resize(1)
		a()
		l.is(t, "a", "b")
		b()
		l.is(t, "a", "b", "c")
		c()
	})
}
