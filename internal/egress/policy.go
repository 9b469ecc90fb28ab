package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
)

// Options configures a Policy. The zero value has the built-in refusals only.
type Options struct {
	// AllowLoopback permits 127.0.0.0/8 and ::1.
	AllowLoopback bool
	// AllowCrossNamespaceServices permits names of Services in other namespaces than the object's.
	AllowCrossNamespaceServices bool
	// Allow and Deny hold CIDRs ("10.0.0.0/8"), single addresses ("10.1.2.3") and host suffixes ("example.com", which
	// means that name and everything below it; a leading "." or "*." changes nothing).
	Allow, Deny []string
	// APIServers are host:port pairs that are always refused. A host may be a name or an address. See
	// Policy.SetAPIServers.
	APIServers []string
}

// Policy is safe for concurrent use, and immutable but for the addresses of the API server. A nil Policy has the
// built-in refusals only.
type Policy struct {
	loopback, crossNamespace bool
	namespace                string
	allow, deny              rules
	apiServers               *atomic.Pointer[[]string] // canonical host:port; shared by all namespaces' policies
}

// rules is one list of Options, parsed.
type rules struct {
	prefixes []netip.Prefix
	suffixes []string
}

func (r rules) empty() bool { return len(r.prefixes) == 0 && len(r.suffixes) == 0 }

func (r rules) hasAddr(addr netip.Addr) bool {
	return slices.ContainsFunc(r.prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// hasAddrs is false for no addresses.
func (r rules) hasAddrs(all []netip.Addr) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(addr netip.Addr) bool { return !r.hasAddr(addr) })
}

func (r rules) hasHost(host string) bool {
	return slices.ContainsFunc(r.suffixes, func(s string) bool {
		return host == s || strings.HasSuffix(host, "."+s)
	})
}

// NewPolicy parses o.
func NewPolicy(o Options) (*Policy, error) {
	allow, err := parseRules(o.Allow)
	if err != nil {
		return nil, fmt.Errorf("egress allow: %w", err)
	}
	deny, err := parseRules(o.Deny)
	if err != nil {
		return nil, fmt.Errorf("egress deny: %w", err)
	}
	p := &Policy{
		loopback: o.AllowLoopback, crossNamespace: o.AllowCrossNamespaceServices,
		allow: allow, deny: deny, apiServers: new(atomic.Pointer[[]string]),
	}
	if err := p.SetAPIServers(o.APIServers); err != nil {
		return nil, err
	}
	return p, nil
}

// SetAPIServers replaces the host:port pairs of the API server, in this policy and in all that were made of it by
// ForNamespace. Connections that are open stay open. With an error nothing is changed.
func (p *Policy) SetAPIServers(hostports []string) error {
	servers := make([]string, 0, len(hostports))
	for _, hostport := range hostports {
		host, port, err := net.SplitHostPort(hostport)
		if err != nil || host == "" || port == "" {
			return fmt.Errorf("API server %q is not host:port", hostport)
		}
		servers = append(servers, net.JoinHostPort(canonical(host), port))
	}
	p.apiServers.Store(&servers)
	return nil
}

// isAPIServer looks up a canonical host:port.
func (p *Policy) isAPIServer(hostport string) bool {
	if p.apiServers == nil {
		return false
	}
	return slices.Contains(*p.apiServers.Load(), hostport)
}

func parseRules(texts []string) (rules, error) {
	var r rules
	for _, text := range texts {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			r.prefixes = append(r.prefixes, prefix.Masked())
			continue
		}
		if addr, err := netip.ParseAddr(text); err == nil {
			r.prefixes = append(r.prefixes, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		suffix := canonical(strings.TrimPrefix(strings.TrimPrefix(text, "*"), "."))
		if suffix == "" || strings.ContainsAny(suffix, "/:*@ \t") {
			return r, fmt.Errorf("%q is neither a CIDR, an address nor a host suffix", text)
		}
		r.suffixes = append(r.suffixes, suffix)
	}
	return r, nil
}

// ForNamespace returns the policy as it applies to objects of a namespace.
func (p *Policy) ForNamespace(namespace string) *Policy {
	var own Policy
	if p != nil {
		own = *p
	}
	own.namespace = namespace
	return &own
}

// canonical is a host in lower case, without the dot of an absolute name, addresses in their one form.
func canonical(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().WithZone("").String()
	}
	return host
}
