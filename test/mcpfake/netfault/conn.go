//go:build unix

package netfault

import (
	"crypto/tls"
	"net"
	"sync"
)

// conn is a connection that stands still while its listener is frozen.
type conn struct {
	net.Conn // not *net.TCPConn, whose ReadFrom would pass the gate
	tcp      *net.TCPConn
	l        *Listener
	cut      bool
	closed   chan struct{}
	once     sync.Once
}

// wait returns when the listener is not frozen or the connection is closed.
func (c *conn) wait() {
	for gate := c.l.frozen(); gate != nil; gate = c.l.frozen() {
		select {
		case <-gate:
		case <-c.closed:
			return
		}
	}
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.wait()
	n, err := c.tcp.Read(p)
	if err != nil {
		return n, err
	}
	if c.cut {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	c.wait()
	return n, nil
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.wait()
	return c.tcp.Write(p)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		close(c.closed)
		err = c.tcp.Close()
		c.l.mu.Lock()
		delete(c.l.conns, c)
		c.l.mu.Unlock()
		c.l.changed()
	})
	return err
}

// Drop closes a connection that came from a Listener, also from under TLS; by RST when reset is true, else by FIN.
func Drop(c net.Conn, reset bool) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if own, ok := c.(*conn); ok && reset {
		_ = own.tcp.SetLinger(0)
	}
	_ = c.Close()
}
