package netfault

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// Authority is a certificate authority with one server certificate for loopback, localhost and mcpfake.test. Its
// methods are safe for concurrent use.
type Authority struct {
	mu     sync.Mutex
	ca     *x509.Certificate
	caKey  *ecdsa.PrivateKey
	server tls.Certificate
}

// NewAuthority makes an authority; its certificates are valid for a day.
func NewAuthority() (*Authority, error) {
	a := &Authority{}
	return a, a.Rotate()
}

// Rotate replaces the authority's key and certificate, and the server certificate, for new connections.
func (a *Authority) Rotate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generating the CA key: %w", err)
	}
	tmpl := template("mcpfake CA " + rand.Text()[:8])
	tmpl.IsCA, tmpl.BasicConstraintsValid = true, true
	tmpl.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		return fmt.Errorf("creating the CA certificate: %w", err)
	}
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("parsing the CA certificate: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ca, a.caKey = ca, key
	a.server, err = a.issue("mcpfake", x509.ExtKeyUsageServerAuth)
	return err
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

// issue signs a leaf; it is called with a.mu held.
func (a *Authority) issue(name string, usage x509.ExtKeyUsage) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("generating a key: %w", err)
	}
	tmpl := template(name)
	tmpl.KeyUsage, tmpl.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{usage}
	tmpl.DNSNames = []string{"localhost", "mcpfake.test"}
	tmpl.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.ca, key.Public(), a.caKey)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("signing a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// ServerConfig is for a server; demand asks clients for a certificate of the present authority.
func (a *Authority) ServerConfig(demand bool) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		c := &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{a.server}, SessionTicketsDisabled: true,
		}
		if demand {
			c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
			c.ClientCAs.AddCert(a.ca)
		}
		return c, nil
	}}
}

// PEM is the authority's present certificate.
func (a *Authority) PEM() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.ca.Raw})
}

// ClientPair issues a client certificate, as PEM.
func (a *Authority) ClientPair() (cert, key []byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pair, err := a.issue("client", x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the client key: %w", err)
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
