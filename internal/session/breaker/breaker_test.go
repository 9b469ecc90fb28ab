package breaker

import (
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/failure"
)

var (
	start    = time.Date(2026, 8, 18, 12, 0, 0, 0, time.UTC)
	policy   = Policy{Attempts: 3, Strikes: 3, Cooldown: 30 * time.Second, ProbeInterval: 5 * time.Minute, Retires: true}
	down     = failure.Failure{Class: failure.Transport, Reason: failure.ConnectFailed}
	broken   = failure.Failure{Class: failure.Server, Reason: failure.ServerError, HTTPStatus: 500}
	denied   = failure.Failure{Class: failure.Auth, Reason: failure.AuthenticationFailed, HTTPStatus: 401}
	html     = failure.Failure{Class: failure.Protocol, Reason: failure.NotMCP, HTTPStatus: 200}
	limited  = failure.Failure{Class: failure.RateLimit, Reason: failure.RateLimited, HTTPStatus: 429}
	flapping = failure.Failure{Class: failure.SessionLost, Reason: failure.SessionFlapping, HTTPStatus: 404}
)

// least draws no jitter for delays, the least for cooldowns; middle is in the middle of both.
func least() float64  { return 0 }
func middle() float64 { return 0.5 }

// bench is a breaker and a clock.
type bench struct {
	*Breaker
	t   *testing.T
	now time.Time
}

func newBench(t *testing.T, policy Policy, rand backoff.Rand) *bench {
	return &bench{Breaker: New(policy, rand), t: t, now: start}
}

// try waits until the next try is due, makes it fail with f, and returns how long it waited.
func (b *bench) try(f failure.Failure) time.Duration {
	b.t.Helper()
	waited := b.await()
	b.Failed(b.now, b.Begin(), f, false)
	return waited
}

// await waits until the next try is due.
func (b *bench) await() time.Duration {
	b.t.Helper()
	next, planned := b.Next(b.now)
	if !planned {
		b.t.Fatal("no try is planned")
	}
	waited := max(next.Sub(b.now), 0)
	b.now = b.now.Add(waited)
	return waited
}

func (b *bench) is(state State, strikes int) {
	b.t.Helper()
	if b.State() != state || b.Saved().Strikes != strikes {
		b.t.Fatalf("state %d with %d strikes, want %d with %d", b.State(), b.Saved().Strikes, state, strikes)
	}
}

func (b *bench) waits(what string, got, want time.Duration) {
	b.t.Helper()
	if got != want {
		b.t.Fatalf("%s: waited %s, want %s", what, got, want)
	}
}

func TestRoundThenStrikesThenRetired(t *testing.T) {
	b := newBench(t, policy, middle)
	b.waits("first try", b.try(down), 0)
	b.waits("second try", b.try(down), 525*time.Millisecond)
	b.is(Closed, 0)
	b.waits("third try", b.try(down), 1050*time.Millisecond)
	b.is(Quarantined, 1)
	if got := b.Saved().QuarantinedUntil; !got.Equal(b.now.Add(30 * time.Second)) {
		t.Fatalf("quarantined until %s", got)
	}
	b.waits("probe after the first strike", b.try(down), 30*time.Second)
	b.is(Quarantined, 2)
	b.waits("probe after the second strike", b.try(down), time.Minute)
	b.is(Retired, 3)
	if got := b.Saved(); got.Retirement != Exhausted || !got.RetiredAt.Equal(b.now) || !got.QuarantinedUntil.IsZero() {
		t.Fatalf("got %+v", got)
	}
	retiredAt := b.now
	b.waits("timed probe of the exhausted", b.try(down), 270*time.Second) // 5 min less half of a fifth
	b.is(Retired, 3)
	if !b.Saved().RetiredAt.Equal(retiredAt) {
		t.Fatal("retirement was observed twice")
	}
}

func TestCooldownsVaryByAFifth(t *testing.T) {
	b := newBench(t, policy, least)
	for range 3 {
		b.try(down)
	}
	b.waits("least first cooldown", b.try(down), 24*time.Second)
	b.waits("least second cooldown", b.try(down), 48*time.Second)
}

func TestAnswerBetweenClearsStrikes(t *testing.T) {
	b := newBench(t, policy, middle)
	for range 4 {
		b.try(down)
	}
	b.is(Quarantined, 2)
	b.await()
	b.Answered(b.Begin())
	b.is(Closed, 0)
	for range 2 {
		b.try(down)
	}
	b.is(Closed, 0)
	if b.failed != 2 {
		t.Fatalf("%d failed tries", b.failed)
	}
	b.Answered(b.Pass())
	if b.failed != 0 {
		t.Fatal("an answer does not clear failed tries")
	}
	for range 3 {
		b.try(down)
	}
	b.is(Quarantined, 1)
}

func TestRejectionNeitherCountsNorClears(t *testing.T) {
	b := newBench(t, policy, middle)
	b.try(down)
	b.try(down)
	b.Rejected(b.Pass())
	if b.failed != 2 {
		t.Fatal("a rejection cleared")
	}
	b.try(down)
	b.is(Quarantined, 1)
	b.await()
	b.Rejected(b.Begin())
	b.is(Closed, 1)
	for range 3 {
		b.try(down)
	}
	b.is(Quarantined, 2)
}

func TestRefusals(t *testing.T) {
	t.Run("at once", func(t *testing.T) {
		b := newBench(t, policy, least)
		b.try(denied)
		b.is(Retired, 0)
		if b.Saved().Retirement != Refused || b.Saved().Retirement == Exhausted {
			t.Fatal("not refused")
		}
		b.waits("timed probe of the refused", b.try(denied), 30*time.Minute)
	})
	t.Run("after attempts", func(t *testing.T) {
		b := newBench(t, policy, least)
		b.try(html)
		b.try(html)
		b.is(Closed, 0)
		b.try(html)
		b.is(Retired, 0)
		if b.Saved().Retirement != Refused {
			t.Fatal("not refused")
		}
	})
	t.Run("only in a row", func(t *testing.T) {
		b := newBench(t, policy, least)
		b.try(html)
		b.try(down)
		b.try(html)
		b.is(Quarantined, 1)
		b.try(html)
		b.is(Quarantined, 2)
		b.try(html)
		b.is(Retired, 2)
		if b.Saved().Retirement != Refused {
			t.Fatal("three in a row are not refused")
		}
	})
	t.Run("probe interval above 30 minutes", func(t *testing.T) {
		long := policy
		long.ProbeInterval = time.Hour
		b := newBench(t, long, least)
		b.try(denied)
		b.waits("timed probe", b.try(denied), time.Hour)
	})
	t.Run("elsewhere decided", func(t *testing.T) {
		there := policy
		there.Retires = false
		b := newBench(t, there, middle)
		b.try(denied)
		b.is(Waiting, 0)
		b.waits("one cooldown", b.try(denied), 30*time.Second)
		b.is(Waiting, 0)
	})
}

func TestStrikesStopGrowingWhereOthersRetire(t *testing.T) {
	there := policy
	there.Retires = false
	b := newBench(t, there, middle)
	for range 5 {
		b.try(down)
	}
	b.is(Quarantined, 3)
	b.waits("third cooldown", b.try(down), 2*time.Minute)
	b.is(Quarantined, 3)
	b.waits("fourth cooldown", b.try(down), 2*time.Minute)
}

func TestNoStrike(t *testing.T) {
	t.Run("rate limit that tells nothing", func(t *testing.T) {
		b := newBench(t, policy, middle)
		for range 3 {
			b.try(limited)
		}
		b.is(Waiting, 0)
		for _, want := range []time.Duration{30, 60, 120, 240, 300, 300} {
			b.waits("wait without a strike", b.try(limited), want*time.Second)
			b.is(Waiting, 0)
		}
		b.await()
		b.Answered(b.Begin())
		for range 3 {
			b.try(limited)
		}
		b.waits("first wait after an answer", b.try(limited), 30*time.Second)
	})
	t.Run("told waits are never shortened", func(t *testing.T) {
		b := newBench(t, policy, least)
		slow := limited
		slow.RetryAfter, slow.RetryAfterGiven = 10*time.Minute, true
		b.waits("first", b.try(slow), 0)
		for range 4 {
			b.waits("next", b.try(slow), 10*time.Minute)
		}
		b.is(Waiting, 0)
	})
	t.Run("told 0 ends no round early", func(t *testing.T) {
		b := newBench(t, policy, middle)
		now := limited
		now.RetryAfterGiven = true
		b.try(now)
		b.waits("second try", b.try(now), 0)
		b.waits("third try", b.try(now), 0)
		b.waits("after the round", b.try(now), 30*time.Second)
	})
	t.Run("suspected of ourselves", func(t *testing.T) {
		b := newBench(t, policy, middle)
		for range 2 {
			b.try(down)
		}
		b.await()
		b.Failed(b.now, b.Begin(), down, true)
		b.is(Waiting, 0)
		b.waits("one try", b.try(down), 30*time.Second)
		b.is(Quarantined, 1)
	})
	t.Run("a probe that is limited keeps its strikes", func(t *testing.T) {
		b := newBench(t, policy, middle)
		for range 3 {
			b.try(down)
		}
		b.try(limited)
		b.is(Waiting, 1)
	})
	t.Run("answered errors", func(t *testing.T) {
		b := newBench(t, policy, middle)
		answer := failure.Failure{Class: failure.Protocol, Reason: failure.ProtocolError, Answered: true}
		for range 9 {
			b.try(answer)
		}
		if b.Saved().Strikes != 0 || b.State() != Waiting {
			t.Fatalf("state %d", b.State())
		}
	})
	t.Run("never probed: the wait is bounded all the same", func(t *testing.T) {
		never := policy
		never.ProbeInterval = -1
		b := newBench(t, never, middle)
		for range 9 {
			b.try(limited)
		}
		b.waits("longest wait", b.try(limited), 5*time.Minute)
	})
}

func TestFlappingOpensAtOnceAndGrows(t *testing.T) {
	b := newBench(t, policy, middle)
	b.try(flapping)
	b.is(Waiting, 0)
	b.waits("first", b.await(), 30*time.Second)
	b.Answered(b.Begin())
	b.try(flapping)
	b.waits("second, in spite of an answer", b.try(flapping), time.Minute)
	b.waits("third", b.await(), 2*time.Minute)
	b.Answered(b.Begin())
	b.now = b.now.Add(20 * time.Minute)
	b.try(flapping)
	b.waits("after a quiet time", b.await(), 30*time.Second)
}

func TestToldServerErrorIsRespected(t *testing.T) {
	b := newBench(t, policy, least)
	slow := broken
	slow.RetryAfter, slow.RetryAfterGiven = 3*time.Minute, true
	b.try(slow)
	b.waits("in the round", b.try(slow), 3*time.Minute)
	b.try(slow)
	b.is(Quarantined, 1)
	b.waits("at the strike", b.try(slow), 3*time.Minute)
}

func TestWake(t *testing.T) {
	t.Run("a retired server is tried exactly once", func(t *testing.T) {
		b := newBench(t, policy, least)
		b.try(denied)
		b.Wake(false)
		b.waits("woken try", b.try(denied), 0)
		b.waits("then the probe interval again", b.try(denied), 30*time.Minute)
	})
	t.Run("in a quarantine it makes nothing worse", func(t *testing.T) {
		b := newBench(t, policy, middle)
		for range 3 {
			b.try(down)
		}
		until := b.Saved().QuarantinedUntil
		for range 5 {
			b.now = b.now.Add(time.Second)
			b.Wake(false)
			b.waits("woken try", b.try(down), 0)
			b.is(Quarantined, 1)
			if !b.Saved().QuarantinedUntil.Equal(until) {
				t.Fatal("the quarantine has moved")
			}
		}
		b.waits("the rest of the cooldown", b.try(down), 25*time.Second)
		b.is(Quarantined, 2)
	})
	t.Run("between the tries of a round it ends the wait", func(t *testing.T) {
		b := newBench(t, policy, middle)
		b.try(down)
		b.Wake(false)
		b.waits("second try", b.try(down), 0)
		if b.failed != 2 {
			t.Fatalf("%d failed tries", b.failed)
		}
		b.Wake(true)
		if b.failed != 0 {
			t.Fatal("another connection begins another round")
		}
	})
	t.Run("during the try that opens the breaker it is owed afterwards, once", func(t *testing.T) {
		for _, failure := range []failure.Failure{down, denied} {
			b := newBench(t, policy, middle)
			for b.failed < policy.Attempts-1 {
				b.try(down)
			}
			b.await()
			permit := b.Begin()
			b.Wake(false)
			b.Failed(b.now, permit, failure, false)
			if b.State() == Closed {
				t.Fatal("still closed")
			}
			b.waits("woken try", b.try(down), 0)
			if b.await() < time.Second {
				t.Fatal("one wake granted two tries")
			}
		}
	})
	t.Run("during a try that leaves the breaker closed it ends the wait, once", func(t *testing.T) {
		b := newBench(t, policy, middle)
		permit := b.Begin()
		b.Wake(false)
		b.Failed(b.now, permit, down, false)
		b.is(Closed, 0)
		b.waits("second try", b.try(down), 0)
		if b.await() == 0 {
			t.Fatal("one wake granted two tries")
		}
	})
	t.Run("during a probe it is owed afterwards, once", func(t *testing.T) {
		b := newBench(t, policy, middle)
		for range 3 {
			b.try(down)
		}
		b.await()
		permit := b.Begin()
		b.Wake(false)
		b.Failed(b.now, permit, down, false)
		b.is(Quarantined, 2)
		b.waits("woken try", b.try(down), 0)
		b.is(Quarantined, 2)
		if b.await() < time.Second {
			t.Fatal("one wake granted two tries")
		}
	})
	t.Run("on a live session it grants nothing later", func(t *testing.T) {
		b := newBench(t, policy, middle)
		b.Answered(b.Begin())
		b.Wake(false)
		for range 3 {
			b.Failed(b.now, b.Pass(), down, false)
		}
		b.is(Quarantined, 1)
		b.waits("cooldown", b.await(), 30*time.Second)
	})
	t.Run("a told wait holds, but not for another connection", func(t *testing.T) {
		b := newBench(t, policy, least)
		slow := limited
		slow.RetryAfter, slow.RetryAfterGiven = time.Hour, true
		b.try(slow)
		b.Wake(false)
		b.waits("same connection", b.await(), time.Hour)
		b.now = start
		b.Wake(true)
		b.waits("another connection", b.await(), 0)
	})
	t.Run("what a woken try meets decides the kind", func(t *testing.T) {
		b := newBench(t, policy, least)
		b.try(denied)
		b.try(down)
		if b.Saved().Retirement != Refused {
			t.Fatal("a timed probe that learns nothing ends a refusal")
		}
		b.Wake(false)
		b.try(down)
		if b.Saved().Retirement != Exhausted || b.State() != Retired {
			t.Fatal("after a change a transport failure is no refusal")
		}
		b.Wake(false)
		b.try(denied)
		if b.Saved().Retirement != Refused {
			t.Fatal("not refused again")
		}
	})
	t.Run("an answer ends retirement", func(t *testing.T) {
		b := newBench(t, policy, least)
		b.try(denied)
		b.Wake(false)
		b.await()
		b.Answered(b.Begin())
		b.is(Closed, 0)
		if b.Saved().Retirement == Refused || !b.Saved().RetiredAt.IsZero() {
			t.Fatal("still retired")
		}
	})
	t.Run("a cancelled woken try is owed again", func(t *testing.T) {
		b := newBench(t, policy, least)
		b.try(denied)
		b.Wake(false)
		b.await()
		b.Cancelled(b.Begin())
		b.waits("again", b.await(), 0)
	})
}

func TestRetiredProbeRespectsTold(t *testing.T) {
	b := newBench(t, policy, least)
	for range 5 {
		b.try(down)
	}
	slow := limited
	slow.RetryAfter, slow.RetryAfterGiven = time.Hour, true
	b.try(slow)
	b.is(Retired, 3)
	b.waits("next probe", b.try(slow), time.Hour)
}

func TestNeverProbed(t *testing.T) {
	never := policy
	never.ProbeInterval = -1
	b := newBench(t, never, least)
	for range 5 {
		b.try(down)
	}
	b.is(Retired, 3)
	if _, planned := b.Next(b.now.Add(1000 * time.Hour)); planned {
		t.Fatal("a probe is planned")
	}
	slow := limited
	slow.RetryAfter, slow.RetryAfterGiven = time.Hour, true
	b.Wake(false)
	b.Failed(b.now, b.Begin(), slow, false)
	if _, planned := b.Next(b.now); planned {
		t.Fatal("a told time plans a probe")
	}
	if refusal := b.Denies(b.now.Add(2 * time.Hour)); refusal == nil || refusal.RetryAfter != 0 || !refusal.Retired {
		t.Fatalf("refusal %+v", refusal)
	}
	b.SetPolicy(b.now, policy)
	b.now = b.now.Add(time.Hour)
	b.await()
}

func TestAdmitCalls(t *testing.T) {
	b := newBench(t, policy, middle)
	if _, refusal := b.Admit(b.now); refusal != nil {
		t.Fatalf("closed refuses: %+v", refusal)
	}
	for range 3 {
		permit, _ := b.Admit(b.now)
		b.Failed(b.now, permit, broken, false)
	}
	b.is(Quarantined, 1)
	_, refusal := b.Admit(b.now.Add(10 * time.Second))
	if refusal == nil || refusal.RetryAfter != 20*time.Second || refusal.Retired {
		t.Fatalf("refusal %+v", refusal)
	}
	b.now = b.now.Add(30 * time.Second)
	probe, refusal := b.Admit(b.now)
	if refusal != nil || !probe.Probe {
		t.Fatalf("the probe is refused: %+v", refusal)
	}
	if _, refusal = b.Admit(b.now); refusal == nil || refusal.RetryAfter != time.Second {
		t.Fatalf("a second probe: %+v", refusal)
	}
	if _, planned := b.Next(b.now); planned {
		t.Fatal("a supervisor's probe beside the call's")
	}
	b.Cancelled(probe)
	if probe, refusal = b.Admit(b.now); refusal != nil {
		t.Fatal("a cancelled probe is not handed on")
	}
	b.Answered(probe)
	b.is(Closed, 0)
}

func TestAdmitRetired(t *testing.T) {
	b := newBench(t, policy, least)
	b.try(denied)
	_, refusal := b.Admit(b.now.Add(10 * time.Minute))
	if refusal == nil || !refusal.Retired || refusal.RetryAfter != 20*time.Minute {
		t.Fatalf("refusal %+v", refusal)
	}
}

func TestGate(t *testing.T) {
	b := newBench(t, policy, middle)
	b.NotBefore(b.now.Add(time.Minute))
	b.NotBefore(b.now.Add(time.Second))
	if _, refusal := b.Admit(b.now); refusal == nil || refusal.RetryAfter != time.Minute || refusal.Retired {
		t.Fatalf("refusal %+v", refusal)
	}
	b.waits("supervisor", b.await(), time.Minute)
	if _, refusal := b.Admit(b.now); refusal != nil {
		t.Fatalf("refusal %+v after the time told", refusal)
	}
	b.is(Closed, 0)
}

func TestOnlyTheProbeMovesAnOpenBreaker(t *testing.T) {
	b := newBench(t, policy, middle)
	old := make([]Permit, 20)
	for i := range old {
		old[i], _ = b.Admit(b.now)
	}
	for _, permit := range old[:10] {
		b.Failed(b.now, permit, down, false)
	}
	b.is(Quarantined, 1)
	b.Answered(old[10])
	b.Rejected(old[11])
	b.Answered(b.Pass())
	b.is(Quarantined, 1)
	b.await()
	probe := b.Begin()
	b.Cancelled(old[12])
	if _, refusal := b.Admit(b.now); refusal == nil {
		t.Fatal("an old permit ended the probe")
	}
	b.Answered(probe)
	b.Failed(b.now, old[13], down, false)
	if b.failed != 0 {
		t.Fatal("a failure from before counts against the healed")
	}
	permit := b.Begin()
	b.Abandon()
	b.Failed(b.now, permit, down, false)
	if b.failed != 0 {
		t.Fatal("an abandoned permit counts")
	}
}

func TestHold(t *testing.T) {
	b := newBench(t, policy, middle)
	b.Hold(b.now.Add(time.Second))
	b.waits("held", b.try(denied), time.Second)
	b.Hold(b.now.Add(time.Hour * 100))
	if next, _ := b.Next(b.now); next.Sub(b.now) > time.Hour {
		t.Fatal("an open breaker is held")
	}
}

func TestRestore(t *testing.T) {
	restore := func(t *testing.T, rand backoff.Rand, s Saved) *bench {
		b := newBench(t, policy, rand)
		b.Restore(b.now, s)
		return b
	}
	t.Run("quarantine: no early probe, no doubled strike", func(t *testing.T) {
		b := restore(t, least, Saved{Strikes: 2, QuarantinedUntil: start.Add(40 * time.Second)})
		b.is(Quarantined, 2)
		b.waits("probe", b.await(), 40*time.Second)
		b.Answered(b.Begin())
		b.is(Closed, 0)
	})
	t.Run("the probe's failure is the next strike", func(t *testing.T) {
		b := restore(t, least, Saved{Strikes: 1, QuarantinedUntil: start.Add(10 * time.Second)})
		b.try(down)
		b.is(Quarantined, 2)
	})
	t.Run("spread over two fifths of the cooldown", func(t *testing.T) {
		b := restore(t, middle, Saved{Strikes: 2, QuarantinedUntil: start.Add(-time.Hour)})
		b.waits("probe", b.await(), 12*time.Second) // half of 2/5 of 60 s
	})
	t.Run("a clock far ahead", func(t *testing.T) {
		b := restore(t, least, Saved{Strikes: 1, QuarantinedUntil: start.Add(1000 * time.Hour)})
		b.waits("probe", b.await(), time.Hour)
	})
	t.Run("more strikes than there are", func(t *testing.T) {
		b := restore(t, least, Saved{Strikes: 99, QuarantinedUntil: start.Add(time.Second)})
		b.is(Quarantined, 3)
	})
	t.Run("exhausted", func(t *testing.T) {
		b := restore(t, least, Saved{Strikes: 3, RetiredAt: start.Add(-time.Hour), Retirement: Exhausted})
		b.is(Retired, 3)
		if b.Saved().Retirement != Exhausted || !b.Saved().RetiredAt.Equal(start.Add(-time.Hour)) {
			t.Fatal("kind or time is lost")
		}
		b.waits("probe", b.await(), 5*time.Minute)
	})
	t.Run("refused, without a time", func(t *testing.T) {
		b := restore(t, least, Saved{Retirement: Refused})
		b.is(Retired, 0)
		if b.Saved().Retirement != Refused || !b.Saved().RetiredAt.Equal(start) {
			t.Fatal("kind or time is lost")
		}
		b.waits("probe", b.await(), 30*time.Minute)
	})
	t.Run("nothing", func(t *testing.T) {
		b := restore(t, least, Saved{})
		b.is(Closed, 0)
		b.waits("try", b.await(), 0)
	})
}

func TestPardon(t *testing.T) {
	t.Run("takes back a fresh strike by transport", func(t *testing.T) {
		b := newBench(t, policy, middle)
		for range 3 {
			b.try(down)
		}
		until := b.Saved().QuarantinedUntil
		if !b.Pardon(b.now.Add(30 * time.Second)) {
			t.Fatal("not pardoned")
		}
		b.is(Waiting, 0)
		if next, _ := b.Next(b.now); !next.Equal(until) {
			t.Fatal("the wait has changed")
		}
		if b.Pardon(b.now) {
			t.Fatal("pardoned twice")
		}
	})
	t.Run("takes back retirement", func(t *testing.T) {
		b := newBench(t, policy, middle)
		for range 5 {
			b.try(down)
		}
		b.is(Retired, 3)
		if !b.Pardon(b.now) {
			t.Fatal("not pardoned")
		}
		b.is(Waiting, 2)
		if b.Saved().Retirement == Exhausted || !b.Saved().RetiredAt.IsZero() {
			t.Fatal("still retired")
		}
		b.waits("next try", b.await(), 30*time.Second)
	})
	t.Run("not of other failures, nor later", func(t *testing.T) {
		b := newBench(t, policy, middle)
		for range 3 {
			b.try(broken)
		}
		if b.Pardon(b.now) {
			t.Fatal("a 500 is pardoned")
		}
		c := newBench(t, policy, middle)
		for range 3 {
			c.try(down)
		}
		if c.Pardon(c.now.Add(31 * time.Second)) {
			t.Fatal("pardoned after the window")
		}
		c.await()
		c.Answered(c.Begin())
		if c.Pardon(c.now) {
			t.Fatal("a closed breaker is pardoned")
		}
	})
}

// What is remembered may have been edited by hand: no standing is taken over that could not have come about.
func TestRestoreOfWhatCannotBe(t *testing.T) {
	b := newBench(t, policy, middle)
	b.Restore(start, Saved{Strikes: -1 << 31, QuarantinedUntil: start.Add(time.Second)})
	b.is(Quarantined, 0)
	b = newBench(t, policy, middle)
	b.Restore(start, Saved{Strikes: 1 << 30, Retirement: Exhausted, RetiredAt: start.AddDate(7000, 0, 0)})
	b.is(Retired, policy.Strikes)
	if !b.Saved().RetiredAt.Equal(start) {
		t.Fatalf("retired at %s", b.Saved().RetiredAt)
	}
}
