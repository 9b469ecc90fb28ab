package upstream

import (
	"context"
	"encoding/json"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
	"github.com/mooring-dev/mooring/internal/upstream/transport"
)

// Call implements session.Conn. The end of ctx is the end of the call: the caller gets it back at once, and a server
// of the legacy era is told.
func (c *conn) Call(ctx context.Context, call session.Call) (answer session.Answer, err error) {
	answer, fault, err := c.send(ctx, call)
	if err == nil && fault.Code == rpc.HeaderMismatch && c.modern {
		// The server refused the request before it looked at it: it wants arguments mirrored that we did not know of.
		if _, listErr := c.List(ctx); listErr == nil && c.params.has(call.Tool) {
			answer, _, err = c.send(ctx, call)
		}
	}
	return answer, err
}

func (c *conn) send(ctx context.Context, call session.Call) (session.Answer, rpc.Fault, error) {
	r, err := c.callRequest(call)
	if err != nil {
		return session.Answer{}, rpc.Fault{}, err
	}
	m, err := c.transport.Exchange(ctx, r)
	if err != nil {
		return session.Answer{}, rpc.Fault{}, err
	}
	if err := checkResponse(failure.Call, &m); err != nil {
		return session.Answer{}, rpc.Fault{}, err
	}
	fault, isFault := m.Fault()
	if isFault {
		return session.Answer{Error: m.Error, Failure: refusedRequest(failure.Call, fault).Failure}, fault, nil
	}
	return session.Answer{Result: m.Result}, rpc.Fault{}, nil
}

// callRequest is the request with what the protocol wants added to its params, which otherwise stay as they are.
func (c *conn) callRequest(call session.Call) (*transport.Request, error) {
	params, err := rpc.ParseObject(call.Params)
	if err != nil {
		return nil, &failure.Error{Failure: failure.Failure{
			Class: failure.Protocol, Phase: failure.Call, Reason: failure.ProtocolError,
			Detail: "params that are no object",
		}}
	}
	r := &transport.Request{
		Phase: failure.Call, ID: c.nextID(), Method: call.Method, Progress: call.Progress, Message: call.Message,
	}
	meta, err := rpc.ParseObject(params.Get("_meta"))
	if err != nil {
		meta = nil // it was no object, which no server could have used
	}
	if call.Progress != nil {
		meta = meta.With("progressToken", json.RawMessage(`"`+r.ID+`"`))
	}
	meta = c.speakFor(meta)
	if c.modern {
		r.Header = c.params.header(&call, params)
	}
	if len(meta) > 0 {
		params = params.With("_meta", meta.Encode())
	}
	if len(params) > 0 {
		r.Params = params.Encode()
	}
	return r, nil
}

// speakFor is a caller's _meta with what a request tells of its protocol and its client told by us. What the caller
// says of itself there would have a legacy server take the request for one of another protocol. A modern server may
// be told what the caller can answer, as its results go back to the caller.
func (c *conn) speakFor(meta rpc.Object) rpc.Object {
	for _, member := range c.client.modernMeta() {
		switch {
		case !c.modern:
			meta = meta.Without(member.Name)
		case member.Name != clientCapabilities || meta.Get(member.Name) == nil:
			meta = meta.With(member.Name, member.Value)
		}
	}
	return meta
}
