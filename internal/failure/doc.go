// Package failure is the one vocabulary for what goes wrong between Mooring and an MCP server. It acts on
// nothing and waits for nothing: it names a fault (Classify), tells a person about it (Message), and holds the one
// table of what follows from each class (Policy), which all that act on a fault read.
//
// # Invariants
//
// The package imports the standard library and package text. Nothing in a Failure is secret, and no text of an error of
// another package is ever copied into one: an SDK error or a *url.Error may hold a query, a body or a session id.
// Messages hold no clock, attempt number or counter, so that the same fault always gives the same text and a
// status condition that repeats it is not written twice.
//
// # Trade-offs
//
// An error that nothing is known about counts as sent (Failure.Sent), because resending what was already done is
// worse than not resending what was not. A tree of errors is searched for its most specific class, not for its
// outermost one: transports wrap a 401 in "connection closed", and the person needs to hear of the 401.
package failure
