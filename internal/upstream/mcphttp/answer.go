package mcphttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/text"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// ErrEnded is in the chain of the fault of a stream or body that ended, in order or not, before what was waited for.
var ErrEnded = errors.New("ended")

// ErrTooLarge is in the chain of the fault of a body or an event that exceeds MaxMessage.
var ErrTooLarge = errors.New("answer too large")

// Answer is what an exchange brought: the messages of a JSON body, of a stream, or nothing.
type Answer struct {
	// Header holds the headers of the final response.
	Header http.Header

	ctx    context.Context
	phase  failure.Phase
	status int
	body   io.Closer
	ready  []rpc.Message
	events *eventReader
	limit  int64 // of a JSON body, or of one event
}

// judge turns a response that is no redirect into an answer or a fault.
func (c *Client) judge(ctx context.Context, r *Request, resp *http.Response) (*Answer, error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, statusFault(ctx, r, resp)
	}
	a := &Answer{
		Header: resp.Header, ctx: ctx, phase: r.Phase, status: resp.StatusCode, body: resp.Body, limit: MaxMessage,
	}
	if r.Want == Messages && r.Phase == failure.Connect {
		a.limit = maxHandshake
	}
	if r.Want == Acceptance {
		discard(resp)
		return a, nil
	}
	resp.Body = &meter{ReadCloser: resp.Body, alive: c.cfg.Alive}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var err error
	switch {
	case kind == "text/event-stream" && resp.StatusCode == http.StatusOK:
		a.events = newEventReader(resp.Body, int(a.limit))
	case kind == "application/json" && r.Want == Messages:
		err = a.readJSON(resp)
	default:
		err = badAnswer(r.Phase, resp.StatusCode, unwanted(resp, kind), nil)
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return a, nil
}

func unwanted(resp *http.Response, kind string) string {
	switch {
	case resp.StatusCode != http.StatusOK:
		return "the request was answered with a bare " + failure.StatusLine(resp.StatusCode)
	case kind == "":
		return "an answer without a content type"
	}
	return "content type " + text.ASCII(kind, 80)
}

func (a *Answer) readJSON(resp *http.Response) error {
	body, err := readBounded(resp.Body, a.limit)
	_ = resp.Body.Close()
	switch {
	case errors.Is(err, ErrTooLarge):
		return badAnswer(a.phase, a.status, fmt.Sprintf("an answer larger than %d MiB", a.limit>>20), err)
	case err != nil:
		return a.cut(err, "the answer was cut short")
	}
	if a.ready, err = a.parse(body); err == nil {
		return nil
	}
	if len(body) == 0 || !json.Valid(body) {
		return badAnswer(a.phase, a.status, "an answer that is not JSON", err)
	}
	return badAnswer(a.phase, a.status, "JSON that is not a JSON-RPC message", err)
}

// parse reads messages.
func (a *Answer) parse(body []byte) ([]rpc.Message, error) {
	if a.phase == failure.List || a.phase == failure.Probe {
		return rpc.ParseList(body)
	}
	return rpc.Parse(body)
}

// cut names an error of reading a body.
func (a *Answer) cut(err error, detail string) error {
	if a.ctx.Err() != nil {
		return Ended(a.ctx, a.phase, true, "an answer began and did not end")
	}
	return lost(a.phase, true, detail, errors.Join(ErrEnded, err))
}

// MarkStanding says that the exchange has served its purpose, and goes on as a standing stream: what becomes
// of it from now on is of that phase.
func (a *Answer) MarkStanding() { a.phase = failure.Stream }

// Streaming reports whether the answer is an event stream.
func (a *Answer) Streaming() bool { return a.events != nil }

// Next returns the next message. When there is no more, the fault is class transport and holds ErrEnded.
func (a *Answer) Next() (rpc.Message, error) {
	for len(a.ready) == 0 {
		if a.events == nil {
			return rpc.Message{}, lost(a.phase, true, "the answer held no response", ErrEnded)
		}
		event, err := a.NextEvent()
		if err != nil {
			return rpc.Message{}, err
		}
		if event.Type != "message" || len(event.Data) == 0 {
			continue
		}
		if a.ready, err = a.parse(event.Data); err != nil {
			return rpc.Message{}, badAnswer(a.phase, a.status, "an event that is not a JSON-RPC message", err)
		}
	}
	m := a.ready[0]
	a.ready = a.ready[1:]
	return m, nil
}

// NextEvent returns the next event of a stream, whatever it holds. The fault of one that is too large holds ErrTooLarge
// and comes with the event's beginning; the stream goes on behind it.
func (a *Answer) NextEvent() (Event, error) {
	if a.events == nil {
		return Event{}, lost(a.phase, true, "the answer held no response", ErrEnded)
	}
	event, err := a.events.Next()
	switch {
	case err == nil:
		return event, nil
	case errors.Is(err, ErrTooLarge):
		return event, badAnswer(a.phase, a.status, fmt.Sprintf("an event larger than %d MiB", a.limit>>20), err)
	}
	return Event{}, a.cut(err, "the event stream ended")
}

// LastEventID is the id by which the stream may be resumed, "" if it may not.
func (a *Answer) LastEventID() string {
	if a.events == nil {
		return ""
	}
	return a.events.lastID
}

// Retry is how long the server asks to wait before the stream is opened again, if it said so.
func (a *Answer) Retry() (time.Duration, bool) {
	if a.events == nil {
		return 0, false
	}
	return a.events.retry, a.events.hasRetry
}

// Close ends the exchange. The connection is used again if the answer was read to its end.
func (a *Answer) Close() { _ = a.body.Close() }

// drainTimeout and drainBytes bound the wait for the end of a stream that has brought what it was for.
const (
	drainTimeout = 250 * time.Millisecond
	drainBytes   = 64 << 10
)

// Drain closes a stream that should end now, giving it a moment to, so that its connection can be used again.
func (a *Answer) Drain() {
	timer := time.AfterFunc(drainTimeout, a.Close)
	defer timer.Stop()
	if a.events != nil {
		_, _ = io.CopyN(io.Discard, a.events.in, drainBytes)
	}
	a.Close()
}

// meter tells of every piece of a body.
type meter struct {
	io.ReadCloser
	alive func()
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	if n > 0 && m.alive != nil {
		m.alive()
	}
	return n, err
}

// readBounded reads up to limit bytes; what was read is returned with the error too.
func readBounded(body io.Reader, limit int64) ([]byte, error) {
	var data bytes.Buffer // it doubles, so that large answers are copied seldom
	_, err := data.ReadFrom(io.LimitReader(body, limit+1))
	if err == nil && int64(data.Len()) > limit {
		return data.Bytes()[:limit], ErrTooLarge
	}
	return data.Bytes(), err
}
