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
	// spread varies the interval until the next probe.
	spread     backoff.Rand
	now        bool
	unanswered int
}

// Start begins the plan of a new session.
func (h *Health) Start(now time.Time) {
	*h = Health{Rand: h.Rand, started: now, ended: now, spread: h.Rand.Kept()}
}

// Demand asks for a probe at once.
func (h *Health) Demand() { h.now = true }

// Due returns when the next probe is due under an interval: that time after the start of the last one, or after bytes
// came from the server at alive other than the probe's own answer.
func (h *Health) Due(now, alive time.Time, interval time.Duration) time.Time {
	if h.now {
		return now
	}
	gap := h.spread.Around(interval)
	if alive.After(h.ended) {
		return alive.Add(gap)
	}
	return h.started.Add(gap)
}

// Began notes that a probe is sent.
func (h *Health) Began(now time.Time) {
	h.started, h.now = now, false
	h.spread = h.Rand.Kept()
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
