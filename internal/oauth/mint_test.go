package oauth

import (
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/oauth2"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/test/mcpfake/netfault"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the provider's
	goleak.VerifyTestMain(m)
}

func certificate(t *testing.T) []byte {
	t.Helper()
	ca, err := netfault.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return ca.PEM()
}

func TestAcceptedTokens(t *testing.T) {
	began := time.Now()
	received := began.Add(3 * time.Second)
	for name, c := range map[string]struct {
		answer oauth2.Token
		life   time.Duration
	}{
		"with a life": {oauth2.Token{AccessToken: "a.b", TokenType: "bearer", Expiry: received.Add(time.Minute)},
			time.Minute},
		"without a life": {oauth2.Token{AccessToken: "a.b", TokenType: "BEARER"}, 5 * time.Minute},
		"without a type": {oauth2.Token{AccessToken: "a.b"}, 5 * time.Minute},
	} {
		got, err := accept(&c.answer, began, received)
		if err != nil || got.value.Reveal() != "a.b" || !got.minted.Equal(began) || got.life() != c.life {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestRefusedTokens(t *testing.T) {
	const acquisition = failure.TokenAcquisitionFailed
	now := time.Now()
	for name, answer := range map[string]oauth2.Token{
		"another type":      {AccessToken: "a", TokenType: "DPoP"},
		"empty":             {},
		"line break":        {AccessToken: "a\r\nX: CANARY"},
		"NUL":               {AccessToken: "a\x00"},
		"space":             {AccessToken: "a b"},
		"beyond ASCII":      {AccessToken: "é"},
		"ended on arrival":  {AccessToken: "a", Expiry: now.Add(-time.Second)},
		"without any life ": {AccessToken: "a", Expiry: now},
	} {
		got, err := accept(&answer, now, now)
		if !got.value.IsZero() || err == nil || err.Class != failure.Protocol || err.Reason != acquisition {
			t.Errorf("%s: %v", name, err)
		}
	}
}
