package failure

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// Error returns reason, phase and status, for logs. The cause is left out: its text is not known to be safe.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.reasonOrUnknown()))
	if e.Phase != "" {
		b.WriteString(" during " + string(e.Phase))
	}
	if e.HTTPStatus != 0 {
		b.WriteString(": " + StatusLine(e.HTTPStatus))
	}
	if e.Detail != "" {
		b.WriteString(" (" + e.Detail + ")")
	}
	return b.String()
}

// Unwrap returns the cause, for errors.Is and errors.As only.
func (e *Error) Unwrap() error { return e.Cause }

// In is the Failure that the chain of err carries as it was told; the zero Failure if there is none.
func In(err error) Failure {
	var told *Error
	if errors.As(err, &told) {
		return told.Failure
	}
	return Failure{}
}

func (f Failure) reasonOrUnknown() Reason {
	if f.Reason == "" {
		return UnknownFailure
	}
	return f.Reason
}

// SameKind reports whether two failures are the same trouble to a person: class, reason, status and phase agree.
// Detail and told waiting times may differ.
func (f Failure) SameKind(other Failure) bool {
	return f.Class == other.Class && f.Reason == other.Reason &&
		f.HTTPStatus == other.HTTPStatus && f.Phase == other.Phase
}

// StatusLine is "502 Bad Gateway", or the bare number where the code has no name.
func StatusLine(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}
