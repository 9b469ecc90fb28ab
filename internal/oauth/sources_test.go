package oauth

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/secret"
)

func plain() Config {
	return Config{
		Namespace: "a", TokenURL: "https://id.example.com/token", ClientID: secret.New("me"),
		ClientSecret: secret.New("s"), Scopes: []string{"x", "y"}, Audience: "z",
	}
}

func source(t *testing.T, s *Sources, cfg Config) *Source {
	t.Helper()
	got, err := s.For(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAlikeGrantsShareASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSources()
		seen := map[*Source]string{source(t, s, plain()): "plain"}
		if _, shared := seen[source(t, s, plain())]; !shared {
			t.Error("two sources of one grant")
		}
		for name, change := range map[string]func(*Config){
			"namespace": func(c *Config) { c.Namespace = "b" },
			"URL":       func(c *Config) { c.TokenURL += "2" },
			"client":    func(c *Config) { c.ClientID = secret.New("you") },
			"secret":    func(c *Config) { c.ClientSecret = secret.New("t") },
			"scopes":    func(c *Config) { c.Scopes = []string{"x y"} },
			"audience":  func(c *Config) { c.Audience, c.Scopes = "", []string{"z", "x", "y"} },
			"authority": func(c *Config) { c.CABundle = certificate(t) },
		} {
			cfg := plain()
			change(&cfg)
			got := source(t, s, cfg)
			if other, shared := seen[got]; shared {
				t.Errorf("a grant with another %s has the source of %s", name, other)
			}
			seen[got] = name
		}
	})
}

func TestSourceThatNobodyUsesIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cfg := NewSources(), plain()
		used := source(t, s, cfg)
		used.mint = (&mints{life: time.Hour}).mint
		cfg.Namespace = "unused"
		source(t, s, cfg)
		time.Sleep(59 * time.Minute)
		if source(t, s, plain()) != used {
			t.Error("forgotten too early")
		}
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if n := len(s.known); n != 1 {
			t.Errorf("%d sources are known", n)
		}
		if _, err := used.Token(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Minute)
		if source(t, s, plain()) != used {
			t.Error("forgotten although a token was asked for")
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if len(s.known) != 0 || s.sweep != nil {
			t.Errorf("%d sources are known, timer %v", len(s.known), s.sweep)
		}
		if source(t, s, plain()) == used {
			t.Error("a forgotten source came back")
		}
	})
}

func TestConfigurationThatCannotWork(t *testing.T) {
	for _, address := range []string{
		"", "id.example.com", "https:///token", "http://id.example.com/token", "https://u:p@id.example.com/", "ftp://h.svc/",
		"https://h/#f", "http://localhost.example.com/", "http://10.0.0.1/", "://",
	} {
		cfg := plain()
		cfg.TokenURL = address
		if _, err := NewSources().For(cfg); !errors.Is(err, ErrBadTokenURL) {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, address := range []string{
		"https://id.example.com:8443/t?tenant=a", "http://localhost:1/", "http://127.0.0.2/", "http://[::1]/",
		"http://Keycloak.id.SVC:8080/", "http://keycloak.id.svc.cluster.local./",
	} {
		cfg := plain()
		cfg.TokenURL = address
		if _, err := NewSources().For(cfg); err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
	cfg := plain()
	cfg.CABundle = []byte("no certificate")
	if _, err := NewSources().For(cfg); !errors.Is(err, egress.ErrBadBundle) {
		t.Errorf("bundle: %v", err)
	}
}
