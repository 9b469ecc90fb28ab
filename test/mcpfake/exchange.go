package mcpfake

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mooring-dev/mooring/test/mcpfake/netfault"
)

// Exchange is one HTTP request and what becomes of it.
type Exchange struct {
	Server  *Server
	W       http.ResponseWriter
	R       *http.Request
	Request Request

	msg   message
	ses   *session // set by the routing
	shape shape
}

// shape is what a fault wants of the form of the answer.
type shape struct {
	stream bool // an event stream, whatever the server's encoding
	ids    bool // with event ids
	cut    bool // ended after so many events
	after  int
	clean  bool // by the regular end of the body, not by closing the connection
	mute   bool // OldSSE: the answer is not sent
}

// message is a JSON-RPC message of any kind.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// isCall tells a request from a notification or an answer.
func (m message) isCall() bool { return m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null" }

// RPCError is a JSON-RPC error object.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error implements error.
func (e *RPCError) Error() string { return e.Message }

// Answer is the server's answer to one JSON-RPC request, before it is written.
type Answer struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *RPCError
	Status int // of HTTP; 0 means 200
	// Session is the id that Mcp-Session-Id is set to.
	Session string
}

func (a *Answer) encode() []byte {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	if len(a.ID) == 0 {
		b.WriteString("null")
	}
	b.Write(a.ID)
	if a.Error != nil {
		b.WriteString(`,"error":`)
		e, _ := json.Marshal(a.Error)
		b.Write(e)
	} else {
		b.WriteString(`,"result":`)
		b.Write(a.Result)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.wg.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client left in the middle of its request
	}
	x := newExchange(s, w, r, body)
	challenge := s.refused(r) // before the request is counted: a test that waits for it may change the credential then
	s.add(&x.Request)
	if challenge != "" {
		s.change(func(r *record) { r.stats.Unauthorized++ })
		w.Header().Set("WWW-Authenticate", challenge)
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	if s.play(x) {
		return
	}
	x.Serve(nil)
}

func newExchange(s *Server, w http.ResponseWriter, r *http.Request, body []byte) *Exchange {
	x := &Exchange{Server: s, W: w, R: r}
	q := Request{
		Time: time.Now(), HTTP: r.Method, Header: r.Header, Session: r.Header.Get("Mcp-Session-Id"),
		Path: r.URL.RequestURI(), Host: r.Host, Body: body, Phase: Other,
	}
	if id := r.URL.Query().Get("sessionid"); id != "" {
		q.Session = id
	}
	switch r.Method {
	case http.MethodPost:
		if json.Unmarshal(body, &x.msg) == nil {
			q.Method, q.ID, q.Params = x.msg.Method, x.msg.ID, x.msg.Params
			if p, ok := phases[q.Method]; ok {
				q.Phase = p
			}
		}
		if q.Phase == Call {
			q.Tool = toolName(q.Params)
		}
	case http.MethodGet:
		q.Phase = Stream
		if name, _, ok := parseEventID(r.Header.Get("Last-Event-ID")); ok && name != standalone {
			q.Phase = Resume
		}
	case http.MethodDelete:
		q.Phase = Delete
	}
	x.Request = q
	return x
}

// parseEventID splits "<stream>.<index>".
func parseEventID(id string) (name string, index int, ok bool) {
	name, digits, found := strings.Cut(id, ".")
	index, err := strconv.Atoi(digits)
	return name, index, found && err == nil
}

// Serve is the healthy server. mutate, when not nil, alters the answer before it is written.
func (x *Exchange) Serve(mutate func(*Answer)) {
	path, _, _ := strings.Cut(x.Request.Path, "?")
	switch {
	case x.Server.opt.era == OldSSE:
		x.serveOld(path, mutate)
	case path != x.Server.opt.path:
		http.NotFound(x.W, x.R)
	case x.isModern():
		x.serveModern(mutate)
	default:
		x.serveLegacy(mutate)
	}
}

// write sends an answer in the form that the server, or a fault, wants.
func (x *Exchange) write(a *Answer) {
	if a.Session != "" {
		x.W.Header().Set("Mcp-Session-Id", a.Session)
	}
	o := &x.Server.opt
	switch {
	case a.Status >= 300:
		x.raw(a.Status, "application/json", a.encode())
	case o.era == OldSSE:
		x.post202(a)
	case o.encoding == JSON && !x.shape.stream:
		x.raw(http.StatusOK, "application/json", a.encode())
	default:
		x.stream(func(context.Context, func([]byte)) *Answer { return a })
	}
}

// post202 answers on the session's own stream.
func (x *Exchange) post202(a *Answer) {
	if x.ses == nil && !x.enterSession() {
		return
	}
	if !x.shape.mute {
		x.ses.main.send(a.encode())
	}
	x.W.WriteHeader(http.StatusAccepted)
}

func (x *Exchange) raw(status int, contentType string, body []byte) {
	x.W.Header().Set("Content-Type", contentType)
	x.W.WriteHeader(status)
	_, _ = x.W.Write(body)
}

func (x *Exchange) text(status int, body string) {
	http.Error(x.W, body, status)
}

func (x *Exchange) flush() { _ = http.NewResponseController(x.W).Flush() }

// drop ends the exchange's connection, by RST when reset is true.
func (x *Exchange) drop(reset bool) {
	c, _, err := http.NewResponseController(x.W).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	netfault.Drop(c, reset)
}

// hold waits until the client leaves, the server is closed (both false) or Release is called (true).
func (x *Exchange) hold() bool {
	s := x.Server
	s.mu.Lock()
	release := s.release
	s.record.stats.Hanging++
	s.wake()
	s.mu.Unlock()
	defer s.change(func(r *record) { r.stats.Hanging-- })
	select {
	case <-release:
		return true
	case <-x.R.Context().Done():
	case <-s.ctx.Done():
	}
	return false
}
