//go:build unix

package netfault

import (
	"io"
	"log"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Hit is one request that reached a Trap.
type Hit struct {
	Method string
	Path   string // path and query
	Host   string
	Header http.Header
	Body   []byte
}

// Trap is a server that records whoever comes: the target of redirects and references that must not be followed.
type Trap struct {
	ln     *Listener
	server *http.Server
	wg     sync.WaitGroup

	mu   sync.Mutex
	hits []Hit
}

// NewTrap starts a trap that is closed when the test ends.
func NewTrap(tb TB) *Trap {
	tb.Helper()
	ln, err := Listen("127.0.0.1:0", func() {})
	if err != nil {
		tb.Fatalf("starting the trap: %v", err)
	}
	t := &Trap{ln: ln}
	t.server = &http.Server{Handler: t, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	t.wg.Go(func() { _ = t.server.Serve(ln) })
	tb.Cleanup(t.Close)
	return t
}

// URL is the trap's origin followed by path.
func (t *Trap) URL(path string) string { return "http://" + t.ln.Addr().String() + path }

// Conns is the number of connections that were made, with or without a request.
func (t *Trap) Conns() int { return t.ln.Accepted() }

// Hits are the requests, in order.
func (t *Trap) Hits() []Hit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.hits)
}

// ServeHTTP implements http.Handler.
func (t *Trap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	t.mu.Lock()
	t.hits = append(t.hits, Hit{r.Method, r.URL.RequestURI(), r.Host, r.Header.Clone(), body})
	t.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
}

// Close ends the trap.
func (t *Trap) Close() {
	_ = t.server.Close()
	t.ln.CutAll(false)
	t.wg.Wait()
}
