package oauth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/oauthserver"
	"github.com/mooring-dev/mooring/test/pace"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// deaf is an observer that does not listen.
type deaf struct{}

func (deaf) ListChanged() {}
func (deaf) Lost(error)   {}
func (deaf) Alive()       {}

// mcp is a connection to an MCP server that lets in who shows a token of the authorization server.
func mcp(t *testing.T, authority *oauthserver.Server) (session.Conn, *mcpfake.Server) {
	t.Helper()
	fake := mcpfake.New(t)
	front := httptest.NewServer(authority.Protect(fake))
	t.Cleanup(front.Close)
	cfg := config(t, authority)
	dialer, err := upstream.NewDialer(upstream.Config{
		URL: secret.New(front.URL + "/mcp"), Egress: cfg.Egress, TokenSource: source(t, cfg),
		Timeouts: sessiontest.Timeouts(session.Timeouts{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := dialer.Dial(t.Context(), deaf{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn, fake
}

func echo(t *testing.T, conn session.Conn) error {
	t.Helper()
	_, err := conn.Call(t.Context(), session.Call{
		Method: "tools/call", Tool: "echo", Params: json.RawMessage(`{"name":"echo","arguments":{"text":"hello"}}`),
	})
	return err
}

// Short-lived tokens are replaced before they end: the server never sees one that has.
func TestCallsWithShortLivedTokens(t *testing.T) {
	pace.Within(t, 2*time.Second, func(life time.Duration) error {
		authority := oauthserver.New(t, clientSecret)
		authority.SetLife(life)
		conn, fake := mcp(t, authority)
		for calls, begun := 1, time.Now(); authority.Minted() < 4; calls++ {
			if err := echo(t, conn); err != nil {
				return fmt.Errorf("call %d, after %d tokens: %w", calls, authority.Minted(), err)
			}
			if time.Since(begun) > 4*life+pace.Patience {
				return fmt.Errorf("%d tokens in %d calls", authority.Minted(), calls)
			}
			<-time.After(20 * time.Millisecond)
		}
		if n := fake.Stats().Opened; n != 1 {
			return fmt.Errorf("%d sessions", n)
		}
		return nil
	})
}

func TestCallWithARevokedToken(t *testing.T) {
	authority := oauthserver.New(t, clientSecret)
	conn, fake := mcp(t, authority)
	authority.Revoke()
	if err := echo(t, conn); err != nil {
		t.Errorf("call: %v", err)
	}
	if fake.Executions("echo") != 1 || authority.Minted() != 2 {
		t.Errorf("%d executions, %d tokens", fake.Executions("echo"), authority.Minted())
	}
	authority.Revoke() // a second time within 10 s: the refusal counts
	err := echo(t, conn)
	f := failure.Classify(err)
	if f.Class != failure.Auth || f.Reason != failure.AuthenticationFailed || f.HTTPStatus != 401 {
		t.Errorf("failure %+v", f)
	}
	if n := authority.Minted(); n != 2 {
		t.Errorf("%d tokens", n)
	}
}
