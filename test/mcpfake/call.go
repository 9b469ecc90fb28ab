package mcpfake

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// session is one legacy session; "" stands for all clients of a server without sessions.
type session struct {
	id   string
	main *eventLog // the GET stream, or all of OldSSE's

	// guarded by Server.mu
	version string
	ready   bool // notifications/initialized came
	calls   map[string]context.CancelCauseFunc
	ids     map[string]struct{}
	nth     int
	logs    map[string]*eventLog // resumable call streams by name
}

func newSession(id string) *session {
	return &session{
		id: id, main: newLog(standalone), calls: map[string]context.CancelCauseFunc{},
		ids: map[string]struct{}{}, logs: map[string]*eventLog{},
	}
}

var errCancelled = errors.New("cancelled by the client")

func toolName(params json.RawMessage) string {
	var p struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(params, &p)
	return p.Name
}

// call answers tools/call in the form that the era and the encoding ask for.
func (x *Exchange) call(mutate func(*Answer)) {
	s := x.Server
	s.mu.Lock()
	_, known := s.lookup(x.Request.Tool)
	s.mu.Unlock()
	switch {
	case !known:
		x.write(mutated(x.unknownTool(), mutate))
	case s.opt.era == OldSSE:
		x.callOld(mutate)
	case s.opt.encoding == JSON && !x.shape.stream:
		a := x.run(x.R.Context(), func([]byte) {})
		if a == nil {
			a = &Answer{ID: x.msg.ID, Error: &RPCError{Code: -32800, Message: "request cancelled"}}
		}
		x.write(mutated(a, mutate))
	default:
		x.stream(func(ctx context.Context, notify func([]byte)) *Answer {
			return mutated(x.run(ctx, notify), mutate)
		})
	}
}

// callOld runs the tool after the 202, or before it when a fault wants the run but not the answer.
func (x *Exchange) callOld(mutate func(*Answer)) {
	s, log := x.Server, x.ses.main
	if x.shape.mute {
		x.run(x.R.Context(), func([]byte) {})
		x.W.WriteHeader(http.StatusAccepted)
		return
	}
	if !s.enter() {
		return
	}
	go func() {
		defer s.wg.Done()
		if a := mutated(x.run(s.ctx, log.send), mutate); a != nil {
			log.send(a.encode())
		}
	}()
	x.W.WriteHeader(http.StatusAccepted)
}

// stream answers on an event stream: what produce notifies of, then its answer (nil: none).
func (x *Exchange) stream(produce func(ctx context.Context, notify func([]byte)) *Answer) {
	s := x.Server
	if !s.enter() {
		return
	}
	log := newLog(newID())
	ids := x.shape.ids || s.opt.eventIDs && x.ses != nil
	ctx := x.R.Context()
	if ids {
		log.send(nil)
	}
	if ids && x.ses != nil {
		ctx = s.ctx // the loss of the stream does not end the run: it is resumed
		s.mu.Lock()
		x.ses.logs[log.name] = log
		s.mu.Unlock()
	}
	go func() {
		defer s.wg.Done()
		defer log.finish()
		if a := produce(ctx, log.send); a != nil {
			log.send(a.encode())
		}
	}()
	x.openEvents()
	p := pump{x: x, log: log, ids: ids, shape: x.shape}
	p.run()
}

func mutated(a *Answer, mutate func(*Answer)) *Answer {
	if a != nil && mutate != nil {
		mutate(a)
	}
	return a
}

// run executes a tool; nil means that the call was cancelled.
func (x *Exchange) run(ctx context.Context, notify func([]byte)) *Answer {
	s := x.Server
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
		Meta      json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(x.msg.Params, &p)
	a := &Answer{ID: x.msg.ID}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.ctx, func() { cancel(s.ctx.Err()) })
	defer stop()
	c := &Invocation{Context: ctx, Tool: x.Request.Tool, Arguments: p.Arguments, Meta: p.Meta, Nth: 1,
		notify: notify, server: s}
	run, known := x.begin(c, cancel)
	if !known { // removed a moment ago
		return x.unknownTool()
	}
	result, err := run(c)
	gone := c.Err() != nil
	x.end(gone)
	var rpc *RPCError
	switch {
	case gone:
		return nil
	case errors.As(err, &rpc):
		a.Error = rpc
	case err != nil:
		a.Error = &RPCError{Code: -32603, Message: err.Error()}
	default:
		a.Result = x.complete(result, "")
	}
	return a
}

func (x *Exchange) unknownTool() *Answer {
	a := &Answer{ID: x.msg.ID, Error: &RPCError{Code: -32602, Message: "unknown tool: " + x.Request.Tool}}
	if x.isModern() {
		a.Status = http.StatusBadRequest
	}
	return a
}

// begin counts the run and makes it cancellable by its id.
func (x *Exchange) begin(c *Invocation, cancel context.CancelCauseFunc) (Run, bool) {
	s := x.Server
	s.mu.Lock()
	defer s.mu.Unlock()
	run, known := s.lookup(c.Tool)
	if !known {
		return nil, false
	}
	st := &s.record.stats
	st.executions[c.Tool]++
	st.InFlight++
	st.Peak = max(st.Peak, st.InFlight)
	c.Overlap, c.release = st.InFlight, s.release
	if x.ses != nil {
		c.Session = x.ses.id
		x.ses.nth++
		c.Nth = x.ses.nth
		x.ses.calls[string(x.msg.ID)] = cancel
	}
	s.wake()
	return run, true
}

// lookup is called with s.mu held.
func (s *Server) lookup(name string) (Run, bool) {
	for _, t := range s.tools {
		if t.Name != name {
			continue
		}
		if t.Run == nil {
			return func(c *Invocation) (json.RawMessage, error) { return Text(string(c.Arguments)), nil }, true
		}
		return t.Run, true
	}
	return nil, false
}

func (x *Exchange) end(gone bool) {
	x.Server.change(func(r *record) {
		r.stats.InFlight--
		if gone {
			r.stats.Cancelled++
		}
		if x.ses != nil {
			delete(x.ses.calls, string(x.msg.ID))
		}
	})
}

// cancelCall serves notifications/cancelled.
func (x *Exchange) cancelCall() {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(x.msg.Params, &p)
	s := x.Server
	s.mu.Lock()
	cancel := x.ses.calls[string(p.RequestID)]
	s.mu.Unlock()
	if cancel != nil {
		cancel(errCancelled)
	}
}
