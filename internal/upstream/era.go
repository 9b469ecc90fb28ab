package upstream

import (
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
)

// Era is the way of a server to speak MCP.
type Era string

// The eras.
const (
	// Modern: 2026-07-28, without sessions.
	Modern Era = "modern"
	// Legacy: initialize over Streamable HTTP.
	Legacy Era = "legacy"
	// LegacySSE: initialize over HTTP+SSE.
	LegacySSE Era = "legacySSE"
)

// hangKept is how long an era is kept that was found because server/discover was not answered in time.
const hangKept = time.Hour

// EraMemory is what a process knows about the era of one server, and about how long it keeps idle connections. Its zero
// value knows nothing. It is safe for concurrent use.
type EraMemory struct {
	idle mcphttp.Idle

	mu    sync.Mutex
	era   Era
	until time.Time // zero: confirmed
}

// Confirmed returns the era that a clear answer told.
func (m *EraMemory) Confirmed() (Era, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.era, m.era != "" && m.until.IsZero()
}

// Confirm remembers an era: because a clear answer told it, or because a catalog of this configuration was stored with
// it.
func (m *EraMemory) Confirm(era Era) { m.set(era, time.Time{}) }

// Forget removes what is known.
func (m *EraMemory) Forget() { m.set("", time.Time{}) }

// hung remembers that the server is legacy because it does not answer server/discover.
func (m *EraMemory) hung() { m.set(Legacy, time.Now().Add(hangKept)) }

func (m *EraMemory) set(era Era, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.era, m.until = era, until
}

// recall returns what to go by now; "" when the server is to be asked.
func (m *EraMemory) recall() Era {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.until.IsZero() && !time.Now().Before(m.until) {
		m.era, m.until = "", time.Time{}
	}
	return m.era
}
