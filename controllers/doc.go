// Package controllers lists every controller in one place and says what each owns.
//
//	controller  conditions it owns                                       objects it writes
//	mcpserver   Ready Accepted Connected CatalogPublished Quarantined    MCPServer status, ConfigMap <server>-mcp-tools,
//	            Retired Reconciling Stalled                              events
//
// The manager is the only writer of status. Kinds do not import one another.
package controllers
