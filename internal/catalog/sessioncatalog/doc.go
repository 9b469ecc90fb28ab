// Package sessioncatalog says what one agent session is offered: the tools of its servers under their exposed names,
// and the document and connection settings that agent pods mount.
//
// A server's part is a ServerEntry. Entries are made once, when a server's catalog changes, and merged as they are:
// replacing one leaves the bytes of all others alone, also when they come out of a document that an earlier process
// stored.
//
// Invariants. The same entries and errors, in whatever order, give the same bytes. Of two tools of one exposed name the
// first by server and raw name is kept. A server has an entry or an error, never both. The digest covers everything but
// errors, so an error that comes or goes changes no revision. Nothing in a document tells time or connection state.
// One server never costs an agent its catalog: when a document is too large, the largest entries are dropped.
//
// Trade-offs. A tool of a document is an MCP tool object with four more members (server, rawName, digest, compat), so
// that a client can use it unchanged; an unknown field that a server published under one of these names is lost. Tools
// are kept as bytes, not as values: nothing here needs to look into them.
package sessioncatalog
