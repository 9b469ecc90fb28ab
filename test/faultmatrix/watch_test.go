//go:build unix

package faultmatrix

import (
	"context"
	"errors"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// watched is a dialer whose tries are noted where they fail. The other server's are not: it has no faults.
func (s *stage) watched(fake *mcpfake.Server, dialer *upstream.Dialer) session.Dialer {
	if fake != s.fake {
		return dialer
	}
	return &watchedDialer{Dialer: dialer, stage: s}
}

// watchedDialer bounds itself as the dialer does that it watches.
type watchedDialer struct {
	*upstream.Dialer
	stage *stage
}

// Dial implements session.Dialer.
func (d *watchedDialer) Dial(ctx context.Context, watch session.Observer) (session.Conn, error) {
	return d.dial(ctx, watch, d.Dialer.Dial)
}

// DialForCalls implements session.CallDialer.
func (d *watchedDialer) DialForCalls(ctx context.Context, watch session.Observer) (session.Conn, error) {
	return d.dial(ctx, watch, d.Dialer.DialForCalls)
}

func (d *watchedDialer) dial(
	ctx context.Context, watch session.Observer, dial func(context.Context, session.Observer) (session.Conn, error),
) (session.Conn, error) {
	conn, err := dial(ctx, &watchedObserver{Observer: watch, stage: d.stage})
	d.stage.tried(failure.Connect, err)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Conn: conn, stage: d.stage}, nil
}

type watchedConn struct {
	session.Conn
	stage *stage
}

// List implements session.Conn.
func (c *watchedConn) List(ctx context.Context) (*session.Listing, error) {
	listing, err := c.Conn.List(ctx)
	c.stage.tried(failure.List, err)
	return listing, err
}

// Call implements session.Conn. Calls beside the one of the cell are not its tries.
func (c *watchedConn) Call(ctx context.Context, call session.Call) (session.Answer, error) {
	answer, err := c.Conn.Call(ctx, call)
	if call.Tool == "echo" && !errors.Is(context.Cause(ctx), context.Canceled) {
		c.stage.tried(failure.Call, err)
	}
	return answer, err
}

// Probe implements session.Conn.
func (c *watchedConn) Probe(ctx context.Context) error {
	err := c.Conn.Probe(ctx)
	c.stage.tried(failure.Probe, err)
	return err
}

type watchedObserver struct {
	session.Observer
	stage *stage
}

// Lost implements session.Observer. Where a request is under way, it tells of the same.
func (o *watchedObserver) Lost(err error) {
	if o.stage.at.phase == streaming {
		o.stage.tried(failure.Stream, err)
	}
	o.Observer.Lost(err)
}
