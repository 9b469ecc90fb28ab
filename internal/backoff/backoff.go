package backoff

import (
	"math/rand/v2"
	"time"
)

const (
	firstDelay   = 500 * time.Millisecond
	longestDelay = 8 * time.Second
	delayJitter  = 0.1
	// Spread is the part by which cooldowns and periodic work vary.
	Spread = 0.2
)

// Rand draws the jitter: numbers in [0, 1). The zero value, nil, draws from the process's own source.
type Rand func() float64

func (r Rand) draw() float64 {
	if r == nil {
		return rand.Float64() //nolint:gosec // spreads load, guards nothing
	}
	return r()
}

// Kept returns a Rand that draws one number now and keeps to it, for jitter that stands while what it varies changes.
func (r Rand) Kept() Rand {
	number := r.draw()
	return func() float64 { return number }
}

// Delay is the wait after the n-th failure in a row, n from 1: min(8 s, 0.5 s·2^(n−1)), plus 0–10 %.
func (r Rand) Delay(n int) time.Duration {
	return r.Told(doubled(firstDelay, n, longestDelay))
}

// Told is a wait that must not be shortened, plus 0–10 %.
func (r Rand) Told(wait time.Duration) time.Duration {
	return scale(wait, 1+delayJitter*r.draw())
}

// Cooldown is the wait of the k-th strike, k from 1: base·2^(k−1) ± 20 %.
func (r Rand) Cooldown(base time.Duration, k int) time.Duration {
	return r.Around(doubled(base, k, day))
}

// Around is d ± 20 %, for periodic work.
func (r Rand) Around(d time.Duration) time.Duration {
	return scale(d, 1-Spread+2*Spread*r.draw())
}

// Within is d less 0–20 %, for periodic work that must not come later than d.
func (r Rand) Within(d time.Duration) time.Duration {
	return scale(d, 1-Spread*r.draw())
}

// Upto is a part of d, evenly distributed, for work that would else start all at once.
func (r Rand) Upto(d time.Duration) time.Duration {
	return scale(d, r.draw())
}

// day bounds what doubling may reach, so that no number of failures overflows.
const day = 24 * time.Hour

// doubled is base·2^(n−1), at most limit.
func doubled(base time.Duration, n int, limit time.Duration) time.Duration {
	d := base
	for ; n > 1 && d < limit; n-- {
		d *= 2
	}
	return min(d, limit)
}

func scale(d time.Duration, by float64) time.Duration {
	return time.Duration(float64(d) * by)
}

// Later is the later of two moments, for work that waits for both.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
