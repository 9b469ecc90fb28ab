// Command floors proves what lint cannot see, because lint looks at one package at a time:
//
//   - packages import downward only, and every package has a floor;
//   - what a package reaches through others keeps the promises too: the pure ones never reach Kubernetes or the MCP
//     SDK, controllers and gateway import what speaks to MCP servers through the one seam only;
//   - a package has a doc.go;
//   - a test that sleeps does so in a synctest bubble, where a sleep moves the fake clock.
//
// The rules are the table in rules.go, from which -table writes that of CONTRIBUTING.md. The judgement is pure
// (judge.go); the facts come from `go list`.
package main
