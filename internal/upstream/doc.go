// Package upstream speaks MCP to servers: it implements session.Dialer and session.Conn.
//
// Charter: from a resolved configuration (Config: no references, no Kubernetes) to a live connection whose every
// failure is a *failure.Error. It knows the two eras of the protocol and finds out which one a server speaks, shakes
// hands, reads whole lists, carries calls as bytes, proves life, and takes its leave.
//
// # Why not the SDK's client
//
// The official Go SDK (v1.8.0) is what this package is tested against, from both sides of the table, but it does not
// run in it. Measured: its client session ends for everybody after one unexpected answer to anybody, Connect and Close
// can outlive their context, statuses and Retry-After do not come through, a lost stream is not always opened again,
// typed decoding changes numbers and drops fields, and error texts hold session ids. Each can be worked around from
// below; but with lists, calls, probes and streams already sent as bytes, the SDK would be left with two requests of
// the handshake, at the price of a second owner of the session id, of its own DELETE and of its own goroutines. The
// handshake is those two requests (handshake.go).
//
// # Invariants
//
//   - Dial honours its context even where the peer hangs, and leaves nothing behind when it fails: a session that was
//     begun is deleted on the server, within one second.
//   - Nothing that a connection does can break it: a request fails alone. Only the server says that a session is over
//     (404 with a session id), or the end of the one stream of the 2024-11-05 transport.
//   - No error text holds words of a server, of a library, a session id, a credential, or a URL's query.
//   - After Close no goroutine and no socket is left.
//
// # Eras
//
// EraMemory holds what is known of each server. What is not known is asked: server/discover first, for at most
// min(10 s, connect/3), then, where the answer says or allows it, initialize with the full connect timeout (discover.go
// has the table). What was found out by a clear answer is kept until a clear answer says otherwise; what was found by a
// hang is kept for an hour; what was only assumed is not kept.
//
// # Trade-offs
//
// Cancellation in the modern era is the closing of the exchange, as its specification says: notifications/cancelled is
// sent to legacy servers only. Arguments that a tool wants mirrored into headers (x-mcp-header) are known from the
// last list of this connection; a connection that never listed learns them from one list when a server complains.
package upstream
