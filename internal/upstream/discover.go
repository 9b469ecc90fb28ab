package upstream

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// discoverOutcome is what server/discover brought.
//
//	answer                                                   discoverOutcome
//	a result that offers the modern version                  modern, confirmed
//	a result or -32022 that offers legacy versions only      legacy, confirmed
//	a result or -32022 without a common version              the attempt ends
//	-32020, -32021                                           modern, but not with us: the attempt ends
//	401, 403, 429, 503 with Retry-After                      the attempt ends
//	400 404 405 406 415 422, -32600 -32601 -32602            legacy, confirmed
//	a 2xx that is not JSON                                   legacy, confirmed
//	other 4xx, 5xx, other errors, a cut or a hang            legacy is tried, not confirmed
//	never connected, TLS identity, redirect, address         the attempt ends
//	no token to ask with                                     the attempt ends
type discoverOutcome struct {
	era       Era // "" when the attempt ends
	confirmed bool
	hung      bool
	hello     *hello   // with Modern
	theirs    []string // the versions that the server offers, if it said so
	err       error    // what ends the attempt, or why it is not modern, if that is not in theirs
}

var legacyStatuses = []int{
	http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
	http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
}

// judgeDiscover reads the outcome of server/discover. ctx is the attempt's, not the request's own.
func judgeDiscover(ctx context.Context, m rpc.Message, err error) discoverOutcome {
	if err == nil {
		return judgeMessage(m, 0)
	}
	f := failure.In(err)
	policy := f.Policy()
	switch {
	case ctx.Err() != nil, f.Reason == failure.TokenAcquisitionFailed: // nobody waited, or the server was not asked
	case policy.Discover == failure.TryLegacy, policy.Discover == failure.TryLegacyIfSent && f.Sent:
		return discoverOutcome{era: Legacy, hung: policy.Silence && f.Sent, err: err}
	case policy.Discover == failure.ReadAnswer:
		if said, ok := modernError(err); ok {
			return judgeMessage(said, f.HTTPStatus)
		}
		return judgeStatus(f, err)
	}
	return discoverOutcome{err: err}
}

// modernError finds an error that only a modern server sends in the body of an error answer.
func modernError(err error) (rpc.Message, bool) {
	m, ok := errorIn(mcphttp.BodyOf(err))
	if !ok {
		return m, false
	}
	fault, _ := m.Fault()
	return m, isModernCode(fault.Code)
}

func judgeStatus(f failure.Failure, err error) discoverOutcome {
	status := f.HTTPStatus
	switch {
	case status == 0, f.Reason == failure.RedirectRefused:
		return discoverOutcome{err: err}
	case status < 300, slices.Contains(legacyStatuses, status):
		return discoverOutcome{era: Legacy, confirmed: true, err: err}
	}
	return discoverOutcome{era: Legacy, err: err}
}

// judgeMessage reads a response to server/discover.
func judgeMessage(m rpc.Message, status int) discoverOutcome {
	fault, isFault := m.Fault()
	switch {
	case isFault && fault.Code == rpc.UnsupportedVersion:
		return judgeVersions(offered(fault.Data, nil, ""), nil, status)
	case isFault && isModernCode(fault.Code):
		demands := failure.BadAnswer(failure.Connect, failure.ProtocolError,
			"the server demands what Mooring does not offer")
		demands.HTTPStatus = status
		return discoverOutcome{err: demands}
	case isFault:
		told := fault.Code == rpc.MethodNotFound || fault.Code == rpc.InvalidRequest || fault.Code == rpc.InvalidParams
		return discoverOutcome{era: Legacy, confirmed: told, err: refusedHandshake("server/discover", fault)}
	}
	h, versions, ok := readDiscover(m.Result)
	if !ok {
		detail := "a result of server/discover that is none"
		return discoverOutcome{era: Legacy, err: failure.BadAnswer(failure.Connect, failure.ProtocolError, detail)}
	}
	return judgeVersions(versions, h, status)
}

// judgeVersions decides by the versions that the server offers. With a result that offers none the one we asked with
// was good.
func judgeVersions(theirs []string, h *hello, status int) discoverOutcome {
	switch {
	case h != nil && (len(theirs) == 0 || slices.Contains(theirs, modernVersion)):
		return discoverOutcome{era: Modern, confirmed: true, hello: h}
	case newestLegacy(theirs) != "":
		return discoverOutcome{era: Legacy, confirmed: true, theirs: theirs}
	}
	return discoverOutcome{err: noCommonVersion(allVersions(), theirs, status)}
}

// errorIn finds a JSON-RPC error in the body of an error answer, whatever its id.
func errorIn(body []byte) (rpc.Message, bool) {
	messages, err := rpc.Parse(body)
	if err != nil {
		return rpc.Message{}, false
	}
	for _, m := range messages {
		if _, ok := m.Fault(); ok {
			return m, true
		}
	}
	return rpc.Message{}, false
}

// readDiscover reads a DiscoverResult.
func readDiscover(result json.RawMessage) (*hello, []string, bool) {
	var wire struct {
		SupportedVersions []string        `json:"supportedVersions"`
		Capabilities      json.RawMessage `json:"capabilities"`
		Meta              struct {
			ServerInfo json.RawMessage `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
		ServerInfo json.RawMessage `json:"serverInfo"`
	}
	if len(result) == 0 || result[0] != '{' || json.Unmarshal(result, &wire) != nil {
		return nil, nil, false
	}
	info := wire.Meta.ServerInfo
	if info == nil {
		info = wire.ServerInfo
	}
	return newHello(modernVersion, info, wire.Capabilities), wire.SupportedVersions, true
}
