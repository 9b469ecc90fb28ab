package gateway

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/test/mcpfake"
)

// Clients that are none of ours list and call, and none of them begins an OAuth dance or opens a browser.
func TestNPMClients(t *testing.T) {
	w := newWorld(t)
	node := os.Getenv("MOORING_NODE")
	w.Expect(node).To(BeAnExistingFile(), "run `make node-assets`")
	modules := filepath.Join(filepath.Dir(node), "node_modules")
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.DefaultTools()...)
	url, header := w.sessionURL("coder"), "Authorization: Bearer "+token
	run := func(t *testing.T, arguments ...string) string {
		command := exec.CommandContext(t.Context(), node, arguments...)
		command.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := command.Output()
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(out))
		return string(out)
	}
	t.Run("TypeScript SDK", func(t *testing.T) {
		out := run(t, filepath.Join("testdata", "client.mjs"), modules, url, token)
		NewWithT(t).Expect(out).To(MatchRegexp(`"mcp_fs_echo".*"said":.*hello`))
	})
	t.Run("inspector", func(t *testing.T) {
		launcher := filepath.Join(modules, "@modelcontextprotocol", "inspector", "cli", "build", "cli.js")
		flags := []string{launcher, "--cli", url, "--transport", "http", "--header", header}
		NewWithT(t).Expect(run(t, append(flags, "--method", "tools/list")...)).To(ContainSubstring(`"name": "mcp_fs_echo"`))
		called := append(flags, "--method", "tools/call", "--tool-name", "mcp_fs_echo", "--tool-arg", "message=hello")
		NewWithT(t).Expect(run(t, called...)).To(ContainSubstring("hello"))
	})
	t.Run("mcp-remote", func(t *testing.T) {
		g := NewWithT(t)
		command := exec.CommandContext(t.Context(), node, filepath.Join(modules, "mcp-remote", "dist", "proxy.js"), url,
			"--allow-http", "--transport", "http-only", "--header", header)
		command.Env = append(os.Environ(), "HOME="+t.TempDir())
		client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = session.Close() }()
		listed, err := session.ListTools(t.Context(), nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(listed.Tools).To(ContainElement(HaveField("Name", "mcp_fs_echo")))
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "mcp_fs_echo", Arguments: map[string]any{"message": "hello"},
		})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(text(result)).To(ContainSubstring("hello"))
	})
	w.Expect(server.Executions("echo")).To(Equal(3))
}
