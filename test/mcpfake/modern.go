package mcpfake

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

const metaPrefix = "io.modelcontextprotocol/"

// JSON-RPC codes of 2026-07-28.
const (
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

// isModern tells whether a request is of the stateless protocol.
func (x *Exchange) isModern() bool {
	switch x.Server.opt.era {
	case Modern:
		return x.R.Method != http.MethodPost || x.R.Header.Get("Mcp-Protocol-Version") >= ModernVersion ||
			x.metaVersion() != "" || x.msg.Method != "initialize"
	case Dual:
		return x.R.Method == http.MethodPost &&
			(x.R.Header.Get("Mcp-Protocol-Version") >= ModernVersion || x.metaVersion() >= ModernVersion)
	default:
		return false
	}
}

func (x *Exchange) meta() map[string]json.RawMessage {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(x.msg.Params, &p)
	return p.Meta
}

func (x *Exchange) metaVersion() string {
	var v string
	_ = json.Unmarshal(x.meta()[metaPrefix+"protocolVersion"], &v)
	return v
}

func (s *Server) modernVersions() []string {
	switch {
	case s.opt.era == Dual:
		return append([]string{ModernVersion}, s.legacyVersions()...)
	case s.opt.versions != nil:
		return s.opt.versions
	}
	return []string{ModernVersion}
}

// serveModern is the stateless protocol: POST only, each request on its own.
func (x *Exchange) serveModern(mutate func(*Answer)) {
	if x.R.Method != http.MethodPost {
		x.notAllowed("POST")
		return
	}
	if x.msg.Version != "2.0" {
		x.text(http.StatusBadRequest, bad("not a JSON-RPC 2.0 message"))
		return
	}
	x.checkPost()
	if !x.msg.isCall() {
		x.W.WriteHeader(http.StatusAccepted)
		return
	}
	if e := x.checkModern(); e != nil {
		x.write(mutated(e, mutate))
		return
	}
	switch x.Request.Phase {
	case Call:
		x.call(mutate)
	case Stream:
		x.listen(mutate)
	default:
		x.write(mutated(x.stateless(), mutate))
	}
}

// checkModern holds the headers against the body, as the protocol demands of servers.
func (x *Exchange) checkModern() *Answer {
	header, meta := x.R.Header.Get("Mcp-Protocol-Version"), x.metaVersion()
	fail := func(code int, text string) *Answer {
		return &Answer{ID: x.msg.ID, Status: http.StatusBadRequest, Error: &RPCError{Code: code, Message: text}}
	}
	caps := x.meta()[metaPrefix+"clientCapabilities"]
	switch {
	case header == "":
		return fail(codeHeaderMismatch, "Mcp-Protocol-Version header is required")
	case meta == "":
		return fail(-32602, `missing or invalid _meta field "`+metaPrefix+`protocolVersion"`)
	case header != meta:
		return fail(codeHeaderMismatch, "Mcp-Protocol-Version header does not match _meta")
	case !slices.Contains(x.Server.modernVersions(), meta):
		return x.unsupported(meta)
	case !strings.HasPrefix(string(caps), "{"):
		return fail(-32602, `missing or invalid _meta field "`+metaPrefix+`clientCapabilities"`)
	case x.R.Header.Get("Mcp-Method") != x.msg.Method:
		return fail(codeHeaderMismatch, "header mismatch: Mcp-Method")
	case x.Request.Phase == Call && x.R.Header.Get("Mcp-Name") != x.Request.Tool:
		return fail(codeHeaderMismatch, "header mismatch: Mcp-Name")
	}
	if x.R.Header.Get("Mcp-Session-Id") != "" {
		x.Server.offend("%s: session id in the stateless protocol", x.Request.Method)
	}
	return nil
}

// unsupported names the versions that this server has.
func (x *Exchange) unsupported(asked string) *Answer {
	data, _ := json.Marshal(map[string]any{"supported": x.Server.modernVersions(), "requested": asked})
	return &Answer{ID: x.msg.ID, Status: http.StatusBadRequest,
		Error: &RPCError{Code: codeUnsupportedVersion, Message: "unsupported protocol version", Data: data}}
}

// stateless answers every request but tools/call and subscriptions/listen.
func (x *Exchange) stateless() *Answer {
	s, a := x.Server, &Answer{ID: x.msg.ID}
	switch x.Request.Phase {
	case Discover:
		a.Result = x.discovery(s.modernVersions())
	case List:
		result, err := s.list(x.msg.Params)
		if a.Error = err; err != nil {
			a.Status = http.StatusBadRequest
			return a
		}
		a.Result = x.complete(result, x.cacheable())
	default:
		a.Status = http.StatusNotFound
		a.Error = &RPCError{Code: -32601, Message: "method not found: " + x.Request.Method}
	}
	return a
}

// discovery is the result of server/discover.
func (x *Exchange) discovery(versions []string) json.RawMessage {
	o := &x.Server.opt
	list, _ := json.Marshal(versions)
	result := `{"supportedVersions":` + string(list) + `,"capabilities":` + string(o.capabilities)
	if o.instructions != "" {
		quoted, _ := json.Marshal(o.instructions)
		result += `,"instructions":` + string(quoted)
	}
	return x.completed(json.RawMessage(result+"}"), x.cacheable())
}

func (x *Exchange) cacheable() string {
	ms, _ := json.Marshal(x.Server.opt.ttl.Milliseconds())
	return `"ttlMs":` + string(ms) + `,"cacheScope":"private",`
}

// complete adds what every modern result has; members end with a comma. Legacy results stay as they are.
func (x *Exchange) complete(result json.RawMessage, members string) json.RawMessage {
	if !x.isModern() {
		return result
	}
	return x.completed(result, members)
}

func (x *Exchange) completed(result json.RawMessage, members string) json.RawMessage {
	rest, ok := strings.CutPrefix(strings.TrimSpace(string(result)), "{")
	if !ok {
		return result
	}
	if rest = strings.TrimSpace(rest); rest != "}" {
		rest = "," + rest
	}
	return json.RawMessage(`{"resultType":"complete",` + members +
		`"_meta":{"` + metaPrefix + `serverInfo":` + string(x.Server.opt.serverInfo) + `}` + rest)
}

// listen carries a subscription: an acknowledgement, then what was asked for.
func (x *Exchange) listen(mutate func(*Answer)) {
	var p struct {
		Notifications *struct {
			Tools bool `json:"toolsListChanged"`
		} `json:"notifications"`
	}
	_ = json.Unmarshal(x.msg.Params, &p)
	if p.Notifications == nil {
		x.write(mutated(&Answer{ID: x.msg.ID, Status: http.StatusBadRequest,
			Error: &RPCError{Code: -32602, Message: "missing required 'notifications' field"}}, mutate))
		return
	}
	granted := "{}"
	if p.Notifications.Tools {
		granted = `{"toolsListChanged":true}`
	}
	meta := `"_meta":{"` + metaPrefix + `subscriptionId":` + string(x.msg.ID) + `}`
	log := newLog(newID())
	log.send(notification("notifications/subscriptions/acknowledged", meta+`,"notifications":`+granted))
	if !p.Notifications.Tools {
		a := &Answer{ID: x.msg.ID, Result: json.RawMessage(`{"resultType":"complete",` + meta + `}`)}
		log.send(mutated(a, mutate).encode())
		log.finish()
	}
	x.openEvents()
	x.carry(&openStream{listen: x.msg.ID}, pump{log: log})
}
