package session

import "time"

// Key names one server in this process: the UID of its MCPServer.
type Key string

// Config is everything a supervisor needs to know to keep a session to one server. The zero value of a
// duration means the default of DESIGN.md section 3.1.
type Config struct {
	// Dialer opens connections under this configuration.
	Dialer Dialer
	// Connection identifies what a connection is made of: URL, headers, credentials, TLS. A session under
	// another value is drained, closed and replaced.
	Connection string
	// Catalog is the config hash of DESIGN.md section 6.1: listings under one value may stand for each other.
	Catalog string
	// Wake is any text that changes when a person or a credential changed something (generation, Secret and
	// ConfigMap content): a change grants what is quarantined or retired one attempt at once.
	Wake string
	// Reconnect is the value of the annotation mooring.dev/reconnect: a change drops the session, clears a
	// retirement and connects anew.
	Reconnect string
	// Address is the host:port dialled, for the limit on simultaneous connects.
	Address string
	// Restore is what status remembered of this server; it is read when the key is first ensured.
	Restore Restored

	Timeouts Timeouts
	Recovery Recovery
	Calls    Calls
	// HealthInterval is the time between two health probes of a silent server.
	HealthInterval time.Duration
	// RefreshInterval is the longest time between two lists.
	RefreshInterval time.Duration
}

// Timeouts bound the parts of a session's work.
type Timeouts struct {
	Connect, List, Call, CallMax time.Duration
}

// Recovery says how often and how long a failing server is tried (DESIGN.md sections 5.1 to 5.3).
type Recovery struct {
	Attempts int
	Cooldown time.Duration
	Strikes  int
	// ProbeInterval is the time between two probes of a retired server. Negative: never (the API's "0s").
	ProbeInterval time.Duration
}

// Calls bounds and permits calls of one server in this process.
type Calls struct {
	MaxConcurrent int
	// Replay tells whether a call to this raw tool name may be sent again when its outcome is unknown.
	Replay func(tool string) bool
}

// Restored is a server's standing as status remembers it.
type Restored struct {
	Strikes          int
	QuarantinedUntil time.Time
	RetiredAt        time.Time
	Retirement       Retirement
	// Reason and Since are those of the failure that led there.
	Failure Fault
}
