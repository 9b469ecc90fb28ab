//go:build unix

package faultmatrix

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// play runs a cell and returns what followed from the fault.
func (s *stage) play() (got want) {
	s.begin(s.at.phase != calling && s.at.phase != repeating)
	labelled(s.t.Context(), s.at.String(), func(ctx context.Context) {
		running, cancel := context.WithCancel(context.WithoutCancel(ctx))
		s.ctx = running
		done := make(chan error, 1)
		go func() { done <- s.sup.Run(running) }()
		stop := func() error { cancel(); return <-done }
		defer s.end(stop)
		begun := time.Now()
		s.sup.Ensure(healthy, s.config(s.other, "", s.timeouts))
		s.await("running supervisor", func() bool { return s.call(running, healthy, "b", "echo") == nil })
		s.beside("the call to the healthy server", healthy, s.other, "b")
		s.brief = min(max(4*time.Since(begun), s.least), longest)
		got = map[phase]func() want{
			connecting: s.connect, listing: s.list, refreshing: s.refresh, calling: s.callTool, repeating: s.callTool,
			probing: s.probe, streaming: s.stream,
		}[s.at.phase]()
	})
	s.nothingLeft()
	return got
}

// observed reads what the supervisor shows of the server.
func (s *stage) observed(hits []mcpfake.Request) want {
	s.paced(hits)
	shot := s.shot()
	n, _ := s.failed()
	got := want{attempts: n, requests: len(hits), fate: fateOf(shot)}
	switch {
	case shot.Fault != nil:
		got.class, got.reason = shot.Fault.Class, shot.Fault.Reason
	case shot.ListFault != nil:
		got.class, got.reason = shot.ListFault.Class, shot.ListFault.Reason
	case n > 0: // it has recovered by now
		got.class, got.reason = s.told().Class, s.told().Reason
	case s.count(session.EventClosed) == 0:
		got.fate = kept
	}
	return got
}

// decided reports whether the first round has come to something.
func (s *stage) decided() bool {
	shot := s.shot()
	listed := shot.Listing != nil || shot.ListFault != nil && shot.ListFault.Answered
	return opened(shot) || shot.State == session.Connected && shot.Settled && listed
}

// hurried makes the timeouts short that the cell is about.
func (s *stage) hurried() {
	short := s.want.class == failure.Timeout
	switch {
	case !short:
	case s.at.phase == connecting:
		s.timeouts.Connect = s.brief
	case s.at.phase == listing, s.at.phase == refreshing:
		s.timeouts.List = s.brief
	case s.at.phase == calling, s.at.phase == repeating:
		s.timeouts.Call = s.brief
	}
}

// connect is the first connect of a discovery session.
func (s *stage) connect() want {
	s.hurried()
	config := s.config(s.fake, s.host, s.timeouts) // before the network changes: what was trusted stays trusted
	s.arm()
	s.sup.Ensure(main, config)
	s.await("end of the round", s.decided)
	got := s.observed(s.hits())
	s.heal(true)
	return got
}

// list is the first list of a discovery session.
func (s *stage) list() want {
	s.hurried()
	if s.f.down == nil {
		s.arm()
	} else {
		s.shortLived()
		s.fake.Fault(mcpfake.Initialized, 1, func(*mcpfake.Exchange) bool { s.arm(); return false })
		if s.at.era == modern {
			s.fake.Fault(mcpfake.Discover, 1, func(*mcpfake.Exchange) bool { s.arm(); return false })
		}
	}
	s.ensure()
	s.await("end of the round", s.decided)
	got := s.observed(s.hits())
	if s.shot().ListFault != nil && s.count(session.EventClosed) == 0 {
		got.fate = kept // the answer was an error, and a sign of life
	}
	s.heal(true)
	return got
}

// shortLived lets every request have a connection of its own.
func (s *stage) shortLived() {
	s.fake.Fault(mcpfake.Any, mcpfake.Forever, mcpfake.Custom(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Connection", "close")
		return false
	}))
}

// streams waits for the standing streams of discovery and call sessions. A call session has none, but where the
// transport is one.
func (s *stage) streams(discovery, calls int) {
	s.t.Helper()
	if s.at.era == oldSSE {
		discovery += calls
	}
	s.awaits(s.fake, func(st mcpfake.Stats) bool { return st.Streams == discovery })
}

// live brings up the discovery session and a call session with a call in flight.
func (s *stage) live() {
	if s.f.down != nil {
		s.shortLived()
	}
	s.ensure()
	s.settle()
	calls := 0
	if s.at.phase != streaming { // what happens to its stream is not that other session's business
		s.beside("the call to the same server over another session", main, s.fake, "b")
		calls = 1
	}
	s.streams(1, calls)
	s.hurried()
	s.ensure()
	s.forget()
}

// refresh is a later list of a discovery session.
func (s *stage) refresh() want {
	s.live()
	var hits []mcpfake.Request
	ended := func(e session.Event) {
		if e.Kind == session.EventClosed && hits == nil && s.f.down == nil {
			hits = s.hits()
			s.disarm()
		}
	}
	s.setHook(ended)
	s.arm()
	s.sup.Refresh(main)
	s.await("end of the list", func() bool { return !s.shot().RefreshPending })
	if s.want.fate == quarantined {
		s.await("end of the round", func() bool { return opened(s.shot()) })
	}
	got := s.observed(s.hits())
	if s.count(session.EventClosed) == 0 {
		got.fate = kept
	}
	s.setHook(nil)
	if hits != nil {
		got.requests = len(hits)
	}
	s.heal(true)
	return got
}

// callTool is a call over a session that has calls in flight, beside another session with one.
func (s *stage) callTool() want {
	if s.f.down != nil {
		s.shortLived()
	}
	s.ensure()
	s.must(s.call(s.ctx, main, "a", "echo"))
	s.beside("another call over the same session", main, s.fake, "a")
	s.beside("the call to the same server over another session", main, s.fake, "b")
	s.streams(0, 2) // their first words count as signs of life
	s.hurried()
	config := s.config(s.fake, s.host, s.timeouts)
	s.forget()
	s.arm()
	s.sup.Ensure(main, config)
	err := s.theCall()
	s.await("end of the last try", func() bool { n, _ := s.failed(); return n >= s.want.attempts })
	hits := s.hits()
	s.paced(hits)
	got := learnt(err)
	got.requests = len(hits)
	got.attempts, _ = s.failed()
	got.fate = fateOf(s.shot())
	dialled := s.count(session.EventConnected)
	s.heal(false)
	if got.fate == reopened && dialled == 0 && s.count(session.EventConnected) == 0 {
		got.fate = kept
	}
	return got
}

// theCall makes the call that meets the fault.
func (s *stage) theCall() error {
	if !s.f.leaves {
		return s.call(s.ctx, main, "a", "echo")
	}
	ctx, leave := context.WithCancel(s.ctx)
	running := s.fake.Stats().InFlight
	done := make(chan error, 1)
	go func() { done <- s.call(ctx, main, "a", "slow") }()
	s.awaits(s.fake, func(st mcpfake.Stats) bool { return st.InFlight > running })
	leave()
	err := <-done
	if s.at.era != modern {
		s.awaits(s.fake, func(st mcpfake.Stats) bool { return st.Phase(mcpfake.Cancelled) == 1 })
	}
	return err
}

// learnt is what the caller of a call learns.
func learnt(err error) (got want) {
	var no *session.CallRefused
	f := failure.Classify(err)
	switch {
	case err == nil:
		got.outcome = succeeded
	case errors.Is(err, errAnswered):
		got.outcome = passedOn
	case errors.As(err, &no):
		got.outcome = notProcessed
		got.class, got.reason = no.Failure.Class, no.Failure.Reason
	case errors.Is(err, context.Canceled):
		got.outcome = abandoned
	default:
		got.outcome = outcome(f.Outcome())
		got.class, got.reason = f.Class, f.Reason
	}
	return got
}

// probe is the health probe of an idle session.
func (s *stage) probe() want {
	s.live()
	var hits []mcpfake.Request
	s.setHook(func(e session.Event) {
		if e.Kind == session.EventClosed && hits == nil {
			hits = s.hits()
			if s.f.down == nil {
				s.disarm()
			}
		}
	})
	if s.f.down == nil {
		s.arm()
	} else { // right after a probe, when none is under way
		s.fake.Fault(s.proof(), 1, func(*mcpfake.Exchange) bool { s.arm(); return false })
	}
	s.await("second probe, or the end of the session", func() bool {
		n, _ := s.failed()
		return s.count(session.EventClosed) > 0 || s.want.fate == kept && len(s.hits()) >= 2 && n >= s.want.attempts
	})
	if s.count(session.EventClosed) == 0 {
		got := s.observed(s.hits()[:2])
		got.fate, got.class, got.reason = kept, "", ""
		s.setHook(nil)
		s.heal(true)
		return got
	}
	s.await("what follows", func() bool { // until the session is opened anew, what is shown may be of before its end
		return opened(s.shot()) || s.f.down == nil && s.count(session.EventRebuilt) > 0 && s.decided()
	})
	got := s.observed(hits)
	s.setHook(nil)
	s.heal(true)
	return got
}

// stream is the standing stream of an idle session.
func (s *stage) stream() want {
	if s.f.down != nil || s.f.drops {
		return s.lostStream()
	}
	s.shortLived() // or else a GET over a connection that is closed under it is repeated by net/http
	s.arm()
	s.ensure()
	s.settle()
	s.await("requests for the stream", func() bool { return len(s.hits()) >= s.want.requests })
	soon(quiet, func() bool { return len(s.hits()) > s.want.requests })
	got := s.observed(s.hits())
	s.heal(true)
	return got
}

// lostStream is a standing stream that was there and ends.
func (s *stage) lostStream() want {
	s.live()
	lists := s.fake.Stats().Phase(mcpfake.List)
	s.arm()
	if s.f.down != nil {
		s.fake.DropStreams(false)
	}
	switch s.want.fate {
	case quarantined, refused:
		s.await("end of the round", func() bool { return opened(s.shot()) })
	case kept, reopened, putOff:
		s.await("requests for the stream", func() bool { return len(s.hits()) >= s.want.requests })
		soon(quiet, func() bool { return len(s.hits()) > s.want.requests })
	}
	got := s.observed(s.hits())
	if got.fate == kept && got.requests > 0 {
		s.await("list that covers what the stream may have missed", func() bool {
			return s.fake.Stats().Phase(mcpfake.List) > lists
		})
	}
	s.heal(true)
	return got
}
