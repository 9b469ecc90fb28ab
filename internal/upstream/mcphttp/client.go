package mcphttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
)

const (
	// MaxMessage bounds one JSON body and one event of a stream, in bytes.
	MaxMessage = 16 << 20
	// maxHandshake bounds the same in an answer to server/discover and initialize.
	maxHandshake = 1 << 20

	maxHeader    = 1 << 20
	idlePerHost  = 64
	pingInterval = 30 * time.Second // of silence on an HTTP/2 connection
	pingTimeout  = 15 * time.Second
	tlsTimeout   = 30 * time.Second // standing streams have no deadline of their own
	maxRedirects = 3
)

// Config is what all exchanges of a Client have in common.
type Config struct {
	Endpoint    *url.URL
	Credentials Credentials
	UserAgent   string
	TLS         *tls.Config
	Route       egress.Route
	// Dial, when not nil, replaces the network and its rules, in tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Idle is what is known of how long the server keeps idle connections; nil: nothing.
	Idle *Idle
	// Alive, when not nil, is called when bytes of a body arrive with a success status. It does not block.
	Alive func()
}

// Client makes exchanges with one server. It is safe for concurrent use.
type Client struct {
	cfg       Config
	transport *http.Transport
	sockets   *sockets
}

// New returns a Client; the caller closes it.
func New(cfg Config) *Client {
	if cfg.Idle == nil {
		cfg.Idle = &Idle{}
	}
	c := &Client{cfg: cfg, sockets: newSockets(cfg.Idle)}
	t := cfg.Route.Transport(cfg.TLS)
	t.ForceAttemptHTTP2 = true // where TLS is of our own making, net/http does not offer it automatically
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingInterval, PingTimeout: pingTimeout}
	t.DialContext = c.dial
	t.TLSHandshakeTimeout = tlsTimeout
	t.MaxIdleConnsPerHost, t.IdleConnTimeout = idlePerHost, maxIdle
	t.MaxResponseHeaderBytes = maxHeader
	c.transport = t
	return c
}

// Close ends every exchange and closes every socket.
func (c *Client) Close() {
	c.sockets.close()
	c.transport.CloseIdleConnections()
}

// Want says what an exchange is for, and so which answers to it are good.
type Want int

// The wants.
const (
	// Messages: a JSON-RPC request. Good is a 2xx that holds a JSON-RPC message or is an event stream.
	Messages Want = iota
	// Acceptance: a notification, a response, a DELETE. Good is any 2xx; what it holds is not read.
	Acceptance
	// Stream: a GET for events. Good is a 200 that is an event stream.
	Stream
)

// Request is one exchange to make.
type Request struct {
	Want   Want
	Method string
	// URL is where to, nil for the configured endpoint. It must be of the endpoint's origin.
	URL    *url.URL
	Header http.Header
	Body   []byte
	Phase  failure.Phase
	// Session: the request carries a session id, so a 404 means that the session is lost.
	Session bool
}

// Do makes one exchange. The context bounds all of it, the reading of the answer included. On success the caller
// closes the answer. An error is a *failure.Error, or wraps the cause of the context's end. A request whose token is
// refused by a 401 is sent once more, with another token, where the source of tokens has one.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	target := r.URL
	if target == nil {
		target = c.cfg.Endpoint
	}
	if !sameOrigin(target, c.cfg.Endpoint) {
		return nil, redirectRefused(r.Phase, 0, target)
	}
	token, err := c.cfg.Credentials.token(ctx)
	if err != nil {
		return nil, c.fault(ctx, &r, false, err)
	}
	resp, err := c.exchange(ctx, &r, target, token) //nolint:bodyclose // judge has it
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized {
		resp, err = c.again(ctx, &r, target, token, resp) //nolint:bodyclose // judge has it
		if err != nil {
			return nil, err
		}
	}
	return c.judge(ctx, &r, resp)
}

// again sends a request whose token was refused once more, or returns the refusal where there is no other token. That
// a 401 says that nothing was done makes it safe for every request.
func (c *Client) again(
	ctx context.Context, r *Request, target *url.URL, refused secret.Value, refusal *http.Response,
) (*http.Response, error) {
	another, err := c.cfg.Credentials.renewed(ctx, refused)
	if err == nil && another.IsZero() {
		return refusal, nil
	}
	discard(refusal)
	if err != nil {
		return nil, c.fault(ctx, r, false, err)
	}
	return c.exchange(ctx, r, target, another)
}

// exchange sends a request, following redirects, and returns the answer that is none.
func (c *Client) exchange(
	ctx context.Context, r *Request, target *url.URL, token secret.Value,
) (*http.Response, error) {
	for hop := 0; ; hop++ {
		resp, sent, err := c.send(ctx, r, target, token)
		if err != nil {
			return nil, c.fault(ctx, r, sent, err)
		}
		if resp.StatusCode < 300 || resp.StatusCode > 399 {
			return resp, nil
		}
		discard(resp)
		target, err = follow(r, resp, target, hop)
		if err != nil {
			return nil, err
		}
	}
}

// send makes one HTTP request. sent is true when all of its header may have left.
func (c *Client) send(
	ctx context.Context, r *Request, target *url.URL, token secret.Value,
) (*http.Response, bool, error) {
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, c.cfg.Idle.trace(&sent))
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(traced, r.Method, target.String(), body)
	if err != nil {
		return nil, false, err
	}
	c.cfg.Credentials.apply(req, token)
	if c.cfg.UserAgent != "" {
		req.Header.Set("User-Agent", c.cfg.UserAgent)
	}
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", accepts(r.Want))
	for name, values := range r.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	resp, err := c.transport.RoundTrip(req)
	if err == nil {
		c.cfg.Idle.told(resp.Header, time.Now())
	}
	return resp, sent.Load(), err
}

func accepts(w Want) string {
	if w == Stream {
		return "text/event-stream"
	}
	return "application/json, text/event-stream"
}

// discard closes a body that nobody wants. One that is known to be short is read first, so that its connection can be
// used again; one of unknown length may never end.
func discard(resp *http.Response) {
	if resp.ContentLength > 0 && resp.ContentLength <= 4096 {
		_, _ = io.CopyN(io.Discard, resp.Body, resp.ContentLength)
	}
	_ = resp.Body.Close()
}
