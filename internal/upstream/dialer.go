package upstream

import (
	"context"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
	"github.com/mooring-dev/mooring/internal/upstream/transport"
)

// maxDiscover bounds the wait for server/discover where the era is not known.
const maxDiscover = 10 * time.Second

// Dialer opens connections to one server. It is safe for concurrent use.
type Dialer struct {
	cfg    Config
	client implementation
	http   mcphttp.Config
}

var (
	_ session.Dialer  = (*Dialer)(nil)
	_ session.Bounded = (*Dialer)(nil)
)

// Bound implements session.Bounded: the handshake of a remembered era, the question, and the handshake that follows
// from the answer each take timeouts.connect at most.
func (d *Dialer) Bound() time.Duration { return 3 * d.cfg.Timeouts.Connect }

// Dial implements session.Dialer. It bounds itself: the question for the era by min(10 s, connect/3), and each
// handshake by timeouts.connect. ctx may end it at any time; the answer to initialize is then waited
// for, for a second, and what must be said to the server (DELETE) takes at most another.
func (d *Dialer) Dial(ctx context.Context, watch session.Observer) (session.Conn, error) {
	c, era, err := d.connect(ctx, watch)
	if err != nil {
		return nil, err
	}
	c.standing(era)
	return c, nil
}

// DialForCalls implements session.CallDialer: it is Dial without a standing stream, where the transport is not one.
func (d *Dialer) DialForCalls(ctx context.Context, watch session.Observer) (session.Conn, error) {
	c, _, err := d.connect(ctx, watch)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// connect chooses the handshake by what is configured and known.
func (d *Dialer) connect(ctx context.Context, watch session.Observer) (*conn, Era, error) {
	pin := d.cfg.ProtocolVersion
	switch {
	case pin == modernVersion:
		return d.pinnedModern(ctx, watch)
	case d.cfg.Protocol == SSE:
		return d.legacySSE(ctx, watch)
	case pin != "":
		return d.legacy(ctx, watch)
	}
	return d.negotiate(ctx, watch)
}

// negotiate goes by what is known of the server, and asks where that is nothing or turns out to be wrong.
func (d *Dialer) negotiate(ctx context.Context, watch session.Observer) (*conn, Era, error) {
	known := d.cfg.Era.recall()
	var (
		c   *conn
		era Era
		err error
	)
	switch {
	case known == LegacySSE && d.cfg.Protocol != StreamableHTTP:
		c, era, err = d.legacySSE(ctx, watch)
	case known == Legacy:
		c, era, err = d.legacy(ctx, watch)
	default:
		return d.ask(ctx, watch, known == Modern)
	}
	if err == nil || !protocolFault(err) {
		return c, era, err
	}
	d.cfg.Era.Forget()
	if known == Legacy && !wantsModern(err) {
		return nil, "", err
	}
	return d.ask(ctx, watch, false)
}

// protocolFault reports whether a failure says something about what the server speaks.
func protocolFault(err error) bool {
	f := failure.In(err)
	return f.Policy().Discover == failure.ReadAnswer && f.Reason != failure.TLSVerificationFailed &&
		f.Reason != failure.AddressNotAllowed && f.Reason != failure.RedirectRefused &&
		f.Reason != failure.TokenAcquisitionFailed
}

// ask sends server/discover first, and goes by the answer. confirmed: the server is known to be modern, so only a clear
// answer makes it legacy, and the question is the handshake, with the time of one.
func (d *Dialer) ask(ctx context.Context, watch session.Observer, confirmed bool) (*conn, Era, error) {
	limit := min(maxDiscover, d.cfg.Timeouts.Connect/3)
	if confirmed {
		limit = d.cfg.Timeouts.Connect
	}
	c, v := d.discover(ctx, watch, limit)
	switch {
	case v.era == Modern:
		d.cfg.Era.Confirm(Modern)
		return c, Modern, nil
	case v.era == "" || confirmed && !v.confirmed:
		return nil, "", v.err
	}
	legacy, era, err := d.legacy(ctx, watch)
	if err != nil {
		return nil, "", d.notLegacy(v, err)
	}
	switch {
	case era == LegacySSE || v.confirmed:
		d.cfg.Era.Confirm(era)
	case v.hung:
		d.cfg.Era.hung()
	}
	return legacy, era, nil
}

// notLegacy is the failure of an attempt in which neither handshake succeeded. A server that refuses initialize since
// it speaks the modern version is modern, and what failed is its answer to server/discover.
func (d *Dialer) notLegacy(asked discoverOutcome, err error) error {
	if asked.err == nil || !speaksModern(err) {
		return err
	}
	if !asked.confirmed {
		d.cfg.Era.Confirm(Modern)
	}
	return asked.err
}

// discover asks for the era. A connection comes with a discoverOutcome of Modern only.
func (d *Dialer) discover(ctx context.Context, watch session.Observer, limit time.Duration) (*conn, discoverOutcome) {
	t := transport.NewStreamable(d.newClient(watch), watch, true)
	t.Agree(modernVersion)
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	m, err := discover(bounded, t, d.client)
	v := judgeDiscover(ctx, m, err)
	if v.era != Modern {
		t.Close()
		return nil, v
	}
	return d.newConn(t, t, watch, v.hello), v
}

func (d *Dialer) pinnedModern(ctx context.Context, watch session.Observer) (*conn, Era, error) {
	c, v := d.discover(ctx, watch, d.cfg.Timeouts.Connect)
	switch {
	case v.era == Modern:
		return c, Modern, nil
	case v.confirmed && statusOf(v.err) == 0: // it said so in JSON-RPC
		return nil, "", noCommonVersion([]string{modernVersion}, v.theirs, 0)
	}
	return nil, "", v.err
}

// legacy shakes hands by initialize over Streamable HTTP and, where the answer looks like it and the configuration lets
// it, over HTTP+SSE, within one timeouts.connect.
func (d *Dialer) legacy(ctx context.Context, watch session.Observer) (*conn, Era, error) {
	bounded, cancel := context.WithTimeout(ctx, d.cfg.Timeouts.Connect)
	defer cancel()
	t := transport.NewStreamable(d.newClient(watch), watch, false)
	h, err := d.initialize(bounded, t)
	if err == nil {
		return d.newConn(t, t, watch, h), Legacy, nil
	}
	t.Close()
	if d.cfg.Protocol == StreamableHTTP || !looksLegacySSE(err) {
		return nil, "", err
	}
	c, era, sseErr := d.legacySSE(bounded, watch)
	if sseErr != nil {
		return nil, "", err // of the transport that was more likely meant
	}
	return c, era, nil
}

func (d *Dialer) legacySSE(ctx context.Context, watch session.Observer) (*conn, Era, error) {
	bounded, cancel := context.WithTimeout(ctx, d.cfg.Timeouts.Connect)
	defer cancel()
	client := d.newClient(watch)
	t, err := transport.OpenLegacySSE(bounded, client, d.http.Endpoint, watch)
	if err != nil {
		client.Close()
		return nil, "", err
	}
	h, err := d.initialize(bounded, t)
	if err != nil {
		t.Close()
		return nil, "", err
	}
	return d.newConn(t, nil, watch, h), LegacySSE, nil
}

func (d *Dialer) initialize(ctx context.Context, t transport.Transport) (*hello, error) {
	version, pinned := legacyVersions[0], false
	if pin := d.cfg.ProtocolVersion; pin != "" {
		version, pinned = pin, true
	}
	h, err := initialize(ctx, t, d.client, version, pinned)
	if err == nil && pinned && h.info.ProtocolVersion != version {
		return nil, noCommonVersion([]string{version}, []string{h.info.ProtocolVersion}, 0)
	}
	return h, err
}

func (d *Dialer) newClient(watch session.Observer) *mcphttp.Client {
	cfg := d.http
	cfg.Alive = watch.Alive
	return mcphttp.New(cfg)
}
