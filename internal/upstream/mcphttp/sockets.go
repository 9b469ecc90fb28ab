package mcphttp

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// sockets knows every connection that a Client opened, so that Close closes them all, those being dialled included.
type sockets struct {
	idle   *Idle
	life   context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	open map[*socket]struct{}
}

func newSockets(idle *Idle) *sockets {
	life, cancel := context.WithCancel(context.Background())
	return &sockets{idle: idle, life: life, cancel: cancel, open: map[*socket]struct{}{}}
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
	tracked.active.Store(time.Now().UnixNano())
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
	of     *sockets
	active atomic.Int64 // when bytes last went either way, in nanoseconds of Unix time
	closed atomic.Bool
}

// Read implements net.Conn.
func (c *socket) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	switch now := time.Now(); {
	case n > 0:
		c.active.Store(now.UnixNano())
	case err != nil && !c.closed.Load():
		c.of.idle.sawClosed(now.Sub(time.Unix(0, c.active.Load())), now)
	}
	return n, err
}

// Write implements net.Conn.
func (c *socket) Write(bytes []byte) (int, error) {
	n, err := c.Conn.Write(bytes)
	if n > 0 {
		c.active.Store(time.Now().UnixNano())
	}
	return n, err
}

// Close implements net.Conn.
func (c *socket) Close() error {
	c.closed.Store(true)
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// dial opens a connection to the server or to the proxy.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.sockets.life, cancel)()
	dial := c.cfg.Route.DialContext
	if c.cfg.Dial != nil {
		dial = c.cfg.Dial
	}
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return c.sockets.adopt(conn), nil
}
