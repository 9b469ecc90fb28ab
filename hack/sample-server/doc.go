// Command sample-server is a real MCP server for demonstrations and end-to-end tests: five small tools over streamable
// HTTP, built on the official SDK, so that Mooring is shown against what people really run.
//
//	sample-server [--listen 127.0.0.1:0] [--era legacy|modern] [--bearer-file FILE]
//
// It prints one line, "listening <url>", when it serves, and nothing else on stdout. With --era legacy it keeps
// sessions (initialize, GET stream, DELETE); with --era modern it is stateless and serves 2026-07-28 besides the older
// revisions. With --bearer-file every MCP request must carry the token in that file; the file is read again for each
// request, so a mounted Secret can be rotated under it. SIGTERM and SIGINT end it: open streams are closed, calls in
// flight have five seconds.
//
// POST /admin/tools?name=NAME adds a tool and DELETE /admin/tools?name=NAME removes it, from loopback only; connected
// clients are told. GET /healthz answers 200.
package main
