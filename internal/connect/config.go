package connect

import (
	"net/url"

	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
)

// Config is one server's address and credentials with every reference resolved: what a dialer needs to know.
type Config struct {
	// Namespace is the MCPServer's own, for the rules on addresses inside the cluster.
	Namespace string
	// URL is the expanded address; its query may hold a credential.
	URL secret.Value
	// EraKey names the server under this configuration in the process's memory of protocol eras.
	EraKey string
	// Target is the declared address as scheme://host/path, safe to show.
	Target string
	// Protocol is Auto, StreamableHTTP or SSE.
	Protocol string
	Headers  []Header
	// Bearer is the token sent as "Authorization: Bearer …"; zero when none is configured.
	Bearer secret.Value
	// OAuth is set when tokens are minted by the client credentials grant.
	OAuth *OAuth
	// CABundle holds PEM certificates trusted besides the system's.
	CABundle string
	// ClientCertificate and ClientKey are a PEM pair; zero when none is configured.
	ClientCertificate, ClientKey secret.Value
	ServerName                   string
	ProxyURL                     string
	// ProtocolVersion pins the protocol; empty negotiates.
	ProtocolVersion string
	Timeouts        session.Timeouts
	// References tells the versions of all objects that were read, as a hash; empty when there is none. It changes with
	// each write to one of them, and says nothing of what they hold.
	References string
}

// Header is one HTTP header sent with every request.
type Header struct {
	Name  string
	Value secret.Value
}

// OAuth is what the client credentials grant needs (RFC 6749 section 4.4).
type OAuth struct {
	TokenURL               string
	ClientID, ClientSecret secret.Value
	Scopes                 []string
	Audience               string
}

// Fingerprint changes when a connection made to the endpoint would be another one. Timeouts do not count.
func (e *Config) Fingerprint() string {
	parts := []string{
		e.Namespace, e.URL.Reveal(), e.Protocol, e.Bearer.Reveal(), e.CABundle, e.ClientCertificate.Reveal(),
		e.ClientKey.Reveal(), e.ServerName, e.ProxyURL, e.ProtocolVersion,
	}
	for _, header := range e.Headers {
		parts = append(parts, header.Name, header.Value.Reveal())
	}
	if e.OAuth != nil {
		parts = append(parts, "oauth", e.OAuth.TokenURL, e.OAuth.ClientID.Reveal(), e.OAuth.ClientSecret.Reveal(),
			e.OAuth.Audience)
		parts = append(parts, e.OAuth.Scopes...)
	}
	return secret.Fingerprint(parts...)
}

// Address is the host:port that a session dials, with the scheme's default port.
func (e *Config) Address() string {
	raw := e.URL.Reveal()
	parsed, err := url.Parse(raw)
	if err != nil {
		return e.Target
	}
	if parsed.Port() != "" {
		return parsed.Host
	}
	if parsed.Scheme == "http" {
		return parsed.Host + ":80"
	}
	return parsed.Host + ":443"
}
