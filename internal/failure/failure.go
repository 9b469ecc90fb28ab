package failure

import "time"

// Phase says what was being done.
type Phase string

// The phases.
const (
	Connect Phase = "connect"
	List    Phase = "list"
	Probe   Phase = "probe"
	Call    Phase = "call"
	Stream  Phase = "stream"
)

// Failure is one fault, ready to be decided on and to be shown: nothing in it is secret.
type Failure struct {
	Class  Class
	Phase  Phase
	Reason Reason
	// HTTPStatus is the status of the answer, 0 when there was none.
	HTTPStatus int
	// RetryAfter is how long the server asks to be left alone, already clamped to [0, 1h].
	// RetryAfterGiven tells "0 seconds" from "said nothing".
	RetryAfter      time.Duration
	RetryAfterGiven bool
	// Sent is true when bytes of the request may have reached the server, so that it may have been acted on.
	Sent bool
	// Answered is true when the server gave a well-formed JSON-RPC error: the request failed, and the failure
	// proves that the server lives. It never adds a strike and never costs the connection.
	Answered bool
	// Detail is a short fragment of our own making that helps a person: the issuer of an untrusted
	// certificate, the scheme and host of a refused redirect, the content type, the protocol versions of
	// both sides. Never a body, SDK error text, session id or credential.
	Detail string
}

// Error carries a Failure through Go error chains. Its text is safe to print; the cause is not printed.
type Error struct {
	Failure
	Cause error
}
