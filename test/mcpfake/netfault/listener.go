//go:build unix

package netfault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Listener is a TCP listener that can be closed and reopened on its port without the server above noticing, and whose
// connections can be held silent or cut. Its methods are safe for concurrent use.
type Listener struct {
	changed func()
	local   *net.TCPAddr
	next    chan struct{} // closed by Close

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

// Listen opens a listener on a loopback address; port 0 lets the kernel choose. changed, which must not block, is
// called after every opening and closing of a connection.
func Listen(address string, changed func()) (*Listener, error) {
	inner, err := bind(address)
	if err != nil {
		return nil, err
	}
	l := &Listener{
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

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.local }

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil
	}
	l.done = true
	close(l.next)
	if l.inner != nil {
		_ = l.inner.Close()
	}
	if l.hold >= 0 {
		_ = unix.Close(l.hold)
	}
	return nil
}

// Accept implements net.Listener: it waits through refusals.
func (l *Listener) Accept() (net.Conn, error) {
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
				continue // refusing, or closed
			}
			return nil, err
		}
		return l.adopt(c.(*net.TCPConn)), nil
	}
}

func (l *Listener) current() (net.Listener, <-chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inner, l.opened, l.done
}

func (l *Listener) adopt(tcp *net.TCPConn) *conn {
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

// Refuse closes the listening socket, so that new connections are refused; the port stays reserved and open
// connections live on.
func (l *Listener) Refuse() error {
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
	family := unix.AF_INET
	var sa unix.Sockaddr
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
	// Not SO_REUSEADDR: with it, another listener could take the port.
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	if err == nil {
		err = unix.Bind(fd, sa)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("reserving the port: %w", err)
	}
	return fd, nil
}

// Restore undoes Refuse, Freeze and CutOnAccept; what was frozen goes on.
func (l *Listener) Restore() error {
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

// Freeze keeps accepting connections and stops reading and writing on all of them.
func (l *Listener) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gate == nil {
		l.gate = make(chan struct{})
	}
}

// CutOnAccept closes every new connection at its first byte.
func (l *Listener) CutOnAccept() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cutting = true
}

func (l *Listener) frozen() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gate
}

// CutAll closes every open connection, by RST when reset is true, else by FIN.
func (l *Listener) CutAll(reset bool) {
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

// Open is the number of open connections.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// Accepted is the number of connections accepted ever.
func (l *Listener) Accepted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}
