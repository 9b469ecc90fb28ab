// Package naming makes valid names of MCPServers of whatever their servers are called elsewhere.
//
// A name is a function of the names that are given together, never of their order: what is called well keeps its name,
// and what would collide gets a hash of what it was called. So a file that grows does not rename what it had.
package naming
