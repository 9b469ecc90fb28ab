package oauth

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
)

const (
	// mintTimeout bounds one mint, both ways of showing the credential included.
	mintTimeout = 10 * time.Second
	// shortestHold is how long a failed mint is not repeated, where the token server did not ask for longer.
	shortestHold = time.Second
	// renewPause is the least time between two mints that a refused token caused.
	renewPause = 10 * time.Second
	// shortestRetry is the least time between two tries to replace a token that is still good.
	shortestRetry = 5 * time.Second
	// longestLeeway is the most that a token is given up before its end, so that it does not end on its way.
	longestLeeway = 5 * time.Second
)

// Source gives the access token of one grant. It is safe for concurrent use.
type Source struct {
	mint    func(context.Context) (token, *failure.Error)
	touched atomic.Int64 // Unix nanoseconds
	// fingerprint is that of the Config.
	fingerprint string

	mu sync.Mutex
	guarded
}

// Fingerprint changes with everything that the Source is made of.
func (s *Source) Fingerprint() string { return s.fingerprint }

type guarded struct {
	have   token
	flight *flight
	// used: have was asked for since it was minted, or since the last try to replace it.
	used bool
	// refreshAt is when have is to be replaced. A timer of that epoch stands for it while armed.
	refreshAt time.Time
	timer     *time.Timer
	epoch     int
	armed     bool
	// renewed is when a refused token was last replaced.
	renewed time.Time
	// fault is what the last mint failed with, and the answer until held.
	fault *failure.Error
	held  time.Time
}

// token is one access token. The zero token is none.
type token struct {
	value          secret.Value
	minted, expire time.Time
}

func (t token) life() time.Duration { return t.expire.Sub(t.minted) }

// good reports whether the token can still be sent.
func (t token) good(now time.Time) bool {
	return !t.value.IsZero() && now.Before(t.expire.Add(-min(longestLeeway, t.life()/10)))
}

// flight is one mint. Its outcome may be read when done is closed.
type flight struct {
	done chan struct{}
	got  token
	err  *failure.Error
	// wanted: somebody waits for it. renewal: somebody's token was refused. Both are guarded by the source.
	wanted, renewal bool
}

func newSource(mint func(context.Context) (token, *failure.Error)) *Source {
	s := &Source{mint: mint}
	s.touch()
	return s
}

func (s *Source) touch() { s.touched.Store(time.Now().UnixNano()) }

func (s *Source) unused(now time.Time) time.Duration { return now.Sub(time.Unix(0, s.touched.Load())) }

// Token returns the access token. It waits, at most for ctx, only where there is none that is good; ctx does not bound
// the mint that it waits for. The error is a *failure.Error, or the cause of ctx where the caller went away.
func (s *Source) Token(ctx context.Context) (secret.Value, error) {
	s.touch()
	now := time.Now()
	s.mu.Lock()
	s.used = true
	if s.have.good(now) {
		defer s.mu.Unlock()
		if !s.armed && !now.Before(s.refreshAt) {
			_, _ = s.join(now) // in the background; a failure is for whoever needs a token when this one has ended
		}
		return s.have.value, nil
	}
	f, held := s.join(now)
	if held == nil {
		f.wanted = true
	}
	s.mu.Unlock()
	if held != nil {
		return secret.Value{}, held
	}
	return f.wait(ctx)
}

// Renew returns another token than the one that a server refused, minting it if need be. The zero Value without an
// error says that there is none for now, so that the refusal stands: the token server gives the same one again, or a
// refused token was replaced less than 10 s ago.
func (s *Source) Renew(ctx context.Context, refused secret.Value) (secret.Value, error) {
	s.touch()
	now := time.Now()
	s.mu.Lock()
	s.used = true
	if s.have.good(now) && s.have.value != refused {
		defer s.mu.Unlock()
		return s.have.value, nil
	}
	if s.flight == nil && now.Sub(s.renewed) < renewPause {
		s.mu.Unlock()
		return secret.Value{}, nil
	}
	f, held := s.join(now)
	if held == nil {
		f.wanted, f.renewal = true, true
	}
	s.mu.Unlock()
	if held != nil {
		return secret.Value{}, held
	}
	value, err := f.wait(ctx)
	if value == refused {
		value = secret.Value{}
	}
	return value, err
}

// join returns the mint in progress, or begins one, or returns the failure that is still the answer.
func (s *Source) join(now time.Time) (*flight, error) {
	if s.flight != nil {
		return s.flight, nil
	}
	if s.fault != nil && now.Before(s.held) {
		return nil, s.stillHeld(now)
	}
	f := &flight{done: make(chan struct{})}
	s.flight = f
	go s.fly(f)
	return f, nil
}

// stillHeld is the last failure, told again with the time that is left.
func (s *Source) stillHeld(now time.Time) *failure.Error {
	again := *s.fault
	if again.RetryAfterGiven {
		again.RetryAfter = s.held.Sub(now)
	}
	return &again
}

// fly mints, and tells those who wait.
func (s *Source) fly(f *flight) {
	defer close(f.done)
	defer s.land(f)
	defer func() {
		if recover() != nil { // its words are not known to be safe
			f.err = fault(failure.Unknown, "internal error")
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), mintTimeout)
	defer cancel()
	f.got, f.err = s.mint(ctx)
}

// land takes the outcome of a mint in. One that failed leaves the token that we have in use.
func (s *Source) land(f *flight) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flight = nil
	if f.err != nil {
		s.fault, s.held = f.err, now.Add(max(shortestHold, f.err.RetryAfter))
		if s.have.good(now) {
			s.schedule(now, backoff.Later(s.held, now.Add(max(shortestRetry, s.have.expire.Sub(now)/3))))
		}
		return
	}
	s.have, s.fault, s.used = f.got, nil, f.wanted
	if f.renewal {
		s.renewed = now
	}
	s.schedule(now, f.got.minted.Add(part(f.got.life())))
}

// part is 70 to 80 % of a token's life, so that tokens that were minted together are not replaced together.
func part(life time.Duration) time.Duration {
	return time.Duration(float64(life) * (0.8 - 0.1*rand.Float64())) //nolint:gosec // spread, no secret
}

// schedule plans to replace the token that we have, in place of what was planned before.
func (s *Source) schedule(now, at time.Time) {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.epoch++
	epoch := s.epoch
	s.refreshAt, s.armed = at, true
	s.timer = time.AfterFunc(at.Sub(now), func() { s.refresh(epoch) })
}

// refresh replaces the token if it was used. If not, its next use begins that, should there be one.
func (s *Source) refresh(epoch int) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch != s.epoch {
		return
	}
	s.armed = false
	if used := s.used; used && s.have.good(now) {
		s.used = false
		_, _ = s.join(now) // see Token
	}
}

// wait is the outcome of a mint. ctx ends the waiting only.
func (f *flight) wait(ctx context.Context) (secret.Value, error) {
	select {
	case <-f.done:
	case <-ctx.Done():
		return secret.Value{}, left(ctx)
	}
	if f.err != nil {
		return secret.Value{}, f.err
	}
	return f.got.value, nil
}
