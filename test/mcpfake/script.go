package mcpfake

// Phase is the kind of a request, as faults name it.
type Phase string

// The phases.
const (
	Any         Phase = "any" // matches all of the others
	Discover    Phase = "discover"
	Initialize  Phase = "initialize"
	Initialized Phase = "initialized"
	Stream      Phase = "stream" // GET, and subscriptions/listen
	Resume      Phase = "resume" // GET with a Last-Event-ID that belongs to a call's stream
	List        Phase = "list"
	Call        Phase = "call"
	Ping        Phase = "ping"
	Delete      Phase = "delete"
	Cancelled   Phase = "cancelled"
	Other       Phase = "other"
)

var phases = map[string]Phase{
	"server/discover": Discover, "initialize": Initialize, "notifications/initialized": Initialized,
	"subscriptions/listen": Stream, "tools/list": List, "tools/call": Call, "ping": Ping,
	"notifications/cancelled": Cancelled,
}

// Forever is a number of times that never ends.
const Forever = -1

// Fault decides about one exchange. It returns true when the exchange is over; after false the next matching fault,
// or else the healthy server, has its turn.
type Fault func(x *Exchange) bool

// Filter narrows the requests that a fault meets.
type Filter func(*entry)

// Skip lets the first n matching requests pass.
func Skip(n int) Filter { return func(e *entry) { e.skip = n } }

// Where meets only the requests that ok accepts. It must not call the server.
func Where(ok func(Request) bool) Filter {
	return func(e *entry) { e.where = append(e.where, ok) }
}

// OnTool meets only tools/call of this tool.
func OnTool(name string) Filter { return Where(func(q Request) bool { return q.Tool == name }) }

type entry struct {
	phase Phase
	left  int
	skip  int
	where []func(Request) bool
	fault Fault
}

// Fault makes f meet the next n requests of a phase (Forever: all of them). Faults of one phase queue up in order.
// The returned function withdraws it.
func (s *Server) Fault(p Phase, n int, f Fault, filters ...Filter) (withdraw func()) {
	e := &entry{phase: p, left: n, fault: f}
	for _, set := range filters {
		set(e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, e)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		e.left = 0
	}
}

// ClearFaults withdraws all faults; exchanges that hang go on hanging, see Release.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = nil
}

// play gives the script its turn.
func (s *Server) play(x *Exchange) bool {
	for from := 0; ; {
		f, next := s.draw(x.Request, from)
		if f == nil {
			return false
		}
		if f(x) {
			return true
		}
		from = next
	}
}

// draw takes the first matching fault at or after position from.
func (s *Server) draw(q Request, from int) (Fault, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := from; i < len(s.script); i++ {
		e := s.script[i]
		if e.left == 0 || !e.matches(q) {
			continue
		}
		if e.skip > 0 {
			e.skip--
			continue
		}
		if e.left > 0 {
			e.left--
		}
		return e.fault, i + 1
	}
	return nil, 0
}

func (e *entry) matches(q Request) bool {
	if e.phase != Any && e.phase != q.Phase {
		return false
	}
	for _, ok := range e.where {
		if !ok(q) {
			return false
		}
	}
	return true
}
