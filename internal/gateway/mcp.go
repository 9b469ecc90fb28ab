package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/internal/gateway/directory"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// Methods that are not the SDK's to answer.
const (
	methodCall      = "tools/call"
	methodListen    = "subscriptions/listen"
	methodCancelled = "notifications/cancelled"
)

// forwarded are what an MCPServer is asked itself. Of a session's many servers none could be meant.
var forwarded = []string{
	"resources/list", "resources/read", "resources/templates/list", "resources/subscribe", "resources/unsubscribe",
	"prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
}

const modernVersion = "2026-07-28"

// message is one message of a client, with the form in which it takes an answer.
type message struct {
	*visit
	rpc.Message
	accepts accepts
	// modern: the message is of the stateless protocol.
	modern bool
}

// serveMCP takes one message.
func (g *Gateway) serveMCP(w http.ResponseWriter, v *visit) {
	switch v.Method {
	case http.MethodPost:
	case http.MethodGet:
		g.serveStream(w, v)
		return
	default:
		w.Header().Set("Allow", "GET, POST")
		writeFault(w, http.StatusMethodNotAllowed, "MCP messages are sent by POST, and heard by GET")
		return
	}
	release, ok := g.inflight.take(sizeOf(v.Request))
	if !ok {
		w.Header().Set("Retry-After", "1")
		writeFault(w, http.StatusServiceUnavailable, "the gateway is overloaded; try again")
		return
	}
	defer release()
	m, fault := readMessage(w, v)
	switch {
	case fault != nil:
		fault.write(w)
	case m.IsRequest():
		g.answer(w, m)
	default:
		g.note(m)
		w.WriteHeader(http.StatusAccepted)
	}
}

// sizeOf is what a request may take.
func sizeOf(r *http.Request) int64 {
	if r.ContentLength >= 0 {
		return min(r.ContentLength, maxRequest)
	}
	return maxRequest
}

// httpFault is an answer to what is no request.
type httpFault struct {
	status int
	code   int64
	text   string
}

func (f *httpFault) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_, _ = w.Write(rpc.Refusal(json.RawMessage("null"), f.code, f.text))
}

const parseError = -32700

// readMessage reads the body leniently: a byte order mark, and params that are null or an empty array, as some
// languages write an empty object, are understood.
func readMessage(w http.ResponseWriter, v *visit) (*message, *httpFault) {
	kind, _, _ := strings.Cut(v.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return nil, &httpFault{http.StatusUnsupportedMediaType, rpc.InvalidRequest, "Content-Type must be application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, v.Body, maxRequest))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return nil, &httpFault{http.StatusRequestEntityTooLarge, rpc.InvalidRequest, "the request is larger than 4 MiB"}
	}
	if err != nil {
		return nil, &httpFault{http.StatusBadRequest, parseError, "the request did not arrive whole"}
	}
	messages, err := rpc.Parse(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	switch {
	case err != nil:
		return nil, &httpFault{http.StatusBadRequest, parseError, "the body is not a JSON-RPC message"}
	case len(messages) > 1:
		return nil, &httpFault{http.StatusBadRequest, rpc.InvalidRequest,
			"send one message a request: batches are not supported"}
	}
	m := &message{visit: v, Message: messages[0], accepts: acceptsOf(v.Header.Values("Accept"))}
	if bytes.Equal(bytes.TrimSpace(m.Params), []byte("[]")) {
		m.Params = nil
	}
	m.modern = v.Header.Get("Mcp-Protocol-Version") >= modernVersion
	return m, nil
}

// answer gives a request to whoever answers it.
func (g *Gateway) answer(w http.ResponseWriter, m *message) {
	server := m.offer.Kind == directory.ServerKind
	switch forward := slices.Contains(forwarded, m.Message.Method); {
	case m.Message.Method == methodCall, server && forward, m.modern && m.Message.Method == methodListen:
		g.answerOurselves(w, m)
	case forward && strings.HasSuffix(m.Message.Method, "list"), g.sdk.knows(m.Message.Method):
		g.sdk.serve(g, w, m)
	case forward:
		g.write(w, m, http.StatusOK, rpc.Refusal(m.ID, rpc.MethodNotFound, m.Message.Method+" is not served here, where "+
			"several servers meet; ask the one server at /servers/NAMESPACE/NAME/mcp"))
	default:
		status := http.StatusOK
		if m.modern {
			status = http.StatusNotFound
		}
		g.write(w, m, status, rpc.Refusal(m.ID, rpc.MethodNotFound, "there is no method "+m.Message.Method))
	}
}

// answerOurselves answers what the SDK does not, after the checks that it would make.
func (g *Gateway) answerOurselves(w http.ResponseWriter, m *message) {
	switch fault := checkHeaders(m); {
	case fault != "":
		g.write(w, m, http.StatusBadRequest, rpc.Refusal(m.ID, rpc.HeaderMismatch, fault))
	case m.Message.Method == methodListen:
		g.listen(w, m)
	default:
		g.call(w, m)
	}
}
