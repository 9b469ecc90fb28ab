package catalogstore_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
)

func TestChangedIsToldOfChangesOnly(t *testing.T) {
	var told []string
	s := &catalogstore.Store{Changed: func(key string) { told = append(told, key) }}
	offered := catalog.New([]catalog.Tool{{Name: "a"}})
	entry := catalogstore.Entry{Generation: 1, ConfigHash: "h", Listing: "l", Offered: &offered}
	s.Set("x", entry)
	s.Set("x", entry)
	entry.Trouble = catalogstore.Trouble{Class: "transport", Reason: "ConnectionLost", Message: "gone"}
	s.Set("x", entry)
	s.Set("y", catalogstore.Entry{})
	s.Delete("x")
	s.Delete("x")
	if want := []string{"x", "x", "y", "x"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if _, ok := s.Get("x"); ok {
		t.Error("x is there after it was dropped")
	}
	if got, ok := s.Get("y"); !ok || got != (catalogstore.Entry{}) {
		t.Errorf("y is %v, %t", got, ok)
	}
}

func TestZeroStoreTellsNobody(t *testing.T) {
	var s catalogstore.Store
	s.Set("x", catalogstore.Entry{Generation: 7})
	if got, ok := s.Get("x"); !ok || got.Generation != 7 {
		t.Errorf("got %v, %t", got, ok)
	}
	s.Delete("x")
}

// Changed may look at the store: it is called outside of the lock.
func TestChangedMayReadTheStore(t *testing.T) {
	s := &catalogstore.Store{}
	s.Changed = func(key string) { s.Get(key) }
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
	if _, ok := s.Get("x"); ok {
		t.Error("x is there after everybody dropped it")
	}
}
