package session

import (
	"fmt"
	"testing"
	"time"
)

func TestSuspicion(t *testing.T) {
	now := time.Date(2026, 8, 18, 12, 0, 0, 0, time.UTC)
	name := func(i int) Key { return Key(fmt.Sprint(i)) }
	fleet := func(n int) *suspicion {
		s := &suspicion{}
		for range n {
			s.joined()
		}
		return s
	}
	t.Run("more than half of at least ten", func(t *testing.T) {
		s := fleet(20)
		for i := range 10 {
			if s.failed(name(i), now) {
				t.Fatalf("suspected at %d of 20", i+1)
			}
			if s.failed(name(i), now) {
				t.Fatal("one server counts twice")
			}
		}
		if !s.failed(name(10), now) {
			t.Fatal("not suspected at 11 of 20")
		}
	})
	t.Run("fewer than ten are no fleet", func(t *testing.T) {
		s := fleet(9)
		for i := range 9 {
			if s.failed(name(i), now) {
				t.Fatal("suspected")
			}
		}
	})
	t.Run("within 30 s", func(t *testing.T) {
		s := fleet(10)
		for i := range 20 {
			if s.failed(name(i), now.Add(time.Duration(i)*7*time.Second)) {
				t.Fatal("suspected over a minute")
			}
		}
	})
	t.Run("the forgotten do not count", func(t *testing.T) {
		s := fleet(20)
		for i := range 10 {
			s.failed(name(i), now)
		}
		s.left(name(0))
		s.joined()
		if s.failed(name(10), now) {
			t.Fatal("suspected")
		}
	})
}
