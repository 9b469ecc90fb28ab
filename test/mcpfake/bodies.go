package mcpfake

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// Mutate serves the request and alters the answer before it is written. It works for JSON-RPC requests.
func Mutate(f func(*Answer)) Fault {
	return func(x *Exchange) bool {
		x.Serve(f)
		return true
	}
}

// WrongID answers under an id that was never asked for.
func WrongID() Fault {
	return Mutate(func(a *Answer) { a.ID = json.RawMessage(`"never-sent"`) })
}

// ResultNull answers with "result":null.
func ResultNull() Fault {
	return Mutate(func(a *Answer) { a.Result, a.Error = json.RawMessage("null"), nil })
}

// Result answers with this result, which may be of a wrong shape or no JSON at all. In the modern era an object gets
// the members that every result has.
func Result(raw string) Fault {
	return func(x *Exchange) bool {
		members := ""
		if x.Request.Phase != Call {
			members = x.cacheable()
		}
		x.Serve(func(a *Answer) { a.Result, a.Error = x.complete(json.RawMessage(raw), members), nil })
		return true
	}
}

// NoTools answers tools/list with an empty list.
func NoTools() Fault { return Result(`{"tools":[]}`) }

// BadJSON answers 200 with a body, or an event, that is not JSON.
func BadJSON() Fault {
	return func(x *Exchange) bool {
		const broken = `{"jsonrpc":"2.0","id":1,"result":{"tools":[`
		switch {
		case x.Server.opt.era == OldSSE && x.Request.Phase != Stream:
			if x.enterSession() {
				x.ses.main.send([]byte(broken))
				x.W.WriteHeader(http.StatusAccepted)
			}
		case x.Request.Phase == Stream || x.Server.opt.encoding == SSE:
			x.raw(http.StatusOK, "text/event-stream", eventBytes("", []byte(broken), 0))
		default:
			x.raw(http.StatusOK, "application/json", []byte(broken))
		}
		return true
	}
}

// CutBody sends the first half of the answer and closes the connection. On a Stream request it cuts an event.
func CutBody() Fault {
	return func(x *Exchange) bool {
		x.half()
		x.drop(false)
		return true
	}
}

// HangMidBody sends the first half of the answer, and the rest at Release. On a Stream request it holds an event.
func HangMidBody() Fault {
	return func(x *Exchange) bool {
		rest := x.half()
		if x.hold() {
			_, _ = x.W.Write(rest)
		}
		return true
	}
}

// half writes and flushes the first half of the healthy answer, and returns the second.
func (x *Exchange) half() []byte {
	if x.Request.Phase == Stream {
		x.openEvents()
		_, _ = x.W.Write([]byte("event: message\ndata: {\"jsonrpc\""))
		x.flush()
		return []byte(":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
	}
	got := x.capture()
	for k, v := range got.header {
		x.W.Header()[k] = v
	}
	body := got.body.Bytes()
	if got.header.Get("Content-Type") == "application/json" {
		x.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.W.WriteHeader(got.status)
	_, _ = x.W.Write(body[:len(body)/2])
	x.flush()
	return body[len(body)/2:]
}

// mark stands on both sides of the number of bytes that are written in the place of all three.
const mark = "@@pad@@"

// Oversized pads the result object with n bytes; they are written in pieces, not held in memory.
func Oversized(n int) Fault {
	pad := func(a *Answer) {
		if rest, ok := bytes.CutPrefix(a.Result, []byte("{")); ok {
			a.Result = append([]byte(`{"pad":"`+mark+strconv.Itoa(n)+mark+`",`), rest...)
		}
	}
	return func(x *Exchange) bool {
		if x.Server.opt.era == OldSSE { // the session's own stream pads it
			x.Serve(pad)
			return true
		}
		got := x.captured(pad)
		for k, v := range got.header {
			x.W.Header()[k] = v
		}
		x.W.WriteHeader(got.status)
		x.pour(got.body.Bytes())
		return true
	}
}

// pour writes a body with its padding, until the client has enough.
func (x *Exchange) pour(body []byte) {
	before, rest, _ := bytes.Cut(body, []byte(mark))
	size, after, _ := bytes.Cut(rest, []byte(mark))
	_, err := x.W.Write(before)
	left, _ := strconv.Atoi(string(size)) // without a mark, nothing
	piece := bytes.Repeat([]byte("x"), min(left, 32<<10))
	for ; left > 0 && err == nil; left -= len(piece) {
		_, err = x.W.Write(piece[:min(left, len(piece))])
	}
	_, _ = x.W.Write(after)
}

// StreamCut answers as an event stream, whatever the encoding, and closes the connection after so many events of it.
// With ids the first event is an empty priming one, and in a legacy session the rest can be had by resumption: the run
// goes on.
func StreamCut(events int, ids bool) Fault {
	return reshape(shape{stream: true, cut: true, after: events, ids: ids})
}

// StreamEnd is StreamCut with a regular end of the body.
func StreamEnd(events int, ids bool) Fault {
	return reshape(shape{stream: true, cut: true, after: events, ids: ids, clean: true})
}

// Streamed answers as an event stream, whatever the encoding.
func Streamed() Fault { return reshape(shape{stream: true}) }

func reshape(to shape) Fault {
	return func(x *Exchange) bool {
		x.shape = to
		x.Serve(nil)
		return true
	}
}

// capture serves the request into memory.
func (x *Exchange) capture() *memory { return x.captured(nil) }

func (x *Exchange) captured(mutate func(*Answer)) *memory {
	w := x.W
	m := &memory{header: http.Header{}, status: http.StatusOK}
	x.W = m
	defer func() { x.W = w }()
	x.Serve(mutate)
	return m
}

// memory is a response that goes nowhere.
type memory struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (m *memory) Header() http.Header { return m.header }

// WriteHeader implements http.ResponseWriter.
func (m *memory) WriteHeader(status int) { m.status = status }

// Write implements http.ResponseWriter.
func (m *memory) Write(p []byte) (int, error) { return m.body.Write(p) }
