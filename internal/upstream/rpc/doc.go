// Package rpc is the JSON-RPC 2.0 envelope as MCP uses it: it is opened and closed here, and what is inside (params,
// results, errors) passes as bytes, so that no number, unknown field or order of keys is ever changed; of the answer to
// a list alone, what nests too deep to be read is left out.
//
// It is lenient about what a reader can do without (a missing "jsonrpc" member, extra members, a batch of one) and
// strict about what decides on the meaning: exact names of members, an id of the right type, an error with a code.
package rpc
