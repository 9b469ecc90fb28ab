// Package controllers lists every controller in one place and says what each owns.
//
//	controller    conditions it owns                                     objects it writes
//	mcpserver     Ready Accepted Connected CatalogPublished ToolsDrifted  MCPServer status, ConfigMap <server>-mcp-tools,
//	              Quarantined Retired Reconciling Stalled                 events
//	agentsession  Ready ServersResolved CatalogPublished Reconciling      AgentSession status, ConfigMap
//	              Stalled                                                 <session>-mcp-catalog, events
//
// The manager is the only writer of status. Kinds do not import one another.
package controllers
