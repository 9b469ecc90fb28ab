package transport

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// Streamable is the Streamable HTTP transport, of either era.
type Streamable struct {
	*base
	http   *mcphttp.Client
	modern bool

	mu sync.Mutex
	guarded
}

type guarded struct {
	version string
	session string // the server's session id: a credential
	gone    bool   // the server forgot the session
}

// NewStreamable returns a transport over client, which it closes in the end. modern tells the era.
func NewStreamable(client *mcphttp.Client, watch session.Observer, modern bool) *Streamable {
	s := &Streamable{base: newBase(watch), http: client, modern: modern}
	if !modern { // servers of the modern era ask nothing of clients outside of results
		s.reply = func(ctx context.Context, body []byte) error { return s.Notify(ctx, failure.Stream, body) }
	}
	return s
}

// Agree implements Transport.
func (s *Streamable) Agree(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// HasSession implements Transport.
func (s *Streamable) HasSession() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session != ""
}

// adoptFrom takes the session id of a good answer to initialize, and of nothing else; one that could not be sent back
// is none.
func (s *Streamable) adoptFrom(answer *mcphttp.Answer, r *Request, m rpc.Message) {
	if !opensSession(r) || m.Error != nil {
		return
	}
	id := answer.Header.Get(headerSession)
	for _, b := range []byte(id) {
		if b < 0x21 || b > 0x7e {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = id
}

// opensSession reports whether the answer to r may bring a session id.
func opensSession(r *Request) bool { return r.Method == "initialize" }

// header returns the headers of a request, and whether they hold a session id.
func (s *Streamable) header(extra http.Header) (http.Header, bool) {
	h := extra.Clone()
	if h == nil {
		h = http.Header{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != "" {
		h.Set(headerVersion, s.version)
	}
	if s.session != "" {
		h.Set(headerSession, s.session)
	}
	return h, s.session != ""
}

// do makes an exchange and notes when the server says that it forgot the session.
func (s *Streamable) do(ctx context.Context, r mcphttp.Request) (*mcphttp.Answer, error) {
	r.Header, r.Session = s.header(r.Header)
	answer, err := s.http.Do(ctx, r)
	if sessionLost(err) {
		s.mu.Lock()
		s.gone = true
		s.mu.Unlock()
	}
	return answer, err
}

// Exchange implements Transport.
func (s *Streamable) Exchange(ctx context.Context, r *Request) (rpc.Message, error) {
	reading, end := answerTime(ctx, r)
	defer end()
	m, err := s.exchange(reading, r)
	if !s.modern { // where the closing of the exchange is the word for it
		s.abandon(ctx, r, err, s.Notify)
	}
	return m, err
}

func (s *Streamable) exchange(ctx context.Context, r *Request) (rpc.Message, error) {
	bound, free, cancel := s.bind(ctx)
	answer, err := s.post(bound, r)
	if err != nil {
		cancel()
		return answered(err, r.ID)
	}
	m, err := s.await(answer, r)
	if err == nil && answer.Streaming() && free() && s.run(func() {
		defer cancel()
		answer.Drain()
	}) {
		s.adoptFrom(answer, r, m)
		return m, nil
	}
	defer cancel()
	defer answer.Close()
	if errors.Is(err, mcphttp.ErrEnded) && answer.LastEventID() != "" && !s.modern && bound.Err() == nil {
		return s.resume(bound, r, answer, err)
	}
	if err == nil {
		s.adoptFrom(answer, r, m)
	}
	return m, err
}

func (s *Streamable) post(ctx context.Context, r *Request) (*mcphttp.Answer, error) {
	header := r.Header.Clone()
	if s.modern {
		if header == nil {
			header = http.Header{}
		}
		header.Set(headerMethod, r.Method)
	}
	return s.do(ctx, mcphttp.Request{
		Want: mcphttp.Messages, Method: http.MethodPost, Header: header, Phase: r.Phase,
		Body: rpc.Request(r.ID, r.Method, r.Params),
	})
}

// answered finds the response in the body of an error answer: servers send JSON-RPC errors with a 4xx or 5xx, and the
// specification of 2026-07-28 demands it. What HTTP itself means by a status comes first.
func answered(err error, id string) (rpc.Message, error) {
	if !failure.In(err).Policy().ReadBody {
		return rpc.Message{}, err
	}
	messages, parseErr := rpc.Parse(mcphttp.BodyOf(err))
	if parseErr != nil {
		return rpc.Message{}, err
	}
	for _, m := range messages {
		if _, ok := m.Fault(); ok && m.Answers(id) {
			return m, nil
		}
	}
	return rpc.Message{}, err
}

// await reads an answer until the response to r.
func (s *Streamable) await(answer *mcphttp.Answer, r *Request) (rpc.Message, error) {
	for {
		m, err := answer.Next()
		if err != nil {
			return rpc.Message{}, err
		}
		if !m.IsResponse() {
			if err := s.receive(m, r); err != nil {
				return rpc.Message{}, err
			}
			continue
		}
		switch {
		case m.Answers(r.ID):
			return m, nil
		case answer.Streaming(): // late, or nobody's
		case m.ID == nil && m.Error != nil: // it could not tell whose error it is; there is only one
			return m, nil
		default:
			return rpc.Message{}, failure.BadAnswer(r.Phase, failure.ProtocolError, "an answer to another request")
		}
	}
}

// Notify implements Transport.
func (s *Streamable) Notify(ctx context.Context, phase failure.Phase, body []byte) error {
	ctx, _, cancel := s.bind(ctx)
	defer cancel()
	answer, err := s.do(ctx, mcphttp.Request{
		Want: mcphttp.Acceptance, Method: http.MethodPost, Phase: phase, Body: body,
	})
	if err != nil {
		return err
	}
	answer.Close()
	return nil
}

// Close implements Transport: the session is deleted on the server, unless it is gone there.
func (s *Streamable) Close() {
	s.finish()
	defer s.http.Close()
	s.mu.Lock()
	over := s.session == "" || s.gone
	s.gone = true
	s.mu.Unlock()
	if over {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
	defer cancel()
	answer, err := s.do(ctx, mcphttp.Request{
		Want: mcphttp.Acceptance, Method: http.MethodDelete, Phase: failure.Stream,
	})
	if err == nil {
		answer.Close()
	}
}
