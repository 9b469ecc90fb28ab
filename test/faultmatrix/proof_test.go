//go:build unix

package faultmatrix

import (
	"errors"
	"time"

	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// heal ends the fault and proves that the server is of use again: a list over the discovery session, if there is one,
// and a call over the session of the fault's.
func (s *stage) heal(discovery bool) {
	s.t.Helper()
	s.disarm()
	s.timeouts = session.Timeouts{Connect: ample, List: ample, Call: ample, CallMax: ample}
	s.ensure()
	if shot := s.shot(); opened(shot) || s.want.fate == quarantined || s.want.fate == putOff {
		s.wake()
	}
	if discovery {
		s.settle()
		s.sup.Refresh(main)
		s.await("list after the fault", func() bool { return !s.shot().RefreshPending })
		s.settle()
	}
	s.proveCall()
}

// proveCall calls until the server lets it: one that limits us wants to be left alone for a second first.
func (s *stage) proveCall() {
	s.t.Helper()
	for begun := time.Now(); ; {
		err := s.call(s.ctx, main, "a", "echo")
		var no *session.CallRefused
		if !errors.As(err, &no) || no.RetryAfter > 3*time.Second || time.Since(begun) > patience {
			if err != nil {
				s.t.Errorf("the session is of no use afterwards: %v", err)
			}
			return
		}
		timer := time.NewTimer(no.RetryAfter)
		<-timer.C
	}
}

// end lets what was in flight end, closes everything, and demands that nothing is left and nothing was disturbed.
func (s *stage) end(stop func() error) {
	s.t.Helper()
	for _, b := range s.bystanders {
		select {
		case err := <-b.done:
			s.t.Errorf("%s ended early: %v", b.name, err)
			b.done <- err
		default:
		}
	}
	s.fake.Release()
	s.other.Release()
	for _, b := range s.bystanders {
		select {
		case err := <-b.done:
			if err != nil {
				s.t.Errorf("%s was disturbed: %v", b.name, err)
			}
		case <-time.After(patience):
			s.t.Errorf("%s did not end", b.name)
		}
	}
	s.undisturbed()
	begun := time.Now()
	if err := stop(); err != nil {
		s.t.Errorf("closing: %v", err)
	}
	if took := time.Since(begun); took > patience/2 { // nothing is waited for that does not end
		s.t.Errorf("closing took %v", took)
	}
}

// undisturbed demands that the healthy server's sessions lived as if there were no other server.
func (s *stage) undisturbed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.strange {
		s.t.Error(text)
	}
}

// nothingLeft demands that no goroutine and no socket of the cell is left.
func (s *stage) nothingLeft() {
	s.t.Helper()
	var left string
	if !soon(patience, func() bool { left = goroutinesOf(s.at.String()); return left == "" }) {
		s.t.Errorf("goroutines are left:\n%s", left)
	}
	for _, fake := range []*mcpfake.Server{s.fake, s.other} {
		held := 0
		if !soon(patience, func() bool { held, _ = socketsTo(fake.HostPort()); return held == 0 }) {
			s.t.Errorf("%d sockets are left", held)
		}
	}
	if n := s.trap.Conns(); n != 0 {
		s.t.Errorf("%d connections to where nobody was to go", n)
	}
}
