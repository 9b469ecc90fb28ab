package sessiontest

import (
	"context"
	"errors"
	"testing"

	"github.com/mooring-dev/mooring/internal/session"
)

// deaf is an Observer that nobody listens to.
type deaf struct{}

func (deaf) ListChanged() {}
func (deaf) Alive()       {}
func (deaf) Lost(error)   {}

func TestServerSucceedsWithoutAScript(t *testing.T) {
	s := NewServer(Script{Info: session.Info{Name: "fake"}})
	if s.Newest() != nil {
		t.Fatal("a connection before the first dial")
	}
	conn, err := s.Dial(t.Context(), deaf{})
	if err != nil || conn.Info().Name != "fake" || s.Newest() != conn || len(s.DialTimes()) != 1 {
		t.Fatalf("dialled %+v, %v", conn, err)
	}
	listing, err := conn.List(t.Context())
	if err != nil || len(listing.Tools) != 1 {
		t.Fatalf("listed %+v, %v", listing, err)
	}
	answer, err := conn.Call(t.Context(), session.Call{})
	if err != nil || string(answer.Result) != "{}" {
		t.Fatalf("answered %+v, %v", answer, err)
	}
	if err := errors.Join(conn.Probe(t.Context()), conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	want := Counts{Dials: 1, Lists: 1, Calls: 1, Probes: 1, Closes: 1, MostOpen: 1}
	if got := s.Counts(); got != want {
		t.Fatalf("counted %+v", got)
	}
}

func TestServerBehavesByScript(t *testing.T) {
	broken := errors.New("broken")
	var requests []int
	step := func(_ context.Context, n int) error { requests = append(requests, n); return broken }
	s := NewServer(Script{Dial: step})
	if _, err := s.Dial(t.Context(), deaf{}); !errors.Is(err, broken) || s.Newest() != nil {
		t.Fatalf("dialled in spite of %v", err)
	}
	s.Script(Script{
		List: func(ctx context.Context, n int) (*session.Listing, error) { return nil, step(ctx, n) },
		Call: func(ctx context.Context, n int, _ session.Call) (session.Answer, error) {
			return session.Answer{}, step(ctx, n)
		},
		Probe: step, Close: step,
	})
	conn, err := s.Dial(t.Context(), deaf{})
	if err != nil {
		t.Fatal(err)
	}
	_, listed := conn.List(t.Context())
	_, called := conn.Call(t.Context(), session.Call{})
	for _, err := range []error{listed, called, conn.Probe(t.Context()), conn.Close(t.Context())} {
		if !errors.Is(err, broken) {
			t.Fatalf("got %v", err)
		}
	}
	if len(requests) != 5 || s.Counts().Open != 0 {
		t.Fatalf("requests %v, counts %+v", requests, s.Counts())
	}
}
