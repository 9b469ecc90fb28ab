package oauth

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/secret"
)

// Config is what a Source is made of. Sources are shared by its fingerprint (secret.FingerprintOf).
type Config struct {
	// Namespace is that of the object that declares the grant. Sources are not shared between namespaces.
	Namespace string
	// TokenURL is the token endpoint: https, or http where the host is loopback or ends in .svc.
	TokenURL               string
	ClientID, ClientSecret secret.Value
	// Scopes and Audience are asked for where they are not empty.
	Scopes   []string
	Audience string
	// CABundle is PEM that is trusted in addition to the system's roots.
	CABundle []byte
	// Egress judges every address dialled; it should be the namespace's. Nil has the built-in refusals.
	Egress *egress.Policy `fingerprint:"-"`
	// UserAgent is the User-Agent header, "name/version".
	UserAgent string `fingerprint:"-"`
}

// ErrBadTokenURL is an error of Sources.For, besides egress.ErrBadBundle. It holds no value of the configuration.
var ErrBadTokenURL = errors.New("token URL that is not https, or http to a host that is loopback or ends in .svc")

// checkURL judges the token URL without ever repeating it.
func (c *Config) checkURL() error {
	u, err := url.Parse(c.TokenURL)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return ErrBadTokenURL
	}
	if u.Scheme == "https" || u.Scheme == "http" && near(u.Hostname()) {
		return nil
	}
	return ErrBadTokenURL
}

// near reports whether a credential may go to the host in clear: it stays on the machine or in the cluster.
func near(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	return name == "localhost" || strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".svc.cluster.local")
}
