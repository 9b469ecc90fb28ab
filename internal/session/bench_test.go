package session_test

import (
	"context"
	"testing"

	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// BenchmarkCall is what supervision costs a call that is answered at once.
func BenchmarkCall(b *testing.B) {
	s := session.New(gateway())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	cfg := config(sessiontest.NewServer(calling()))
	cfg.Calls.MaxConcurrent = 64
	s.Ensure("a", cfg)
	for {
		if _, err := s.Call(ctx, "a", me, tool("x")); err == nil {
			break
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Call(ctx, "a", me, tool("x")); err != nil {
			b.Fatal(err)
		}
	}
	cancel()
	<-done
}
