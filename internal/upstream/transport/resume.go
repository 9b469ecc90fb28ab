package transport

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

const (
	// resumeDelay is the wait before a stream is resumed when the server names none.
	resumeDelay = 500 * time.Millisecond
	// resumeTries bounds the tries in a row that bring no new event.
	resumeTries = 5
)

// resume continues the stream of a request whose answer did not come (MCP 2025-11-25, Transports, Resumability and
// Redelivery). When it cannot, the fault is the first one: the request was taken, and nobody knows what became of it.
func (s *Streamable) resume(ctx context.Context, r *Request, broken *mcphttp.Answer, first error) (rpc.Message, error) {
	lastID := broken.LastEventID()
	delay := retryOr(broken, resumeDelay)
	for tries := 0; tries < resumeTries; tries++ {
		if err := pause(ctx, delay); err != nil {
			return rpc.Message{}, mcphttp.Ended(ctx, r.Phase, true, "an answer began and did not end")
		}
		answer, err := s.do(ctx, mcphttp.Request{
			Want: mcphttp.Stream, Method: http.MethodGet, Phase: r.Phase,
			Header: http.Header{headerLastEventID: {lastID}},
		})
		if ctx.Err() != nil {
			return rpc.Message{}, err
		}
		if err != nil {
			if sessionLost(err) {
				s.tellLost(err)
			}
			if !passing(err) {
				return rpc.Message{}, first
			}
			delay = min(2*delay, maxStreamDelay)
			continue
		}
		m, err := s.await(answer, r)
		answer.Close()
		if !errors.Is(err, mcphttp.ErrEnded) || ctx.Err() != nil {
			return m, err
		}
		delay = retryOr(answer, delay)
		if id := answer.LastEventID(); id != "" && id != lastID {
			lastID, tries = id, -1
		}
	}
	return rpc.Message{}, first
}

// passing reports whether a fault may pass within the time of one request.
func passing(err error) bool {
	f := failure.In(err)
	return f.Policy().Transient && f.HTTPStatus != http.StatusNotImplemented
}

func retryOr(a *mcphttp.Answer, fallback time.Duration) time.Duration {
	if told, ok := a.Retry(); ok {
		return min(told, maxStreamDelay)
	}
	return fallback
}

// pause waits, but not beyond ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// jittered spreads a delay over d to 1.2 d, so that sessions cut by one proxy do not come back together.
func jittered(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/5+1)) //nolint:gosec // no secret depends on it
}
