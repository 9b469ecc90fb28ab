// Package agentsession gives each agent its tools: it chooses an AgentSession's servers, waits for them as long as is
// worth it, and keeps their tools in the ConfigMap that the agent's pod mounts.
//
// # Charter
//
// One pass gathers (the object, the servers that it chooses, the snapshot of each one's session, what was decided of
// its catalog, the stored ConfigMap), decides, writes the ConfigMap, and tells (one status patch, events). The phases
// resolve, startup and publish own the servers with condition ServersResolved, the gate, and the ConfigMap with
// condition CatalogPublished; Ready follows from them.
//
// # Where tools come from
//
// From the catalog store, where the controller of servers sets what each server offers once it has judged a list:
// parsed, filtered, without what is not approved, and stored. Nothing is listed or parsed here, so a change costs the
// same whether one agent is offered a server or a thousand are. The alternative, to read each server's own ConfigMap
// through the API client's cache, would cost a watch's delay within the quarter second that an agent waits, a decode
// and the judgement of filter and approval for every version, and would not tell which list the ConfigMap holds:
// whether a server that has just connected is published as it is now, or as it was. The price is that after a restart
// a server's tools are not known before its controller's first pass over it; that pass needs no session and comes at
// once.
//
// # Invariants
//
// Reconcile does no network I/O to MCP servers. One server's entry is replaced; the others' keep their bytes, also when
// they come out of the ConfigMap that an earlier process wrote. A server that is not known yet, or not any more, keeps
// what it has; only one that is gone, left out, or refused for five minutes loses it, at once. While a fault
// keeps it from being known which servers there are, nothing is added, and what any declaration that can be read takes
// away goes. What was published outlives the ConfigMap: it is written again.
//
// A ConfigMap is written when it is not what it is to be: bytes, labels, owner. But for what is damaged or withdrawn,
// that is not before the gate has opened: so a restart writes nothing. The first one of an object's UID, one that takes
// a server's tools away, or some of them by an edit, and that of a reload are never delayed; others draw on a bucket of
// 2, one refilled per 10 s. What the API server rejects is tried again each minute.
//
// Status is a function of the declaration, the servers and what was published. What only servers caused is joined to
// one write per 10 s; an edge of Ready waits for at most 2 s, and only when there were several.
//
// # Trade-offs
//
// The gate's clock, and what an object's servers were when they were first seen, are kept in memory: after a restart
// in the middle of a gate it begins anew. That an object's gate is behind it is told by its ConfigMap.
package agentsession
