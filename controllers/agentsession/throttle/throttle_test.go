package throttle_test

import (
	"testing"
	"time"

	"github.com/mooring-dev/mooring/controllers/agentsession/throttle"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

func TestServersEdgesAreJoined(t *testing.T) {
	var w throttle.Writes
	if got := w.Delay(throttle.Joined, at(0)); got != 0 {
		t.Errorf("the first waits %s", got)
	}
	w.Wrote(throttle.Joined, at(0))
	for second, want := range map[float64]time.Duration{0: 10 * time.Second, 4: 6 * time.Second, 10: 0, 11: 0} {
		if got := w.Delay(throttle.Joined, at(second)); got != want {
			t.Errorf("after %v s: waits %s, want %s", second, got, want)
		}
	}
}

func TestWhatAPersonDidIsToldAtOnceAndCountsForNothing(t *testing.T) {
	var w throttle.Writes
	for i := range 20 {
		if got := w.Delay(throttle.Own, at(float64(i))); got != 0 {
			t.Errorf("write %d waits %s", i, got)
		}
		w.Wrote(throttle.Own, at(float64(i)))
	}
	if got := w.Delay(throttle.Joined, at(20)); got != 0 {
		t.Errorf("a server's edge waits %s for what a person did", got)
	}
}

func TestFlipsAreToldAtOnceSixTimesAMinute(t *testing.T) {
	var w throttle.Writes
	for i := range throttle.Most {
		if got := w.Delay(throttle.Flip, at(float64(i))); got != 0 {
			t.Errorf("flip %d waits %s", i, got)
		}
		w.Wrote(throttle.Flip, at(float64(i)))
	}
	if got := w.Delay(throttle.Flip, at(10)); got != 50*time.Second {
		t.Errorf("the seventh waits %s", got)
	}
	if got := w.Delay(throttle.Joined, at(20)); got != 40*time.Second {
		t.Errorf("a joined edge waits %s: the bound is on both together", got)
	}
	if got := w.Delay(throttle.Flip, at(60)); got != 0 {
		t.Errorf("a minute after the first: waits %s", got)
	}
}

// However edges come, there are never more than six writes of servers within any minute.
func TestNeverMoreThanSixWithinAnyMinute(t *testing.T) {
	var (
		w       throttle.Writes
		written []time.Time
	)
	for tick := range 600 {
		now := at(float64(tick) / 2)
		edge := throttle.Edge(tick % 2)
		if w.Delay(edge, now) == 0 {
			w.Wrote(edge, now)
			written = append(written, now)
		}
	}
	for i := throttle.Most; i < len(written); i++ {
		if gap := written[i].Sub(written[i-throttle.Most]); gap < throttle.Window {
			t.Fatalf("writes %d to %d within %s", i-throttle.Most, i, gap)
		}
	}
	if len(written) != 30 {
		t.Errorf("%d writes in five minutes of edges, want 30", len(written))
	}
}
