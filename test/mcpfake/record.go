package mcpfake

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Request is one HTTP request as it came.
type Request struct {
	Seq     int // 1 for the first
	Time    time.Time
	HTTP    string          // GET, POST, DELETE
	Method  string          // the JSON-RPC method; "" for GET, DELETE and answers to server requests
	Phase   Phase           // what the script calls it
	ID      json.RawMessage // the JSON-RPC id as sent; nil for notifications
	Params  json.RawMessage
	Tool    string // of tools/call
	Header  http.Header
	Session string // Mcp-Session-Id, or the sessionid of OldSSE
	Path    string // path and query
	Host    string
	Body    []byte
}

// Stats is a moment's view of what a server has seen and holds.
type Stats struct {
	Requests     int // HTTP requests
	Conns        int // open connections
	Sessions     int // sessions that were opened and neither deleted nor lost
	Streams      int // open GET and subscriptions/listen streams
	Hanging      int // exchanges held by a Hang fault
	InFlight     int // tool runs
	Peak         int // the most tool runs at one time
	Cancelled    int // tool runs ended by notifications/cancelled or by the client's going away
	Opened       int // sessions opened ever
	Accepted     int // connections accepted ever
	Unauthorized int // requests refused for their credential

	methods, executions map[string]int
	phases              map[Phase]int
}

// Count is the number of requests of a JSON-RPC method, or of "GET" or "DELETE".
func (s Stats) Count(method string) int { return s.methods[method] }

// Phase is the number of requests of a phase.
func (s Stats) Phase(p Phase) int { return s.phases[p] }

// Executions is how often a tool was run.
func (s Stats) Executions(tool string) int { return s.executions[tool] }

// String is for failure messages.
func (s Stats) String() string {
	return fmt.Sprintf("%d requests %v, %d executions %v, %d conns, %d sessions, %d streams, %d hanging",
		s.Requests, s.methods, len(s.executions), s.executions, s.Conns, s.Sessions, s.Streams, s.Hanging)
}

// record is guarded by Server.mu.
type record struct {
	limit      int
	requests   []Request
	stats      Stats
	changed    chan struct{} // made by the first waiter, closed by a change
	violations []string
	seen       []string // distinct Authorization values
}

func newRecord(limit int) record {
	return record{limit: limit, stats: Stats{
		methods: map[string]int{}, executions: map[string]int{}, phases: map[Phase]int{},
	}}
}

// change alters the statistics and wakes those who wait.
func (s *Server) change(f func(*record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.record)
	s.wake()
}

// wake is called with s.mu held.
func (s *Server) wake() {
	if s.record.changed != nil {
		close(s.record.changed)
		s.record.changed = nil
	}
}

func (s *Server) connsChanged() { s.change(func(*record) {}) }

// add records a request and gives it its number.
func (s *Server) add(q *Request) {
	s.change(func(r *record) {
		r.stats.Requests++
		q.Seq = r.stats.Requests
		name := q.Method
		if name == "" {
			name = q.HTTP
		}
		r.stats.methods[name]++
		r.stats.phases[q.Phase]++
		if auth := q.Header.Get("Authorization"); auth != "" && !slices.Contains(r.seen, auth) {
			r.seen = append(r.seen, auth)
		}
		if len(r.requests) >= r.limit {
			r.requests = slices.Delete(r.requests, 0, len(r.requests)-r.limit+1)
		}
		r.requests = append(r.requests, *q)
	})
}

// Stats is what the server has seen up to now.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot()
}

// snapshot is called with s.mu held.
func (s *Server) snapshot() Stats {
	st := s.record.stats
	st.methods, st.executions = maps.Clone(st.methods), maps.Clone(st.executions)
	st.phases = maps.Clone(st.phases)
	st.Conns, st.Streams = s.ln.Open(), len(s.streams)
	st.Accepted = s.ln.Accepted()
	for _, ses := range s.sessions {
		if ses.id != "" {
			st.Sessions++
		}
	}
	return st
}

// Requests are the recorded requests of a JSON-RPC method, of "GET" or "DELETE", or all of them for "".
func (s *Server) Requests(method string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Request
	for _, q := range s.record.requests {
		if method == "" || q.Method == method || q.Method == "" && q.HTTP == method {
			out = append(out, q)
		}
	}
	return out
}

// Count is Stats().Count(method).
func (s *Server) Count(method string) int { return s.Stats().Count(method) }

// Executions is how often a tool was run.
func (s *Server) Executions(tool string) int { return s.Stats().Executions(tool) }

// OpenSessions is the number of sessions that live.
func (s *Server) OpenSessions() int { return s.Stats().Sessions }

// OpenStreams is the number of open GET and subscriptions/listen streams.
func (s *Server) OpenStreams() int { return s.Stats().Streams }

// OpenConns is the number of open connections.
func (s *Server) OpenConns() int { return s.Stats().Conns }

// Credentials are the distinct Authorization header values seen, in order of first sight.
func (s *Server) Credentials() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.record.seen)
}

// Violations are the client's offences against the protocol, one line each, in order. They are recorded, and
// answered as lenient servers do.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.record.violations)
}

func (s *Server) offend(format string, args ...any) {
	s.change(func(r *record) {
		if len(r.violations) < 1000 {
			r.violations = append(r.violations, fmt.Sprintf(format, args...))
		}
	})
}

// AwaitContext returns when cond holds, or with ctx's error. cond is asked after every change.
func (s *Server) AwaitContext(ctx context.Context, cond func(Stats) bool) error {
	for {
		s.mu.Lock()
		st := s.snapshot()
		if s.record.changed == nil {
			s.record.changed = make(chan struct{})
		}
		changed := s.record.changed
		s.mu.Unlock()
		if cond(st) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("awaiting the fake MCP server (%v): %w", st, context.Cause(ctx))
		}
	}
}

// patience is how long Await waits for what must happen, on a busy machine too.
const patience = 3 * time.Minute

// Await fails the test when cond does not hold before its patience ends.
func (s *Server) Await(tb TB, cond func(Stats) bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.AwaitContext(ctx, cond); err != nil {
		tb.Fatalf("%v", err)
	}
}

// AwaitCount awaits n requests of a JSON-RPC method, or of "GET" or "DELETE".
func (s *Server) AwaitCount(tb TB, method string, n int) {
	tb.Helper()
	s.Await(tb, func(st Stats) bool { return st.Count(method) >= n })
}
