package sessiontest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/session"
)

// Server is a fake server and the Dialer to it. The functions are its script: each is given the number of the request
// of its kind, from 1, and may be replaced at any time through Script. Nil functions succeed: lists have one tool,
// calls are answered with {}.
type Server struct {
	mu      sync.Mutex
	script  Script
	counts  Counts
	open    []*Conn
	dialled []time.Time
	conns   []*Conn
}

// Script is how a Server behaves.
type Script struct {
	Dial  func(ctx context.Context, n int) error
	List  func(ctx context.Context, n int) (*session.Listing, error)
	Call  func(ctx context.Context, n int, call session.Call) (session.Answer, error)
	Probe func(ctx context.Context, n int) error
	Close func(ctx context.Context, n int) error
	Info  session.Info
}

// Counts are the requests that a Server has seen.
type Counts struct {
	Dials, Lists, Calls, Probes, Closes int
	// Open is how many connections are open, MostOpen the most that ever were at once.
	Open, MostOpen int
}

// NewServer returns a server that behaves by script.
func NewServer(script Script) *Server { return &Server{script: script} }

// Script replaces the behaviour.
func (s *Server) Script(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Counts returns what the server has seen.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.counts
	counts.Open = len(s.open)
	return counts
}

// DialTimes returns when each dial began.
func (s *Server) DialTimes() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dialled)
}

// Newest returns the connection that was opened last, nil before the first.
func (s *Server) Newest() *Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) == 0 {
		return nil
	}
	return s.conns[len(s.conns)-1]
}

// Dial implements session.Dialer.
func (s *Server) Dial(ctx context.Context, watch session.Observer) (session.Conn, error) {
	s.mu.Lock()
	s.counts.Dials++
	s.dialled = append(s.dialled, time.Now())
	n, dial := s.counts.Dials, s.script.Dial
	s.mu.Unlock()
	if dial != nil {
		if err := dial(ctx, n); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	conn := &Conn{Observer: watch, server: s, info: s.script.Info}
	s.conns = append(s.conns, conn)
	s.open = append(s.open, conn)
	s.counts.MostOpen = max(s.counts.MostOpen, len(s.open))
	return conn, nil
}

// count counts a request and returns its number and the script.
func (s *Server) count(kind func(*Counts) *int) (n int, script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counter := kind(&s.counts)
	*counter++
	return *counter, s.script
}

// Conn is one connection to a Server. Through its Observer a test lets it be heard between requests.
type Conn struct {
	Observer session.Observer
	server   *Server
	info     session.Info
}

var _ session.Conn = (*Conn)(nil)

// Info implements session.Conn.
func (c *Conn) Info() session.Info { return c.info }

// List implements session.Conn.
func (c *Conn) List(ctx context.Context) (*session.Listing, error) {
	n, script := c.server.count(func(counts *Counts) *int { return &counts.Lists })
	if script.List == nil {
		return Tools("echo"), nil
	}
	return script.List(ctx, n)
}

// Call implements session.Conn.
func (c *Conn) Call(ctx context.Context, call session.Call) (session.Answer, error) {
	n, script := c.server.count(func(counts *Counts) *int { return &counts.Calls })
	if script.Call == nil {
		return session.Answer{Result: json.RawMessage(`{}`)}, nil
	}
	return script.Call(ctx, n, call)
}

// Probe implements session.Conn.
func (c *Conn) Probe(ctx context.Context) error {
	n, script := c.server.count(func(counts *Counts) *int { return &counts.Probes })
	if script.Probe == nil {
		return nil
	}
	return script.Probe(ctx, n)
}

// Close implements session.Conn.
func (c *Conn) Close(ctx context.Context) error {
	s := c.server
	s.mu.Lock()
	s.counts.Closes++
	n, closing := s.counts.Closes, s.script.Close
	s.open = slices.DeleteFunc(s.open, func(other *Conn) bool { return other == c })
	s.mu.Unlock()
	if closing == nil {
		return nil
	}
	return closing(ctx, n)
}

// Tools is a listing of tools of these names.
func Tools(names ...string) *session.Listing {
	listing := &session.Listing{}
	for _, name := range names {
		tool, _ := json.Marshal(map[string]any{"name": name, "inputSchema": map[string]string{"type": "object"}})
		listing.Tools = append(listing.Tools, tool)
	}
	return listing
}
