// Package cli is the command line: it reads flags, wires packages together and prints for people. No other package
// knows both the Kubernetes side and the MCP side; here they meet.
//
// Commands print results on standard output and everything else (progress, logs, errors) on standard error. An error
// ends the command with status 1 and one line that says what to do; wrong use ends it with status 2, and its usage
// stands below. Whatever names a command for people to run names it as the program is called here (programName).
package cli
