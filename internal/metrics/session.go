package metrics

import (
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
)

// Failed counts one failure of a try, a list, a probe or a call.
func (m *Metrics) Failed(class failure.Class, phase failure.Phase) {
	m.failures.WithLabelValues(string(class), string(phase)).Inc()
}

// Quarantined counts one breaker that opened.
func (m *Metrics) Quarantined() { m.quarantines.Inc() }

// Retired counts one server that was retired. kind is "refused" or "exhausted".
func (m *Metrics) Retired(kind string) { m.retirements.WithLabelValues(kind).Inc() }

// Rebuilt counts one session that took the place of a lost one.
func (m *Metrics) Rebuilt() { m.rebuilds.Inc() }

// Connected tells how long a handshake took.
func (m *Metrics) Connected(took time.Duration) { m.connect.Observe(took.Seconds()) }

// Listed tells how long a complete tools/list took.
func (m *Metrics) Listed(took time.Duration) { m.list.Observe(took.Seconds()) }
