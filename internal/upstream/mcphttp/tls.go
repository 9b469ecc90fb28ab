package mcphttp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// ErrBadBundle says that a CA bundle holds no certificate.
var ErrBadBundle = errors.New("CA bundle without a certificate in PEM form")

// TLSConfig trusts the system's roots and those of the bundle (PEM, may be empty), presents cert if it is not nil, and
// expects serverName if it is not empty.
func TLSConfig(bundle []byte, cert *tls.Certificate, serverName string) (*tls.Config, error) {
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: serverName,
		ClientSessionCache: tls.NewLRUClientSessionCache(0), // connections are short-lived
	}
	if len(bundle) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool() // an image without a trust store still trusts the bundle
		}
		if !roots.AppendCertsFromPEM(bundle) {
			return nil, ErrBadBundle
		}
		cfg.RootCAs = roots
	}
	if cert != nil {
		cfg.Certificates = []tls.Certificate{*cert}
	}
	return cfg, nil
}
