package failure

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestRetryAfter is the most that a server may ask us to stay away: a longer wait is a mistake or an attack,
// and a person would not understand why nothing happens.
const longestRetryAfter = time.Hour

// ParseRetryAfter reads the value of the header Retry-After (RFC 9110 section 10.2.3): whole seconds, seconds with
// a fraction (not in the RFC, but sent), or an HTTP date, which is measured from now. The result is clamped to
// [0, 1h]; a date in the past is 0. It reports false for an empty value, a negative number or nonsense.
func ParseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789.") == "" {
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil && !math.IsInf(seconds, 1) {
			return 0, false
		}
		if seconds >= longestRetryAfter.Seconds() {
			return longestRetryAfter, true
		}
		return time.Duration(seconds * float64(time.Second)), true
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(date.Sub(now), 0), longestRetryAfter), true
}

// Status is what an HTTP answer told.
type Status struct {
	Code int
	// RetryAfter is the header's value, empty when there was none.
	RetryAfter string
	// WithSession: the request carried a session id.
	WithSession bool
	// Body is the beginning of the body. Nothing of it is ever shown.
	Body []byte
}

// FromStatus names the fault of an HTTP answer whose code is not what the request wanted. A 404 to a request with a
// session id means that the session is gone, whatever the body says (MCP 2025-11-25, Transports, Session Management).
func FromStatus(phase Phase, status Status, now time.Time) Failure {
	f := Failure{Phase: phase, HTTPStatus: status.Code, Sent: true}
	f.RetryAfter, f.RetryAfterGiven = ParseRetryAfter(status.RetryAfter, now)
	f.Class, f.Reason = classOf(status, f.RetryAfterGiven)
	if status.quotaUsedUp(f) {
		f.Class, f.Reason = Quota, QuotaExceeded
	}
	if expectsTLS(status.Body) {
		f.Detail = "that port expects HTTPS"
	}
	return f.paused()
}

// FromRPC names the fault of a well-formed JSON-RPC error in answer to a request. Data is the error's member.
func FromRPC(phase Phase, data []byte) Failure {
	f := Failure{Class: Protocol, Phase: phase, Reason: ProtocolError, Sent: true, Answered: true}
	if holdsQuotaCode(data, quotaDepth) {
		f.Class, f.Reason = Quota, QuotaExceeded
	}
	return f.paused()
}

// shortLimit is the longest wait after which a 429 is a limit of the rate, whatever its code.
const shortLimit = time.Minute

// quotaDepth is how many objects deep providers put their code: error.data of a JSON-RPC error.
const quotaDepth = 2

// quotaUsedUp reports whether the answer says that a quota is used up: by its status, or by a code in its body, unless
// the server wants to be asked again so soon that it can only mean its rate.
func (s Status) quotaUsedUp(f Failure) bool {
	soon := f.RetryAfterGiven && f.RetryAfter <= shortLimit
	return s.Code == http.StatusPaymentRequired ||
		s.Code == http.StatusTooManyRequests && !soon && holdsQuotaCode(s.Body, quotaDepth)
}

// holdsQuotaCode reports whether an error object holds the code of a used-up quota, or of a bill that is not paid:
// as text in its members code or type, or in those of its members error and data. The codes are compared exactly; what
// is written for people does not count, since nobody promises to keep it.
func holdsQuotaCode(object []byte, depth int) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return false
	}
	for _, name := range []string{"code", "type"} {
		var code string
		if json.Unmarshal(members[name], &code) == nil && quotaCode(code) {
			return true
		}
	}
	inside := func(name string) bool { return holdsQuotaCode(members[name], depth-1) }
	return depth > 0 && (inside("error") || inside("data"))
}

func quotaCode(code string) bool {
	switch code {
	case "insufficient_quota", "quota_exceeded", "payment_required":
		return true
	}
	return strings.HasPrefix(code, "billing_")
}

// BadAnswer is an answer that breaks the protocol.
func BadAnswer(phase Phase, reason Reason, detail string) *Error {
	return &Error{Failure: Failure{Class: Protocol, Phase: phase, Reason: reason, Sent: true, Detail: detail}}
}

// expectsTLS knows how common servers answer plain HTTP on a TLS port.
func expectsTLS(body []byte) bool {
	body = body[:min(len(body), 512)]
	return bytes.Contains(body, []byte("HTTP request to an HTTPS server")) ||
		bytes.Contains(body, []byte("plain HTTP request was sent to HTTPS port"))
}

func classOf(status Status, told bool) (Class, Reason) {
	switch code := status.Code; {
	case code == http.StatusUnauthorized:
		return Auth, AuthenticationFailed
	case code == http.StatusForbidden:
		return Permission, PermissionDenied
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable && told:
		return RateLimit, RateLimited
	case code == http.StatusNotFound && status.WithSession:
		return SessionLost, ConnectionLost
	case code == http.StatusNotFound, code == http.StatusGone:
		return Protocol, EndpointNotFound
	case code >= 500:
		return Server, ServerError
	case code >= 400:
		return Protocol, ProtocolError
	case code >= 300:
		return Protocol, RedirectRefused
	}
	return Protocol, NotMCP
}
