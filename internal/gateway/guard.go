package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	maxRequest = 4 << 20
	// serviceName begins the names of the gateway's Service.
	serviceName = "mooring-gateway"
)

// guard refuses requests that a browser was made to send: by a name that is rebound to our address, or from a page of
// another origin.
type guard struct{ hosts, origins []string }

func newGuard(hosts, origins []string) *guard {
	g := &guard{}
	for _, host := range hosts {
		g.hosts = append(g.hosts, strings.ToLower(host))
	}
	for _, origin := range origins {
		g.origins = append(g.origins, strings.ToLower(strings.TrimSuffix(origin, "/")))
	}
	return g
}

// check returns why the request is refused, empty when it is not. It tells browsers of an origin that is allowed.
func (g *guard) check(header http.Header, r *http.Request) string {
	if !g.knows(hostname(r.Host)) {
		return "the name in the Host header is not one of the gateway's; give it to --allowed-hosts if it is to be one"
	}
	origin := strings.ToLower(strings.Join(r.Header.Values("Origin"), ", ")) // several are none of ours
	if origin == "" {
		return ""
	}
	if !slices.Contains(g.origins, origin) && !sameOrigin(origin, r) {
		return "requests from pages of this Origin are not taken; give it to --allowed-origins if they are to be"
	}
	header.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	header.Set("Access-Control-Allow-Methods", "GET, POST")
	header.Set("Access-Control-Allow-Headers", "*, Authorization")
	header.Set("Vary", "Origin")
	return ""
}

// sameOrigin tells whether a page is of the very host and port that it asks, which are known to be ours.
func sameOrigin(origin string, r *http.Request) bool {
	_, host, found := strings.Cut(origin, "://")
	return found && host == strings.ToLower(r.Host)
}

// knows tells whether a host is a loopback name, one of our Service's, an address by which a pod or a probe is
// reached, or one that was allowed.
func (g *guard) knows(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.IsValid() // a name is what is rebound, an address cannot be
	}
	labels := strings.SplitN(strings.TrimSuffix(host, ".cluster.local"), ".", 3)
	ours := labels[0] == serviceName && (len(labels) == 1 || len(labels) == 3 && labels[2] == "svc")
	return host == "localhost" || ours || slices.Contains(g.hosts, host)
}

func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// inflight bounds the bytes that are held at one time.
type inflight struct {
	most int64
	held atomic.Int64
}

// take reserves bytes, which release gives back; false when there is no room.
func (i *inflight) take(bytes int64) (release func(), ok bool) {
	taken := &room{of: i}
	return taken.release, taken.grow(bytes)
}

// room is a part of inflight that grows with what it is for.
type room struct {
	of    *inflight
	bytes int64
}

// grow reserves more; false when there is no more.
func (r *room) grow(bytes int64) bool {
	if r.of.held.Add(bytes) > r.of.most {
		r.of.held.Add(-bytes)
		return false
	}
	r.bytes += bytes
	return true
}

func (r *room) release() { r.of.held.Add(-r.bytes) }
