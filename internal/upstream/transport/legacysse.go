package transport

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// LegacySSE is the HTTP+SSE transport of 2024-11-05: one GET stream brings everything, POSTs to an endpoint that the
// stream's first event names carry everything. The stream is the session: its end is the end.
type LegacySSE struct {
	*base
	http     *mcphttp.Client
	endpoint *url.URL // holds the session id: a credential

	mu      sync.Mutex
	version string
	waiting map[string]*waiter
	ended   error // why nothing comes any more
}

// waiter is one request whose response is to come on the stream.
type waiter struct {
	request *Request
	done    chan outcome
}

type outcome struct {
	message rpc.Message
	err     error
}

// OpenLegacySSE opens the stream and waits for the endpoint event. streamURL is that of the stream. The transport owns
// client once there is no error.
func OpenLegacySSE(
	ctx context.Context, client *mcphttp.Client, streamURL *url.URL, watch session.Observer,
) (*LegacySSE, error) {
	o := &LegacySSE{base: newBase(watch), http: client, waiting: map[string]*waiter{}}
	o.reply = func(ctx context.Context, body []byte) error { return o.Notify(ctx, failure.Stream, body) }
	// The stream outlives ctx, but until the endpoint is known ctx ends it.
	standing, cancel := context.WithCancelCause(o.life)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	answer, err := o.open(standing, streamURL)
	if !stop() && err == nil {
		answer.Close()
		err = context.Cause(ctx)
	}
	if ctx.Err() != nil {
		err = mcphttp.Ended(ctx, failure.Connect, true, "no endpoint event came")
	}
	if err != nil {
		cancel(nil)
		o.finish()
		return nil, err
	}
	o.run(func() { o.read(answer) })
	return o, nil
}

func (o *LegacySSE) open(ctx context.Context, streamURL *url.URL) (*mcphttp.Answer, error) {
	answer, err := o.http.Do(ctx, mcphttp.Request{Want: mcphttp.Stream, Method: http.MethodGet, Phase: failure.Connect})
	if err != nil {
		return nil, err
	}
	for {
		event, err := answer.NextEvent()
		if err != nil {
			answer.Close()
			return nil, err
		}
		if event.Type != "endpoint" {
			continue
		}
		if o.endpoint, err = streamURL.Parse(string(event.Data)); err != nil {
			answer.Close()
			return nil, failure.BadAnswer(failure.Connect, failure.ProtocolError, "an endpoint event that is no URL")
		}
		return answer, nil
	}
}

// read deals with the stream until it ends, and with it everything.
func (o *LegacySSE) read(answer *mcphttp.Answer) {
	defer answer.Close()
	answer.MarkStanding()
	for {
		event, err := answer.NextEvent()
		if errors.Is(err, mcphttp.ErrTooLarge) && o.overflow(event.Data, err) {
			continue
		}
		if err != nil {
			o.fail(err)
			return
		}
		messages, err := o.parse(event.Data)
		if event.Type != "message" || err != nil {
			continue // whose it was cannot be known
		}
		for _, m := range messages {
			o.route(m)
		}
	}
}

func (o *LegacySSE) route(m rpc.Message) {
	if m.IsResponse() {
		var id string
		if json.Unmarshal(m.ID, &id) == nil {
			o.settle(id, outcome{message: m})
		}
		return
	}
	w := o.concerned(m)
	if w == nil {
		_ = o.receive(m, nil)
		return
	}
	if err := o.receive(m, w.request); err != nil {
		o.settle(w.request.ID, outcome{err: err})
	}
}

// concerned finds the request that a notification is about.
func (o *LegacySSE) concerned(m rpc.Message) *waiter {
	member := map[string]string{
		"notifications/progress": "progressToken", "notifications/cancelled": "requestId",
	}[m.Method]
	params, err := rpc.ParseObject(m.Params)
	var id string
	if member == "" || err != nil || json.Unmarshal(params.Get(member), &id) != nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waiting[id]
}

// settle gives a request its outcome; one that nobody waits for is dropped.
func (o *LegacySSE) settle(id string, out outcome) {
	o.mu.Lock()
	w := o.waiting[id]
	delete(o.waiting, id)
	o.mu.Unlock()
	if w != nil {
		w.done <- out
	}
}

// fail ends every request: the stream is gone.
func (o *LegacySSE) fail(err error) {
	o.mu.Lock()
	o.ended = err
	all := o.waiting
	o.waiting = map[string]*waiter{}
	o.mu.Unlock()
	for _, w := range all {
		w.done <- outcome{err: unanswered(w.request.Phase, err)}
	}
	o.tellLost(err)
}

// unanswered is what a request fails with whose answer was to come on the stream that ended.
func unanswered(phase failure.Phase, why error) *failure.Error {
	f := gone(phase)
	f.Sent = true
	if known := failure.In(why); f.LessSpecific(known.Class) {
		f.Class, f.Reason, f.Detail = known.Class, known.Reason, known.Detail
	}
	return f
}

// gone is what a request fails with that comes after the end of the stream.
func gone(phase failure.Phase) *failure.Error {
	return &failure.Error{Failure: failure.Failure{
		Class: failure.Transport, Phase: phase, Reason: failure.ConnectionLost, Detail: "the event stream ended",
	}, Cause: mcphttp.ErrEnded}
}

// Exchange implements Transport.
func (o *LegacySSE) Exchange(ctx context.Context, r *Request) (rpc.Message, error) {
	m, err := o.exchange(ctx, r)
	o.abandon(ctx, r, err, o.Notify)
	return m, err
}

func (o *LegacySSE) exchange(ctx context.Context, r *Request) (rpc.Message, error) {
	waiting, _, cancel := o.bind(ctx)
	defer cancel()
	w := &waiter{request: r, done: make(chan outcome, 1)}
	o.mu.Lock()
	ended := o.ended != nil
	if !ended {
		o.waiting[r.ID] = w
	}
	o.mu.Unlock()
	if ended {
		return rpc.Message{}, gone(r.Phase)
	}
	defer o.forget(r.ID)
	let := o.send(ctx, r)
	select {
	case out := <-w.done:
		let()
		return out.message, out.err
	case <-waiting.Done():
		return rpc.Message{}, mcphttp.Ended(waiting, r.Phase, true, "")
	}
}

// send posts a request. The response may come before the POST is acknowledged, and some servers acknowledge it last:
// let leaves it to end on its own then, for to cut it would be to cut what its connection may by now be used for.
func (o *LegacySSE) send(ctx context.Context, r *Request) (let func()) {
	posting, free, cancel := o.bind(ctx)
	done := make(chan struct{})
	started := o.run(func() {
		defer close(done)
		defer cancel()
		if err := o.post(posting, r.Phase, rpc.Request(r.ID, r.Method, r.Params)); err != nil {
			o.settle(r.ID, outcome{err: err})
		}
	})
	if !started {
		cancel()
		return func() {}
	}
	return func() {
		free()
		select {
		case <-done:
		default:
			time.AfterFunc(replyTimeout, cancel)
		}
	}
}

func (o *LegacySSE) forget(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, id)
}

func (o *LegacySSE) post(ctx context.Context, phase failure.Phase, body []byte) error {
	header := http.Header{}
	o.mu.Lock()
	if o.version != "" {
		header.Set(headerVersion, o.version)
	}
	o.mu.Unlock()
	answer, err := o.http.Do(ctx, mcphttp.Request{
		Want: mcphttp.Acceptance, Method: http.MethodPost, URL: o.endpoint, Header: header, Body: body, Phase: phase,
		Session: true,
	})
	if err != nil {
		return err
	}
	answer.Close()
	return nil
}

// Notify implements Transport.
func (o *LegacySSE) Notify(ctx context.Context, phase failure.Phase, body []byte) error {
	ctx, _, cancel := o.bind(ctx)
	defer cancel()
	return o.post(ctx, phase, body)
}

// Agree implements Transport.
func (o *LegacySSE) Agree(version string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.version = version
}

// HasSession implements Transport: the stream is one.
func (o *LegacySSE) HasSession() bool { return true }

// Close implements Transport. The end of the stream tells the server.
func (o *LegacySSE) Close() {
	o.finish()
	o.http.Close()
}
