package mcphttp

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxIdle is how long an idle connection is kept where the server does not say or show that it closes it earlier.
	maxIdle = 90 * time.Second
	// minIdle is the least that is made of what it says or shows.
	minIdle = 2 * time.Second
	// idleKept is how long that is remembered.
	idleKept = time.Hour
)

// Idle remembers how long a server keeps idle connections, so that none is used again that it may just be closing: a
// request that is lost so may have been carried out, and is not sent again. It is of one server, outlives its Clients
// and is safe for concurrent use. The zero value knows nothing.
type Idle struct {
	mu      sync.Mutex
	guarded struct {
		limit  time.Duration // zero: not known
		until  time.Time     // when limit is forgotten
		closed time.Duration // how long the connection had been silent that the server closed last
	}
}

// limit is how long a connection may have been idle that is to be used again.
func (i *Idle) limit(now time.Time) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.guarded.limit == 0 || now.After(i.guarded.until) {
		return maxIdle
	}
	return i.guarded.limit
}

func (i *Idle) learn(limit time.Duration, now time.Time) {
	i.guarded.limit, i.guarded.until = min(max(limit, minIdle), maxIdle), now.Add(idleKept)
}

var keepAliveTimeout = regexp.MustCompile(`(?i)(?:^|[,;\s])timeout\s*=\s*"?(\d{1,6})`)

// told goes by the Keep-Alive header of an answer (RFC 2068, section 19.7.1.1): a second less than it says.
func (i *Idle) told(header http.Header, now time.Time) {
	found := keepAliveTimeout.FindStringSubmatch(header.Get("Keep-Alive"))
	if found == nil {
		return
	}
	seconds, err := strconv.Atoi(found[1])
	if err != nil || seconds == 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.learn(time.Duration(seconds-1)*time.Second, now)
}

// sawClosed goes by connections that the server closed after a silence: two that were about equally long, one after the
// other, tell its limit, of which four fifths are used.
func (i *Idle) sawClosed(silence time.Duration, now time.Time) {
	if silence < time.Second || silence > maxIdle {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	shorter, longer := min(i.guarded.closed, silence), max(i.guarded.closed, silence)
	if i.guarded.closed = silence; longer-shorter <= longer/5 {
		i.learn(shorter*4/5, now)
	}
}

// trace watches how one request is sent. sent becomes true when all of its header may have left over the connection
// that it is sent on; net/http tries another one when nothing at all has left. An HTTP/1 connection that was idle for
// too long is closed before it is used: the request then goes over another one.
func (i *Idle) trace(sent *atomic.Bool) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { sent.Store(false) },
		GotConn: func(got httptrace.GotConnInfo) {
			if got.WasIdle && got.IdleTime > i.limit(time.Now()) && !speaksHTTP2(got.Conn) {
				_ = rawConn(got.Conn).Close()
			}
		},
		WroteHeaders: func() { sent.Store(true) },
	}
}

func speaksHTTP2(conn net.Conn) bool {
	secure, ok := conn.(*tls.Conn)
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}

// rawConn is the socket under TLS: to close it takes no word to the server.
func rawConn(conn net.Conn) net.Conn {
	if secure, ok := conn.(*tls.Conn); ok {
		return secure.NetConn()
	}
	return conn
}
