package egress

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/internal/failure"
)

// metadata are the addresses of clouds' metadata services that are not link-local.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd20:ce::254"),    // Google
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("168.63.129.16"),   // Azure
	netip.MustParseAddr("192.0.0.192"),     // Oracle
}

// metadataNames matter behind a proxy, where the address is not seen.
var metadataNames = []string{"metadata.google.internal", "metadata.goog", "instance-data.ec2.internal", "metadata"}

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	broadcast   = netip.MustParseAddr("255.255.255.255")
	nat64       = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64  = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215
	sixToFour   = netip.MustParsePrefix("2002::/16")
	compatible  = netip.MustParsePrefix("::/96") // RFC 4291 section 2.5.5.1
)

// CheckLiteral judges what can be judged without asking DNS: a literal address, or the rules about names. hostport is
// a host, or host:port as in a URL. A refusal is a *failure.Error with reason AddressNotAllowed, and waiting will not
// change it.
func (p *Policy) CheckLiteral(hostport string) error {
	host, port := hostport, ""
	if h, after, err := net.SplitHostPort(hostport); err == nil {
		host, port = h, after
	}
	return p.checkTarget(strings.Trim(host, "[]"), port)
}

// checkTarget judges a target whose address is not known, unless it is a literal.
func (p *Policy) checkTarget(host, port string) error {
	if p == nil {
		p = &Policy{}
	}
	host = canonical(host)
	if addr, err := netip.ParseAddr(host); err == nil {
		return p.checkAddr(netip.AddrPortFrom(addr, portNumber(port)), false)
	}
	if why := p.nameRefused(host, port); why != "" {
		return refusal(host, why)
	}
	// CIDRs may still allow what no suffix does; that is known when the address is.
	if len(p.allow.prefixes) == 0 && !p.allow.empty() && !p.allow.hasHost(host) {
		return refusal(host, "not in the allowed hosts")
	}
	return nil
}

func (p *Policy) nameRefused(host, port string) string {
	switch {
	case slices.Contains(metadataNames, host):
		return "metadata service"
	case p.isAPIServer(net.JoinHostPort(host, port)), isAPIServerName(host):
		return "API server"
	case host == "localhost" || strings.HasSuffix(host, ".localhost"):
		if !p.loopback {
			return "loopback"
		}
		return ""
	case p.deny.hasHost(host):
		return "denied host"
	case p.crossNamespace:
		return ""
	case !strings.Contains(host, "."):
		return "name without a namespace"
	}
	if ns, ok := serviceNamespace(host); ok && ns != p.namespace {
		return "service of another namespace"
	}
	return ""
}

// isAPIServerName knows the API server by the Service that every cluster has.
func isAPIServerName(host string) bool {
	return host == "kubernetes" || host == "kubernetes.default" ||
		host == "kubernetes.default.svc" || strings.HasPrefix(host, "kubernetes.default.svc.")
}

// serviceNamespace finds the namespace in [pod.]name.namespace.svc[.cluster.domain], and in the names of pods.
func serviceNamespace(host string) (string, bool) {
	labels := strings.Split(host, ".")
	for i := 2; i < len(labels); i++ {
		if labels[i] == "svc" || labels[i] == "pod" && i+1 < len(labels) && labels[i+1] == "cluster" {
			return labels[i-1], true
		}
	}
	return "", false
}

// checkAddr judges the address of a dial. hostAllowed: the name it was found by is in the allowed hosts.
func (p *Policy) checkAddr(target netip.AddrPort, hostAllowed bool) error {
	addr := target.Addr().Unmap().WithZone("")
	inner := embedded(addr)
	for _, reading := range append([]netip.Addr{addr}, inner...) {
		why := p.addrRefused(netip.AddrPortFrom(reading, target.Port()))
		if why == "" && p.deny.hasAddr(reading) {
			why = "denied address"
		}
		if why != "" {
			return refusal(addr.String(), why)
		}
	}
	if p.allow.empty() || hostAllowed || p.allow.hasAddr(addr) || p.allow.hasAddrs(inner) {
		return nil
	}
	return refusal(addr.String(), "not in the allowed addresses")
}

func (p *Policy) addrRefused(target netip.AddrPort) string {
	addr := target.Addr()
	switch {
	case addr.IsUnspecified(), addr.Is4() && thisNetwork.Contains(addr):
		return "unspecified address"
	case addr.IsMulticast(), addr == broadcast:
		return "multicast address"
	case addr.IsLinkLocalUnicast():
		return "link-local address"
	case slices.Contains(metadata, addr):
		return "metadata service"
	case p.isAPIServer(target.String()):
		return "API server"
	case addr.IsLoopback() && !p.loopback:
		return "loopback"
	}
	return ""
}

// localForms is where RFC 6052 section 2.2 puts an IPv4 address behind prefixes of 96, 48, 56 and 64 bits. Which of
// them a network has chosen within localNAT64 cannot be seen.
var localForms = [][4]int{{12, 13, 14, 15}, {6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}}

// embedded are the IPv4 addresses that a translator or tunnel may send to in place of addr.
func embedded(addr netip.Addr) []netip.Addr {
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[12:16]))}
	case sixToFour.Contains(addr):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	}
	var forms [][4]int
	if compatible.Contains(addr) {
		forms = localForms[:1]
	} else if localNAT64.Contains(addr) {
		forms = localForms
	}
	var all []netip.Addr
	for _, at := range forms {
		inner := netip.AddrFrom4([4]byte{b[at[0]], b[at[1]], b[at[2]], b[at[3]]})
		// What begins with a zero is no such form: ::1, or the gap of another one.
		if !thisNetwork.Contains(inner) {
			all = append(all, inner)
		}
	}
	return all
}

func refusal(host, rule string) error {
	return &failure.Error{Failure: failure.Failure{
		Class: failure.Protocol, Phase: failure.Connect, Reason: failure.AddressNotAllowed,
		Detail: host + ": " + rule,
	}}
}
