// Package session holds the live sessions to MCP servers: it decides when one is opened, how long a broken one is
// tried, when it is left alone and when it is given up, and carries calls over what lives. It knows neither Kubernetes
// nor MCP: it drives a Dialer and what that dials, and tells what it sees in Snapshots.
//
// # Shape
//
// A Supervisor has one server per Key. A server has one breaker (package breaker) and below it the sessions: at most
// one discovery session, which proves that the server works and lists its tools, and the call sessions that calls
// opened. Ensure, Forget and Refresh say what is wanted and return at once; Snapshot says what is; Notify says that
// it may be worth looking. All of them are level-triggered: to miss or repeat one does no harm.
//
// # Goroutines
//
// One goroutine owns a connection from its dial to its close, and nobody else dials or closes it. A discovery session
// is one goroutine per incarnation, that is per Connection and Reconnect: a new configuration starts a new one and
// cancels the old, which closes what it holds behind the new one's back and changes nothing any more. Everything lives
// on the supervisor's own context, never on a caller's. A death reaches callers as a value, never as a cancellation.
//
// # Invariants
//
// A broken connection is closed before anything else happens. No lock is held across I/O or a call of other code; what
// a lock guards is in a struct named guarded, and changes in transitions that tell of the change once the lock
// is released. Notify is called on edges only. Every failure is named by package failure before it is acted on. A
// panic below costs one try. After Run has returned there is no goroutine, timer or connection.
//
// # Trade-offs
//
// A Dialer and a Conn are trusted to honour their contexts, except in Close and in Call, where a caller waits: what
// ignores its context elsewhere stalls its own session and nothing else. While a first list is tried again the server
// counts as connected, although each try uses a fresh connection: the handshake works, and it is the list that a
// person must look at. A connection that ends without a request is opened again the later the oftener it does, up to
// 8 s.
package session
