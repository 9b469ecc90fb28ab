package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// network is one without sockets, so that time in a test can be its own.
type network struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { n.once.Do(func() { close(n.done) }); return nil }
func (n *network) Addr() net.Addr { return &net.TCPAddr{} }

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case n.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// restless is a legacy server behind something that ends every stream after 60 s.
type restless struct {
	ids   bool // on its events
	reset bool // a stream ends by the loss of its connection
	mute  bool // it never answers DELETE

	mu      sync.Mutex
	methods []string
	lastIDs []string // those that streams were opened with
}

func (s *restless) count(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.methods {
		if m == method {
			n++
		}
	}
	return n
}

// ServeHTTP implements http.Handler.
func (s *restless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	if m.Method == "" {
		m.Method = r.Method
	}
	s.mu.Lock()
	s.methods = append(s.methods, m.Method)
	s.mu.Unlock()
	result := `{}`
	switch m.Method {
	case http.MethodGet:
		s.stream(w, r)
		return
	case "server/discover":
		http.Error(w, "Bad Request", http.StatusBadRequest)
		return
	case "notifications/initialized", http.MethodDelete:
		if s.mute && m.Method == http.MethodDelete {
			<-r.Context().Done()
		}
		w.WriteHeader(http.StatusAccepted)
		return
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "one")
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}}}`
	case "tools/list":
		result = `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (s *restless) stream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.lastIDs = append(s.lastIDs, r.Header.Get("Last-Event-ID"))
	n := len(s.lastIDs)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": here\n\n")
	if s.ids {
		fmt.Fprintf(w, "id: event-%d\ndata:\n\n", n)
	}
	w.(http.Flusher).Flush()
	select {
	case <-time.After(time.Minute):
	case <-r.Context().Done():
	}
	if s.reset {
		panic(http.ErrAbortHandler)
	}
}

// A proxy that cuts every idle stream after 60 s costs neither the session nor its calls anything, for an hour: each
// stream is opened again after its first delay, goes on after the last event id if there was one, and is covered by
// exactly one list.
func TestAStreamThatIsCutEveryMinuteForAnHour(t *testing.T) {
	for name, server := range map[string]*restless{
		"cut, without event ids": {reset: true}, "cut, with event ids": {ids: true, reset: true},
		"ended, without event ids": {}, "ended, with event ids": {ids: true},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { anHour(t, server) }) })
	}
}

// overPipes is a dialer to a server without sockets, and what ends the server.
func overPipes(t *testing.T, server http.Handler) (dialer *Dialer, end func()) {
	t.Helper()
	dialer, err := NewDialer(Config{
		URL: secret.New("http://server.test/mcp"), UserAgent: "mooring/test",
		Timeouts: sessiontest.Timeouts(session.Timeouts{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	pipes := &network{conns: make(chan net.Conn), done: make(chan struct{})}
	dialer.http.Dial = pipes.dial
	httpServer := &http.Server{Handler: server}
	go func() { _ = httpServer.Serve(pipes) }()
	return dialer, func() {
		_ = httpServer.Close()
		synctest.Wait()
	}
}

// deaf hears nothing of what a connection tells.
type deaf struct{}

func (deaf) ListChanged() {}
func (deaf) Alive()       {}
func (deaf) Lost(error)   {}

// Close waits a second for the answer to DELETE, and no longer.
func TestCloseWaitsASecondForDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &restless{mute: true}
		dialer, end := overPipes(t, server)
		defer end()
		conn, err := dialer.Dial(t.Context(), deaf{})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := conn.Close(t.Context()); err != nil || time.Since(began) != time.Second {
			t.Errorf("Close took %v: %v", time.Since(began), err)
		}
		if n := server.count(http.MethodDelete); n != 1 {
			t.Errorf("%d DELETE", n)
		}
	})
}

func anHour(t *testing.T, server *restless) {
	dialer, end := overPipes(t, server)
	defer end()

	var mu sync.Mutex
	events := map[session.EventKind]int{}
	supervisor := session.New(session.Options{Discover: true, Observe: func(e session.Event) {
		mu.Lock()
		defer mu.Unlock()
		events[e.Kind]++
	}})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- supervisor.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	supervisor.Ensure("a", sessiontest.Config(session.Config{Dialer: dialer, Catalog: "c", Connection: "c"}))
	for range 3600 {
		time.Sleep(time.Second)
		synctest.Wait()
		if s, _ := supervisor.Snapshot("a"); s.State != session.Connected || s.Listing == nil || s.ListFault != nil {
			t.Fatalf("the session is %s: %+v", s.State, s)
		}
	}
	for i := 0; i < 5 && server.count("tools/list") < server.count(http.MethodGet); i++ {
		time.Sleep(time.Second) // the list that covers the last stream may be to come
	}
	synctest.Wait()

	mu.Lock()
	if events[session.EventConnected] != 1 ||
		events[session.EventFailed]+events[session.EventClosed]+events[session.EventRebuilt] != 0 {
		t.Errorf("events = %v, want one connection that nothing happened to", events)
	}
	if events[session.EventListed] != server.count("tools/list") {
		t.Errorf("%d lists, %d asked for", events[session.EventListed], server.count("tools/list"))
	}
	mu.Unlock()
	gets, lists := server.count(http.MethodGet), server.count("tools/list")
	if gets < 58 || gets > 60 { // one each 61 to 61.2 s
		t.Errorf("%d streams in an hour", gets)
	}
	if lists != gets {
		t.Errorf("%d lists cover %d streams", lists, gets)
	}
	if n := server.count("initialize"); n != 1 {
		t.Errorf("%d sessions", n)
	}
	for i, id := range server.lastIDs {
		if want := fmt.Sprintf("event-%d", i); server.ids && i > 0 && id != want || (!server.ids || i == 0) && id != "" {
			t.Errorf("stream %d goes on after %q", i+1, id)
		}
	}
	if slices.Contains(server.methods, http.MethodDelete) {
		t.Error("the session was deleted")
	}
}
