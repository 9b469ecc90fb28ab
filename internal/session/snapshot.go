package session

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session/breaker"
)

// ErrNotConnected is wrapped by every refusal to use a session that is not there now.
var ErrNotConnected = errors.New("not connected")

// State is that of a server's discovery session.
type State string

// The states.
const (
	Connecting  State = "Connecting"  // a first attempt under this configuration has not ended
	Connected   State = "Connected"   // the handshake is done and the session is not known to be lost
	Waiting     State = "Waiting"     // an attempt failed; the next one is due at NextAttempt
	Quarantined State = "Quarantined" // the breaker is open until QuarantinedUntil
	Retired     State = "Retired"     // no longer tried, but for a slow probe
)

// Retirement tells the two kinds apart: what only a change can heal, and what may pass without one.
type Retirement = breaker.Retirement

// The kinds. The zero value: not retired.
const (
	Refused   = breaker.Refused
	Exhausted = breaker.Exhausted
)

// Fault is a failure and the time at which this kind of failure began. It is never changed once it is shown.
type Fault struct {
	failure.Failure
	Since time.Time
}

// Snapshot is one server's state at one instant. It is a value: readers may keep it.
type Snapshot struct {
	// Connection, Catalog and Reconnect repeat the configuration that this snapshot speaks of.
	Connection, Catalog, Reconnect string
	State                          State
	// Settled: an attempt has ended under this Catalog hash in this process, or status restored a
	// quarantine or retirement.
	Settled bool
	// Restored: the state is what status remembered, and no attempt has ended in this process. A quarantine then
	// ends a little later than status has it, so that servers do not all come back at once.
	Restored bool
	Info     Info
	// Listing is the last good list under this Catalog hash, nil when there is none. It is never changed after
	// it was published; ListingID changes exactly when its content does.
	Listing   *Listing
	ListingID string
	// ListedAt is when the server last gave Listing. It moves with every list, of which Notify does not tell where the
	// content is the same.
	ListedAt time.Time
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

func (g *guarded) state() State {
	switch g.breaker.State() {
	case breaker.Retired:
		return Retired
	case breaker.Quarantined:
		return Quarantined
	case breaker.Waiting, breaker.Closed:
	}
	switch {
	case g.known.connected && g.breaker.State() == breaker.Closed:
		return Connected
	case g.known.attempted:
		return Waiting
	}
	return Connecting
}

func (g *guarded) snapshot() Snapshot {
	saved := g.breaker.Saved()
	snapshot := Snapshot{
		Connection: g.config.Connection, Catalog: g.config.Catalog, Reconnect: g.config.Reconnect,
		State: g.state(), Settled: g.known.settled, Restored: g.known.restored, Info: g.known.info,
		Listing: g.tools.listing, ListingID: g.tools.listingID, ListedAt: g.tools.listedAt,
		EmptyUnconfirmed: g.tools.doubted, Fault: g.known.fault, ListFault: g.tools.fault,
		Strikes: saved.Strikes, QuarantinedUntil: saved.QuarantinedUntil,
		RetiredAt: saved.RetiredAt, Retirement: saved.Retirement,
		HandledReconnect: g.known.handledReconnect, RefreshPending: g.tools.refreshDone < g.tools.refreshAsked,
	}
	if next, planned := g.breaker.Next(time.Now()); planned && !g.known.attempting && snapshot.State != Connected {
		snapshot.NextAttempt = next
	}
	return snapshot
}

// notable is what of a snapshot is worth a notification.
func (g *guarded) notable() Snapshot {
	s := g.snapshot()
	s.Restored, s.ListedAt, s.NextAttempt = false, time.Time{}, time.Time{}
	return s
}

// follow is the fault after f: the one before where it is the same trouble, so that Since is when it began.
func (f *Fault) follow(next failure.Failure) *Fault {
	if f != nil && f.SameKind(next) {
		return f
	}
	return &Fault{Failure: next, Since: time.Now()}
}

// digest names the content of a listing.
func (l *Listing) digest() string {
	h := sha256.New()
	for _, tool := range l.Tools {
		_, _ = fmt.Fprintf(h, "%d:%s", len(tool), tool)
	}
	_, _ = fmt.Fprint(h, l.NoTools, l.Loop)
	return hex.EncodeToString(h.Sum(nil))
}
