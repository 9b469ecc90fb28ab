// Package throttle keeps status quiet: it says how long a status write that only other objects caused has to wait.
//
// What a person did, to the object itself, is told at once. What servers did is joined: one write per Interval, but for
// edges of the verdict (Ready), which are told at once too. All writes that servers caused are together at most Most
// within any Window, so a server that flaps costs a bounded number of writes whatever it takes with it.
//
// Trade-off: what was told is remembered, not what was wanted. A status that returns to what was told before its turn
// came is never told, and nobody learns of the edge; events and metrics do not follow from it.
package throttle
