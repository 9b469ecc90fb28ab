package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
)

// keepAlive finds a dead peer of a silent connection within about a minute and a half.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 15 * time.Second, Count: 4}

// DialContext connects to address ("host:port") if the policy permits the host's name and the address dialled. It has
// the shape of net.Dialer.DialContext. A refusal is a *failure.Error with reason AddressNotAllowed.
func (p *Policy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if p == nil {
		p = &Policy{}
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if err := p.checkTarget(host, port); err != nil {
		return nil, err
	}
	hostAllowed := p.allow.hasHost(canonical(host))
	dialer := net.Dialer{
		KeepAliveConfig: keepAlive,
		ControlContext: func(_ context.Context, _, dialled string, _ syscall.RawConn) error {
			target, err := netip.ParseAddrPort(dialled)
			if err != nil {
				return refusal(host, "address of an unknown kind")
			}
			return p.checkAddr(target, hostAllowed)
		},
	}
	conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(p.absolute(host), port))
	var refused *failure.Error
	if err != nil && errors.As(err, &refused) {
		return nil, refused // without the words that package net puts around it
	}
	return conn, err
}

// absolute keeps the resolver's search path from completing a name to that of another namespace's Service.
func (p *Policy) absolute(host string) string {
	if p.crossNamespace || strings.HasSuffix(host, ".") || !strings.Contains(host, ".") {
		return host
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	name := canonical(host)
	// "name.namespace" and "name.namespace.svc" of the own namespace may be completed: they name what is permitted.
	if strings.HasSuffix(name, ".svc") || strings.Count(name, ".") == 1 && strings.HasSuffix(name, "."+p.namespace) {
		return host
	}
	return host + "."
}

func portNumber(port string) uint16 {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}
