// Package pace knows when a live session is next to be listed and to be probed. It is pure: it is given the time,
// and starts and waits for nothing.
//
// # Invariants
//
// However often a server says that its tools changed, it is listed at once at most twice and then every 10 s. A
// silent server is probed within its interval and a fifth. What a person asks for is due at once.
//
// # Trade-offs
//
// A change is waited out for a second, so that a server that registers tools one by one is listed once; a server
// that never stops changing is listed after three.
package pace
