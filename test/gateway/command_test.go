package gateway

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// mooring runs the program as an administrator and returns what it printed and its exit status.
func (w *world) mooring(arguments ...string) (stdout, stderr string, status int) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.Expect(os.WriteFile(file, plane.KubeConfig, 0o600)).To(Succeed())
	command := exec.Command(os.Args[0], arguments...)
	command.Env = append(os.Environ(), asProgram+"=1", "KUBECONFIG="+file)
	out, err := command.Output()
	failed, ok := err.(*exec.ExitError) //nolint:errorlint // as Output returns it
	if err != nil && ok {
		return string(out), string(failed.Stderr), failed.ExitCode()
	}
	w.Expect(err).NotTo(HaveOccurred())
	return string(out), "", 0
}

// A person calls a tool as an agent would; the exit status tells what became of it.
func TestCallFromTheCommandLine(t *testing.T) {
	w := newWorld(t)
	typed := mcpfake.Tool{Name: "typed", Doc: json.RawMessage(
		`{"name":"typed","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}}}}`)}
	server := mcpfake.New(t, mcpfake.WithTools(append(mcpfake.DefaultTools(), typed)...))
	w.apply(builder.MCPServer("fs").URL(server.URL()).Obj(), builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	w.agent("coder")
	call := func(arguments ...string) (string, string, int) {
		return w.mooring(append([]string{"call", "-n", w.namespace, "coder", "--service-account", "coder"}, arguments...)...)
	}
	out, _, status := call("mcp_fs_typed", "--arg", "text=5", "--arg", "n=5", "--arg", "other=x y")
	w.Expect(status).To(Equal(0))
	w.Expect(out).To(MatchJSON(`{"text":"5","n":5,"other":"x y"}`))
	out, _, _ = call("mcp_fs_echo", "--json", `{"n":12345678901234567890}`)
	w.Expect(out).To(Equal(`{"n":12345678901234567890}` + "\n"))
	_, told, status := call("mcp_fs_fail")
	w.Expect(status).To(Equal(3))
	w.Expect(told).To(Equal("the tool failed\n"))
	server.Fault(mcpfake.Call, 1, mcpfake.RetryAfter(429, "600"))
	_, told, status = call("mcp_fs_echo")
	w.Expect(status).To(Equal(4), told)
	_, told, status = call("mcp_fs_none")
	w.Expect(status).To(Equal(5), told)
	w.Expect(told).To(ContainSubstring("there is no tool"))
	_, told, status = w.mooring("call", "-n", w.namespace, "coder", "mcp_fs_echo", "--service-account", "nobody")
	w.Expect(status).To(Equal(1), told)
	w.Expect(told).To(ContainSubstring(`token of service account "nobody"`))
	_, told, status = call("mcp_fs_echo", "--arg", "x")
	w.Expect(status).To(Equal(2), told)

	out, _, _ = w.mooring("__complete", "call", "-n", w.namespace, "coder", "")
	w.Expect(out).To(ContainSubstring("mcp_fs_fail\ttool of the fake server\n"))
	out, _, _ = w.mooring("__complete", "call", "-n", w.namespace, "")
	w.Expect(out).To(HavePrefix("coder"))
}
