package mcpfake

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

// pki is a server's own certificate authority. It signs the server's certificate and the clients'.
type pki struct {
	demand bool // a client certificate

	mu     sync.Mutex
	ca     *x509.Certificate
	caKey  *ecdsa.PrivateKey
	server tls.Certificate
}

func newPKI(demand bool) (*pki, error) {
	p := &pki{demand: demand}
	return p, p.rotate()
}

// rotate makes a new authority and a new server certificate.
func (p *pki) rotate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generating the CA key: %w", err)
	}
	tmpl := template("mcpfake CA " + newID()[:8])
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
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ca, p.caKey = ca, key
	p.server, err = p.issue("mcpfake", x509.ExtKeyUsageServerAuth)
	return err
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

// issue signs a leaf; it is called with p.mu held.
func (p *pki) issue(name string, usage x509.ExtKeyUsage) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("generating a key: %w", err)
	}
	tmpl := template(name)
	tmpl.KeyUsage, tmpl.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{usage}
	tmpl.DNSNames = []string{"localhost", "mcpfake.test"}
	tmpl.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, p.ca, key.Public(), p.caKey)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("signing a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func (p *pki) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		c := &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{p.server}, SessionTicketsDisabled: true,
		}
		if p.demand {
			c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
			c.ClientCAs.AddCert(p.ca)
		}
		return c, nil
	}}
}

// CAPEM is the certificate of the server's authority; nil without TLS.
func (s *Server) CAPEM() []byte {
	if s.pki == nil {
		return nil
	}
	s.pki.mu.Lock()
	defer s.pki.mu.Unlock()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.pki.ca.Raw})
}

// RotateCA replaces the authority and the server's certificate for new connections.
func (s *Server) RotateCA() error { return s.pki.rotate() }

// ClientPair issues a client certificate of the present authority, as PEM.
func (s *Server) ClientPair() (cert, key []byte, err error) {
	s.pki.mu.Lock()
	defer s.pki.mu.Unlock()
	pair, err := s.pki.issue("client", x509.ExtKeyUsageClientAuth)
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
