package session

import (
	"errors"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
)

// ErrNotConnected is wrapped by every refusal to use a session that is not there now.
var ErrNotConnected = errors.New("not connected")

// State is where a server's discovery session stands.
type State string

// The states.
const (
	Connecting  State = "Connecting"  // a first attempt under this configuration has not ended
	Connected   State = "Connected"   // the handshake is done and the session is not known to be lost
	Waiting     State = "Waiting"     // an attempt failed; the next one is due at NextAttempt
	Quarantined State = "Quarantined" // the breaker is open until QuarantinedUntil
	Retired     State = "Retired"     // no longer tried, but for a slow probe
)

// Retirement tells the two kinds apart: what only a change can heal, and what may heal by itself.
type Retirement string

// The kinds. The zero value: not retired.
const (
	Refused   Retirement = "refused"
	Exhausted Retirement = "exhausted"
)

// Fault is a failure and the time at which this kind of failure began.
type Fault struct {
	failure.Failure
	Since time.Time
}

// Snapshot is one server's standing at one instant. It is a value: readers may keep it.
type Snapshot struct {
	// Connection, Catalog and Reconnect repeat the configuration that this snapshot speaks of.
	Connection, Catalog, Reconnect string
	State                          State
	// Settled: an attempt has ended under this Catalog hash in this process, or status restored a
	// quarantine or retirement.
	Settled bool
	Info    Info
	// Listing is the last good list under this Catalog hash, nil when there is none. It is never changed after
	// it was published; ListingID changes exactly when its content does.
	Listing   *Listing
	ListingID string
	// EmptyUnconfirmed: the server just listed nothing, which is asked again before it is believed.
	EmptyUnconfirmed bool
	// Fault is what keeps the session from being connected; nil when connected.
	Fault *Fault
	// ListFault is what the last list failed with; nil when it succeeded.
	ListFault *Fault
	// Strikes counts quarantines without an answer between.
	Strikes          int
	QuarantinedUntil time.Time
	RetiredAt        time.Time
	Retirement       Retirement
	// HandledReconnect is the last value of Config.Reconnect under which an attempt has ended.
	HandledReconnect string
	// RefreshPending: Refresh was called and the list that it asked for has not ended.
	RefreshPending bool
	// NextAttempt is when the next attempt or probe is due; zero when none is planned or one is under way.
	NextAttempt time.Time
}
