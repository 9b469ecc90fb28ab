// Package limits holds back what would be too much at once: connects in progress (Gate), lists in progress (Lists),
// calls in flight to one server (Slots). Suspicion tells from how many servers fail at once whether it is us.
//
// # Invariants
//
// Every wait ends with its context. What was given out is given back exactly once, however often the returned
// function is called. Nothing here knows what it limits: a Gate counts addresses, Slots count callers.
//
// # Trade-offs
//
// A list gives its place back after a second even when it has not ended: the limit bounds the memory and the CPU of
// lists that are being read, and a server that hangs must not hold back the others. For the same reason a connect gives
// its place back after two seconds: what is spread is the load of handshakes, of which one that hangs causes none.
package limits
