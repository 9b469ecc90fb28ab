package integration

import (
	"bufio"
	"cmp"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
)

// everythingTools is what the pinned version of npm's server-everything lists.
const everythingTools = 13

// A server that is none of ours: npm's server-everything, over streamable HTTP. Its process is killed and started
// again on the same port, and nobody has to do anything about it.
func TestServerEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	process, address := w.startEverything("0")
	w.apply(builder.MCPServer("everything").URL("http://" + address + "/mcp").Cooldown(time.Second).Obj())
	server := w.ready("everything")
	w.Expect(toolCount(server)).To(Equal(everythingTools))
	w.Expect(w.stored("everything").Tools).To(HaveLen(everythingTools))
	_, found := w.stored("everything").Find("echo")
	w.Expect(found).To(BeTrue())
	w.Expect(server.Status.Server.Name).To(Equal("mcp-servers/everything"))
	w.Expect(server.Status.Server.ProtocolVersion).To(Equal("2025-11-25"))
	digest := server.Status.Catalog.Digest

	w.Expect(process.Process.Kill()).To(Succeed())
	_ = process.Wait() // it was killed
	lost := w.await("everything", v1alpha1.ConditionReady, "False ConnectFailed")
	w.Expect(says(lost, v1alpha1.ConditionCatalogPublished)).To(Equal("True Published"), "agents keep their tools")

	_, port, err := net.SplitHostPort(address)
	w.Expect(err).NotTo(HaveOccurred())
	w.startEverything(port)
	healed := w.ready("everything")
	w.Expect(toolCount(healed)).To(Equal(everythingTools))
	w.Expect(healed.Status.Catalog.Digest).To(Equal(digest))
}

// startEverything runs the server on a port of the loopback interface, which is chosen by the kernel for "0", until the
// test ends. It returns the process and where it listens.
func (w *world) startEverything(port string) (*exec.Cmd, string) {
	w.t.Helper()
	root := filepath.Join("..", "..")
	assets := filepath.Join(root, "bin", "node-assets")
	node := cmp.Or(os.Getenv("MOORING_NODE"), filepath.Join(assets, "node"))
	script := cmp.Or(os.Getenv("MOORING_SERVER_EVERYTHING"), filepath.Join(assets, "node_modules",
		"@modelcontextprotocol", "server-everything", "dist", "index.js"))
	for _, file := range []string{node, script} {
		w.Expect(fileExists(file)).To(BeTrue(), "there is no %s: run `make node-assets`", file)
	}
	loopback, err := filepath.Abs(filepath.Join(root, "hack", "node-assets", "loopback.mjs"))
	w.Expect(err).NotTo(HaveOccurred())
	command := exec.CommandContext(w.ctx, node, "--import", loopback, script, "streamableHttp")
	command.Env = append(os.Environ(), "PORT="+port)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := command.StdoutPipe()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(command.Start()).To(Succeed())
	w.t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended
		_ = command.Wait()
	})
	listening := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if address, ok := strings.CutPrefix(lines.Text(), "listening "); ok {
				listening <- address
				break
			}
		}
		_, _ = io.Copy(io.Discard, out) // so that it never blocks
	}()
	var address string
	w.Eventually(listening).Should(Receive(&address), "the server does not listen")
	return command, address
}
