// Package mcpfake is a scriptable MCP server on real loopback sockets, for tests.
//
// Charter: whatever a test needs a server to do, right or wrong, it can be told to do here, and whatever a client did
// can be asked afterwards. It speaks plain net/http and is not built on an SDK, so that it can break the protocol at
// any byte, and so that it is a second opinion on what the protocol is.
//
// It serves, on one URL and as configured:
//   - Legacy: streamable HTTP 2025-03-26 to 2025-11-25 (initialize, session ids, GET stream, ping, DELETE),
//     answers as application/json or as event streams, with or without event ids and resumption;
//   - OldSSE: the 2024-11-05 transport (GET gives an endpoint event, POST gives 202, answers on the stream);
//   - Modern: 2026-07-28 (server/discover, subscriptions/listen, per-request _meta, no session);
//   - Dual: Legacy and Modern together, told apart by the request.
//
// A test scripts it in four ways: Fault (what happens to the next n requests of a phase), the tools (what tools/list
// and tools/call give), the listener (Refuse, Freeze, CutOnAccept, Restore, CutConnections), and the state
// (LoseSessions, DropStreams, SetBearer, RotateCA, NotifyListChanged). It reads back with Stats, Requests and Await;
// nothing sleeps.
//
// Invariants: Close ends every handler, connection and goroutine, hung ones included; a port that was refused stays
// reserved, so Restore always succeeds; counts are exact even where the record of requests is bounded; a request is
// recorded before anything is decided about it.
//
// Trade-offs: HTTP/1.1 only (resetting one exchange of an HTTP/2 connection is a different fault); tools, prompts and
// resources beyond tools are not served; the event log of a resumable stream is kept until the server is closed.
package mcpfake
