// Package transport carries JSON-RPC messages between Mooring and one MCP server over the transports of the
// specification: Streamable HTTP (2025-03-26 and later, both eras) and HTTP+SSE (2024-11-05).
//
// Charter: a request goes out, its response comes back, and whatever else the server says meanwhile is dealt with here:
// pings are answered, other requests are refused, progress reaches its request, changes of the tools and signs of life
// reach the observer, lost streams are opened again. What the messages mean is package upstream's business.
//
// Invariants:
//   - Everything that runs runs on the transport's own life, which Close ends and waits for.
//   - A request is answered by its own exchange; the failure of one touches no other. On HTTP+SSE, where all responses
//     come on one stream, only the end of that stream fails them together.
//   - A standing stream (GET, or subscriptions/listen) is a convenience: it never decides that a session works, its end
//     never ends the session, and however it is refused it is not asked for in a loop. Two things a stream may
//     reveal are told to the observer: the server forgot the session, and nothing listens there any more.
//   - A panic in a goroutine of the transport becomes a lost connection, whose error tells where, not a crash. One in
//     the goroutine of a caller is the caller's to contain.
package transport
