package oauthserver

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// What the library's storage calls the client that has the grant.
const storedID, storedSecret = "sid1", "verysecret"

// accounts is the library's storage in memory, with a client, a secret and lives of tokens that a test sets.
type accounts struct {
	*storage.Storage

	mu     sync.Mutex
	secret string
	life   time.Duration
	tokens map[string]time.Time // when each ends, by id
	minted int
}

var _ op.ClientCredentialsStorage = (*accounts)(nil)

// stored is one for all servers: nothing of it changes, and it makes an RSA key.
var stored = sync.OnceValue(func() *storage.Storage {
	return storage.NewStorage(storage.NewUserStore("http://localhost"))
})

func newAccounts(secret string) *accounts {
	return &accounts{
		Storage: stored(), secret: secret, life: 5 * time.Minute, tokens: map[string]time.Time{},
	}
}

// ClientCredentials implements op.ClientCredentialsStorage.
func (a *accounts) ClientCredentials(ctx context.Context, clientID, clientSecret string) (op.Client, error) {
	a.mu.Lock()
	known := clientID == ClientID && clientSecret == a.secret
	a.mu.Unlock()
	if !known {
		return nil, errors.New("another client or secret")
	}
	return a.Storage.ClientCredentials(ctx, storedID, storedSecret)
}

// ClientCredentialsTokenRequest implements op.ClientCredentialsStorage.
func (a *accounts) ClientCredentialsTokenRequest(
	ctx context.Context, _ string, scopes []string,
) (op.TokenRequest, error) {
	return a.Storage.ClientCredentialsTokenRequest(ctx, storedID, scopes)
}

// CreateAccessToken implements op.Storage. The end that it tells the provider is half a second late, as that rounds
// what is left down to whole seconds when it tells the client.
func (a *accounts) CreateAccessToken(context.Context, op.TokenRequest) (string, time.Time, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id, end := rand.Text(), time.Now().Add(a.life)
	a.tokens[id] = end
	a.minted++
	return id, end.Add(time.Second / 2), nil
}

func (a *accounts) good(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Now().Before(a.tokens[id])
}

// SetSecret replaces the client's secret. Tokens that were minted stay good.
func (s *Server) SetSecret(secret string) {
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	s.accounts.secret = secret
}

// SetLife sets how long tokens live that are minted from now on; 5 minutes at first. Whole seconds are told exactly.
func (s *Server) SetLife(life time.Duration) {
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	s.accounts.life = life
}

// Revoke ends every token that was minted so far.
func (s *Server) Revoke() {
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	clear(s.accounts.tokens)
}

// Minted is how many tokens the provider has made.
func (s *Server) Minted() int {
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	return s.accounts.minted
}
