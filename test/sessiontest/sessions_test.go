package sessiontest

import (
	"slices"
	"testing"

	"github.com/mooring-dev/mooring/internal/session"
)

func TestSessionsIsWhatTheTestSays(t *testing.T) {
	var notified []session.Key
	s := NewSessions(func(key session.Key) { notified = append(notified, key) })
	if _, known := s.Snapshot("a"); known {
		t.Fatal("known before Ensure")
	}
	cfg := session.Config{Connection: "c1", Catalog: "h1", Reconnect: "r1"}
	s.Ensure("a", cfg)
	got, _ := s.Snapshot("a")
	if got.State != session.Connecting || got.Connection != "c1" || got.Catalog != "h1" || got.Reconnect != "r1" {
		t.Fatalf("got %+v", got)
	}
	s.Set("a", session.Snapshot{State: session.Connected})
	s.Ensure("a", cfg)
	if got, _ = s.Snapshot("a"); got.State != session.Connected || s.Ensured("a") != 2 {
		t.Fatalf("got %+v", got)
	}
	cfg.Connection = "c2"
	s.Ensure("a", cfg)
	if got, _ = s.Snapshot("a"); got.State != session.Connecting || got.Connection != "c2" {
		t.Fatalf("what was set outlives its configuration: %+v", got)
	}
	if held, known := s.Config("a"); !known || held.Connection != "c2" {
		t.Fatalf("config %+v", held)
	}
	s.Refresh("a")
	s.Forget("a")
	if _, known := s.Snapshot("a"); known {
		t.Fatal("known after Forget")
	}
	want := []session.Key{"a"}
	if !slices.Equal(notified, want) || !slices.Equal(s.Refreshed(), want) || !slices.Equal(s.Forgotten(), want) {
		t.Fatalf("notified %v, refreshed %v, forgotten %v", notified, s.Refreshed(), s.Forgotten())
	}
	NewSessions(nil).Set("a", session.Snapshot{})
}
