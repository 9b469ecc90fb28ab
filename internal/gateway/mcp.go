package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

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
	// unknown: it is of a later version than we know.
	unknown bool
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
	held := &room{of: &g.inflight}
	defer held.release()
	body, err := readBody(w, v, held)
	if errors.Is(err, errNoRoom) {
		w.Header().Set("Retry-After", "1")
		writeFault(w, http.StatusServiceUnavailable, "the gateway is overloaded; try again")
		return
	}
	m, fault := readMessage(v, body, err)
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

// bodyTimeout is how long a body may take to arrive.
const bodyTimeout = 30 * time.Second

var errNoRoom = errors.New("no room for the request")

// readBody reads a body into room that grows as it arrives: who announces much and sends little holds little.
func readBody(w http.ResponseWriter, v *visit, held *room) ([]byte, error) {
	const least, first = 512, 64 << 10
	size := int64(least)
	if v.ContentLength >= 0 {
		size = min(v.ContentLength+1, first) // one more, to see the end
	}
	in := http.MaxBytesReader(w, v.Body, maxRequest)
	var body []byte
	for {
		if len(body) == cap(body) {
			if !held.grow(size - int64(cap(body))) {
				return nil, errNoRoom
			}
			body = append(make([]byte, 0, size), body...)
			size = min(2*size, maxRequest+1)
		}
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
			return body, nil
		case err != nil:
			return nil, err
		}
	}
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
func readMessage(v *visit, body []byte, err error) (*message, *httpFault) {
	kind, _, _ := strings.Cut(v.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return nil, &httpFault{http.StatusUnsupportedMediaType, rpc.InvalidRequest, "Content-Type must be application/json"}
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return nil, &httpFault{http.StatusRequestEntityTooLarge, rpc.InvalidRequest, "the request is larger than 4 MiB"}
	}
	if err != nil {
		return nil, &httpFault{http.StatusBadRequest, parseError, "the request did not arrive whole"}
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if bytes.HasPrefix(body, []byte("[")) { // before anything is made of its members, which may be millions
		return nil, &httpFault{http.StatusBadRequest, rpc.InvalidRequest,
			"send one message a request: batches are not supported"}
	}
	messages, err := rpc.Parse(body)
	if err != nil {
		return nil, &httpFault{http.StatusBadRequest, parseError, "the body is not a JSON-RPC message"}
	}
	m := &message{visit: v, Message: messages[0], accepts: acceptsOf(v.Header.Values("Accept"))}
	if bytes.Equal(bytes.TrimSpace(m.Params), []byte("[]")) {
		m.Params = nil
	}
	version := v.Header.Get("Mcp-Protocol-Version")
	m.modern, m.unknown = version >= modernVersion, version > modernVersion
	return m, nil
}

// answer gives a request to whoever answers it.
func (g *Gateway) answer(w http.ResponseWriter, m *message) {
	server := m.offer.Kind == directory.ServerKind
	switch forward := slices.Contains(forwarded, m.Message.Method); {
	case m.unknown: // the SDK says which it knows
		g.sdk.serve(g, w, m)
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
