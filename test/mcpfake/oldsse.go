package mcpfake

import "net/http"

// oldMessages is where clients of the 2024-11-05 transport post to.
const oldMessages = "/messages"

// serveOld is the HTTP+SSE transport: a GET opens a session, POSTs give 202, answers come on the GET's stream.
func (x *Exchange) serveOld(path string, mutate func(*Answer)) {
	switch {
	case path == oldMessages && x.R.Method == http.MethodPost:
		x.postOld(mutate)
	case path != x.Server.opt.path:
		http.NotFound(x.W, x.R)
	case x.R.Method == http.MethodGet:
		x.openOld()
	default:
		x.notAllowed("GET")
	}
}

func (x *Exchange) openOld() {
	s := x.Server
	ses := newSession(newID())
	s.change(func(r *record) {
		s.sessions[ses.id] = ses
		r.stats.Opened++
	})
	defer s.end(ses)
	endpoint := s.opt.endpoint
	if endpoint == "" {
		endpoint = oldMessages + "?sessionid=" + ses.id
	}
	x.openEvents()
	_, _ = x.W.Write([]byte("event: endpoint\ndata: " + endpoint + "\n\n"))
	x.flush()
	x.carry(&openStream{}, pump{log: ses.main})
}

func (x *Exchange) postOld(mutate func(*Answer)) {
	if x.msg.Version != "2.0" {
		x.text(http.StatusBadRequest, bad("not a JSON-RPC 2.0 message"))
		return
	}
	x.checkPost()
	if !x.enterSession() {
		return
	}
	if x.Request.Phase == Initialize {
		x.write(mutated(x.initialize(), mutate))
		return
	}
	x.inSession(mutate)
}
