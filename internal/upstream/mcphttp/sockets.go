package mcphttp

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// sockets knows every connection that a Client opened, so that Close closes them all, those being dialled included.
type sockets struct {
	life   context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	open map[*socket]struct{}
}

func newSockets() *sockets {
	life, cancel := context.WithCancel(context.Background())
	return &sockets{life: life, cancel: cancel, open: map[*socket]struct{}{}}
}

func (s *sockets) close() {
	s.cancel()
	s.mu.Lock()
	all := make([]*socket, 0, len(s.open))
	for conn := range s.open {
		all = append(all, conn)
	}
	s.mu.Unlock()
	for _, conn := range all {
		_ = conn.Close()
	}
}

// adopt takes a connection in; one that arrives after close is closed.
func (s *sockets) adopt(conn net.Conn) net.Conn {
	tracked := &socket{Conn: conn, of: s}
	s.mu.Lock()
	s.open[tracked] = struct{}{}
	s.mu.Unlock()
	if s.life.Err() != nil {
		_ = tracked.Close()
	}
	return tracked
}

type socket struct {
	net.Conn
	of *sockets
}

// Close implements net.Conn.
func (c *socket) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// dial opens a connection to the server, or to the proxy, where the policy permits it.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.sockets.life, cancel)()
	dial := c.cfg.Egress.DialContext
	switch {
	case c.cfg.Dial != nil:
		dial = c.cfg.Dial
	case c.cfg.Proxy.trusted(address):
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return c.sockets.adopt(conn), nil
}

// proxyFor chooses the proxy of a request and judges the target, which the proxy will dial in our place.
func (c *Client) proxyFor(req *http.Request) (*url.URL, error) {
	proxy, err := c.cfg.Proxy.choose(req.URL)
	if proxy == nil || err != nil {
		return nil, err
	}
	if err := c.cfg.Egress.CheckProxied(req.URL.Hostname(), port(req.URL)); err != nil {
		return nil, err
	}
	return proxy, nil
}
