package oauth

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/mooring-dev/mooring/internal/egress"
)

// What is read of an answer, in bytes.
const (
	maxAnswer      = 1 << 20
	maxErrorAnswer = 64 << 10
	maxHeader      = 64 << 10
)

var errTooLarge = errors.New("answer too large")

// proxyRefusal is a proxy's answer to CONNECT that is no tunnel.
type proxyRefusal struct{}

func (*proxyRefusal) Error() string { return "refused by the proxy" }

// exchange is the HTTP to the token endpoint. It reads answers whole, so that what goes wrong on the way keeps its type
// through the OAuth library.
type exchange struct {
	transport *http.Transport
	userAgent string
}

func newExchange(policy *egress.Policy, trust *tls.Config, userAgent string) *exchange {
	via := newRoute(policy)
	return &exchange{userAgent: userAgent, transport: &http.Transport{
		Proxy:                  via.proxy,
		DialContext:            via.dial,
		TLSClientConfig:        trust,
		TLSHandshakeTimeout:    mintTimeout,
		DisableKeepAlives:      true, // minutes pass between two mints
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		OnProxyConnectResponse: tunnelled,
	}}
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

// tunnelled judges a proxy's answer to CONNECT.
func tunnelled(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyRefusal{}
}

// route is the way to the token endpoint: the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), or
// a direct connection where the policy permits it.
type route struct {
	pick   func(*url.URL) (*url.URL, error)
	policy *egress.Policy
	// proxies holds the host:port of the environment's proxies: whoever runs Mooring named them, so they are not judged.
	proxies map[string]bool
}

func newRoute(policy *egress.Policy) *route {
	env := httpproxy.FromEnvironment()
	r := &route{pick: env.ProxyFunc(), policy: policy, proxies: map[string]bool{}}
	for _, text := range []string{env.HTTPSProxy, env.HTTPProxy} {
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			r.proxies[net.JoinHostPort(u.Hostname(), port(u))] = true
		}
	}
	return r
}

// proxy chooses the proxy of a request and judges the target, which the proxy will dial in our place.
func (r *route) proxy(req *http.Request) (*url.URL, error) {
	via, err := r.pick(req.URL)
	if via == nil || err != nil {
		return nil, err
	}
	if err := r.policy.CheckProxied(req.URL.Hostname(), port(req.URL)); err != nil {
		return nil, err
	}
	return via, nil
}

func (r *route) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if r.proxies[address] {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return r.policy.DialContext(ctx, network, address)
}

// port is a URL's port, by its scheme if it names none.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	switch strings.ToLower(u.Scheme) {
	case "https":
		return "443"
	case "socks5", "socks5h":
		return "1080"
	}
	return "80"
}
