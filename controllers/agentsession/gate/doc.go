// Package gate decides when an agent session's first catalog is published: fast where that is possible, and only as
// late as is needed to be right.
//
// It is pure. Evaluate says how far one server is, from its declaration, the snapshot of its session and what was
// decided of its catalog; Decide says whether to publish now, and if not, when to look again. Neither reads a clock.
//
// A server has settled when an attempt to connect and list has ended under its present configuration in this process,
// or when there is nothing to wait for: it is refused, quarantined or retired. Everything else is pending: new,
// connecting, not declared yet, waiting for a Secret that may still come. The status of an MCPServer has no part in
// this: it is written after the fact, and perhaps by another process.
//
// Invariants. The gate opens as soon as all servers have settled. After the timeout it waits only for pending servers
// of which no catalog is stored, and for each of them at most HoldLimit from its joining. It never waits for a server
// that first came when the window for joining had closed. An empty selection opens it only when that window has
// closed, so that manifests which are applied one after the other give one catalog and not an empty one first.
//
// Trade-off. When a server joins late, the timeout begins anew from there, and the gate stays shut for its length even
// if that server settles at once: servers that are applied one by one are so published together, at the cost of a
// quarter of a second.
package gate
