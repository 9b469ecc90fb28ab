package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// accepts are the forms in which a client takes an answer.
type accepts struct{ json, stream bool }

// acceptsOf reads Accept. Who names nothing that we have takes anything.
func acceptsOf(values []string) (a accepts) {
	for _, value := range values {
		for form := range strings.SplitSeq(value, ",") {
			kind, _, _ := strings.Cut(form, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				a.json = true
			case "text/event-stream", "text/*":
				a.stream = true
			case "*/*":
				a.json, a.stream = true, true
			}
		}
	}
	if !a.json && !a.stream {
		return accepts{json: true}
	}
	return a
}

const (
	// patience is how long an answer may take before the client gets a sign of life, lifeInterval the time to the next.
	patience     = 2 * time.Second
	lifeInterval = 25 * time.Second
	// writeTimeout is how long a client may take to read what was written.
	writeTimeout = 30 * time.Second
)

// reply is the way to one client. It is safe for concurrent use.
type reply struct {
	w       http.ResponseWriter
	control *http.ResponseController
	accepts accepts

	mu    sync.Mutex
	begun bool
	// streams: what was begun is an event stream.
	streams bool
	bytes   int
}

func newReply(w http.ResponseWriter, accepts accepts) *reply {
	return &reply{w: w, control: http.NewResponseController(w), accepts: accepts}
}

func (r *reply) begin(status int, stream bool) {
	if r.begun {
		return
	}
	r.begun, r.streams = true, stream
	header := r.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-cache, no-transform")
	if stream {
		header.Set("Content-Type", "text/event-stream")
		header.Set("X-Accel-Buffering", "no")
	}
	r.w.WriteHeader(status)
}

// send writes and flushes; a client that has gone away is noticed by its context.
func (r *reply) send(parts ...[]byte) {
	_ = r.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	for _, part := range parts {
		n, _ := r.w.Write(part)
		r.bytes += n
	}
	_ = r.control.Flush()
}

// keepAlive gives a sign of life when the answer takes long, and then now and then, until the function that it returns
// is called.
func (r *reply) keepAlive() (stop func()) {
	var (
		timer *time.Timer
		over  bool
	)
	r.mu.Lock()
	defer r.mu.Unlock()
	timer = time.AfterFunc(patience, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !over {
			r.live()
			timer.Reset(lifeInterval)
		}
	})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		over = true
		timer.Stop()
	}
}

// live gives a sign of life; the caller holds the lock.
func (r *reply) live() {
	r.begin(http.StatusOK, r.accepts.stream)
	if r.streams {
		r.send([]byte(": \n\n"))
		return
	}
	r.send([]byte("\n"))
}

// notify passes a notification where the client takes a stream.
func (r *reply) notify(notification []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.accepts.stream || r.begun && !r.streams {
		return
	}
	r.begin(http.StatusOK, true)
	r.send(event(notification))
}

// finish writes the answer. One that nothing went before says how long it is, and leaves in one piece.
func (r *reply) finish(status int, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	whole := !r.begun
	stream := r.streams || whole && !r.accepts.json
	if stream {
		body = event(body)
	}
	if whole {
		r.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		r.begin(status, stream)
		_ = r.control.SetWriteDeadline(time.Now().Add(writeTimeout))
		r.bytes, _ = r.w.Write(body)
		return
	}
	r.send(body)
}

// event is a message as an event. A line break, of which JSON has them between tokens alone, begins a line of data
// anew.
func event(body []byte) []byte {
	const head, line, end = "event: message\ndata: ", "\ndata: ", "\n\n"
	out := append(make([]byte, 0, len(head)+len(body)+len(end)), head...)
	if bytes.IndexByte(body, '\n') < 0 && bytes.IndexByte(body, '\r') < 0 {
		return append(append(out, body...), end...)
	}
	for i, piece := range bytes.Split(bytes.ReplaceAll(body, []byte("\r"), nil), []byte("\n")) {
		if i > 0 {
			out = append(out, line...)
		}
		out = append(out, piece...)
	}
	return append(out, end...)
}

// write answers at once.
func (g *Gateway) write(w http.ResponseWriter, m *message, status int, body []byte) {
	newReply(w, m.accepts).finish(status, body)
}

// object encodes what is known to be encodable.
func object(value any) json.RawMessage {
	encoded, _ := json.Marshal(value) // our own types: cannot fail
	return encoded
}
