// Package oauthserver is an OAuth 2.0 authorization server on a real loopback socket, for tests: the OpenID provider of
// github.com/zitadel/oidc with one client that may use the client credentials grant.
//
// A test rotates the client's secret, sets how long tokens live, revokes them, takes the server off the network and
// brings it back, or stands between a request and the provider (Intercept) where a fault is wanted that a provider does
// not produce. Protect puts the check of its tokens before a resource server: what was not minted here, has ended or
// was revoked is answered with 401.
package oauthserver
