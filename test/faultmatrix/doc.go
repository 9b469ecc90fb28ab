// Package faultmatrix meets a session with every fault that a server, a network or what stands between them is known
// for, in every phase of its life and in every era of the protocol, and holds what follows against what was declared.
//
// Charter: one cell is one fault in one phase in one era. A cell runs the real session.Supervisor over the real
// upstream.Dialer against test/mcpfake on a loopback socket, beside a healthy server under the same supervisor and
// calls in flight that have nothing to do with the fault. It states what the fault is called in status, how often it
// was tried, what the server saw of that, what became of the call, and where the session stands; and it proves that
// the session is of use again, that nothing else was disturbed, and that no goroutine and no socket is left.
//
// # Invariants
//
// Every fault has, in every phase and era, either an expectation or the reason why there is no such cell; neither is
// ever missing, and none is declared twice. The number of cells that ran is the number declared. docs/faults.md is
// what the expectations say, so a reader of it reads what was proven; after a change write it anew with
//
//	go test ./test/faultmatrix -run TestMatrix -update
//
// # Trade-offs
//
// Cells run in real time, many at once, with short timeouts in the phase that the fault is about only: what takes
// minutes in a cluster (cooldowns, probes of retired servers) is proven in fake time by package session. Jitter is
// off, so that waits are what the policy says. Goroutines are told apart by the labels that they inherit, sockets by
// their peer's port; where the system does not list its sockets only those of the whole run are counted.
package faultmatrix
