package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/mooring-dev/mooring/test/mcpfake"
)

// The fleet is what the README shows: a healthy server, one that is disabled, and eleven that fail, each in another
// way.

// fakes are the servers of the fleet that run inside the demo.
type fakes []*mcpfake.Server

func (f fakes) close() {
	for _, fake := range f {
		fake.Release()
		fake.Close()
	}
}

// failing is a server that meets one fault for ever.
type failing struct {
	name, reason string
	phase        mcpfake.Phase
	fault        mcpfake.Fault
	options      []mcpfake.Option
}

var failures = []failing{
	{name: "wrong-token", reason: "AuthenticationFailed", options: []mcpfake.Option{mcpfake.WithBearer("another")}},
	{name: "no-permission", reason: "PermissionDenied", phase: mcpfake.Any, fault: status(http.StatusForbidden)},
	{name: "web-page", reason: "NotMCP", phase: mcpfake.Any, fault: mcpfake.HTML()},
	{name: "rate-limited", reason: "RateLimited", phase: mcpfake.Any, fault: mcpfake.RetryAfter(429, "120")},
	{name: "broken", reason: "ServerError", phase: mcpfake.Any, fault: status(http.StatusInternalServerError)},
	{name: "hanging", reason: "ConnectTimeout", phase: mcpfake.Any, fault: mcpfake.Hang()},
	{name: "unlisted", reason: "ListToolsTimeout", phase: mcpfake.List, fault: mcpfake.Hang()},
	{name: "untrusted", reason: "TLSVerificationFailed", options: []mcpfake.Option{mcpfake.WithTLS()}},
}

// startFleet starts the fakes and describes the fleet.
func (s *stage) startFleet(context.Context) ([]server, error) {
	healthy, err := mcpfake.Start()
	if err != nil {
		return nil, err
	}
	s.fakes = append(s.fakes, healthy)
	servers := []server{{name: "healthy", url: healthy.URL(), ready: "True", reason: "Ready", tools: 5}}
	for _, f := range failures {
		fake, err := mcpfake.Start(f.options...)
		if err != nil {
			return nil, err
		}
		s.fakes = append(s.fakes, fake)
		if f.fault != nil {
			fake.Fault(f.phase, mcpfake.Forever, f.fault)
		}
		servers = append(servers, server{name: f.name, url: fake.URL(), ready: "False", reason: f.reason, hasty: true})
	}
	address, err := closedPort()
	if err != nil {
		return nil, err
	}
	return append(servers,
		server{name: "refusing", url: fmt.Sprintf("http://%s/mcp", address), ready: "False", reason: "ConnectFailed"},
		server{name: "unknown-host", url: "https://mcp.invalid/mcp", ready: "False", reason: "DNSError"},
		server{name: "no-secret", url: healthy.URL(), secret: "absent", ready: "False", reason: "SecretNotFound"},
		server{name: "resting", url: healthy.URL(), disabled: true, ready: "True", reason: "Disabled"},
	), nil
}

func status(code int) mcpfake.Fault { return mcpfake.Status(code, nil, "") }
