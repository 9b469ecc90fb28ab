package identity

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// How long answers hold.
const (
	positiveFresh = time.Minute
	negativeFresh = 10 * time.Second
	// outageHold is the longest that a positive answer is relied on while nobody can be asked.
	outageHold = 10 * time.Minute
	// outagePause is how long the API server is left alone after it could not be reached.
	outagePause = 5 * time.Second
	// patience is how long an answer is waited for; patienceHeld where there is one to fall back on.
	patience     = 10 * time.Second
	patienceHeld = 2 * time.Second

	maxAnswers = 20_000
)

// ErrUnreachable says that the API server cannot be asked, and that nothing is known that still holds.
var ErrUnreachable = errors.New("the Kubernetes API server cannot be reached")

// answer is what the API server said.
type answer[V any] struct {
	value    V
	positive bool
	// until is when it is over in any case; zero where it does not tell.
	until time.Time
	asked time.Time
}

// fresh tells whether it need not be asked for again.
func (a *answer[V]) fresh(now time.Time) bool {
	age := negativeFresh
	if a.positive {
		age = positiveFresh
	}
	return a.before(a.asked.Add(age), now)
}

// holds tells whether it may be relied on while nobody can be asked.
func (a *answer[V]) holds(now time.Time) bool {
	return a.positive && a.before(a.asked.Add(outageHold), now)
}

func (a *answer[V]) before(end, now time.Time) bool {
	return now.Before(end) && (a.until.IsZero() || now.Before(a.until))
}

// answers remembers what was asked. The zero value is empty.
type answers[V any] struct {
	flights singleflight.Group
	mu      sync.Mutex
	guarded struct {
		byKey map[string]answer[V]
		// down is until when the API server is not asked where an answer holds.
		down time.Time
	}
}

// get returns the answer to a question, asking it when what is known is too old.
func (c *answers[V]) get(ctx context.Context, key string, ask func(context.Context) (answer[V], error)) (V, error) {
	now := time.Now()
	known, found, down := c.load(key)
	if found && known.fresh(now) || down && known.holds(now) {
		return known.value, nil
	}
	limit := patience
	if known.holds(now) {
		limit = patienceHeld
	}
	flight := c.flights.DoChan(key, func() (any, error) { return c.ask(ctx, limit, key, ask) })
	var none V
	select {
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case done := <-flight:
		switch {
		case done.Err == nil:
			return done.Val.(V), nil
		case errors.Is(done.Err, ErrUnreachable) && known.holds(time.Now()):
			return known.value, nil
		}
		return none, done.Err
	}
}

// ask outlives the caller that happened to come first, because others wait for the same answer.
func (c *answers[V]) ask(
	ctx context.Context, limit time.Duration, key string, ask func(context.Context) (answer[V], error),
) (V, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	got, err := ask(ctx)
	if err == nil {
		got.asked = time.Now()
		c.store(key, got)
		return got.value, nil
	}
	if unreachable(err) {
		c.mu.Lock()
		c.guarded.down = time.Now().Add(outagePause)
		c.mu.Unlock()
		err = ErrUnreachable
	}
	return got.value, err
}

func (c *answers[V]) load(key string) (known answer[V], found, down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, found = c.guarded.byKey[key]
	return known, found, time.Now().Before(c.guarded.down)
}

func (c *answers[V]) store(key string, got answer[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.guarded.byKey == nil {
		c.guarded.byKey = map[string]answer[V]{}
	}
	if len(c.guarded.byKey) >= maxAnswers {
		c.prune(got.asked)
	}
	c.guarded.byKey[key] = got
	c.guarded.down = time.Time{}
}

// prune forgets what is of no use any more, and anything at all where everything is.
func (c *answers[V]) prune(now time.Time) {
	for key, known := range c.guarded.byKey {
		if !known.fresh(now) && !known.holds(now) || len(c.guarded.byKey) >= maxAnswers {
			delete(c.guarded.byKey, key)
		}
	}
}

// unreachable tells an API server that did not answer from one that said no.
func unreachable(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsInternalError(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err)
}
