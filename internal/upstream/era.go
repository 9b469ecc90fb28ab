package upstream

import (
	"sync"
	"time"
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

// EraMemory is what a process knows about the eras of servers. It is safe for concurrent use.
type EraMemory struct {
	mu    sync.Mutex
	known map[string]remembered
}

type remembered struct {
	era   Era
	until time.Time // zero: confirmed
}

// NewEraMemory returns an empty memory.
func NewEraMemory() *EraMemory { return &EraMemory{known: map[string]remembered{}} }

// Confirmed returns the era of a server that a clear answer told.
func (m *EraMemory) Confirmed(key string) (Era, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.known[key]
	return r.era, ok && r.until.IsZero()
}

// Confirm remembers an era: because a clear answer told it, or because a catalog of this configuration was stored with
// it.
func (m *EraMemory) Confirm(key string, era Era) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[key] = remembered{era: era}
}

// Forget removes what is known of a server.
func (m *EraMemory) Forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}

// hung remembers that a server is legacy because it does not answer server/discover.
func (m *EraMemory) hung(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[key] = remembered{era: Legacy, until: time.Now().Add(hangKept)}
}

// recall returns what to go by now; "" when the server is to be asked.
func (m *EraMemory) recall(key string) Era {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.known[key]
	if !r.until.IsZero() && !time.Now().Before(r.until) {
		delete(m.known, key)
		return ""
	}
	return r.era
}
