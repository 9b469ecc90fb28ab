package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
	"github.com/mooring-dev/mooring/internal/upstream/transport"
)

// aliveTimeout is how long a server that refused its standing stream has to show that it lives.
const aliveTimeout = 10 * time.Second

// conn is one connection, of any era and transport.
type conn struct {
	transport transport.Transport
	stream    *transport.Streamable // the same, where it is that; else nil
	watch     session.Observer
	hello     *hello
	client    implementation
	modern    bool
	list      time.Duration

	seq     atomic.Uint64
	closing sync.Once
	closed  chan struct{}
	params  paramHeaders
}

var _ session.Conn = (*conn)(nil)

func (d *Dialer) newConn(t transport.Transport, stream *transport.Streamable, watch session.Observer, h *hello) *conn {
	return &conn{
		transport: t, stream: stream, watch: watch, hello: h, client: d.client, list: d.cfg.Timeouts.List,
		modern: h.info.ProtocolVersion == modernVersion, closed: make(chan struct{}),
	}
}

// standing opens the stream by which the server tells of changes between requests.
func (c *conn) standing(era Era) {
	switch {
	case era == Legacy && c.hello.tools:
		c.stream.Keep(c.stream.GetStream, c.alive)
	case era == Modern && c.hello.listChanged:
		c.stream.Keep(c.stream.Subscription(c.subscription), c.alive)
	}
}

func (c *conn) subscription() *transport.Request {
	params := rpc.Object{
		{Name: "_meta", Value: c.client.modernMeta().Encode()},
		{Name: "notifications", Value: json.RawMessage(`{"toolsListChanged":true}`)},
	}
	return &transport.Request{
		Phase: failure.Stream, ID: c.nextID(), Method: "subscriptions/listen", Params: params.Encode(),
	}
}

func (c *conn) nextID() string { return "m-" + strconv.FormatUint(c.seq.Add(1), 10) }

// Info implements session.Conn.
func (c *conn) Info() session.Info { return c.hello.info }

// request makes a request without params of its own.
func (c *conn) request(phase failure.Phase, method string, params rpc.Object) *transport.Request {
	if c.modern {
		params = params.With("_meta", c.client.modernMeta().Encode())
	}
	r := &transport.Request{Phase: phase, ID: c.nextID(), Method: method}
	if len(params) > 0 {
		r.Params = params.Encode()
	}
	return r
}

// Probe implements session.Conn: any answer is a sign of life, a JSON-RPC error too, and a list that is too large to be
// published. An error that asks to be left alone is returned. It waits as long as ctx lets it.
func (c *conn) Probe(ctx context.Context) (err error) {
	method := "tools/list"
	switch {
	case c.modern:
		method = "server/discover"
	case c.hello.info.HasSessionID, !c.hello.tools:
		method = "ping"
	}
	m, err := c.transport.Exchange(ctx, c.request(failure.Probe, method, nil))
	if method == "tools/list" && errors.Is(err, mcphttp.ErrTooLarge) {
		return nil
	}
	if err != nil {
		return err
	}
	if err = checkResponse(failure.Probe, &m); err != nil {
		return err
	}
	if fault, ok := m.Fault(); ok {
		if refused := refusedRequest(failure.Probe, fault); refused.Policy().Gates {
			return refused
		}
	}
	return nil
}

func (c *conn) alive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, aliveTimeout)
	defer cancel()
	return c.Probe(ctx)
}

// checkResponse refuses a response that says nothing.
func checkResponse(phase failure.Phase, m *rpc.Message) error {
	if m.Error != nil {
		if _, ok := m.Fault(); !ok {
			return failure.BadAnswer(phase, failure.ProtocolError, "a JSON-RPC error without a code")
		}
		return nil
	}
	if len(m.Result) == 0 || m.Result[0] != '{' {
		return failure.BadAnswer(phase, failure.ProtocolError, "a result that is no object")
	}
	return nil
}

// Close implements session.Conn. Every request in progress ends with class transport.
func (c *conn) Close(ctx context.Context) error {
	c.closing.Do(func() {
		go func() {
			defer close(c.closed)
			c.transport.Close()
		}()
	})
	select {
	case <-c.closed:
		return nil
	case <-ctx.Done():
		return errors.Join(errors.New("connection not closed in time"), context.Cause(ctx))
	}
}
