package failure

import (
	"net/http"
	"slices"
	"time"
)

// Class says what kind of thing went wrong; its Policy is the reaction.
type Class string

// The classes.
const (
	Auth        Class = "auth"        // 401, or no token to be had
	Permission  Class = "permission"  // 403
	Quota       Class = "quota"       // 402; 429 or a JSON-RPC error with the code of a quota that is used up
	RateLimit   Class = "rateLimit"   // 429; 503 with Retry-After
	SessionLost Class = "sessionLost" // 404 on a request that carried a session id
	Server      Class = "server"      // other 5xx
	Protocol    Class = "protocol"    // other 4xx, not MCP, TLS identity, version, redirect, address
	Timeout     Class = "timeout"     // our own deadline passed
	Transport   Class = "transport"   // DNS, refused, reset, EOF, child exit
	Unknown     Class = "unknown"     // anything else
)

// Policy is what follows from the failures of one class: a row of the table below.
type Policy struct {
	Class Class

	// While connecting, listing and probing.

	// Retires: one such failure retires the server as refused. RetiresFor names the reasons for which as many in a
	// row as a round has attempts do so: an intermediary may cause the same for a moment.
	Retires    bool
	RetiresFor []Reason
	// NoStrike: when the attempts are used up the server is left alone for a while, but is not quarantined.
	NoStrike bool
	// Gates: nothing is sent to the server before the time that it told.
	Gates bool
	// Pause is how long the server is left alone where it did not tell; zero: as long as after any failure.
	Pause time.Duration
	// Loses: the session is gone, and is opened again at once, without backoff.
	Loses bool
	// Silence: a sign of life in the meantime disproves it, and a session is lost only after several in a row.
	Silence bool
	// Suspect: when many servers fail so at once, the fault is our own.
	Suspect bool
	// ProbeNext: a list that failed so asks for a probe of the session at once.
	ProbeNext bool

	// During a call.

	Call CallPolicy
	// Outcome is that of a request that was sent; empty: its HTTP status decides.
	Outcome Outcome

	// In the transport.

	// Discover is what follows from such an answer to server/discover.
	Discover DiscoverPolicy
	// Transient: a stream that failed so is asked for again.
	Transient bool
	// ReadBody: a JSON-RPC error in the body of the answer is the answer.
	ReadBody bool
}

// The table of DESIGN.md section 4, the most specific class first: where an error tree holds several, the first wins.
var table = [...]Policy{
	{Class: Auth, Retires: true, ProbeNext: true, Call: Reauthenticate, Outcome: NotProcessed},
	{Class: Permission, Retires: true, ProbeNext: true, Call: Fail, Outcome: Answered},
	{Class: Quota, NoStrike: true, Gates: true, Pause: 10 * time.Minute, Call: Wait, Outcome: Answered},
	{Class: RateLimit, NoStrike: true, Gates: true, Call: Wait},
	{Class: SessionLost, NoStrike: true, Loses: true, Call: Reopen, Outcome: NotProcessed},
	{Class: Server, ProbeNext: true, Call: Replay, Discover: TryLegacy, Transient: true, ReadBody: true},
	{Class: Protocol, Call: Fail, Discover: ReadAnswer, ReadBody: true, RetiresFor: []Reason{
		NotMCP, TLSVerificationFailed, UnsupportedProtocolVersion, AddressNotAllowed, RedirectRefused}},
	{Class: Timeout, Silence: true, Call: Replay, Discover: TryLegacy},
	{Class: Transport, Suspect: true, ProbeNext: true, Call: Replay, Discover: TryLegacyIfSent, Transient: true},
	{Class: Unknown, Call: Replay},
}

// CallPolicy is what is done about a call that failed without an answer.
type CallPolicy int

// What is done about a failed call.
const (
	// Replay: the connection is given up, and the rules of replay decide.
	Replay CallPolicy = iota
	// Fail: the call fails, and the session stays in use.
	Fail
	// Reauthenticate: the credential is read again; a changed one resends the call once, an unchanged one is confirmed.
	Reauthenticate
	// Wait: the server is gated. A call that was not answered waits, if the time told is short.
	Wait
	// Reopen: the session is opened again and the call resent once.
	Reopen
)

// DiscoverPolicy is what a failed server/discover says of the server's era.
type DiscoverPolicy int

// What follows from a failed server/discover.
const (
	EndAttempt      DiscoverPolicy = iota
	TryLegacy                      // initialize may work, which proves nothing of the era
	TryLegacyIfSent                // the same, unless there was no connection
	ReadAnswer                     // status and body tell the era
)

// Outcome says what became of a request that failed.
type Outcome string

// The outcomes.
const (
	// NotProcessed: the server did not act on the request. It may be sent again once.
	NotProcessed Outcome = "notProcessed"
	// Answered: the server acted on the request or refused it, and said so. Nothing is sent again.
	Answered Outcome = "answered"
	// OutcomeUnknown: the request was sent and nobody knows whether it was acted on. It is sent again only for
	// tools that a person named as safe to repeat; what the server says of itself is not evidence.
	OutcomeUnknown Outcome = "outcomeUnknown"
)

// PolicyOf is the row of a class; one that is not known is Unknown.
func PolicyOf(class Class) Policy {
	return table[rank(class)]
}

// rank is the place of a class in the table.
func rank(class Class) int {
	at := slices.IndexFunc(table[:], func(p Policy) bool { return p.Class == class })
	if at < 0 {
		return len(table) - 1
	}
	return at
}

// Policy is the row of f's class.
func (f Failure) Policy() Policy { return PolicyOf(f.Class) }

// paused fills in how long the server is to be left alone, where the class says so and the server did not.
func (f Failure) paused() Failure {
	if pause := f.Policy().Pause; pause > 0 && !f.RetryAfterGiven {
		f.RetryAfter, f.RetryAfterGiven = pause, true
	}
	return f
}

// LessSpecific reports whether a failure of another class says more than f does.
func (f Failure) LessSpecific(than Class) bool { return rank(f.Class) > rank(than) }

// Outcome says what became of the request that failed with f.
func (f Failure) Outcome() Outcome {
	switch told := f.Policy().Outcome; {
	case f.Answered:
		return Answered
	case !f.Sent:
		return NotProcessed
	case told != "":
		return told
	case f.HTTPStatus == http.StatusTooManyRequests:
		return NotProcessed
	case f.HTTPStatus >= 400 && f.HTTPStatus < 500:
		return Answered
	}
	return OutcomeUnknown
}

// RetiresAtOnce reports whether f, when it ends an attempt to connect or to list, retires the server as refused: only
// another credential or permission helps.
func (f Failure) RetiresAtOnce() bool { return f.Policy().Retires && !f.Answered }

// RetiresAfterAttempts reports whether as many such failures in a row as a round has attempts do so: the declaration
// is wrong, or what answers there is not what was declared.
func (f Failure) RetiresAfterAttempts() bool {
	return slices.Contains(f.Policy().RetiresFor, f.Reason) && !f.Answered
}

// Strikes reports whether a server that keeps failing with f is quarantined. One that answers is alive, and is waited
// for without a strike.
func (f Failure) Strikes() bool { return !f.Answered && !f.Policy().NoStrike }
