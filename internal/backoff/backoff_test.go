package backoff

import (
	"testing"
	"time"
)

// fixed draws always the same number.
func fixed(x float64) Rand { return func() float64 { return x } }

// almostOne is the largest number that may be drawn.
const almostOne = 1 - 1e-9

func TestDelay(t *testing.T) {
	want := map[int]time.Duration{
		1: 500 * time.Millisecond, 2: time.Second, 3: 2 * time.Second, 4: 4 * time.Second, 5: 8 * time.Second,
		6: 8 * time.Second, 1000: 8 * time.Second, 0: 500 * time.Millisecond,
	}
	for n, base := range want {
		if got := fixed(0).Delay(n); got != base {
			t.Errorf("delay %d: got %s, want %s", n, got, base)
		}
		if got := fixed(0.5).Delay(n); got != base+base/20 {
			t.Errorf("delay %d: got %s, want %s + 5%%", n, got, base)
		}
		if got := fixed(almostOne).Delay(n); got >= base+base/10 {
			t.Errorf("delay %d: got %s, want below %s + 10%%", n, got, base)
		}
	}
}

func TestCooldown(t *testing.T) {
	for k, base := range map[int]time.Duration{1: 30 * time.Second, 2: time.Minute, 3: 2 * time.Minute} {
		if got, want := fixed(0).Cooldown(30*time.Second, k), base*8/10; got != want {
			t.Errorf("cooldown %d at least: got %s, want %s", k, got, want)
		}
		if got := fixed(0.5).Cooldown(30*time.Second, k); got != base {
			t.Errorf("cooldown %d in the middle: got %s, want %s", k, got, base)
		}
		if got := fixed(almostOne).Cooldown(30*time.Second, k); got >= base*12/10 {
			t.Errorf("cooldown %d at most: got %s", k, got)
		}
	}
	if got := fixed(0.5).Cooldown(30*time.Second, 1<<30); got != 24*time.Hour {
		t.Errorf("cooldown without end: got %s", got)
	}
}

func TestTold(t *testing.T) {
	if got := fixed(0).Told(time.Minute); got != time.Minute {
		t.Errorf("a told wait is shortened: %s", got)
	}
	if got := fixed(almostOne).Told(time.Minute); got < time.Minute || got >= 66*time.Second {
		t.Errorf("got %s", got)
	}
	if got := fixed(almostOne).Told(0); got != 0 {
		t.Errorf("got %s", got)
	}
}

func TestPeriodicWork(t *testing.T) {
	if got := fixed(0).Within(10 * time.Second); got != 10*time.Second {
		t.Errorf("got %s", got)
	}
	if got := fixed(0.5).Within(10 * time.Second); got != 9*time.Second {
		t.Errorf("got %s", got)
	}
	if got := fixed(0.25).Upto(10 * time.Second); got != 2500*time.Millisecond {
		t.Errorf("got %s", got)
	}
}

func TestKeptDrawsOnce(t *testing.T) {
	kept := Rand(nil).Kept()
	first := kept.Within(time.Minute)
	if again := kept.Within(time.Minute); again != first {
		t.Errorf("got %s, then %s", first, again)
	}
	if got := fixed(0.5).Kept().Within(10 * time.Second); got != 9*time.Second {
		t.Errorf("got %s", got)
	}
}

func TestLadders(t *testing.T) {
	for n, want := range map[int]time.Duration{1: 5, 2: 10, 3: 20, 4: 40, 8: 600, 99: 600} {
		if got := Refresh(n, 10*time.Minute); got != want*time.Second {
			t.Errorf("refresh %d: got %s", n, got)
		}
	}
	for n, want := range map[int]time.Duration{1: 5, 2: 10, 3: 20, 4: 40} {
		if got, again := Empty(n); got != want*time.Second || !again {
			t.Errorf("empty %d: got %s, %v", n, got, again)
		}
	}
	if got, again := Empty(5); got != 0 || again {
		t.Errorf("the fifth empty list is to be believed: got %s, %v", got, again)
	}
	for n, want := range map[int]time.Duration{1: 30, 2: 60, 3: 120, 4: 240, 5: 300, 6: 300} {
		if got := Growing(30*time.Second, n, 5*time.Minute); got != want*time.Second {
			t.Errorf("growing %d: got %s", n, got)
		}
	}
	if got := Growing(10*time.Minute, 3, 5*time.Minute); got != 10*time.Minute {
		t.Errorf("a limit below the base: got %s", got)
	}
}

func TestZeroRandDrawsFromTheProcess(t *testing.T) {
	var process Rand
	for range 100 {
		if x := process.draw(); x < 0 || x >= 1 {
			t.Fatalf("drew %v", x)
		}
	}
}
