// Package netfault breaks the network below a server under a test's control, on loopback only.
//
// Charter: Listener refuses, freezes and cuts connections; Authority makes certificates that expire with the test;
// Proxy is an HTTP and CONNECT proxy that tells what passed through it; Trap is a server that nobody should reach.
// None of them knows a protocol above HTTP.
//
// Invariants: a port once opened stays reserved until Close, also while it refuses; Close of any of these ends every
// goroutine and connection that it started.
//
// Trade-off: the reservation needs SO_REUSEPORT and so a Unix system.
package netfault
