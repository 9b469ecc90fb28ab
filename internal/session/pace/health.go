package pace

import (
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
)

// enoughUnanswered is how many probes in a row must go unanswered before a session counts as lost: a single slow
// answer proves nothing.
const enoughUnanswered = 3

// Health is the plan of the probes of one session.
type Health struct {
	Rand backoff.Rand

	// started is when the last probe was, ended when its answer was there or given up.
	started, ended time.Time
	gap            time.Duration
	now            bool
	unanswered     int
}

// Start begins the plan of a new session.
func (h *Health) Start(now time.Time, interval time.Duration) {
	*h = Health{Rand: h.Rand, started: now, ended: now, gap: h.Rand.Around(interval)}
}

// Demand asks for a probe at once.
func (h *Health) Demand() { h.now = true }

// Due returns when the next probe is due: the interval after the start of the last one, or after bytes came from the
// server at alive other than the probe's own answer.
func (h *Health) Due(now, alive time.Time) time.Time {
	if h.now {
		return now
	}
	if alive.After(h.ended) {
		return alive.Add(h.gap)
	}
	return h.started.Add(h.gap)
}

// Began notes that a probe is sent.
func (h *Health) Began(now time.Time, interval time.Duration) {
	h.started, h.now = now, false
	h.gap = h.Rand.Around(interval)
}

// Answered notes a proof of life.
func (h *Health) Answered(now time.Time) {
	h.unanswered = 0
	h.ended = now
}

// Unanswered notes a probe without an answer, and reports whether the session is to be given up.
func (h *Health) Unanswered(now time.Time) bool {
	h.ended = now
	h.unanswered++
	return h.unanswered >= enoughUnanswered
}
