package upstream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
)

// Protocol is the transport to speak.
type Protocol string

// The transports.
const (
	// Auto is Streamable HTTP, or HTTP+SSE where the server shows that it knows only that.
	Auto           Protocol = "Auto"
	StreamableHTTP Protocol = "StreamableHTTP"
	// SSE is the HTTP+SSE transport of 2024-11-05.
	SSE Protocol = "SSE"
)

// Header is one configured header.
type Header = mcphttp.Header

// TokenSource gives a bearer token for each request; see mcphttp.TokenSource.
type TokenSource = mcphttp.TokenSource

// Config is everything needed to connect to one server, with every reference resolved. A connection is replaced when
// the fingerprint of its Config changes (secret.FingerprintOf).
type Config struct {
	// URL is the expanded URL. Its query may hold a credential.
	URL secret.Value
	// Protocol is Auto when empty.
	Protocol Protocol
	// Headers go with every request, to the URL's origin only. Values are trimmed.
	Headers []Header
	// Bearer and TokenSource exclude each other; either sets Authorization.
	Bearer      secret.Value
	TokenSource TokenSource
	// CABundle is PEM that is trusted in addition to the system's roots.
	CABundle []byte
	// ClientCertificate and ClientKey are a PEM pair; zero for none.
	ClientCertificate, ClientKey secret.Value
	// ServerName is expected in the certificate instead of the URL's host.
	ServerName string
	// ProxyURL is the proxy to use; when empty, the environment's (HTTPS_PROXY, HTTP_PROXY, NO_PROXY).
	ProxyURL secret.Value
	// ProtocolVersion, when not empty, is the one version to speak.
	ProtocolVersion string
	// Timeouts.Connect and List are used.
	Timeouts session.Timeouts `fingerprint:"-"`
	// Egress judges every address; it should be of the object's namespace. Nil has the built-in refusals.
	Egress *egress.Policy `fingerprint:"-"`
	// Era is shared by all dialers of the server. Nil: a memory of this Dialer's own.
	Era *EraMemory `fingerprint:"-"`
	// UserAgent, "name/version", is the User-Agent header and the clientInfo of the handshake.
	UserAgent string `fingerprint:"-"`
}

// Errors of NewDialer, besides egress.ErrBadBundle. None holds a value of the configuration.
var (
	ErrBadURL   = errors.New("not an absolute http or https URL with a host")
	ErrBadProxy = errors.New("not a proxy URL")
	// ErrBadPair: the client certificate and its key are no PEM pair.
	ErrBadPair = errors.New("client certificate and key that are not a PEM pair")
	// ErrUnknownVersion: Mooring does not speak the pinned protocol version.
	ErrUnknownVersion = errors.New("protocol version that Mooring does not speak")
)

// endpoint parses the URL without ever repeating it.
func endpoint(text secret.Value) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text.Reveal()))
	if err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, ErrBadURL
	}
	u.Fragment = ""
	return u, nil
}

// proxy is nil for the environment's.
func proxy(text secret.Value) (*url.URL, error) {
	if text.IsZero() {
		return nil, nil //nolint:nilnil // as package egress has it
	}
	u, err := url.Parse(text.Reveal())
	if err != nil || u.Hostname() == "" || !slices.Contains(proxySchemes, u.Scheme) {
		return nil, ErrBadProxy
	}
	return u, nil
}

var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// NewDialer checks cfg and returns a Dialer for it. It connects to nothing.
func NewDialer(cfg Config) (*Dialer, error) {
	target, err := endpoint(cfg.URL)
	if err != nil {
		return nil, err
	}
	credentials := mcphttp.Credentials{Headers: cfg.Headers, Bearer: cfg.Bearer, Tokens: cfg.TokenSource}
	if err := credentials.Check(); err != nil {
		return nil, err
	}
	via, err := proxy(cfg.ProxyURL)
	if err != nil {
		return nil, err
	}
	trust, err := cfg.trust()
	if err != nil {
		return nil, err
	}
	if err := checkVersion(cfg.ProtocolVersion, cfg.Protocol); err != nil {
		return nil, err
	}
	if cfg.Era == nil {
		cfg.Era = &EraMemory{}
	}
	return &Dialer{
		cfg: cfg, client: clientInfo(cfg.UserAgent),
		http: mcphttp.Config{
			Endpoint: target, Credentials: credentials, UserAgent: cfg.UserAgent, Idle: &cfg.Era.idle,
			TLS: trust, Route: egress.NewRoute(cfg.Egress, via),
		},
	}, nil
}

func (cfg *Config) trust() (*tls.Config, error) {
	trust, err := egress.Trust(cfg.CABundle)
	if err != nil {
		return nil, err
	}
	trust.ServerName = cfg.ServerName
	trust.ClientSessionCache = tls.NewLRUClientSessionCache(0) // connections are short-lived
	if cfg.ClientCertificate.IsZero() {
		return trust, nil
	}
	pair, err := tls.X509KeyPair([]byte(cfg.ClientCertificate.Reveal()), []byte(cfg.ClientKey.Reveal()))
	if err != nil { // its text may quote the key
		return nil, ErrBadPair
	}
	trust.Certificates = []tls.Certificate{pair}
	return trust, nil
}

func checkVersion(pin string, transport Protocol) error {
	switch {
	case pin == "", isLegacy(pin):
		return nil
	case pin != modernVersion:
		return fmt.Errorf("%w: %q", ErrUnknownVersion, pin)
	case transport == SSE:
		return fmt.Errorf("%w over the transport SSE: %q", ErrUnknownVersion, pin)
	}
	return nil
}
