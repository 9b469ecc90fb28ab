package upstream_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/upstream"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// renewable gives one token until it is told that it was refused.
type renewable struct {
	now, next string
	err       error
	renewals  atomic.Int32
}

func (r *renewable) Token(context.Context) (secret.Value, error) { return secret.New(r.now), nil }

func (r *renewable) Renew(_ context.Context, refused secret.Value) (secret.Value, error) {
	r.renewals.Add(1)
	if refused.Reveal() != r.now {
		return secret.Value{}, errors.New("not the refused token")
	}
	if r.err == nil {
		r.now = r.next
	}
	return secret.New(r.next), r.err
}

func TestRefusedTokenIsReplacedOnce(t *testing.T) {
	s := mcpfake.New(t, mcpfake.WithBearer("second"), mcpfake.WithoutStream())
	cfg, source := config(t, s.URL()), &renewable{now: "first", next: "second"}
	cfg.TokenSource = source
	c, _ := dial(t, cfg)
	if _, err := c.Call(t.Context(), call("echo", `{"text":"hello"}`)); err != nil {
		t.Errorf("call: %v", err)
	}
	if n := source.renewals.Load(); n != 1 {
		t.Errorf("%d renewals", n)
	}
	if n := s.Executions("echo"); n != 1 {
		t.Errorf("%d executions", n)
	}
}

func TestRefusedTokenThatCannotBeReplaced(t *testing.T) {
	outage := &failure.Error{Failure: failure.Failure{
		Class: failure.Server, Reason: failure.TokenAcquisitionFailed, HTTPStatus: 503,
	}}
	for name, c := range map[string]struct {
		next string
		err  error
		want want
	}{
		"there is no other":        {"", nil, want{failure.Auth, failure.AuthenticationFailed, 401, true, ""}},
		"the other is refused too": {"third", nil, want{failure.Auth, failure.AuthenticationFailed, 401, true, ""}},
		"the token server is down": {"", outage, want{failure.Server, failure.TokenAcquisitionFailed, 503, false, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			s := mcpfake.New(t, mcpfake.WithBearer("first"), mcpfake.WithoutStream())
			cfg, source := config(t, s.URL()), &renewable{now: "first", next: c.next, err: c.err}
			cfg.TokenSource = source
			conn, _ := dial(t, cfg)
			s.AwaitCount(t, "GET", 1) // the last request that a connection makes on its own
			s.SetBearer("second")
			before := s.Stats().Requests
			_, err := conn.Call(t.Context(), call("echo", `{}`))
			c.want.check(t, failureOf(t, err))
			sent := 1
			if c.next != "" {
				sent = 2
			}
			if n := s.Stats().Requests - before; n != sent || source.renewals.Load() != 1 {
				t.Errorf("%d requests, %d renewals", n, source.renewals.Load())
			}
		})
	}
}

// A token that is not available tells nothing of the server: it is not asked in another way, and its era is kept.
func TestMissingTokenTellsNothingOfTheEra(t *testing.T) {
	for _, class := range []failure.Class{
		failure.Auth, failure.Server, failure.Timeout, failure.Transport, failure.Protocol, failure.RateLimit,
	} {
		t.Run(string(class), func(t *testing.T) {
			s := mcpfake.New(t)
			cfg, asked := config(t, s.URL()), 0
			cfg.Era = &upstream.EraMemory{}
			cfg.TokenSource = tokens(func(context.Context) (secret.Value, error) {
				asked++
				return secret.Value{}, &failure.Error{Failure: failure.Failure{
					Class: class, Reason: failure.TokenAcquisitionFailed, HTTPStatus: 302,
				}}
			})
			want{class, failure.TokenAcquisitionFailed, 302, false, ""}.check(t, fail(t, cfg))
			cfg.Era.Confirm(upstream.Legacy)
			want{class, failure.TokenAcquisitionFailed, 302, false, ""}.check(t, fail(t, cfg))
			if asked != 2 {
				t.Errorf("a token was asked for %d times", asked)
			}
		})
	}
}

// A deadline that passed while a token was waited for says so.
func TestDeadlineWhileWaitingForAToken(t *testing.T) {
	s := mcpfake.New(t)
	cfg := config(t, s.URL())
	cfg.Timeouts.Connect = 1
	cfg.TokenSource = tokens(func(ctx context.Context) (secret.Value, error) {
		<-ctx.Done()
		return secret.Value{}, &failure.Error{Failure: failure.Failure{
			Class: failure.Timeout, Reason: failure.TokenAcquisitionFailed, Detail: "slow",
		}}
	})
	want{failure.Timeout, failure.TokenAcquisitionFailed, 0, false, "slow"}.check(t, fail(t, cfg))
}
