package gateway

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// With exposure Dispatch an agent sees two tools, which describe and call all others.
func TestTwoToolsReachAll(t *testing.T) {
	w := newWorld(t)
	server := mcpfake.New(t)
	w.apply(builder.MCPServer("fs").URL(server.URL()).Obj(), builder.AgentSession("coder").Dispatch().Deny("*_slow").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	token := w.agent("coder")
	url := w.sessionURL("coder")
	list := w.send(http.MethodPost, url, token, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).body
	w.Expect(list).To(And(ContainSubstring(`"describe_mcp"`), ContainSubstring(`"call_mcp"`)))
	w.Expect(list).NotTo(ContainSubstring("mcp_fs_"))
	w.Expect(w.call(url, token, "describe_mcp", `{}`)).To(And(
		ContainSubstring("mcp_fs_echo: tool of the fake server"), Not(ContainSubstring("mcp_fs_slow"))))
	w.Expect(w.call(url, token, "describe_mcp", `{"tool":"mcp_fs_echo"}`)).To(ContainSubstring(`inputSchema`))
	text, _ := w.failed(w.call(url, token, "describe_mcp", `{"tool":"mcp_fs_none"}`))
	w.Expect(text).To(ContainSubstring("There is no tool mcp_fs_none"))
	const exact = `{"n":12345678901234567890}`
	w.Expect(w.call(url, token, "call_mcp", `{"tool":"mcp_fs_echo","arguments":`+exact+`}`)).To(Equal(
		w.call(url, token, "mcp_fs_echo", exact)))
	w.Expect(w.call(url, token, "call_mcp", `{"tool":"mcp_fs_count"}`)).To(ContainSubstring(`"result"`))
	for _, wrong := range []string{`{}`, `{"tool":7}`, `{"tool":"mcp_fs_echo","arguments":[]}`, `{"tool":"mcp_fs_slow"}`} {
		w.Expect(w.call(url, token, "call_mcp", wrong)).To(ContainSubstring(`"code":-32602`), wrong)
	}
	w.Expect(server.Executions("slow")).To(BeZero())
}
