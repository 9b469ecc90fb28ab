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
func (r *Reconciler) startup(ctx context.Context, s *scope) error {
	r.begin(s)
	m := s.memory
	switch fault := s.chosen.Fault; {
	case !s.before.Spec.Enabled():
		s.gate, m.run = gateOpen, nil
	case fault != nil:
		if fault.Final || m.run == nil || !s.now.Before(m.run.Closes) {
			s.gate = gateOpen
		}
		if m.run != nil {
			s.lookAgain(after(m.run.Closes, s.now))
		}
	case m.run == nil:
		s.gate = gateOpen
	default:
		r.runGate(ctx, s)
	}
	if told := m.begun.Add(silence); s.gate == gateHeld && s.agents.document == nil && s.now.Before(told) {
		s.report = skipStatus
		s.lookAgain(told)
	}
	return nil
}

// begin starts a run where one is due.
func (r *Reconciler) begin(s *scope) {
	m := s.memory
	found := m.lost && s.chosen.Fault == nil // which servers there are is known only now
	m.lost = s.chosen.Fault != nil
	switch {
	case m.begun.IsZero():
		r.beginFirst(s)
	case m.reload != s.reload():
		if m.reload = s.reload(); m.reload != "" {
			r.again(s)
		}
	case found && (m.run != nil || s.agents.document == nil || len(s.agents.document.Servers) == 0):
		m.start(s)
	case m.run != nil:
		m.run.Timeout = s.before.Spec.Gate()
	}
}

// beginFirst is for the first pass over an object in this process. The ConfigMap of an object tells that its first run
// is over, also to another process.
func (r *Reconciler) beginFirst(s *scope) {
	m, published := s.memory, s.agents.document != nil
	m.begun, m.reload = s.now, s.reload()
	if published && !s.reloads() {
		return
	}
	m.start(s)
	if published {
		r.again(s)
	}
}

// start begins a first run.
func (m *memory) start(s *scope) {
	run := gate.Begin(s.before.CreationTimestamp.Time, s.now, s.before.Spec.Gate())
	m.run = &run
}

// again begins the run of a reload: each server is asked for one list over the session that it has.
func (r *Reconciler) again(s *scope) {
	s.memory.configMap.Retry()
	if first := s.memory.run != nil && s.agents.document == nil; !first {
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

// runGate asks the gate, and ends the run when it opens.
func (r *Reconciler) runGate(ctx context.Context, s *scope) {
	m := s.memory
	var waiting []gate.Server
	for i := range s.servers {
		if v := &s.servers[i]; v.Selected() {
			waiting = append(waiting, gate.Server{Ref: v.Ref, Readiness: v.readiness, Seen: v.seen})
		}
	}
	s.decision = m.run.Decide(waiting, s.now)
	if !s.decision.Open {
		m.run.Held = m.run.Held || s.decision.Overdue && len(s.decision.Awaited) > 0
		s.lookAgain(s.decision.Next)
		return
	}
	s.gate = gateOpen
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
