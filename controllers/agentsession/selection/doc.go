// Package selection says which servers an agent session is offered, by declarations alone.
//
// It is pure: World hands in what is declared, Resolve reads it. What the servers are doing has no part in it.
//
// Invariants. Choices are sorted by namespace and name, each server once, however often and in whichever way it was
// chosen. A reference that spells out the session's own namespace is the same as one without. What is said of a server
// of another namespace that does not permit its use is the same, to the letter, whether or not it exists. A subagent
// never gets a server, or a tool, that its parent does not get.
//
// While a fault keeps it from being known what a session is to be given, Remainder says what it may keep.
//
// Trade-off. A chain of parents is resolved anew for each child: it is short, and nothing has to be kept in step.
package selection
