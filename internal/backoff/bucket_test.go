package backoff

import (
	"testing"
	"time"
)

func TestBucketRefillsOneByOne(t *testing.T) {
	b := Bucket{Size: 2, Refill: 10 * time.Second}
	start := time.Date(2026, 8, 18, 12, 0, 0, 0, time.UTC)
	for i, c := range []struct{ at, wait time.Duration }{
		{0, 0}, {time.Second, 0}, {2 * time.Second, 8 * time.Second}, {9 * time.Second, time.Second},
		{10 * time.Second, 0}, {11 * time.Second, 9 * time.Second}, {time.Hour, 0}, {time.Hour, 0},
		{time.Hour, 10 * time.Second},
	} {
		if got := b.Take(start.Add(c.at)); got != c.wait {
			t.Errorf("take %d after %s: waits %s, want %s", i, c.at, got, c.wait)
		}
	}
}

func TestBucketNextDrawsNothing(t *testing.T) {
	b := Bucket{Size: 1, Refill: time.Minute}
	now := time.Date(2026, 8, 18, 12, 0, 0, 0, time.UTC)
	for range 3 {
		if got := b.Next(now); !got.Equal(now) {
			t.Fatalf("a full bucket: next at %s", got)
		}
	}
	b.Draw(now)
	b.Draw(now) // of an empty one
	if got := b.Next(now.Add(time.Second)); !got.Equal(now.Add(time.Minute)) {
		t.Errorf("an empty bucket: next after %s, want 1 min", got.Sub(now))
	}
}
