package mcpfake

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// serveLegacy is streamable HTTP with initialize.
func (x *Exchange) serveLegacy(mutate func(*Answer)) {
	if x.Server.opt.era == Modern {
		x.write(mutated(x.unsupported(x.askedVersion()), mutate))
		return
	}
	switch x.R.Method {
	case http.MethodPost:
		x.post(mutate)
	case http.MethodGet:
		x.get()
	case http.MethodDelete:
		x.delete()
	default:
		x.notAllowed("GET, POST, DELETE")
	}
}

func (x *Exchange) notAllowed(allow string) {
	x.W.Header().Set("Allow", allow)
	x.text(http.StatusMethodNotAllowed, "Method Not Allowed")
}

func (x *Exchange) post(mutate func(*Answer)) {
	if x.msg.Version != "2.0" {
		x.text(http.StatusBadRequest, bad("not a JSON-RPC 2.0 message"))
		return
	}
	x.checkPost()
	switch {
	case x.msg.Method == "initialize":
		x.write(mutated(x.initialize(), mutate))
	case x.Request.Phase == Discover && x.Server.opt.discover:
		x.write(mutated(&Answer{ID: x.msg.ID, Result: x.discovery(x.Server.legacyVersions())}, mutate))
	case x.Request.Phase == Discover:
		x.write(mutated(&Answer{Status: http.StatusBadRequest,
			Error: &RPCError{Code: -32000, Message: bad("Server not initialized")}}, mutate))
	case x.enterSession():
		x.inSession(mutate)
	}
}

// checkPost records what a strict server would refuse.
func (x *Exchange) checkPost() {
	accept := strings.Join(x.R.Header.Values("Accept"), ",")
	if x.Server.opt.era != OldSSE &&
		(!strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream")) {
		x.Server.offend("%s: Accept is %q", x.Request.Method, accept)
	}
	if ct := x.R.Header.Get("Content-Type"); !strings.HasPrefix(ct, "application/json") {
		x.Server.offend("%s: Content-Type is %q", x.Request.Method, ct)
	}
	if x.Request.Phase == Initialize && x.R.Header.Get("Mcp-Session-Id") != "" {
		x.Server.offend("initialize: sent with a session id")
	}
}

// initialize opens a session.
func (x *Exchange) initialize() *Answer {
	s := x.Server
	version := x.negotiate(x.askedVersion())
	id := ""
	s.mu.Lock()
	ses := s.sessions[""]
	switch {
	case s.opt.era == OldSSE:
		ses = x.ses
	case s.opt.sessions:
		id = newID()
		ses = newSession(id)
		s.sessions[id] = ses
		s.record.stats.Opened++
	}
	x.ses = ses
	ses.version = version
	ses.ids[string(x.msg.ID)] = struct{}{}
	s.wake()
	s.mu.Unlock()
	result := `{"protocolVersion":"` + version + `","capabilities":` + string(s.opt.capabilities) +
		`,"serverInfo":` + string(s.opt.serverInfo)
	if s.opt.instructions != "" {
		quoted, _ := json.Marshal(s.opt.instructions)
		result += `,"instructions":` + string(quoted)
	}
	return &Answer{ID: x.msg.ID, Result: json.RawMessage(result + "}"), Session: id}
}

func (x *Exchange) askedVersion() string {
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(x.msg.Params, &p)
	return p.ProtocolVersion
}

func (x *Exchange) negotiate(asked string) string {
	offered := x.Server.legacyVersions()
	if slices.Contains(offered, asked) {
		return asked
	}
	return offered[0]
}

func (s *Server) legacyVersions() []string {
	switch {
	case s.opt.versions != nil:
		return s.opt.versions
	case s.opt.era == OldSSE:
		return LegacyVersions[3:]
	}
	return LegacyVersions
}

// enterSession finds the request's session, or answers that there is none.
func (x *Exchange) enterSession() bool {
	s := x.Server
	id := x.Request.Session
	if !s.opt.sessions && s.opt.era != OldSSE {
		id = "" // whatever the client sends
	}
	s.mu.Lock()
	x.ses = s.sessions[id]
	s.mu.Unlock()
	switch {
	case x.ses != nil:
		return true
	case id == "":
		x.raw(http.StatusBadRequest, "application/json", (&Answer{
			Error: &RPCError{Code: -32000, Message: bad("Mcp-Session-Id header is required")}}).encode())
	case s.opt.lost == LostRPC:
		x.raw(s.opt.lostStatus, "application/json", (&Answer{
			Error: &RPCError{Code: -32001, Message: "Session not found"}}).encode())
	default:
		x.text(s.opt.lostStatus, "session not found")
	}
	return false
}

func (x *Exchange) inSession(mutate func(*Answer)) {
	if x.Server.opt.era != OldSSE && !x.checkVersion() {
		return
	}
	if !x.msg.isCall() {
		switch x.Request.Phase {
		case Initialized:
			x.Server.change(func(*record) { x.ses.ready = true })
		case Cancelled:
			x.cancelCall()
		default:
		}
		x.W.WriteHeader(http.StatusAccepted)
		return
	}
	x.checkCall()
	if x.Request.Phase == Call {
		x.call(mutate)
		return
	}
	x.write(mutated(x.plain(), mutate))
}

// checkVersion holds the MCP-Protocol-Version header against what was negotiated.
func (x *Exchange) checkVersion() bool {
	s := x.Server
	got := x.R.Header.Get("Mcp-Protocol-Version")
	s.mu.Lock()
	want := x.ses.version
	s.mu.Unlock()
	if got != "" && !slices.Contains(s.legacyVersions(), got) {
		x.text(http.StatusBadRequest,
			bad("Unsupported protocol version (supported versions: %s)", strings.Join(s.legacyVersions(), ",")))
		return false
	}
	if want >= "2025-06-18" && got != want && x.ses.id != "" {
		s.offend("%s %s: MCP-Protocol-Version is %q, negotiated %q", x.Request.HTTP, x.Request.Method, got, want)
	}
	return true
}

// checkCall records requests before initialized and ids used twice.
func (x *Exchange) checkCall() {
	s, id := x.Server, string(x.msg.ID)
	s.mu.Lock()
	_, twice := x.ses.ids[id]
	if x.ses.id != "" { // clients that share "" may choose the same ids
		x.ses.ids[id] = struct{}{}
	}
	ready := x.ses.ready
	s.mu.Unlock()
	if twice && x.ses.id != "" {
		s.offend("%s: id %s used twice in one session", x.Request.Method, id)
	}
	if !ready && x.Request.Phase != Ping {
		s.offend("%s: sent before notifications/initialized", x.Request.Method)
	}
}

// plain answers every request but initialize and tools/call.
func (x *Exchange) plain() *Answer {
	a := &Answer{ID: x.msg.ID}
	switch x.Request.Phase {
	case Ping:
		a.Result = json.RawMessage(`{}`)
	case List:
		a.Result, a.Error = x.Server.list(x.msg.Params)
	default:
		a.Error = &RPCError{Code: -32601, Message: "method not found: " + x.Request.Method}
	}
	return a
}

// get opens a session's own stream, or resumes any stream.
func (x *Exchange) get() {
	s := x.Server
	if !strings.Contains(x.R.Header.Get("Accept"), "text/event-stream") {
		s.offend("GET: Accept is %q", x.R.Header.Get("Accept"))
	}
	name, index, resumed := parseEventID(x.R.Header.Get("Last-Event-ID"))
	if !s.opt.stream && (!resumed || name == standalone) {
		x.notAllowed("POST, DELETE")
		return
	}
	if !x.enterSession() || !x.checkVersion() {
		return
	}
	if resumed && name != standalone {
		x.resume(name, index)
		return
	}
	p := pump{log: x.ses.main, from: x.ses.main.size(), ids: s.opt.eventIDs}
	if resumed && s.opt.eventIDs {
		p.from = index + 1
	}
	x.openEvents()
	_, _ = x.W.Write([]byte(": ok\n\n"))
	x.flush()
	x.carry(&openStream{}, p)
}

// resume goes on with a call's stream after an event.
func (x *Exchange) resume(name string, index int) {
	s := x.Server
	s.mu.Lock()
	log := x.ses.logs[name]
	s.mu.Unlock()
	if log == nil {
		x.text(http.StatusBadRequest, "failed to replay events")
		return
	}
	x.openEvents()
	p := pump{x: x, log: log, from: index + 1, ids: true}
	p.run()
}

// delete ends a session.
func (x *Exchange) delete() {
	if !x.Server.opt.sessions {
		x.notAllowed("GET, POST")
		return
	}
	if !x.enterSession() {
		return
	}
	x.Server.end(x.ses)
	x.W.WriteHeader(http.StatusNoContent)
}

// end forgets a session and ends its stream.
func (s *Server) end(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[ses.id] == ses {
		delete(s.sessions, ses.id)
	}
	ses.main.finish()
	s.wake()
}

// LoseSessions forgets all sessions, as a restart does. Their streams end, their runs go on.
func (s *Server) LoseSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, ses := range s.sessions {
		if id != "" {
			delete(s.sessions, id)
			ses.main.finish()
		}
	}
	s.wake()
}
