//go:build unix

package netfault

import (
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// TB is what the fakes need of a test; *testing.T, *testing.B and GinkgoT() have it.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Pass is one request that reached a Proxy.
type Pass struct {
	Method        string // CONNECT, or the method of a plain request
	Target        string // host:port as the client named it
	Authorization string // of Proxy-Authorization
}

// Proxy is a forward proxy: CONNECT tunnels, and plain requests in absolute form.
type Proxy struct {
	ln     *Listener
	server *http.Server
	out    *http.Transport
	wg     sync.WaitGroup

	mu     sync.Mutex
	routes map[string]string
	status int
	passes []Pass
	tunnel map[net.Conn]struct{}
	closed bool
}

// NewProxy starts a proxy that is closed when the test ends.
func NewProxy(tb TB) *Proxy {
	tb.Helper()
	p := &Proxy{routes: map[string]string{}, tunnel: map[net.Conn]struct{}{}}
	ln, err := Listen("127.0.0.1:0", func() {})
	if err != nil {
		tb.Fatalf("starting the proxy: %v", err)
	}
	p.ln = ln
	p.out = &http.Transport{DisableKeepAlives: true}
	p.server = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	p.wg.Go(func() { _ = p.server.Serve(ln) })
	tb.Cleanup(p.Close)
	return p
}

// URL is what clients are to be configured with.
func (p *Proxy) URL() string { return "http://" + p.ln.Addr().String() }

// Listener breaks the proxy's own connections.
func (p *Proxy) Listener() *Listener { return p.ln }

// Route sends connections for a target (host:port as clients name it) to another address. Without a route the target
// itself is dialled.
func (p *Proxy) Route(target, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.routes[target] = address
}

// Deny answers everything with a status; 0 ends that.
func (p *Proxy) Deny(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// Passes are the requests seen, denied ones included, in order.
func (p *Proxy) Passes() []Pass {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.passes)
}

// Targets are the distinct targets of Passes, in order of first sight.
func (p *Proxy) Targets() []string {
	var out []string
	for _, s := range p.Passes() {
		if !slices.Contains(out, s.Target) {
			out = append(out, s.Target)
		}
	}
	return out
}

// Close ends the proxy and all tunnels.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for c := range p.tunnel {
		_ = c.Close()
	}
	p.mu.Unlock()
	_ = p.server.Close()
	p.ln.CutAll(false)
	p.wg.Wait()
	p.out.CloseIdleConnections()
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.Host
	if r.Method != http.MethodConnect {
		target = r.URL.Host
		if r.URL.Port() == "" {
			target = net.JoinHostPort(r.URL.Hostname(), "80")
		}
	}
	p.mu.Lock()
	p.passes = append(p.passes, Pass{r.Method, target, r.Header.Get("Proxy-Authorization")})
	status, address := p.status, p.routes[target]
	p.mu.Unlock()
	if address == "" {
		address = target
	}
	switch {
	case status != 0:
		http.Error(w, http.StatusText(status), status)
	case r.Method == http.MethodConnect:
		p.connect(w, address)
	default:
		p.forward(w, r, address)
	}
}

// connect tunnels until one side ends.
func (p *Proxy) connect(w http.ResponseWriter, address string) {
	up, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		http.Error(w, "Bad Gateway", http.StatusBadGateway)
		return
	}
	down, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = up.Close()
		return
	}
	if !p.track(up, down) {
		_ = up.Close()
		_ = down.Close()
		return
	}
	_, _ = down.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
	pipe := func(to io.Writer, from io.Reader) {
		defer p.wg.Done()
		_, _ = io.Copy(to, from)
		_ = up.Close()
		_ = down.Close()
	}
	go pipe(up, buf)
	go pipe(down, up)
}

// track admits both ends of a tunnel, and its two goroutines, unless the proxy is closed.
func (p *Proxy) track(up, down net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.tunnel[up], p.tunnel[down] = struct{}{}, struct{}{}
	p.wg.Add(2)
	return true
}

// forward passes a plain request on, flushing as bytes come.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, address string) {
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Host = "", address
	out.Header.Del("Proxy-Authorization")
	out.Header.Del("Proxy-Connection")
	resp, err := p.out.RoundTrip(out)
	if err != nil {
		http.Error(w, "Bad Gateway", http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	for k, v := range resp.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(resp.StatusCode)
	rc, buf := http.NewResponseController(w), make([]byte, 4096)
	for {
		_ = rc.Flush()
		n, err := resp.Body.Read(buf)
		_, _ = w.Write(buf[:n])
		if err != nil {
			return
		}
	}
}
