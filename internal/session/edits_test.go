package session

import (
	"testing"
	"time"
)

func TestEditsTakeTurns(t *testing.T) {
	e, now := newEdits(), time.Date(2026, 8, 18, 12, 0, 0, 0, time.UTC)
	take := func(at time.Time) time.Time {
		e.add(at)
		return e.turn
	}
	for range 5 {
		if got := take(now); !got.Equal(now) {
			t.Fatalf("one of the first five waits until %s", got)
		}
	}
	for _, later := range []time.Duration{0, time.Second, 4999 * time.Millisecond} {
		if got := take(now.Add(later)); !got.Equal(now.Add(5 * time.Second)) {
			t.Fatalf("after %s: %s", later, got)
		}
	}
	if got := take(now.Add(6 * time.Second)); !got.Equal(now.Add(10 * time.Second)) {
		t.Fatalf("the next one comes at %s", got)
	}
	now = now.Add(time.Minute)
	if got := take(now); !got.Equal(now) {
		t.Fatalf("after a quiet minute: %s", got)
	}
}
