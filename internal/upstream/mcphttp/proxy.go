package mcphttp

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/mooring-dev/mooring/internal/failure"
)

// Proxy chooses the proxy of a request. The zero value: none.
type Proxy struct {
	pick func(*url.URL) (*url.URL, error)
	// configured holds the host:port of proxies that whoever runs Mooring named; their addresses are not judged.
	configured map[string]bool
}

// EnvironmentProxy reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case, now.
func EnvironmentProxy() Proxy {
	env := httpproxy.FromEnvironment()
	p := Proxy{pick: env.ProxyFunc(), configured: map[string]bool{}}
	for _, text := range []string{env.HTTPSProxy, env.HTTPProxy} {
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			p.configured[net.JoinHostPort(u.Hostname(), port(u))] = true
		}
	}
	return p
}

// FixedProxy sends every request through one proxy. Its address is judged like a server's.
func FixedProxy(u *url.URL) Proxy {
	return Proxy{pick: func(*url.URL) (*url.URL, error) { return u, nil }}
}

func (p Proxy) choose(target *url.URL) (*url.URL, error) {
	if p.pick == nil {
		return nil, nil //nolint:nilnil // net/http's own way to say "no proxy"
	}
	return p.pick(target)
}

func (p Proxy) trusted(address string) bool { return p.configured[address] }

// proxyRefused names the fault of a proxy that does not open the tunnel.
func proxyRefused(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &failure.Error{Failure: failure.Failure{
		Class: failure.Transport, Reason: failure.ConnectFailed,
		Detail: "the proxy answered " + statusText(resp.StatusCode),
	}}
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
