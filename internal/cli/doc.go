// Package cli is the command line: it reads flags, wires packages together and prints for people. No other package
// knows both the Kubernetes side and the MCP side; here they meet.
//
// Commands print results on standard output and everything else (progress, logs, errors) on standard error. An error
// ends the command with status 1 and one line that says what to do; wrong use ends it with status 2, with its usage
// below. A text that names a command to run uses the name by which the program was started (programName).
package cli
