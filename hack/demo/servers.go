package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// server is one MCPServer of the demo and what is to become of it.
type server struct {
	name, url string
	// secret holds a bearer token under the key "token"; empty sends none.
	secret   string
	disabled bool
	// hasty servers are given little time, so that the demo is short.
	hasty bool
	// ready, reason and tools are what must be seen in the end; without tools there is no catalog.
	ready, reason string
	tools         int
}

// demoToken is a credential of nothing but the demo's own server.
const demoToken = "demo-token-1234567890"

// startServers runs the real MCP servers, and describes all servers that the demo declares.
func (s *stage) startServers(ctx context.Context) ([]server, error) {
	fmt.Println("starting MCP servers ...")
	tokenFile := filepath.Join(s.state, "token")
	if err := os.WriteFile(tokenFile, []byte(demoToken), 0o600); err != nil {
		return nil, err
	}
	servers := []server{
		{name: "sample-legacy", ready: "True", reason: "Ready", tools: sampleTools},
		{name: "sample-modern", ready: "True", reason: "Ready", tools: sampleTools},
		{name: "sample-secured", secret: "demo", ready: "True", reason: "Ready", tools: sampleTools},
	}
	flags := [][]string{{"--era=legacy"}, {"--era=modern"}, {"--era=modern", "--bearer-file=" + tokenFile}}
	for i := range servers {
		arguments := append([]string{"--listen=127.0.0.1:0"}, flags[i]...)
		command := exec.Command(filepath.Join(s.bin, "sample-server"), arguments...)
		url, err := s.Start(ctx, servers[i].name, "listening", command)
		if err != nil {
			return nil, err
		}
		servers[i].url = url
	}
	everything, err := s.startEverything(ctx)
	if err != nil {
		return nil, err
	}
	servers = append(servers, everything...)
	address, err := closedPort()
	if err != nil {
		return nil, err
	}
	return append(servers,
		server{name: "refusing", url: "http://" + address + "/mcp", ready: "False", reason: "ConnectFailed"},
		server{name: "resting", url: "http://127.0.0.1:9/mcp", disabled: true, ready: "True", reason: "Disabled"},
	), nil
}

// startEverything runs npm's server-everything where make has put it and a Node to run it.
func (s *stage) startEverything(ctx context.Context) ([]server, error) {
	node, script := os.Getenv("MOORING_NODE"), os.Getenv("MOORING_SERVER_EVERYTHING")
	if !exists(node) || !exists(script) {
		fmt.Println("npm's server-everything is left out: `make node-assets` has not put it, or a Node, into bin/")
		return nil, nil
	}
	loopback, err := filepath.Abs(filepath.Join("hack", "node-assets", "loopback.mjs"))
	if err != nil {
		return nil, err
	}
	command := exec.Command(node, "--import", loopback, script, "streamableHttp")
	command.Env = append(os.Environ(), "PORT=0")
	address, err := s.Start(ctx, "everything", "listening", command)
	if err != nil {
		return nil, err
	}
	return []server{{
		name: "everything", url: "http://" + address + "/mcp", ready: "True", reason: "Ready", tools: 13,
	}}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// manifest is what a user would apply.
func manifest(servers []server) string {
	var out strings.Builder
	fmt.Fprintf(&out, `apiVersion: v1
kind: Secret
metadata: {name: demo, namespace: default}
stringData: {token: %q}
`, demoToken)
	for _, declared := range servers {
		fmt.Fprintf(&out, `---
apiVersion: mooring.dev/v1alpha1
kind: MCPServer
metadata: {name: %s, namespace: default}
spec:
  http:
    url: %s
`, declared.name, declared.url)
		if declared.secret != "" {
			fmt.Fprintf(&out, "    auth: {bearer: {secretKeyRef: {name: %s, key: token}}}\n", declared.secret)
		}
		if declared.hasty {
			out.WriteString("  timeouts: {connect: 2s, list: 2s}\n")
		}
		if declared.disabled {
			out.WriteString("  disabled: true\n")
		}
	}
	return out.String()
}
