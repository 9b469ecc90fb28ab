// Package events tells people about transitions, by events.k8s.io Events on the object that had them.
//
// An Event is a value; kinds keep a file of constructors, one per thing that can happen, made from Normal and Warning.
// A Recorder emits it unless it repeats the last one of its action on that object, so that a fault that is met again
// and again is told once, and a recovery, or another fault, is told.
//
// Invariants:
//   - Two events of one object and action in a row differ in type, reason or message.
//   - Emitting never blocks on the API server and never fails the caller: events are for people, status is the truth.
//   - A message is text, never a format, and fits what the API allows.
//
// What must not be shown must not be in a message: nothing here can tell a credential from a word. Secret values
// print as a mark (internal/secret), and our own templates are the only source of messages.
//
// Trade-off: what was told is remembered in memory alone. Controllers emit when they see status change, so a restart
// repeats nothing; remembering protects against passes that are repeated after a conflict and faults that come and go.
package events
