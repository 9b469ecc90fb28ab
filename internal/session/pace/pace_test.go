package pace

import (
	"testing"
	"time"
)

var start = time.Date(2026, 8, 18, 12, 0, 0, 0, time.UTC)

// at is a time in seconds after the start.
func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// least draws no jitter for waits that are shortened; half is in the middle of what varies around.
func least() float64 { return 0 }
func half() float64  { return 0.5 }

func due(t *testing.T, what string, got, want time.Time) {
	t.Helper()
	if !got.Equal(want) {
		t.Fatalf("%s: due after %s, want %s", what, got.Sub(start), want.Sub(start))
	}
}

func TestNothingIsPlannedBeforeTheFirstOutcome(t *testing.T) {
	l := NewLists(least)
	if got := l.Due(start, 10*time.Minute); !got.IsZero() {
		t.Fatalf("due at %s", got)
	}
}

func TestRegularLists(t *testing.T) {
	l := NewLists(least)
	l.Listed(start, 0)
	due(t, "interval", l.Due(start, 10*time.Minute), at(600))
	l = NewLists(half)
	l.Listed(start, 0)
	due(t, "interval with jitter, never later", l.Due(start, 10*time.Minute), at(540))
	l.Listed(start, time.Minute)
	due(t, "ttl", l.Due(start, 10*time.Minute), at(60))
	l.Listed(start, time.Hour)
	due(t, "ttl above the interval", l.Due(start, 10*time.Minute), at(540))
}

func TestShortTTLIsDrawnFromTheBucket(t *testing.T) {
	l := NewLists(least)
	now := start
	var times []float64
	for range 5 {
		l.Listed(now, time.Millisecond)
		now = l.Due(now, 10*time.Minute)
		times = append(times, now.Sub(start).Seconds())
		l.Began(now, 10*time.Minute)
	}
	want := []float64{0.001, 0.002, 10.001, 20.001, 30.001}
	for i := range want {
		if times[i] != want[i] {
			t.Fatalf("lists at %v, want %v", times, want)
		}
	}
}

func TestChangesAreDebounced(t *testing.T) {
	l := NewLists(least)
	l.Listed(start, 0)
	l.Changed(at(10))
	due(t, "one change", l.Due(at(10), 10*time.Minute), at(11))
	l.Changed(at(10.5))
	due(t, "a second one", l.Due(at(10.5), 10*time.Minute), at(11.5))
	for s := 10.6; s < 13; s += 0.1 {
		l.Changed(at(s))
	}
	due(t, "a storm", l.Due(at(12.9), 10*time.Minute), at(13))
	l.Began(at(13), 10*time.Minute)
	if got := l.Due(at(13), 10*time.Minute); !got.IsZero() {
		t.Fatalf("a covered change is due at %s", got)
	}
}

func TestStormDrawsFromTheBucket(t *testing.T) {
	l := NewLists(least)
	l.Listed(start, 0)
	var lists []float64
	for now := start; now.Before(at(40)); now = now.Add(100 * time.Millisecond) {
		l.Changed(now)
		if next := l.Due(now, 10*time.Minute); !next.IsZero() && !next.After(now) {
			lists = append(lists, now.Sub(start).Seconds())
			l.Began(now, 10*time.Minute)
			l.Listed(now, 0)
		}
	}
	want := []float64{3, 6.1, 13, 23, 33}
	if len(lists) != len(want) {
		t.Fatalf("lists at %v, want %v", lists, want)
	}
	for i := range want {
		if lists[i] != want[i] {
			t.Fatalf("lists at %v, want %v", lists, want)
		}
	}
}

func TestDemandIsDueAtOnceAndDrawsNothing(t *testing.T) {
	l := NewLists(least)
	for i := range 10 {
		l.Demand()
		due(t, "demand", l.Due(at(float64(i)), 10*time.Minute), at(float64(i)))
		l.Began(at(float64(i)), 10*time.Minute)
	}
	l.Changed(at(20))
	due(t, "change after demands", l.Due(at(20), 10*time.Minute), at(21))
}

func TestFailedListsClimbTheLadder(t *testing.T) {
	l := NewLists(least)
	for _, want := range []float64{5, 10, 20, 40, 60, 60} {
		l.Failed(start, 0)
		due(t, "ladder", l.Due(start, time.Minute), at(want))
	}
	l.Failed(start, 5*time.Minute)
	due(t, "told", l.Due(start, time.Minute), at(300))
	l.Listed(start, 0)
	l.Failed(start, 0)
	due(t, "from the start again", l.Due(start, time.Minute), at(5))
}

func TestEmptyListsAreAskedForAgain(t *testing.T) {
	l := NewLists(least)
	now := start
	for _, want := range []float64{5, 15, 35, 75} {
		if !l.Empty(now) {
			t.Fatalf("believed at %s", now.Sub(start))
		}
		due(t, "again", l.Due(now, 10*time.Minute), at(want))
		now = at(want)
		l.Began(now, 10*time.Minute)
	}
	if l.Empty(now) {
		t.Fatal("not believed after four more")
	}
	l.Listed(now, 0)
	if !l.Empty(now) {
		t.Fatal("the one after a good one is believed at once")
	}
}

// What is due follows from what happened and the present interval, not from the one that was in force then.
func TestAnotherIntervalHoldsAtOnce(t *testing.T) {
	l := NewLists(half)
	l.Listed(start, 0)
	due(t, "long interval", l.Due(start, 24*time.Hour), at(0.9*24*3600))
	due(t, "short interval", l.Due(at(5), 10*time.Second), at(9))
	due(t, "long again", l.Due(at(6), time.Hour), at(3240))
	l.Listed(start, time.Minute)
	due(t, "ttl", l.Due(start, time.Hour), at(60))
	due(t, "an interval below the ttl", l.Due(start, 10*time.Second), at(9))
	for range 8 {
		l.Failed(start, 0)
	}
	due(t, "ladder", l.Due(start, time.Hour), at(640))
	due(t, "ladder under a short interval", l.Due(start, 10*time.Second), at(10))
	h := Health{Rand: half}
	h.Start(start)
	due(t, "long gap", h.Due(start, time.Time{}, time.Hour), at(3600))
	due(t, "short gap", h.Due(at(2), time.Time{}, 5*time.Second), at(5))
	h.Began(at(5))
	due(t, "long gap after a probe", h.Due(at(5), time.Time{}, time.Hour), at(3605))
}

func TestHealthIsStartToStart(t *testing.T) {
	h := Health{Rand: half}
	h.Start(start)
	due(t, "first", h.Due(start, time.Time{}, time.Minute), at(60))
	h.Began(at(60))
	h.Answered(at(66))
	due(t, "second, although the answer took 6 s", h.Due(at(66), at(66), time.Minute), at(120))
	due(t, "bytes since", h.Due(at(100), at(100), time.Minute), at(160))
	h.Demand()
	due(t, "demanded", h.Due(at(101), at(100), time.Minute), at(101))
	h.Began(at(101))
	h.Answered(at(101))
	due(t, "after the demanded one", h.Due(at(101), at(100), time.Minute), at(161))
}

func TestHealthIntervalVariesByAFifth(t *testing.T) {
	h := Health{Rand: least}
	h.Start(start)
	due(t, "least", h.Due(start, time.Time{}, time.Minute), at(48))
	h = Health{Rand: func() float64 { return 1 - 1e-9 }}
	h.Start(start)
	if got := h.Due(start, time.Time{}, time.Minute).Sub(start); got < 71*time.Second || got >= 72*time.Second {
		t.Fatalf("most: %s", got)
	}
}

func TestThreeUnansweredInARow(t *testing.T) {
	h := Health{Rand: half}
	h.Start(start)
	if h.Unanswered(at(70)) || h.Unanswered(at(140)) {
		t.Fatal("given up too early")
	}
	h.Answered(at(200))
	if h.Unanswered(at(270)) || h.Unanswered(at(340)) {
		t.Fatal("an answer between does not count")
	}
	if !h.Unanswered(at(410)) {
		t.Fatal("not given up after three")
	}
}
