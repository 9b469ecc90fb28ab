//go:build unix

package faultmatrix

import (
	"net/http"
	"strings"
	"time"

	"github.com/mooring-dev/mooring/test/mcpfake"
)

// fault is one thing that goes wrong.
type fault struct {
	name  string
	title string // for readers
	// options are of the server that it happens to.
	options []mcpfake.Option
	// meets is what the requests of the phase meet; filters narrow them.
	meets   mcpfake.Fault
	filters []mcpfake.Filter
	// down is what happens to the network instead: from then on no new connection comes about.
	down func(s *stage)
	// also prepares what belongs to the fault besides.
	also func(s *stage)
	// where names the requests of a phase that it meets, where those are not the usual ones.
	where func(at place) []mcpfake.Phase
	// told is the least wait that the server asks for.
	told time.Duration
	// once: it passes by itself after one request.
	once bool
	// named: the server is reached by a name, not by its address.
	named bool
	// followed: it leads to where the request is served.
	followed bool
	// drops: it ends standing streams.
	drops bool
	// leaves: it is the caller that goes away.
	leaves bool
}

func statusFault(code int) mcpfake.Fault { return mcpfake.Status(code, nil, http.StatusText(code)) }

// rpcFault is an HTTP error with a JSON-RPC error for a body.
func rpcFault(code int) mcpfake.Fault {
	return mcpfake.RPCStatus(code, -32001, "Session not found", "")
}

// afterwards answers by a date that is always one to two seconds ahead: dates have whole seconds.
func afterwards(x *mcpfake.Exchange) bool {
	return mcpfake.RetryAfterDate(http.StatusTooManyRequests, time.Now().Add(2*time.Second))(x)
}

// withinSession are the requests of the handshake that carry a session id.
func withinSession(at place) []mcpfake.Phase {
	if at.phase != connecting {
		return nil
	}
	if at.era == oldSSE {
		return []mcpfake.Phase{mcpfake.Initialize}
	}
	return []mcpfake.Phase{mcpfake.Initialized}
}

// inAnswer are the requests that a server of the era answers with a result: on the 2024-11-05 transport the stream
// itself has none, and a modern server rightly refuses initialize.
func inAnswer(at place) []mcpfake.Phase {
	switch {
	case at.phase != connecting:
		return nil
	case at.era == oldSSE:
		return []mcpfake.Phase{mcpfake.Initialize}
	case at.era == modern:
		return []mcpfake.Phase{mcpfake.Discover}
	}
	return nil
}

// sameOrigin redirects a request to another path of the same server, where it is served.
func sameOrigin(code int) mcpfake.Fault {
	return func(x *mcpfake.Exchange) bool {
		join := "?"
		if strings.Contains(x.Request.Path, "?") {
			join = "&"
		}
		return mcpfake.Redirect(code, x.Request.Path+join+"moved=1")(x)
	}
}

func unmoved(q mcpfake.Request) bool { return !strings.Contains(q.Path, "moved=1") }

// elsewhere redirects to another server, which counts who comes.
func elsewhere(s *stage) {
	s.replace(mcpfake.Redirect(http.StatusTemporaryRedirect, s.trap.URL("/mcp")))
}

var faults = concat(statuses(), networks(), hangs(), contents(), streams())

func concat(lists ...[]fault) (all []fault) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

func statuses() []fault {
	sessionless := []mcpfake.Option{mcpfake.WithoutSessions()}
	return []fault{
		{name: "400", title: "400 Bad Request", meets: statusFault(400)},
		{name: "400 rpc", title: "400 with a JSON-RPC error", meets: rpcFault(400)},
		{name: "401", title: "401 Unauthorized", meets: statusFault(401)},
		{name: "401 once", title: "401 Unauthorized, once", meets: statusFault(401), once: true},
		{name: "403", title: "403 Forbidden", meets: statusFault(403)},
		{name: "404 session", title: "404 to a request with a session id", meets: statusFault(404), where: withinSession},
		{name: "404 session rpc", title: "404 to a request with a session id, with a JSON-RPC error",
			meets: rpcFault(404), where: withinSession},
		{name: "404 session once", title: "404 to a request with a session id, once: the server restarted",
			meets: statusFault(404), where: withinSession, once: true},
		{name: "404", title: "404 to a request without a session id", options: sessionless, meets: statusFault(404)},
		{name: "404 rpc", title: "404 to a request without a session id, with a JSON-RPC error",
			options: sessionless, meets: rpcFault(404)},
		{name: "405", title: "405 Method Not Allowed", meets: statusFault(405)},
		{name: "408", title: "408 Request Timeout", meets: statusFault(408)},
		{name: "409", title: "409 Conflict", meets: statusFault(409)},
		{name: "413", title: "413 Content Too Large", meets: statusFault(413)},
		{name: "429 seconds", title: "429 with `Retry-After: 1`", meets: mcpfake.RetryAfter(429, "1"), told: time.Second},
		{name: "429 date", title: "429 with `Retry-After` as a date", meets: afterwards, told: time.Second},
		{name: "429 nonsense", title: "429 without a `Retry-After` that can be read", meets: mcpfake.RetryAfter(429, "soon")},
		{name: "429 once", title: "429 with `Retry-After: 1`, once",
			meets: mcpfake.RetryAfter(429, "1"), told: time.Second, once: true},
		{name: "500", title: "500 Internal Server Error", meets: statusFault(500)},
		{name: "500 rpc", title: "500 with a JSON-RPC error", meets: rpcFault(500)},
		{name: "501", title: "501 Not Implemented", meets: statusFault(501)},
		{name: "502", title: "502 Bad Gateway", meets: statusFault(502)},
		{name: "503", title: "503 Service Unavailable", meets: statusFault(503)},
		{name: "503 told", title: "503 with `Retry-After: 1`", meets: mcpfake.RetryAfter(503, "1"), told: time.Second},
		{name: "504", title: "504 Gateway Timeout", meets: statusFault(504)},
	}
}

func networks() []fault {
	tls := []mcpfake.Option{mcpfake.WithTLS()}
	return []fault{
		{name: "refused", title: "connection refused", down: func(s *stage) { s.must(s.fake.Refuse()) }},
		{name: "dns", title: "the host name does not resolve", down: func(s *stage) { names.forget(s.host) }, named: true},
		{name: "tls untrusted", title: "certificate of an authority that is not trusted", options: tls,
			down: func(s *stage) { s.must(s.fake.RotateCA()) }},
		{name: "tls cut", title: "connection closed in the middle of the TLS handshake", options: tls,
			down: func(s *stage) { s.fake.CutOnAccept() }},
		{name: "reset", title: "connection reset (RST) before the answer", meets: mcpfake.Reset()},
		{name: "closed", title: "connection closed (FIN) before the answer", meets: mcpfake.CloseCleanly()},
	}
}

func hangs() []fault {
	return []fault{
		{name: "hang before headers", title: "no answer at all", meets: mcpfake.Hang()},
		{name: "hang after headers", title: "headers of an answer, and then nothing", meets: mcpfake.HangAfterHeaders()},
		{name: "hang mid body", title: "half of an answer, and then nothing", meets: mcpfake.HangMidBody(), where: inAnswer},
	}
}

func contents() []fault {
	return []fault{
		{name: "cut body", title: "an answer cut short", meets: mcpfake.CutBody(), where: inAnswer},
		{name: "bad json", title: "an answer that is not JSON", meets: mcpfake.BadJSON(), where: inAnswer},
		{name: "no rpc", title: "JSON that is not JSON-RPC", where: inAnswer,
			meets: mcpfake.ContentType("application/json", `{"status":"ok"}`)},
		{name: "html", title: "200 with a web page", meets: mcpfake.HTML()},
		{name: "accepted", title: "202 Accepted without an answer", meets: mcpfake.Accepted(), where: inAnswer},
		{name: "wrong id", title: "an answer to another request", meets: mcpfake.WrongID(), where: inAnswer},
		{name: "result null", title: "`result: null`", meets: mcpfake.ResultNull(), where: inAnswer},
		{name: "oversized", title: "an answer larger than 16 MiB", meets: mcpfake.Oversized(17 << 20), where: inAnswer},
		{name: "redirect 307 same", title: "307 to another path of the same origin",
			meets: sameOrigin(307), filters: []mcpfake.Filter{mcpfake.Where(unmoved)}, followed: true},
		{name: "redirect 302 same", title: "302 to another path of the same origin",
			meets: sameOrigin(302), filters: []mcpfake.Filter{mcpfake.Where(unmoved)}},
		{name: "redirect cross", title: "307 to another origin", also: elsewhere},
	}
}

func streams() []fault {
	return []fault{
		{name: "answer stream cut", title: "an event stream cut before the answer, without an event id",
			meets: mcpfake.StreamCut(0, false), where: inAnswer},
		{name: "answer stream resumed", title: "an event stream cut before the answer, after an event id",
			meets: mcpfake.StreamCut(1, true), where: inAnswer},
		{name: "answer stream gone", title: "an event stream cut after an event id, which the server cannot resume",
			meets: mcpfake.StreamCut(1, true), where: inAnswer, also: func(s *stage) {
				s.fake.Fault(mcpfake.Resume, mcpfake.Forever, statusFault(400))
			}},
		{name: "cancelled 400", title: "400 to `notifications/cancelled`", meets: statusFault(400), leaves: true},
		{name: "stream dropped", title: "the stream ends, without event ids", also: dropped, drops: true},
		{name: "stream dropped id", title: "the stream ends, after an event id",
			options: []mcpfake.Option{mcpfake.WithEventIDs()}, also: dropped, drops: true},
	}
}

// dropped ends the standing streams.
func dropped(s *stage) {
	s.since()
	s.fake.DropStreams(false)
}
