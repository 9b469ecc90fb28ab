package catalogstore_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// noSessions holds none.
type noSessions struct{}

func (noSessions) Snapshot(session.Key) (session.Snapshot, bool) { return session.Snapshot{}, false }

// How a session is is read at the moment of asking, and not kept with the decision.
func TestSnapshotIsLive(t *testing.T) {
	sessions := sessiontest.NewSessions(nil)
	s := &catalogstore.Store{Sessions: sessions}
	s.Set("x", catalogstore.Entry{Generation: 1})
	if got := s.Get("x"); got.Snapshot != nil || got.Entry == nil {
		t.Errorf("without a session: %v", got)
	}
	sessions.Ensure("x", session.Config{})
	for _, state := range []session.State{session.Connecting, session.Connected} {
		sessions.Set("x", session.Snapshot{State: state})
		if got := s.Get("x"); got.Snapshot == nil || got.Snapshot.State != state || got.Entry.Generation != 1 {
			t.Errorf("while %s: %v", state, got)
		}
	}
}

func TestChangedIsToldOfChangesOnly(t *testing.T) {
	var told []session.Key
	s := &catalogstore.Store{Sessions: noSessions{}, Changed: func(key session.Key) { told = append(told, key) }}
	offered := catalog.New([]catalog.Tool{{Name: "a"}})
	entry := catalogstore.Entry{Generation: 1, ConfigHash: "h", Listing: "l", Offered: &offered}
	s.Set("x", entry)
	s.Set("x", entry)
	entry.Trouble = catalogstore.Trouble{Class: "transport", Reason: "ConnectionLost", Message: "gone"}
	s.Set("x", entry)
	s.Set("y", catalogstore.Entry{})
	s.Delete("x")
	s.Delete("x")
	s.Notify("z")
	if want := []session.Key{"x", "x", "y", "x", "z"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if s.Get("x").Entry != nil {
		t.Error("x is there after it was dropped")
	}
	if got := s.Get("y").Entry; got == nil || *got != (catalogstore.Entry{}) {
		t.Errorf("y is %v", got)
	}
}

func TestStoreWithoutChangedTellsNobody(t *testing.T) {
	s := catalogstore.Store{Sessions: noSessions{}}
	s.Set("x", catalogstore.Entry{Generation: 7})
	if got := s.Get("x").Entry; got == nil || got.Generation != 7 {
		t.Errorf("got %v", got)
	}
	s.Delete("x")
}

// Changed may look at the store: it is called outside of the lock.
func TestChangedMayReadTheStore(t *testing.T) {
	s := &catalogstore.Store{Sessions: noSessions{}}
	s.Changed = func(key session.Key) { s.Get(key) }
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for i := range 100 {
				s.Set("x", catalogstore.Entry{Generation: int64(i)})
				s.Delete("x")
			}
		})
	}
	writers.Wait()
	if s.Get("x").Entry != nil {
		t.Error("x is there after everybody dropped it")
	}
}
