// Package mcpserver turns an MCPServer into a supervised session, true conditions and a catalog ConfigMap.
//
// # Charter
//
// One pass gathers (the object, its references, the session's snapshot, the stored ConfigMap), decides (pure
// functions of these), acts (declares the session, writes the ConfigMap) and tells (one status patch, events,
// metrics). The phases resolve, connect and publish own one condition each: Accepted, Connected, CatalogPublished.
//
// # Invariants
//
// Reconcile does no network I/O to MCP servers: the supervisor owns sessions, deadlines and retries, and wakes this
// controller by key when something changed. A user's mistake or a server's fault is a condition, never an error:
// an error returned from Reconcile means that the Kubernetes API failed us or that we are ill.
//
// Status is a function of spec, references and snapshot. It is written when it changed, and not before the first
// attempt under the present configuration has ended: until then what the last process wrote stands, so starting
// writes nothing.
//
// A stored catalog is judged by the declaration as a list is, so that what is approved while the server cannot be
// reached is recorded, and not only offered. 30 days after the server last listed it, and until it lists again, it is
// offered to no AgentSession that does not have it already. The ConfigMap does not tell when that was, since the same
// tools give the same bytes: status does, to within a day, which costs one write a day for a server that is well.
//
// # Trade-offs
//
// There is no finalizer. The ConfigMap is deleted when the deletion is seen, with preconditions on UID and
// resourceVersion; its owner reference serves the time when no manager runs. In return no namespace is ever kept
// from terminating by a server that does not answer.
//
// Secrets are read live in every pass that resolves. That is one GET per reference and pass, and passes are rare
// because nothing here is periodic; in return no credential is ever older than its last change.
package mcpserver
