package transport

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

const (
	minStreamDelay = time.Second
	maxStreamDelay = 60 * time.Second
	// settledStream is how long a stream must have lived for its end to be no reason to wait longer.
	settledStream = 10 * time.Second
	// refusedTries is how many dials in a row must fail before nothing is believed to listen there.
	refusedTries = 3
)

// Opening makes the standing stream of an era.
type Opening func(ctx context.Context, lastEventID string) (*mcphttp.Answer, error)

// GetStream opens the GET stream of the legacy era.
func (s *Streamable) GetStream(ctx context.Context, lastEventID string) (*mcphttp.Answer, error) {
	header := http.Header{}
	if lastEventID != "" {
		header.Set(headerLastEventID, lastEventID)
	}
	return s.do(ctx, mcphttp.Request{
		Want: mcphttp.Stream, Method: http.MethodGet, Phase: failure.Stream, Header: header,
	})
}

// Subscription returns the opening of subscriptions/listen, which each time is a request of its own.
func (s *Streamable) Subscription(request func() *Request) Opening {
	return func(ctx context.Context, _ string) (*mcphttp.Answer, error) {
		answer, err := s.post(ctx, request())
		if err == nil && !answer.Streaming() {
			answer.Close()
			return nil, failure.BadAnswer(failure.Stream, failure.ProtocolError, "")
		}
		return answer, err
	}
}

// Keep keeps a standing stream open until the transport closes or the server shows that it has none. alive asks the
// server for a sign of life on another exchange.
func (s *Streamable) Keep(open Opening, alive func(context.Context) error) {
	k := &standingStream{transport: s, open: open, alive: alive, delay: minStreamDelay}
	s.run(k.keep)
}

// standingStream is the state of one standing stream.
type standingStream struct {
	transport *Streamable
	open      Opening
	alive     func(context.Context) error
	lastID    string
	opened    bool // it was open before
	refused   int
	delay     time.Duration // of our own, growing
	told      time.Duration // by the server, for the next time only
}

func (k *standingStream) keep() {
	ctx := k.transport.life
	for ctx.Err() == nil {
		answer, err := k.open(ctx, k.lastID)
		if ctx.Err() != nil {
			if err == nil {
				answer.Close()
			}
			return
		}
		if err != nil {
			if !k.again(ctx, err) {
				return
			}
		} else if !k.listen(answer) {
			return
		}
		if k.wait(ctx) != nil {
			return
		}
	}
}

// wait is the pause between two streams.
func (k *standingStream) wait(ctx context.Context) error {
	delay := max(k.delay, k.told)
	k.delay, k.told = min(2*k.delay, maxStreamDelay), 0
	return pause(ctx, jittered(delay))
}

// again decides what a refused stream means, and reports whether it is asked for again.
func (k *standingStream) again(ctx context.Context, err error) bool {
	f := failure.In(err)
	switch policy := f.Policy(); {
	case policy.Loses:
		// Some servers answer 404 to every GET. A request tells the one from the other.
		if lostErr := k.alive(ctx); sessionLost(lostErr) {
			k.transport.tellLost(lostErr)
		}
		return false
	case policy.Transient && !f.Sent && k.opened:
		return !k.deserted(err)
	case policy.Gates:
		k.told = f.RetryAfter
		return true
	case f.HTTPStatus == http.StatusConflict: // it may not yet have noticed the end of the former stream
		return k.opened
	}
	return passing(err) || f.HTTPStatus == http.StatusRequestTimeout
}

// deserted counts the dials that failed in a row, and tells when they say that nothing listens there any more.
func (k *standingStream) deserted(err error) bool {
	k.refused++
	if k.refused < refusedTries {
		return false
	}
	k.transport.tellLost(err)
	return true
}

// listen reads a stream to its end, and reports whether it is to be opened again.
func (k *standingStream) listen(answer *mcphttp.Answer) bool {
	defer answer.Close()
	if k.opened {
		k.transport.watch.ListChanged() // whatever was said while it was closed
	}
	k.opened, k.refused = true, 0
	begun := time.Now()
	useful := k.receive(answer)
	if id := answer.LastEventID(); id != "" {
		k.lastID = id
	}
	if time.Since(begun) >= settledStream {
		k.delay = minStreamDelay
	}
	if told, ok := answer.Retry(); ok {
		k.told = min(told, maxStreamDelay)
	}
	return useful
}

// receive deals with the messages of a stream. It reports false when the server says that it will bring nothing.
func (k *standingStream) receive(answer *mcphttp.Answer) bool {
	for {
		m, err := answer.Next()
		switch {
		case err != nil:
			return true
		case m.IsResponse():
			_, refused := m.Fault()
			return !refused // a result ends a subscription in order
		case m.Method == "notifications/subscriptions/acknowledged" && !grants(m.Params):
			return false
		}
		_ = k.transport.receive(m, nil) // only requests are ended by errors
	}
}

// grants reports whether an acknowledgement covers changes of the tools.
func grants(params json.RawMessage) bool {
	o, err := rpc.ParseObject(params)
	if err != nil {
		return false
	}
	granted, err := rpc.ParseObject(o.Get("notifications"))
	return err == nil && string(granted.Get("toolsListChanged")) == "true"
}
