package oauth

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"

	"github.com/mooring-dev/mooring/internal/egress"
)

// What is read of an answer, in bytes.
const (
	maxAnswer      = 1 << 20
	maxErrorAnswer = 64 << 10
	maxHeader      = 64 << 10
)

var errTooLarge = errors.New("answer too large")

// exchange is the HTTP to the token endpoint. It reads answers whole, so that what goes wrong on the way keeps its type
// through the OAuth library.
type exchange struct {
	transport *http.Transport
	userAgent string
}

func newExchange(policy *egress.Policy, trust *tls.Config, userAgent string) *exchange {
	t := egress.NewRoute(policy, nil).Transport(trust)
	t.TLSHandshakeTimeout = mintTimeout
	t.DisableKeepAlives = true // minutes pass between two mints
	t.MaxResponseHeaderBytes = maxHeader
	return &exchange{userAgent: userAgent, transport: t}
}

// RoundTrip implements http.RoundTripper.
func (e *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Accept", "application/json")
	if e.userAgent != "" {
		req.Header.Set("User-Agent", e.userAgent)
	}
	resp, err := e.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	limit, isError := maxAnswer, resp.StatusCode < 200 || resp.StatusCode > 299
	if isError {
		limit = maxErrorAnswer
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	_ = resp.Body.Close()
	switch {
	case isError: // its status says enough, whatever became of its body
	case err != nil:
		return nil, err
	case len(body) > limit:
		return nil, errTooLarge
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
