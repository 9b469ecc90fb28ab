// Package directory knows what is declared and published, and says what may be called where: which tools an
// AgentSession or an MCPServer offers now, under which names, and which server each one leads to.
//
// It holds what watches tell and nothing else; no request reads from the API server. A catalog is decoded, and its
// digest proven, once for each version of its ConfigMap, when it is first asked for.
//
// Invariants. A stored catalog permits nothing by itself: at each call the declarations decide again. The server must
// be the one that was published (by UID), permit the namespace, and offer the tool under its filter and pin today; the
// filters of the AgentSession and its parents must let the name pass. So who can write a ConfigMap reaches no server
// with it that the declarations do not give.
//
// Trade-offs. Objects are shared with the informers and never changed. That a server is left out by an AgentSession's
// selection is the manager's to publish; until then its tools can be called.
package directory
