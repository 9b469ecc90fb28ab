package session

import (
	"time"

	"github.com/mooring-dev/mooring/internal/session/breaker"
)

// Key names one server in this process: the UID of its MCPServer.
type Key string

// Config is everything a supervisor needs to know to keep a session to one server. The zero value of a
// number means the default that its field names.
type Config struct {
	// Generation orders configurations of one server: one that is lower than the present one is stale and is
	// ignored. Zero is never stale.
	Generation int64
	// Dialer opens connections under this configuration.
	Dialer Dialer
	// Connection identifies what a connection is made of: URL, headers, credentials, TLS. A session under
	// another value is drained, closed and replaced.
	Connection string
	// Catalog names the part of the configuration that decides which tools there are (the config hash): listings
	// under one value may replace each other.
	Catalog string
	// Wake is any text that changes when a person or a credential changed something (generation, Secret and
	// ConfigMap content; in a gateway also when the server's condition Connected became True): a change grants
	// what is waiting, quarantined or retired exactly one attempt at once.
	Wake string
	// Reconnect is the value of the annotation mooring.dev/reconnect: a change drops the session and connects
	// anew, at once, also when quarantined or retired; that attempt is a wake's.
	Reconnect string
	// Address is the host:port dialled, for the limit on simultaneous connects.
	Address string
	// Urgent: a person waits for this server, so its connects go before those of a start-up. A configuration that
	// differs from the one before counts as urgent anyway.
	Urgent bool
	// Refused: another process retired the server as refused, so no call is tried while this is set.
	Refused bool
	// Restore is what status remembered of this server; it is read when the key is first ensured, and where there
	// are discovery sessions. Leave it zero when the declaration has changed since status was written, or a
	// reconnect was asked for.
	Restore Restored

	Timeouts Timeouts
	Recovery Recovery
	Calls    Calls
	// HealthInterval is the time between two health probes of a silent server.
	HealthInterval time.Duration
	// RefreshInterval is the longest time between two lists.
	RefreshInterval time.Duration
}

// Timeouts bound the parts of a session's work. Call is the longest silence in a call, which progress ends; CallMax is
// the longest call.
type Timeouts struct {
	Connect, List, Call, CallMax time.Duration
}

// Recovery says how often and how long a failing server is tried.
type Recovery struct {
	Attempts int
	Cooldown time.Duration
	Strikes  int
	// ProbeInterval is the time between two probes of a retired server. Negative: never (the API's "0s").
	ProbeInterval time.Duration
}

// Calls bounds and permits calls of one server in this process.
type Calls struct {
	// MaxConcurrent is the most calls in flight, over all sessions.
	MaxConcurrent int
	// IdleTimeout is how long a call session without calls is kept.
	IdleTimeout time.Duration
	// Replay tells whether a call to this raw tool name may be sent again when its outcome is unknown.
	Replay func(tool string) bool
}

// Restored is a server's state as status remembers it.
type Restored struct {
	Strikes          int
	QuarantinedUntil time.Time
	RetiredAt        time.Time
	Retirement       Retirement
	// Failure is what led there, and since when.
	Failure Fault
}

// policy is what the breaker decides by.
func (c Config) policy(retires bool) breaker.Policy {
	return breaker.Policy{
		Attempts:      c.Recovery.Attempts,
		Strikes:       c.Recovery.Strikes,
		Cooldown:      c.Recovery.Cooldown,
		ProbeInterval: c.Recovery.ProbeInterval,
		Retires:       retires,
	}
}

// breaker is the breaker's part of what status remembers.
func (r Restored) breaker() breaker.Saved {
	return breaker.Saved{
		Strikes: r.Strikes, QuarantinedUntil: r.QuarantinedUntil, RetiredAt: r.RetiredAt, Retirement: r.Retirement,
	}
}
