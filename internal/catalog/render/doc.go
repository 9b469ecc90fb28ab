// Package render writes MCP tools in the forms that model providers and people read.
//
// It takes tool objects in JSON, those of a server's catalog or of an agent session's document, and passes their
// schemas
// on as they are. Which tools a provider will take is for the caller to choose: a catalog marks the doubtful ones.
package render
