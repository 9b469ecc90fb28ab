package connect

import (
	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/oauth"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/upstream"
)

// tokens is a source of access tokens. Its fingerprint changes with everything that it is made of.
type tokens interface {
	upstream.TokenSource
	Fingerprint() string
}

// auth declares what authenticates requests: a case for each method of the API.
func (d *declaration) auth(auth *v1alpha1.Auth) {
	switch {
	case auth == nil:
	case auth.Bearer != nil:
		d.text(auth.Bearer.SecretKeyRef, func(value secret.Value) { d.config.Bearer = value })
	case auth.OAuthClientCredentials != nil:
		d.clientCredentials(auth.OAuthClientCredentials)
	}
}

// clientCredentials has tokens minted by the client credentials grant.
func (d *declaration) clientCredentials(declared *v1alpha1.OAuthClientCredentials) *oauth.Config {
	grant := &oauth.Config{
		Namespace: d.namespace, TokenURL: declared.TokenURL, ClientID: secret.New(declared.ClientID.Value),
		Scopes: declared.Scopes, Audience: declared.Audience,
	}
	if reference := declared.ClientID.SecretKeyRef; reference != nil {
		d.text(*reference, func(value secret.Value) { grant.ClientID = value })
	}
	d.text(declared.ClientSecret.SecretKeyRef, func(value secret.Value) { grant.ClientSecret = value })
	d.source = func(c *Connector) (tokens, error) {
		grant.CABundle, grant.Egress, grant.UserAgent = d.config.CABundle, d.config.Egress, d.config.UserAgent
		return c.tokens.For(*grant)
	}
	return grant
}
