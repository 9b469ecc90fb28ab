package mcpfake

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// standalone is the name of a session's own stream; calls' streams have random names.
const standalone = "main"

// eventLog is one logical stream of server messages. It outlives the responses that carry it.
type eventLog struct {
	name string

	mu     sync.Mutex
	events [][]byte // nil is a priming event
	done   bool
	wake   chan struct{}
}

func newLog(name string) *eventLog { return &eventLog{name: name, wake: make(chan struct{})} }

func (l *eventLog) send(data []byte) { l.add(data, false) }

// finish says that no event follows.
func (l *eventLog) finish() { l.add(nil, true) }

func (l *eventLog) add(data []byte, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return
	}
	if last {
		l.done = true
	} else {
		l.events = append(l.events, data)
	}
	close(l.wake)
	l.wake = make(chan struct{})
}

// after gives the events from index on, whether they are the last, and what to wait for otherwise.
func (l *eventLog) after(index int) ([][]byte, bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[min(index, len(l.events)):], l.done, l.wake
}

func (l *eventLog) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events)
}

// eventBytes is one server-sent event; data nil is a priming event, which says when to come back. Data must hold no
// newline.
func eventBytes(id string, data []byte, retry time.Duration) []byte {
	var b bytes.Buffer
	b.Grow(len(data) + len(id) + 64)
	if data != nil {
		b.WriteString("event: message\n")
	} else if retry > 0 {
		b.WriteString("retry: " + strconv.FormatInt(retry.Milliseconds(), 10) + "\n")
	}
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString("\n\n")
	return b.Bytes()
}

// openStream is one response that carries an event log.
type openStream struct {
	log    *eventLog
	listen []byte // the id of subscriptions/listen, in the modern era
	kill   chan bool
}

// pump copies a log to the response, from an index on.
type pump struct {
	x     *Exchange
	log   *eventLog
	from  int
	ids   bool
	shape shape
	kill  <-chan bool // nil never; the value asks for RST
}

// run returns when the log or the response ends.
func (p *pump) run() {
	tick := p.ticker()
	defer tick.Stop()
	for {
		events, done, wake := p.log.after(p.from)
		if p.cut(events) || done {
			return
		}
		select {
		case <-wake:
		case <-tick.C:
			_, _ = p.x.W.Write([]byte(": keepalive\n\n"))
			p.x.flush()
		case reset := <-p.kill:
			p.x.drop(reset)
			return
		case <-p.x.R.Context().Done():
			return
		case <-p.x.Server.ctx.Done():
			return
		}
	}
}

// cut writes events; it tells that the response was cut short, as a fault wanted.
func (p *pump) cut(events [][]byte) bool {
	for _, data := range events {
		if p.shape.cut && p.shape.after == 0 {
			break
		}
		p.event(data)
		p.shape.after--
	}
	if !p.shape.cut || p.shape.after > 0 {
		return false
	}
	if !p.shape.clean {
		p.x.drop(false)
	}
	return true
}

func (p *pump) event(data []byte) {
	id := ""
	if p.ids {
		id = p.log.name + "." + strconv.Itoa(p.from)
	}
	p.from++
	p.x.pour(eventBytes(id, data, p.x.Server.opt.retry))
	p.x.flush()
}

func (p *pump) ticker() *time.Ticker {
	if d := p.x.Server.opt.keepalive; d > 0 {
		return time.NewTicker(d)
	}
	t := time.NewTicker(time.Hour)
	t.Stop()
	return t
}

// openEvents begins an event-stream response.
func (x *Exchange) openEvents() {
	h := x.W.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	x.W.WriteHeader(http.StatusOK)
	x.flush()
}

// carry serves a long-lived stream and counts it as open meanwhile.
func (x *Exchange) carry(o *openStream, p pump) {
	o.log, o.kill = p.log, make(chan bool, 1)
	p.x, p.kill = x, o.kill
	s := x.Server
	s.mu.Lock()
	s.streams[o] = struct{}{}
	s.wake()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.streams, o)
		s.wake()
		s.mu.Unlock()
	}()
	p.run()
}

// DropStreams ends all open GET and subscriptions/listen streams, by RST when reset is true, else by FIN.
func (s *Server) DropStreams(reset bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for o := range s.streams {
		select {
		case o.kill <- reset:
		default: // already dropped
		}
	}
}

// NotifyListChanged sends notifications/tools/list_changed to every session's stream and every subscription. A
// legacy session whose stream is down gets it on resumption, with WithEventIDs; otherwise it is lost.
func (s *Server) NotifyListChanged() { s.Notify("notifications/tools/list_changed", "") }

// Notify sends a notification to all streams; members, when not empty, are the members of its params object.
func (s *Server) Notify(method, members string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ses := range s.sessions {
		ses.main.send(notification(method, members))
	}
	for o := range s.streams {
		if o.listen == nil {
			continue
		}
		all := `"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(o.listen) + `}`
		if members != "" {
			all += "," + members
		}
		o.log.send(notification(method, all))
	}
}

// Push sends any JSON-RPC message, or what is none, as one event to all streams. It must hold no newline.
func (s *Server) Push(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ses := range s.sessions {
		ses.main.send([]byte(event))
	}
	for o := range s.streams {
		if o.listen != nil {
			o.log.send([]byte(event))
		}
	}
}

func notification(method, members string) []byte {
	if members == "" {
		return []byte(`{"jsonrpc":"2.0","method":"` + method + `"}`)
	}
	return []byte(`{"jsonrpc":"2.0","method":"` + method + `","params":{` + members + `}}`)
}
