// Package integration runs the manager as it is shipped against a real API server and MCP servers on real sockets: the
// CRDs and the RBAC are those of config/, the manager's user is its service account, and nothing is mocked. The
// servers are fakes where a fault is wanted that a real one does not produce on demand.
//
// Tests share one control plane and have a namespace each, which the control plane never deletes. Nothing here waits
// by the clock: a test waits for what it wants to see, and for a bounded time at most.
package integration
