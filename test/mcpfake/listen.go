//go:build unix

package mcpfake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// listener is a TCP listener that can be closed and reopened on its port without http.Server noticing, and whose
// connections can be held silent or cut.
type listener struct {
	changed func()
	local   *net.TCPAddr
	next    chan struct{} // closed by shut

	mu      sync.Mutex
	inner   net.Listener  // nil while refusing
	opened  chan struct{} // closed when inner becomes non-nil
	hold    int           // a socket bound to the port but not listening, while refusing; else -1
	gate    chan struct{} // non-nil while frozen; closed by thaw
	cutting bool          // new connections are closed at their first byte
	done    bool
	conns   map[*conn]struct{}
	total   int
}

func listen(address string, changed func()) (*listener, error) {
	inner, err := bind(address)
	if err != nil {
		return nil, err
	}
	l := &listener{
		changed: changed, local: inner.Addr().(*net.TCPAddr), next: make(chan struct{}),
		inner: inner, hold: -1, conns: map[*conn]struct{}{},
	}
	return l, nil
}

// bind listens with SO_REUSEPORT, so that the port can be handed between a listening and a silent socket without a
// moment in which another process could take it.
func bind(address string) (net.Listener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) {
			set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		})
		return errors.Join(err, set)
	}}
	ln, err := lc.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on loopback: %w", err)
	}
	return ln, nil
}

func (l *listener) addr() string { return l.local.String() }

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.local }

// Close implements net.Listener.
func (l *listener) Close() error {
	l.shut()
	return nil
}

// Accept implements net.Listener: it waits through refusals.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, opened, done := l.current()
		if done {
			return nil, net.ErrClosed
		}
		if inner == nil {
			select {
			case <-opened:
			case <-l.next:
			}
			continue
		}
		c, err := inner.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				continue // refusing, or shut
			}
			return nil, err
		}
		return l.adopt(c.(*net.TCPConn)), nil
	}
}

func (l *listener) current() (net.Listener, <-chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inner, l.opened, l.done
}

func (l *listener) adopt(tcp *net.TCPConn) *conn {
	c := &conn{Conn: tcp, tcp: tcp, l: l, closed: make(chan struct{})}
	l.mu.Lock()
	c.cut = l.cutting
	late := l.done
	l.conns[c] = struct{}{}
	l.total++
	l.mu.Unlock()
	if late {
		_ = c.Close()
	}
	l.changed()
	return c
}

// refuse closes the listening socket; the port stays reserved.
func (l *listener) refuse() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inner == nil || l.done {
		return nil
	}
	fd, err := reserve(l.local)
	if err != nil {
		return err
	}
	_ = l.inner.Close()
	l.inner, l.hold, l.opened = nil, fd, make(chan struct{})
	return nil
}

// reserve binds a socket to the port without listening: connections are refused.
func reserve(a *net.TCPAddr) (int, error) {
	family, sa := unix.AF_INET, unix.Sockaddr(nil)
	if ip := a.IP.To4(); ip != nil {
		sa = &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(ip)}
	} else {
		family, sa = unix.AF_INET6, &unix.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP.To16())}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, fmt.Errorf("reserving the port: %w", err)
	}
	unix.CloseOnExec(fd)
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	}
	if err == nil {
		err = unix.Bind(fd, sa)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("reserving the port: %w", err)
	}
	return fd, nil
}

// restore undoes refuse, freeze and cutting.
func (l *listener) restore() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cutting = false
	if l.gate != nil {
		close(l.gate)
		l.gate = nil
	}
	if l.inner != nil || l.done {
		return nil
	}
	inner, err := bind(l.local.String())
	if err != nil {
		return err
	}
	_ = unix.Close(l.hold)
	l.inner, l.hold = inner, -1
	close(l.opened)
	return nil
}

func (l *listener) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gate == nil {
		l.gate = make(chan struct{})
	}
}

func (l *listener) cutOnAccept() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cutting = true
}

func (l *listener) frozen() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gate
}

func (l *listener) shut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return
	}
	l.done = true
	close(l.next)
	if l.inner != nil {
		_ = l.inner.Close()
	}
	if l.hold >= 0 {
		_ = unix.Close(l.hold)
	}
}

// cut closes every open connection, with RST when reset.
func (l *listener) cut(reset bool) {
	l.mu.Lock()
	all := make([]*conn, 0, len(l.conns))
	for c := range l.conns {
		all = append(all, c)
	}
	l.mu.Unlock()
	for _, c := range all {
		if reset {
			_ = c.tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

func (l *listener) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

func (l *listener) accepted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// conn is a connection that stands still while its listener is frozen.
type conn struct {
	net.Conn // not *net.TCPConn, whose ReadFrom would pass the gate
	tcp      *net.TCPConn
	l        *listener
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

// Refuse closes the listening socket: new connections are refused. Open connections live on; see CutConnections.
func (s *Server) Refuse() error { return s.ln.refuse() }

// Freeze keeps accepting connections and stops reading and writing on all of them, without a word.
func (s *Server) Freeze() { s.ln.freeze() }

// CutOnAccept closes every new connection at its first byte; with TLS that is in the middle of the handshake.
func (s *Server) CutOnAccept() { s.ln.cutOnAccept() }

// Restore undoes Refuse, Freeze and CutOnAccept, on the same port; what was frozen goes on.
func (s *Server) Restore() error { return s.ln.restore() }

// CutConnections closes all open connections, by RST when reset is true, else by FIN.
func (s *Server) CutConnections(reset bool) { s.ln.cut(reset) }
