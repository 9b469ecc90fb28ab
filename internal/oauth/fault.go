package oauth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
)

const invalidClient = "invalid_client"

// codes are the error codes that may be passed on: those of RFC 6749 sections 4.1.2.1 and 5.2, and RFC 8707. The value
// says whether waiting may help.
var codes = map[string]bool{
	"invalid_request": false, invalidClient: false, "invalid_grant": false, "unauthorized_client": false,
	"unsupported_grant_type": false, "invalid_scope": false, "access_denied": false, "invalid_target": false,
	"server_error": true, "temporarily_unavailable": true,
}

// fault is a failure to get a token. The request to the MCP server was not sent.
func fault(class failure.Class, detail string) *failure.Error {
	return &failure.Error{Failure: failure.Failure{
		Class: class, Reason: failure.TokenAcquisitionFailed, Detail: detail,
	}}
}

// left is the error of a caller whose context ended while it waited. A deadline is our own, and says what it was spent
// on; whoever cancelled knows why.
func left(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault(failure.Timeout, slow)
	}
	return context.Cause(ctx)
}

const slow = "the token server did not answer in time"

// named gives an error of the library a name. The error itself goes no further, as its text may repeat the answer.
func named(err error) *failure.Error {
	if refused := new(oauth2.RetrieveError); errors.As(err, &refused) {
		return answered(refused.Response, refused.ErrorCode, time.Now())
	}
	if !errors.As(err, new(*url.Error)) { // the exchange went well
		return fault(failure.Protocol, "the token server's answer holds no token")
	}
	return failedExchange(err)
}

// answered names an answer that refuses a token.
func answered(resp *http.Response, code string, now time.Time) *failure.Error {
	status := failure.Status{Code: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After")}
	f := failure.FromStatus("", status, now)
	f.Reason, f.Sent = failure.TokenAcquisitionFailed, false
	passing, registered := codes[code]
	if registered {
		f.Detail = code
	}
	switch {
	case f.Policy().Gates, f.Policy().Transient:
	case resp.StatusCode == http.StatusRequestTimeout:
		f.Class = failure.Timeout
	case passing:
		f.Class = failure.Server
	case resp.StatusCode >= 400, resp.StatusCode < 300: // some say 200 and mean an error
		f.Class = failure.Auth
	default:
		f.Class, f.Detail = failure.Protocol, "which redirects to another place and is not followed"
	}
	return &failure.Error{Failure: f}
}

// failedExchange names an exchange that brought no answer.
func failedExchange(err error) *failure.Error {
	f, op := failure.Classify(err), new(net.OpError)
	switch {
	case errors.Is(err, errTooLarge):
		return fault(failure.Protocol, "the token server's answer is larger than 1 MiB")
	case errors.Is(err, egress.ErrProxyRefused):
		return fault(failure.Transport, "the proxy does not let the token server be reached")
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return fault(failure.Transport, "the proxy could not be reached")
	case f.Class == failure.Unknown:
		f.Class = failure.Transport
	}
	detail := map[failure.Reason]string{
		failure.ConnectTimeout:        slow,
		failure.UnknownFailure:        "the exchange with the token server failed",
		failure.DNSError:              "the host name of the token server could not be resolved",
		failure.ConnectFailed:         "connection to the token server failed",
		failure.ConnectionLost:        "the connection to the token server was lost",
		failure.NotMCP:                "the token server could not be asked",
		failure.TLSVerificationFailed: "the TLS identity of the token server could not be verified",
		failure.AddressNotAllowed:     "the address of the token server is not allowed here",
	}[f.Reason]
	if f.Detail != "" {
		detail += ": " + f.Detail
	}
	return fault(f.Class, detail)
}
