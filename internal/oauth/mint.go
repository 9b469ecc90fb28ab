package oauth

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
)

// defaultLife is that of a token whose answer has no expires_in.
const defaultLife = 5 * time.Minute

// minter asks the token endpoint. Its method mint is called by one goroutine at a time.
type minter struct {
	client *http.Client
	grant  clientcredentials.Config
	// style is the way of showing the credential that has worked, zero when none has.
	style oauth2.AuthStyle
}

func newMinter(cfg Config) (*minter, error) {
	if err := cfg.checkURL(); err != nil {
		return nil, err
	}
	trust, err := egress.Trust(cfg.CABundle)
	if err != nil {
		return nil, err
	}
	m := &minter{
		client: &http.Client{
			Transport:     newExchange(cfg.Egress, trust, cfg.UserAgent),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		grant: clientcredentials.Config{
			ClientID: cfg.ClientID.Reveal(), ClientSecret: cfg.ClientSecret.Reveal(), TokenURL: cfg.TokenURL,
			Scopes: slices.Clone(cfg.Scopes),
		},
	}
	if cfg.Audience != "" {
		m.grant.EndpointParams = url.Values{"audience": {cfg.Audience}}
	}
	return m, nil
}

// mint gets a new token. The library's own choice between the two ways of showing the credential is not used, as it
// sends every request again that failed, whatever it failed with.
func (m *minter) mint(ctx context.Context) (token, *failure.Error) {
	if m.style != oauth2.AuthStyleAutoDetect {
		return m.ask(ctx, m.style)
	}
	got, err := m.ask(ctx, oauth2.AuthStyleInHeader)
	if err == nil {
		m.style = oauth2.AuthStyleInHeader
		return got, nil
	}
	if !styleMayMatter(err) {
		return token{}, err
	}
	got, other := m.ask(ctx, oauth2.AuthStyleInParams)
	if other == nil {
		m.style = oauth2.AuthStyleInParams
		return got, nil
	}
	if !other.Policy().Retires || err.Detail != invalidClient && other.Detail == invalidClient {
		return token{}, other
	}
	return token{}, err
}

// styleMayMatter reports whether a refusal may be for the way in which the credential was shown.
func styleMayMatter(err *failure.Error) bool {
	switch err.HTTPStatus {
	case http.StatusOK, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		return err.Policy().Retires
	}
	return false
}

// ask makes one request to the token endpoint.
func (m *minter) ask(ctx context.Context, style oauth2.AuthStyle) (token, *failure.Error) {
	grant := clientcredentials.Config{
		ClientID: m.grant.ClientID, ClientSecret: m.grant.ClientSecret, TokenURL: m.grant.TokenURL,
		Scopes: m.grant.Scopes, EndpointParams: m.grant.EndpointParams, AuthStyle: style,
	}
	began := time.Now()
	answer, err := grant.Token(context.WithValue(ctx, oauth2.HTTPClient, m.client))
	if err != nil {
		return token{}, named(err)
	}
	return accept(answer, began, time.Now())
}

// accept judges an answer that holds a token. Its life began when it was asked for.
func accept(answer *oauth2.Token, began, received time.Time) (token, *failure.Error) {
	life := defaultLife
	if !answer.Expiry.IsZero() {
		life = answer.Expiry.Sub(received)
	}
	switch {
	case answer.Type() != "Bearer":
		return token{}, fault(failure.Protocol, "the token server gave a token of another type than Bearer")
	case !sendable(answer.AccessToken):
		return token{}, fault(failure.Protocol, "the token server gave a token with characters that no token may have")
	case life <= 0:
		return token{}, fault(failure.Protocol, "the token server gave a token that had ended")
	}
	return token{value: secret.New(answer.AccessToken), minted: began, expire: began.Add(life)}, nil
}

// sendable reports whether a token can stand in a header: visible ASCII (RFC 6750 section 2.1 allows even less).
func sendable(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}
