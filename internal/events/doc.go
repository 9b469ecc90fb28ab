// Package events tells people about transitions, by events.k8s.io Events on the object that had them.
//
// An Event is a value; kinds keep a file of constructors, one per thing that can happen, made from Normal and Warning.
// A Recorder emits what it is given. What is a transition, the status of the object decides: a controller compares what
// it wrote with what stood there before, and tells after the write, so that a fault that goes on is told once, also
// through a restart, and one that comes back is told again.
//
// Invariants:
//   - Emitting never blocks on the API server and never fails the caller: events are for people, status is the truth.
//   - A message is text, never a format, and fits what the API allows.
//
// What must not be shown must not be in a message: nothing here can tell a credential from a word. Secret values
// print as a mark (internal/secret), and our own templates are the only source of messages.
//
// Trade-off: nothing is remembered here. A memory of what was told would have to hear of every recovery, those that
// have no event included, or it would keep silent about the next fault.
package events
