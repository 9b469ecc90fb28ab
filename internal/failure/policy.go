package failure

import "net/http"

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

// OutcomeOf says what became of the request that failed with f.
func OutcomeOf(f Failure) Outcome {
	switch {
	case f.Answered:
		return Answered
	case !f.Sent, f.Class == SessionLost, f.HTTPStatus == http.StatusUnauthorized,
		f.HTTPStatus == http.StatusTooManyRequests:
		return NotProcessed
	case f.HTTPStatus >= 400 && f.HTTPStatus < 500:
		return Answered
	}
	return OutcomeUnknown
}

// RefusedClass says whether waiting may help against a failure to connect or list.
type RefusedClass int

// The classes.
const (
	// NotRefused: it may pass by itself.
	NotRefused RefusedClass = iota
	// RefusedAtOnce: only another credential or permission helps, so one failure is enough to stop trying.
	RefusedAtOnce
	// RefusedAfterAttempts: a declaration is wrong or the thing at that address is not what was declared. As an
	// intermediary may cause the same for a moment, it is believed after as many failures in a row as a round has.
	RefusedAfterAttempts
)

// RefusedBy says which kind of refusal f is when it ends an attempt to connect or to list.
func RefusedBy(f Failure) RefusedClass {
	if f.Answered {
		return NotRefused
	}
	switch f.Class {
	case Auth, Permission:
		return RefusedAtOnce
	case Protocol:
		switch f.Reason {
		case NotMCP, TLSVerificationFailed, UnsupportedProtocolVersion, RedirectRefused, AddressNotAllowed:
			return RefusedAfterAttempts
		default:
			return NotRefused
		}
	default:
		return NotRefused
	}
}

// Strikes reports whether a server that keeps failing with f is to be quarantined. A server that limits its callers,
// forgets sessions or answers with an error is alive, and is waited for without a strike.
func Strikes(f Failure) bool {
	return !f.Answered && f.Class != RateLimit && f.Class != SessionLost
}
