package agentsession

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
)

// silence is how long a gate that holds tells nothing: most open before.
const silence = time.Second

// startup runs the gate. It runs once for an object, and once more for each value of the annotation that asks for a
// reload; what was published before stays until it opens.
func (r *Reconciler) startup(ctx context.Context, s *scope) {
	r.begin(s)
	m := s.memory
	switch {
	case !s.before.Spec.Enabled():
		s.open, m.run = true, nil
		return
	case s.chosen.Fault != nil:
		s.open = s.chosen.Fault.Final || m.run == nil || !s.now.Before(m.run.Closes)
		if m.run != nil {
			s.lookAgain(after(m.run.Closes, s.now))
		}
	case m.run == nil:
		s.open = true
		return
	default:
		r.pass(ctx, s)
	}
	if !s.open && s.document == nil {
		s.quiet = s.now.Before(m.begun.Add(silence))
		s.lookAgain(after(m.begun.Add(silence), s.now))
	}
}

// begin starts a run where one is due. The ConfigMap of an object tells that its first run is over, also to another
// process.
func (r *Reconciler) begin(s *scope) {
	m := s.memory
	timeout := s.before.Spec.Gate()
	switch {
	case m.begun.IsZero():
		m.begun, m.reload = s.now, s.reload()
		published := s.document != nil
		if published && s.before.Status.LastHandledReloadAt == m.reload {
			return
		}
		run := gate.Begin(s.before.CreationTimestamp.Time, s.now, timeout)
		m.run = &run
		if published {
			r.again(s)
		}
	case m.reload != s.reload():
		m.reload = s.reload()
		r.again(s)
	case m.run != nil && m.lost && s.chosen.Fault == nil: // the servers are known only now
		run := gate.Begin(s.before.CreationTimestamp.Time, s.now, timeout)
		m.run = &run
	case m.run != nil:
		m.run.Timeout = timeout
	}
	m.lost = s.chosen.Fault != nil
}

// again begins the run of a reload: each server is asked for one list over the session that it has.
func (r *Reconciler) again(s *scope) {
	if first := s.memory.run != nil && s.document == nil; !first {
		run := gate.Again(s.now, s.before.Spec.Gate())
		s.memory.run, s.memory.begun = &run, s.now
	}
	for i := range s.servers {
		if v := &s.servers[i]; v.key != "" {
			r.Sessions.Refresh(v.key)
			*v = r.observe(v.Choice, s)
		}
	}
	s.memory.see(s.servers, s.now)
}

// pass asks the gate, and ends the run when it opens.
func (r *Reconciler) pass(ctx context.Context, s *scope) {
	m := s.memory
	var waiting []gate.Server
	for i := range s.servers {
		if v := &s.servers[i]; v.Selected() {
			waiting = append(waiting, gate.Server{Ref: v.Ref, Standing: v.standing, Seen: v.seen})
		}
	}
	s.decision = m.run.Decide(waiting, s.now)
	s.open = s.decision.Open
	if !s.open {
		m.run.Held = m.run.Held || s.decision.Overdue && len(s.decision.Awaited) > 0
		s.lookAgain(s.decision.Next)
		return
	}
	switch {
	case m.run.Held:
		m.outcome = v1alpha1.StartupWaited
	case s.decision.Deferred:
		m.outcome = v1alpha1.StartupDeferred
	default:
		m.outcome = v1alpha1.StartupSettled
	}
	log.FromContext(ctx).Info("startup gate opened", "outcome", m.outcome, "servers", len(waiting),
		"after", s.now.Sub(m.run.Started))
	m.run = nil
}

// after is the time if it is yet to come, else none.
func after(at, now time.Time) time.Time {
	if at.After(now) {
		return at
	}
	return time.Time{}
}
