package oauthserver

import (
	"crypto/rand"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/mooring-dev/mooring/test/mcpfake/netfault"
)

// ClientID is the identifier of the one client.
const ClientID = "mooring client/1" // has characters that must be escaped in HTTP Basic (RFC 6749 section 2.3.1)

const tokenPath = "/oauth/token"

// Server is one authorization server. All methods are safe for concurrent use.
type Server struct {
	accounts *accounts
	provider *op.Provider
	ln       *netfault.Listener
	ca       *netfault.Authority // nil without TLS

	mu        sync.Mutex
	intercept Intercept
	requests  []Request
}

// Intercept answers a request to the token endpoint in the provider's place, or passes it on.
type Intercept func(w http.ResponseWriter, r *http.Request, provider http.Handler)

// Request is what a request to the token endpoint said.
type Request struct {
	// Basic: the credential came by HTTP Basic, not in the body.
	Basic  bool
	Form   url.Values
	Header http.Header
}

// New starts a server over plain HTTP that accepts the secret, and is closed when the test ends.
func New(tb netfault.TB, secret string) *Server {
	tb.Helper()
	return start(tb, secret, nil)
}

// NewTLS is New over https, with a certificate of an authority of its own.
func NewTLS(tb netfault.TB, secret string) *Server {
	tb.Helper()
	ca, err := netfault.NewAuthority()
	if err != nil {
		tb.Fatalf("making an authority: %v", err)
	}
	return start(tb, secret, ca)
}

func start(tb netfault.TB, secret string, ca *netfault.Authority) *Server {
	tb.Helper()
	listener, err := netfault.Listen("127.0.0.1:0", func() {})
	if err != nil {
		tb.Fatalf("listening: %v", err)
	}
	s := &Server{ln: listener, ca: ca, accounts: newAccounts(secret)}
	config := &op.Config{AuthMethodPost: true}
	if _, err := rand.Read(config.CryptoKey[:]); err != nil {
		tb.Fatalf("making a key: %v", err)
	}
	s.provider, err = op.NewProvider(config, s.accounts, op.StaticIssuer(s.origin()), op.WithAllowInsecure())
	if err != nil {
		tb.Fatalf("making a provider: %v", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(s.serve), ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(s.socket())
	}()
	tb.Cleanup(func() {
		_ = server.Close()
		s.ln.CutAll(false)
		<-ended
	})
	return s
}

func (s *Server) socket() net.Listener {
	if s.ca == nil {
		return s.ln
	}
	return tls.NewListener(s.ln, s.ca.ServerConfig(false))
}

func (s *Server) origin() string {
	if s.ca == nil {
		return "http://" + s.ln.Addr().String()
	}
	return "https://" + s.ln.Addr().String()
}

// TokenURL is the token endpoint.
func (s *Server) TokenURL() string { return s.origin() + tokenPath }

// CAPEM is the certificate of the server's authority; nil without TLS.
func (s *Server) CAPEM() []byte {
	if s.ca == nil {
		return nil
	}
	return s.ca.PEM()
}

// Refuse has connections refused until Restore.
func (s *Server) Refuse() error {
	defer s.ln.CutAll(true)
	return s.ln.Refuse()
}

// Restore undoes Refuse.
func (s *Server) Restore() error { return s.ln.Restore() }

// Intercept stands between the token endpoint and the provider; nil takes that back.
func (s *Server) Intercept(f Intercept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}

// Requests are those that the token endpoint has got.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != tokenPath {
		s.provider.ServeHTTP(w, r)
		return
	}
	_ = r.ParseForm()
	_, _, basic := r.BasicAuth()
	s.mu.Lock()
	s.requests = append(s.requests, Request{Basic: basic, Form: r.PostForm, Header: r.Header.Clone()})
	intercept := s.intercept
	s.mu.Unlock()
	if intercept != nil {
		intercept(w, r, s.provider)
		return
	}
	s.provider.ServeHTTP(w, r)
}

// Protect lets requests with a good access token of this server through to next.
func (s *Server) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !isBearer || !s.Good(shown) {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Good reports whether an access token was minted here, has not ended and was not revoked.
func (s *Server) Good(shown string) bool {
	text, err := s.provider.Crypto().Decrypt(shown)
	id, _, hasSubject := strings.Cut(text, ":")
	return err == nil && hasSubject && s.accounts.good(id)
}
