// Package mcphttp is the HTTP between Mooring and an MCP server, and the one place where what HTTP can do wrong gets
// its name.
//
// Charter: an exchange ends in JSON-RPC messages, or in one *failure.Error that says what was wrong, whether the server
// may have acted on the request (Sent), and when it accepts requests again (RetryAfter). Nothing above this
// package looks at a status code, a content type, a body or an error of net/http.
//
// Invariants:
//   - A fault is one exchange's fault. Exchanges share a Client and nothing of one reaches another.
//   - Everything read is bounded: MaxMessage for a JSON body or an event, 1 MiB in a handshake, 64 KiB of an error's
//     body, 1 MiB of headers.
//   - No error text holds a body, a header, a URL or the words of another library. What a person should know is in
//     Failure.Detail, in our own words; of what the server sent only a redirect's scheme and host, a content type and
//     the names in a certificate are repeated, each reduced to harmless characters.
//   - Configured headers and credentials go to the configured origin only: 307 and 308 within it are followed, at most
//     three times, every other redirect is a fault. The policy of package egress judges every address dialled.
//   - Close leaves no goroutine and no socket.
//
// Trade-offs: one http.Transport per Client, so that closing one connection closes what it opened and nothing else
// (about 15 KB each). HTTP/2 where the server offers it: a broken connection is then the fault of every exchange on it,
// which pings every 30 s find out. A request that meets the server's FIN on an idle connection has an unknown outcome,
// and unknown outcomes are not repeated: so an HTTP/1 connection is used again only for as long as the server says or
// shows that it keeps one (Idle), 90 s at most. Compression is not asked for, because
// what compresses an event stream also buffers it.
package mcphttp
