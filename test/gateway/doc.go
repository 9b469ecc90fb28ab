// Package gateway tests the gateway with the real things: a real API server with the shipped roles, the manager,
// servers and clients of the go-sdk in both eras, and test/mcpfake for what goes wrong.
package gateway
