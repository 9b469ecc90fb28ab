package shelf_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/shelf"
)

func TestChangedIsToldOfChangesOnly(t *testing.T) {
	var told []string
	s := &shelf.Shelf{Changed: func(key string) { told = append(told, key) }}
	offered := catalog.New([]catalog.Tool{{Name: "a"}})
	item := shelf.Item{Generation: 1, ConfigHash: "h", Listing: "l", Offered: &offered}
	s.Put("x", item)
	s.Put("x", item)
	item.Trouble = shelf.Trouble{Class: "transport", Reason: "ConnectionLost", Message: "gone"}
	s.Put("x", item)
	s.Put("y", shelf.Item{})
	s.Drop("x")
	s.Drop("x")
	if want := []string{"x", "x", "y", "x"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if _, ok := s.Item("x"); ok {
		t.Error("x is there after it was dropped")
	}
	if got, ok := s.Item("y"); !ok || got != (shelf.Item{}) {
		t.Errorf("y is %v, %t", got, ok)
	}
}

func TestZeroShelfTellsNobody(t *testing.T) {
	var s shelf.Shelf
	s.Put("x", shelf.Item{Generation: 7})
	if got, ok := s.Item("x"); !ok || got.Generation != 7 {
		t.Errorf("got %v, %t", got, ok)
	}
	s.Drop("x")
}

// Changed may look at the shelf: it is called outside of the lock.
func TestChangedMayReadTheShelf(t *testing.T) {
	s := &shelf.Shelf{}
	s.Changed = func(key string) { s.Item(key) }
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for i := range 100 {
				s.Put("x", shelf.Item{Generation: int64(i)})
				s.Drop("x")
			}
		})
	}
	writers.Wait()
	if _, ok := s.Item("x"); ok {
		t.Error("x is there after everybody dropped it")
	}
}
