package upstream_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

type tokens func(ctx context.Context) (secret.Value, error)

func (f tokens) Token(ctx context.Context) (secret.Value, error) { return f(ctx) }

func TestTokensAreAskedForEachRequest(t *testing.T) {
	s := mcpfake.New(t, mcpfake.WithBearer("first"), mcpfake.WithoutStream())
	cfg := config(t, s.URL())
	var now atomic.Value
	now.Store("first")
	cfg.TokenSource = tokens(func(context.Context) (secret.Value, error) { return secret.New(now.Load().(string)), nil })
	c, _ := dial(t, cfg)
	s.SetBearer("second")
	_, err := c.Call(t.Context(), call("echo", `{}`))
	want{failure.Auth, failure.AuthenticationFailed, 401, true, ""}.check(t, failureOf(t, err))
	now.Store("second")
	if _, err := c.Call(t.Context(), call("echo", `{}`)); err != nil {
		t.Errorf("the new token was not used: %v", err)
	}
}

func TestTokensThatCannotBeHad(t *testing.T) {
	s := mcpfake.New(t)
	cfg := config(t, s.URL())
	cfg.TokenSource = tokens(func(context.Context) (secret.Value, error) {
		return secret.Value{}, errors.New("token endpoint said " + canary)
	})
	want{failure.Auth, failure.TokenAcquisitionFailed, 0, false, ""}.check(t, fail(t, cfg))
	cfg.TokenSource = tokens(func(context.Context) (secret.Value, error) {
		return secret.Value{}, &failure.Error{Failure: failure.Failure{
			Class: failure.Transport, Reason: failure.TokenAcquisitionFailed, Detail: "refused",
		}}
	})
	want{failure.Transport, failure.TokenAcquisitionFailed, 0, false, "refused"}.check(t, fail(t, cfg))
	cfg.TokenSource = tokens(func(context.Context) (secret.Value, error) { return secret.New("a\x01" + canary), nil })
	if f := fail(t, cfg); f.Sent || strings.Contains(f.Detail, canary) {
		t.Errorf("failure = %+v", f)
	}
	if n := s.Stats().Requests; n != 0 {
		t.Errorf("%d requests were sent without a token", n)
	}
}
