// Package importer translates the configuration of MCP clients into MCPServers and the Secrets that they need. It is
// pure: it reads a text and returns objects; it opens no file, no connection and no environment.
//
// It reads mcpServers (Claude Code, Claude Desktop, Cursor and clients that follow them), servers and inputs (VS Code),
// and the server.json of the MCP registry, each as people write them: with comments, trailing commas and old names.
// Each of these formats is one file format_*.go and a line in format.go.
//
// # Invariants
//
//   - Every entry of the file has an Entry in the result: translated, or left out with a note that says why. One entry
//     never costs another.
//   - What is not carried over is said in a note of its entry. Nothing is dropped in silence but metadata.
//   - What is returned passes the validation of the API. Where a value would not, the importer says so itself.
//   - A credential in the text goes into a Secret and nowhere else. Notes and errors name fields, variables and places;
//     they never quote a value.
//   - The same text gives the same objects. An entry's name depends on the names in the file, never on their order.
//
// # Trade-offs
//
// A value that the file does not hold (a variable of somebody's environment, the answer to a prompt) becomes a key of a
// Secret that is left absent. An empty value would be an invalid credential, and applying the manifests a second time
// would put it over the one that a person filled in; an absent key is waited for, and never overwritten.
//
// A value stays in clear only where its name is harmless and the value plainly so. Where in doubt it goes into the
// Secret: there it does no harm.
//
// A stdio entry says which command runs, not in which image. The images of well-known runners are assumed and said;
// where an image or a command cannot be known, a mark takes its place and the server is disabled.
package importer
