// Command floors proves what lint cannot see, because lint looks at one package at a time:
//
//   - packages import downward only, and every package has a floor;
//   - what a package reaches through others keeps the promises too: the pure ones never reach Kubernetes or the MCP
//     SDK, the controllers never reach the SDK or what speaks it;
//   - a package has at most 12 files of its own making, and a doc.go;
//   - a test that sleeps does so in a synctest bubble, where a sleep moves the fake clock.
//
// The rules are the tables in rules.go. The judgement is pure (judge.go); the facts come from `go list`.
package main
