package oauth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
)

// mints is a scripted token server: tokens are t1, t2, … and it counts them.
type mints struct {
	mu    sync.Mutex
	life  time.Duration
	takes time.Duration
	fails *failure.Error
	at    []time.Time
}

func (m *mints) mint(ctx context.Context) (token, *failure.Error) {
	m.mu.Lock()
	began := time.Now()
	m.at = append(m.at, began)
	n, life, takes, fails := len(m.at), m.life, m.takes, m.fails
	m.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return token{}, fault(failure.Timeout, slow)
	}
	if fails != nil {
		return token{}, fails
	}
	return token{value: secret.New(fmt.Sprintf("t%d", n)), minted: began, expire: began.Add(life)}, nil
}

func (m *mints) times() []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]time.Time(nil), m.at...)
}

func (m *mints) set(change func(*mints)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

// bubble runs a test in fake time. That no goroutine is left when the test has ended is checked by synctest.
func bubble(t *testing.T, m *mints, test func(t *testing.T, s *Source)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, newSource(m.mint))
		time.Sleep(24 * time.Hour) // nobody uses it any more: it comes to rest by itself
	})
}

func expect(t *testing.T, s *Source, wanted string) {
	t.Helper()
	began := time.Now()
	got, err := s.Token(t.Context())
	if err != nil || got.Reveal() != wanted {
		t.Fatalf("token %q, error %v, wanted %q", got.Reveal(), err, wanted)
	}
	if took := time.Since(began); took != 0 {
		t.Fatalf("the answer took %v", took)
	}
}

func (m *mints) expect(t *testing.T, wanted int) {
	t.Helper()
	if n := len(m.times()); n != wanted {
		t.Fatalf("%d mints, wanted %d", n, wanted)
	}
}

func TestTwentyCallersShareOneMint(t *testing.T) {
	m := &mints{life: time.Hour, takes: time.Second}
	bubble(t, m, func(t *testing.T, s *Source) {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if got, err := s.Token(t.Context()); err != nil || got.Reveal() != "t1" {
					t.Errorf("token %q, error %v", got.Reveal(), err)
				}
			})
		}
		wg.Wait()
		m.expect(t, 1)
	})
}

func TestCallerThatLeavesLeavesTheMint(t *testing.T) {
	m := &mints{life: time.Hour, takes: 5 * time.Second}
	bubble(t, m, func(t *testing.T, s *Source) {
		why := errors.New("why")
		leaving, leave := context.WithCancelCause(t.Context())
		short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := s.Token(leaving); !errors.Is(err, why) {
				t.Errorf("error of the one that left: %v", err)
			}
		})
		wg.Go(func() {
			_, err := s.Token(short)
			if f := failure.Classify(err); f.Class != failure.Timeout || f.Reason != failure.TokenAcquisitionFailed || f.Sent {
				t.Errorf("failure of the one that had no time: %+v", f)
			}
		})
		wg.Go(func() {
			if got, err := s.Token(t.Context()); err != nil || got.Reveal() != "t1" {
				t.Errorf("token %q, error %v", got.Reveal(), err)
			}
		})
		synctest.Wait()
		leave(why)
		wg.Wait()
		ended, end := context.WithCancel(t.Context())
		end()
		if got, err := s.Token(ended); err != nil || got.Reveal() != "t1" {
			t.Errorf("memory does not answer: %q, %v", got.Reveal(), err)
		}
		m.expect(t, 1)
	})
}

func TestMintIsBounded(t *testing.T) {
	m := &mints{life: time.Hour, takes: time.Minute}
	bubble(t, m, func(t *testing.T, s *Source) {
		began := time.Now()
		_, err := s.Token(t.Context())
		if f := failure.Classify(err); f.Class != failure.Timeout || time.Since(began) != 10*time.Second {
			t.Errorf("failure %+v after %v", f, time.Since(began))
		}
	})
}

func TestTokenInUseIsReplacedAheadOfItsEndAndNobodyWaits(t *testing.T) {
	m := &mints{life: time.Hour, takes: 2 * time.Second}
	bubble(t, m, func(t *testing.T, s *Source) {
		if _, err := s.Token(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.set(func(m *mints) { m.takes = 9 * time.Second })
		for range 10 * 60 {
			time.Sleep(time.Minute)
			began := time.Now()
			if _, err := s.Token(t.Context()); err != nil || time.Since(began) != 0 {
				t.Fatalf("after %v: %v", time.Since(began), err)
			}
		}
		at := m.times()
		if len(at) < 13 || len(at) > 15 {
			t.Errorf("%d mints in ten hours", len(at))
		}
		for i := 1; i < len(at); i++ {
			if life := at[i].Sub(at[i-1]); life < 42*time.Minute || life > 48*time.Minute {
				t.Errorf("a token was replaced after %v", life)
			}
		}
	})
}

func TestTokenThatNobodyUsesIsNotReplaced(t *testing.T) {
	m := &mints{life: time.Hour}
	bubble(t, m, func(t *testing.T, s *Source) {
		if _, err := s.Token(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(97 * time.Minute) // t1 was used and so replaced once, t2 was not and is past its time
		m.expect(t, 2)
		expect(t, s, "t2")
		synctest.Wait()
		m.expect(t, 3) // its use brought t3
		expect(t, s, "t3")
		time.Sleep(24 * time.Hour)
		m.expect(t, 4)
	})
}

func TestShortLivedTokensWork(t *testing.T) {
	for _, life := range []time.Duration{time.Second, 2 * time.Second, 9 * time.Second} {
		m := &mints{life: life, takes: life / 20}
		bubble(t, m, func(t *testing.T, s *Source) {
			for range 600 {
				got, err := s.Token(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				at := m.times()
				for i := range at {
					if got.Reveal() == fmt.Sprintf("t%d", i+1) && !time.Now().Before(at[i].Add(life)) {
						t.Fatalf("token %d had ended", i)
					}
				}
				time.Sleep(life / 20)
			}
			if n := len(m.times()); n < 30 || n > 46 {
				t.Errorf("life %v: %d mints in 30 lives", life, n)
			}
		})
	}
}

func TestFailedRefreshKeepsTheTokenAndIsTriedAgain(t *testing.T) {
	m := &mints{life: time.Hour}
	bubble(t, m, func(t *testing.T, s *Source) {
		if _, err := s.Token(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.set(func(m *mints) { m.fails = fault(failure.Transport, "down") })
		for range 3594 {
			time.Sleep(time.Second)
			expect(t, s, "t1")
		}
		time.Sleep(2 * time.Second)
		if _, err := s.Token(t.Context()); failure.Classify(err).Class != failure.Transport {
			t.Errorf("error at the end: %v", err)
		}
		at := m.times()
		if len(at) < 5 || len(at) > 20 {
			t.Errorf("%d tries", len(at))
		}
		for i := 2; i < len(at)-1; i++ {
			if pause := at[i].Sub(at[i-1]); pause < 5*time.Second {
				t.Errorf("a pause of %v", pause)
			}
		}
		m.set(func(m *mints) { m.fails = nil })
		time.Sleep(time.Second)
		if _, err := s.Token(t.Context()); err != nil {
			t.Errorf("not healed: %v", err)
		}
	})
}

func TestFailureIsTheAnswerUntilItMayBeTriedAgain(t *testing.T) {
	asked := &failure.Error{Failure: failure.Failure{
		Class: failure.RateLimit, Reason: failure.TokenAcquisitionFailed, RetryAfter: 90 * time.Second, RetryAfterGiven: true,
	}}
	m := &mints{life: time.Hour, fails: fault(failure.Server, "")}
	bubble(t, m, func(t *testing.T, s *Source) {
		class := func(wanted failure.Class, told time.Duration) {
			t.Helper()
			_, err := s.Token(t.Context())
			if f := failure.Classify(err); f.Class != wanted || f.RetryAfter != told {
				t.Fatalf("failure %+v", f)
			}
			if _, again := s.Renew(t.Context(), secret.New("x")); failure.Classify(again).Class != wanted {
				t.Fatalf("renewal: %v", again)
			}
		}
		class(failure.Server, 0)
		time.Sleep(999 * time.Millisecond)
		class(failure.Server, 0)
		m.expect(t, 1)
		m.set(func(m *mints) { m.fails = asked })
		time.Sleep(time.Millisecond)
		class(failure.RateLimit, 90*time.Second)
		time.Sleep(time.Minute)
		class(failure.RateLimit, 30*time.Second)
		m.set(func(m *mints) { m.fails = nil })
		time.Sleep(29 * time.Second)
		class(failure.RateLimit, time.Second)
		m.expect(t, 2)
		time.Sleep(time.Second)
		expect(t, s, "t3")
	})
}

func renew(t *testing.T, s *Source, refused, wanted string) {
	t.Helper()
	got, err := s.Renew(t.Context(), secret.New(refused))
	if err != nil || got.Reveal() != wanted {
		t.Fatalf("instead of %s: %q, %v", refused, got.Reveal(), err)
	}
}

func TestRefusedTokenIsReplaced(t *testing.T) {
	m := &mints{life: time.Hour}
	bubble(t, m, func(t *testing.T, s *Source) {
		expect(t, s, "t1")
		m.set(func(m *mints) { m.takes = time.Second })
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { renew(t, s, "t1", "t2") })
		}
		wg.Wait()
		m.expect(t, 2)
		renew(t, s, "t1", "t2") // who comes later has it from memory
		expect(t, s, "t2")
		for range 9 { // a server that refuses every token
			time.Sleep(time.Second)
			renew(t, s, "t2", "")
		}
		m.expect(t, 2)
		time.Sleep(time.Second)
		renew(t, s, "t2", "t3")
	})
}

func TestTheSameTokenAgainIsNoOther(t *testing.T) {
	m := &mints{life: time.Hour}
	synctest.Test(t, func(t *testing.T) {
		s := newSource(func(ctx context.Context) (token, *failure.Error) {
			got, err := m.mint(ctx)
			got.value = secret.New("same")
			return got, err
		})
		expect(t, s, "same")
		renew(t, s, "same", "")
		m.expect(t, 2)
	})
}

func TestRenewalThatFailsTakesTheTokenFromNobody(t *testing.T) {
	m := &mints{life: time.Hour}
	bubble(t, m, func(t *testing.T, s *Source) {
		expect(t, s, "t1")
		m.set(func(m *mints) { m.fails = fault(failure.Transport, "down") })
		if _, err := s.Renew(t.Context(), secret.New("t1")); failure.Classify(err).Class != failure.Transport {
			t.Errorf("error %v", err)
		}
		expect(t, s, "t1")
		m.set(func(m *mints) { m.fails = nil })
		time.Sleep(time.Second)
		renew(t, s, "t1", "t3")
	})
}

func TestPanicOfAMintIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(func(context.Context) (token, *failure.Error) { panic("canary") })
		_, err := s.Token(t.Context())
		if f := failure.Classify(err); f.Class != failure.Unknown || f.Detail != "internal error" || f.Sent {
			t.Errorf("failure %+v", f)
		}
	})
}

// A timer that fired just when the token was replaced by another way does nothing.
func TestLateTimerIsIgnored(t *testing.T) {
	m := &mints{life: time.Hour}
	bubble(t, m, func(t *testing.T, s *Source) {
		expect(t, s, "t1")
		s.refresh(s.epoch - 1)
		synctest.Wait()
		m.expect(t, 1)
	})
}
