package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/mooring-dev/mooring/internal/failure"
)

var (
	// ErrProxyRefused is in the chain of the failure of a connection that a proxy does not open.
	ErrProxyRefused = errors.New("refused by the proxy")
	// ErrBadBundle says that a CA bundle holds no certificate.
	ErrBadBundle = errors.New("CA bundle without a certificate in PEM form")
)

// Route is the way to a server: directly or through a proxy, where the policy permits it. The zero Route is direct and
// has the built-in refusals.
type Route struct {
	policy *Policy
	pick   func(*url.URL) (*url.URL, error)
	// trusted holds the host:port of proxies that whoever runs Mooring named; their addresses are not judged.
	trusted map[string]bool
}

// NewRoute returns the route through proxy, whose address is judged like a server's. Without one the environment names
// the proxy (HTTPS_PROXY, HTTP_PROXY, NO_PROXY, in either case, read now).
func NewRoute(policy *Policy, proxy *url.URL) Route {
	if proxy != nil {
		return Route{policy: policy, pick: func(*url.URL) (*url.URL, error) { return proxy, nil }}
	}
	env := httpproxy.FromEnvironment()
	r := Route{policy: policy, pick: env.ProxyFunc(), trusted: map[string]bool{}}
	for _, text := range []string{env.HTTPSProxy, env.HTTPProxy} {
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			r.trusted[net.JoinHostPort(u.Hostname(), Port(u))] = true
		}
	}
	return r
}

// Transport returns a new transport along the route. It keeps a copy of trust, because net/http writes to its own.
func (r Route) Transport(trust *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                  r.proxy,
		DialContext:            r.DialContext,
		TLSClientConfig:        trust.Clone(),
		DisableCompression:     true,
		OnProxyConnectResponse: tunnelled,
	}
}

// DialContext connects to the server or to the proxy.
func (r Route) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if r.trusted[address] {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return r.policy.DialContext(ctx, network, address)
}

// proxy chooses the proxy of a request and judges the target, which the proxy will resolve and dial in our place.
func (r Route) proxy(req *http.Request) (*url.URL, error) {
	if r.pick == nil {
		return nil, nil //nolint:nilnil // net/http's own way to say "no proxy"
	}
	via, err := r.pick(req.URL)
	if via == nil || err != nil {
		return nil, err
	}
	return via, r.policy.checkTarget(req.URL.Hostname(), Port(req.URL))
}

// tunnelled judges a proxy's answer to CONNECT.
func tunnelled(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &failure.Error{Failure: failure.Failure{
		Class: failure.Transport, Reason: failure.ConnectFailed,
		Detail: "the proxy answered " + failure.StatusLine(resp.StatusCode),
	}, Cause: ErrProxyRefused}
}

// Port is a URL's port, by its scheme if it names none.
func Port(u *url.URL) string {
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

// Trust is the system's roots and those of the bundle (PEM, may be empty).
func Trust(bundle []byte) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(bundle) == 0 {
		return cfg, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // an image without a trust store still trusts the bundle
	}
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, ErrBadBundle
	}
	cfg.RootCAs = roots
	return cfg, nil
}
