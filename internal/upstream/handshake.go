package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/text"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
	"github.com/mooring-dev/mooring/internal/upstream/transport"
)

// hello is what a server tells of itself in either handshake.
type hello struct {
	info session.Info
	// tools: it has tools, or says nothing at all about its capabilities.
	tools bool
	// listChanged: it announces changes of its tools.
	listChanged bool
}

const maxInfoText = 256

func newHello(version string, info, capabilities json.RawMessage) *hello {
	h := &hello{info: session.Info{ProtocolVersion: version}}
	h.info.Name = infoText(info, "name")
	h.info.Title = infoText(info, "title")
	h.info.Version = infoText(info, "version")
	declared, err := rpc.ParseObject(capabilities)
	tools, toolsErr := rpc.ParseObject(declared.Get("tools"))
	silent := len(capabilities) == 0 || string(capabilities) == "null" || err != nil
	h.tools = silent || len(declared.Get("tools")) > 0 && string(declared.Get("tools")) != "null"
	h.listChanged = toolsErr == nil && string(tools.Get("listChanged")) == "true"
	return h
}

// infoText is a text member, made fit to be shown: printable, bounded.
func infoText(info json.RawMessage, member string) string {
	o, err := rpc.ParseObject(info)
	var value string
	if err != nil || json.Unmarshal(o.Get(member), &value) != nil {
		return ""
	}
	return text.Line(value, maxInfoText)
}

// implementation is Mooring's own clientInfo.
type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// clientInfo reads "name/version".
func clientInfo(userAgent string) implementation {
	name, version, _ := strings.Cut(userAgent, "/")
	if name == "" {
		name = "mooring"
	}
	if version, _, _ = strings.Cut(version, " "); version == "" {
		version = "unknown"
	}
	return implementation{Name: name, Version: version}
}

// clientCapabilities is the member of _meta that says what a client can do.
const clientCapabilities = "io.modelcontextprotocol/clientCapabilities"

// modernMeta is the _meta that every request of the modern era carries.
func (i implementation) modernMeta() rpc.Object {
	info, _ := json.Marshal(i) // two strings always encode
	return rpc.Object{
		{Name: "io.modelcontextprotocol/protocolVersion", Value: json.RawMessage(`"` + modernVersion + `"`)},
		{Name: "io.modelcontextprotocol/clientInfo", Value: info},
		{Name: clientCapabilities, Value: json.RawMessage(`{}`)},
	}
}

// discover asks server/discover.
func discover(ctx context.Context, t transport.Transport, me implementation) (rpc.Message, error) {
	params := rpc.Object{{Name: "_meta", Value: me.modernMeta().Encode()}}.Encode()
	return t.Exchange(ctx, &transport.Request{
		Phase: failure.Connect, ID: "m-discover", Method: "server/discover", Params: params,
	})
}

// initialize shakes hands in the way of the legacy era, asking for version. When the server refuses that version and
// says which it knows, it is asked once more. pinned: no other version will do.
func initialize(
	ctx context.Context, t transport.Transport, me implementation, version string, pinned bool,
) (*hello, error) {
	h, theirs, err := initializeOnce(ctx, t, me, version, "m-init-1")
	if err == nil || len(theirs) == 0 {
		return h, err
	}
	ours := legacyVersions
	if pinned {
		ours = []string{version}
	}
	next := newestLegacy(theirs)
	if next == "" || next == version || pinned {
		return nil, noCommonVersion(ours, theirs, statusOf(err))
	}
	h, _, err = initializeOnce(ctx, t, me, next, "m-init-2")
	return h, err
}

// initializeOnce sends initialize and notifications/initialized. With an error it returns the versions that the
// server says it knows, if it says so.
func initializeOnce(
	ctx context.Context, t transport.Transport, me implementation, version, id string,
) (*hello, []string, error) {
	params, _ := json.Marshal(map[string]any{ // strings always encode
		"protocolVersion": version, "capabilities": struct{}{}, "clientInfo": me,
	})
	m, err := t.Exchange(ctx, &transport.Request{
		Phase: failure.Connect, ID: id, Method: "initialize", Params: params,
	})
	if err != nil {
		return nil, offeredBy(err, version), err
	}
	if m.Error != nil {
		fault, _ := m.Fault()
		theirs := offered(fault.Data, []byte(fault.Message), version)
		if fault.Code == rpc.UnsupportedVersion && len(theirs) == 0 {
			return nil, nil, noCommonVersion(legacyVersions, nil, 0)
		}
		return nil, theirs, refusedHandshake("initialize", fault)
	}
	var result struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
		ServerInfo      json.RawMessage `json:"serverInfo"`
	}
	if json.Unmarshal(m.Result, &result) != nil || result.ProtocolVersion == "" {
		return nil, nil, failure.BadAnswer(failure.Connect, failure.NotMCP,
			"a result of initialize without a protocol version")
	}
	if !isLegacy(result.ProtocolVersion) {
		return nil, nil, noCommonVersion(legacyVersions, []string{result.ProtocolVersion}, 0)
	}
	t.Agree(result.ProtocolVersion)
	if ctx.Err() != nil { // the answer came when nobody waited for it any more; what it opened is closed
		return nil, nil, mcphttp.Ended(ctx, failure.Connect, true, "")
	}
	if err := t.Notify(ctx, failure.Connect, rpc.Notification("notifications/initialized", nil)); err != nil {
		return nil, nil, err
	}
	h := newHello(result.ProtocolVersion, result.ServerInfo, result.Capabilities)
	h.info.HasSessionID = t.HasSession()
	return h, nil, nil
}

// offeredBy reads the versions from an HTTP refusal: a 400 whose body is a JSON-RPC error or plain words.
func offeredBy(err error, asked string) []string {
	if statusOf(err) != 400 {
		return nil
	}
	body := mcphttp.BodyOf(err)
	if m, ok := errorIn(body); ok {
		fault, _ := m.Fault()
		return offered(fault.Data, []byte(fault.Message), asked)
	}
	return offered(nil, body, asked)
}

func statusOf(err error) int { return failure.In(err).HTTPStatus }

// refusedRequest is a JSON-RPC error in answer to a request.
func refusedRequest(phase failure.Phase, fault rpc.Fault) *failure.Error {
	return &failure.Error{Failure: failure.FromRPC(phase, fault.Data), Cause: &refusal{code: fault.Code}}
}

// refusedHandshake is a JSON-RPC error in answer to the method of a handshake, which is no proof of health.
func refusedHandshake(method string, fault rpc.Fault) error {
	refused := refusedRequest(failure.Connect, fault)
	refused.Answered = false
	refused.Detail = fmt.Sprintf("%s was refused with JSON-RPC error %d", method, fault.Code)
	return refused
}

// refusal lets the code of a JSON-RPC error be found in a chain.
type refusal struct{ code int64 }

func (r *refusal) Error() string { return fmt.Sprintf("JSON-RPC error %d", r.code) }

// wantsModern reports whether a refusal of initialize is clear evidence that the server has left the legacy era.
func wantsModern(err error) bool {
	var r *refusal
	if errors.As(err, &r) {
		return r.code == rpc.MethodNotFound || isModernCode(r.code)
	}
	if m, ok := errorIn(mcphttp.BodyOf(err)); ok {
		fault, _ := m.Fault()
		return fault.Code == rpc.MethodNotFound || isModernCode(fault.Code)
	}
	return failure.In(err).Reason == failure.UnsupportedProtocolVersion
}

// looksLegacySSE reports whether a refusal of initialize is what a server of the 2024-11-05 transport would answer.
func looksLegacySSE(err error) bool {
	return slices.Contains([]int{400, 404, 405}, statusOf(err)) && !wantsModern(err) && len(offeredBy(err, "")) == 0
}
