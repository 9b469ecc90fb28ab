// Package servers has a gateway's supervisor know every declared MCPServer, so that a call finds it ready: its
// configuration with the credentials as they are now. No session is opened here; the first call does that.
//
// Invariants. A declaration that is not accepted, is disabled or is gone has no configuration. Secrets are watched and
// read as the manager does. What the manager found out is followed: that a server is Connected again ends a cooldown,
// that it was retired as refused has its calls refused at once.
package servers
