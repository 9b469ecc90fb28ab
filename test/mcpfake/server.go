package mcpfake

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"

	"github.com/mooring-dev/mooring/test/mcpfake/netfault"
)

// TB is what a server needs of a test; *testing.T, *testing.B and GinkgoT() have it.
type TB = netfault.TB

// Server is one fake MCP server. All methods are safe for concurrent use.
type Server struct {
	opt  options
	ln   *netfault.Listener
	http *http.Server
	ca   *netfault.Authority // nil without TLS
	host string

	ctx    context.Context // ended by Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // handlers, tool runs, the serve loop

	mu sync.Mutex
	guarded
}

type guarded struct {
	closed   bool
	tools    []Tool
	paging   paging
	sessions map[string]*session
	streams  map[*openStream]struct{}
	tokens   []string
	script   []*entry
	release  chan struct{}
	record   record
}

// New starts a server that is closed when the test ends.
func New(tb TB, opts ...Option) *Server {
	tb.Helper()
	s, err := Start(opts...)
	if err != nil {
		tb.Fatalf("starting the fake MCP server: %v", err)
	}
	tb.Cleanup(s.Close)
	return s
}

// Start starts a server outside a test; the caller closes it.
func Start(opts ...Option) (*Server, error) {
	o := defaults()
	for _, set := range opts {
		set(&o)
	}
	s := &Server{opt: o}
	s.tools, s.tokens = o.tools, o.tokens
	s.paging.size = o.pageSize
	s.sessions = map[string]*session{}
	s.streams = map[*openStream]struct{}{}
	s.release = make(chan struct{})
	s.record = newRecord(o.recordLimit)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if !o.sessions {
		s.sessions[""] = newSession("")
	}
	var err error
	if o.tls {
		if s.ca, err = netfault.NewAuthority(); err != nil {
			return nil, err
		}
	}
	if s.ln, err = netfault.Listen(o.address, s.connsChanged); err != nil {
		return nil, err
	}
	s.host = s.ln.Addr().String()
	s.http = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	s.wg.Go(s.serve)
	return s, nil
}

func (s *Server) serve() {
	var ln net.Listener = s.ln
	if s.ca != nil {
		ln = tls.NewListener(ln, s.ca.ServerConfig(s.opt.clientCert))
	}
	_ = s.http.Serve(ln) // ends with Close
}

// URL is the endpoint.
func (s *Server) URL() string {
	return s.Origin() + s.opt.path
}

// Origin is scheme, host and port.
func (s *Server) Origin() string {
	if s.ca != nil {
		return "https://" + s.host
	}
	return "http://" + s.host
}

// HostPort is where the server listens.
func (s *Server) HostPort() string { return s.host }

// Close ends every handler and connection and waits for them. It is idempotent.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	_ = s.http.Close()
	s.ln.CutAll(false) // before the handlers end, whose last words are not to be heard
	s.cancel()
	s.wg.Wait()
}

// enter admits a goroutine that Close waits for.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	return true
}

// SetBearer replaces the accepted tokens; none means that no credential is asked for.
func (s *Server) SetBearer(tokens ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = tokens
}

// Release lets every exchange that hangs now go on: what hung before its answer is answered.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.release)
	s.release = make(chan struct{})
}

// Refuse closes the listening socket: new connections are refused. Open connections live on; see CutConnections.
func (s *Server) Refuse() error { return s.ln.Refuse() }

// Freeze keeps accepting connections and stops reading and writing on all of them, without a word.
func (s *Server) Freeze() { s.ln.Freeze() }

// CutOnAccept closes every new connection at its first byte; with TLS that is in the middle of the handshake.
func (s *Server) CutOnAccept() { s.ln.CutOnAccept() }

// Restore undoes Refuse, Freeze and CutOnAccept, on the same port; what was frozen goes on.
func (s *Server) Restore() error { return s.ln.Restore() }

// CutConnections closes all open connections, by RST when reset is true, else by FIN.
func (s *Server) CutConnections(reset bool) { s.ln.CutAll(reset) }

// CAPEM is the certificate of the server's authority; nil without TLS.
func (s *Server) CAPEM() []byte {
	if s.ca == nil {
		return nil
	}
	return s.ca.PEM()
}

// RotateCA replaces the authority and the server's certificate for new connections.
func (s *Server) RotateCA() error { return s.ca.Rotate() }

// ClientPair issues a client certificate of the present authority, as PEM.
func (s *Server) ClientPair() (cert, key []byte, err error) { return s.ca.ClientPair() }

// refused tells why a request's credential is not good, or "".
func (s *Server) refused(r *http.Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tokens) == 0 {
		return ""
	}
	got := r.Header.Get("Authorization")
	for _, t := range s.tokens {
		if got == "Bearer "+t {
			return ""
		}
	}
	if got == "" {
		return `Bearer realm="mcpfake"`
	}
	return `Bearer realm="mcpfake", error="invalid_token"`
}

func newID() string { return rand.Text() }

func bad(format string, args ...any) string { return fmt.Sprintf("Bad Request: "+format, args...) }
