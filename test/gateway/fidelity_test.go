package gateway

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// eras are those of servers.
var eras = map[string]mcpfake.Era{"legacy": mcpfake.Legacy, "modern": mcpfake.Modern, "2024": mcpfake.OldSSE}

// result has a tool give exactly these bytes.
func result(name, bytes string) mcpfake.Tool {
	return mcpfake.NewTool(name, func(*mcpfake.Invocation) (json.RawMessage, error) {
		return json.RawMessage(bytes), nil
	})
}

// serveFake declares one server with these tools, and an AgentSession "coder"; it returns an agent's token.
func (w *world) serveFake(t *testing.T, era mcpfake.Era, tools ...mcpfake.Tool) (*mcpfake.Server, string) {
	t.Helper()
	server := mcpfake.New(t, mcpfake.WithEra(era), mcpfake.WithTools(tools...))
	w.apply(builder.MCPServer("fs").URL(server.URL()).Obj(), builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	return server, w.agent("coder")
}

// Every kind of content arrives with the bytes that the server sent, those of unknown kinds and fields too, and
// nothing is validated or added.
func TestB75_B72_ResultsArriveAsTheyWereSent(t *testing.T) {
	results := map[string]string{
		"all": `{"content":[{"type":"text","text":"<a>&\u003c"},{"type":"image","data":"AA==","mimeType":"image/png"},` +
			`{"type":"audio","data":"not base64!","mimeType":"audio/wav"},` +
			`{"type":"resource_link","uri":"file:///r","name":"r"},` +
			`{"type":"resource","resource":{"uri":"x:y","blob":"AA=="}},{"type":"blob","data":"?","odd":[1.0,2e400]}],` +
			`"structuredContent":{"n":12345678901234567890,"f":1.0},"unknown":{"z":1,"a":2},"_meta":{"x/y":1}}`,
		"failed":   `{"content":[{"type":"text","text":"no"}],"structuredContent":{"err":"x"},"isError":true}`,
		"mismatch": `{"content":[],"structuredContent":{"things":"none"}}`,
		"spaced":   "{\n  \"content\": [],\r\n  \"x\":  1 }",
	}
	for name, era := range eras {
		t.Run(name, func(t *testing.T) {
			results := maps.Clone(results)
			w := newWorld(t)
			var tools []mcpfake.Tool
			for tool, bytes := range results {
				tools = append(tools, result(tool, bytes))
			}
			if era != mcpfake.Legacy {
				delete(results, "spaced") // an event, and what completes a result, changes white space
			}
			_, token := w.serveFake(t, era, tools...)
			for tool, bytes := range results {
				body := w.call(w.sessionURL("coder"), token, "mcp_fs_"+tool, `{}`)
				if era == mcpfake.Modern { // the server itself completes what its tools give
					w.Expect(body).To(HavePrefix(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",`), tool)
					w.Expect(body).To(HaveSuffix(strings.TrimPrefix(bytes, "{")+`}`), tool)
					continue
				}
				w.Expect(body).To(Equal(`{"jsonrpc":"2.0","id":1,"result":`+bytes+`}`), tool)
			}
		})
	}
}

// Arguments reach the server with their bytes; absent and null ones are empty objects, and others than objects are
// refused before anything is sent.
func TestB74_ArgumentsArriveAsTheyWereSent(t *testing.T) {
	w := newWorld(t)
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.NewTool("echo", nil))
	arguments := func() string {
		var params struct{ Arguments json.RawMessage }
		calls := server.Requests("tools/call")
		w.Expect(json.Unmarshal(calls[len(calls)-1].Params, &params)).To(Succeed())
		return string(params.Arguments)
	}
	for sent, want := range map[string]string{
		`{"n":12345678901234567890,"f":1.0,"u":"\u00e9<>","z":1,"a":{ "b" : [ 1e400 ] }}`: "",
		`null`: `{}`, `{}`: `{}`,
	} {
		w.call(w.sessionURL("coder"), token, "mcp_fs_echo", sent)
		if want == "" {
			want = sent
		}
		w.Expect(arguments()).To(Equal(want))
	}
	absent := `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"mcp_fs_echo"}}`
	w.Expect(w.send(http.MethodPost, w.sessionURL("coder"), token, absent).body).To(ContainSubstring(`"id":"a","result"`))
	w.Expect(arguments()).To(Equal(`{}`))
	before := server.Count("tools/call")
	for _, sent := range []string{`"x"`, `[]`, `7`, `true`} {
		w.Expect(w.call(w.sessionURL("coder"), token, "mcp_fs_echo", sent)).To(ContainSubstring(`"code":-32602`), sent)
	}
	w.Expect(server.Count("tools/call")).To(Equal(before))
}

// Results with isError and JSON-RPC errors are answers: they pass with code, message and data, and open no breaker.
func TestB71_ErrorsOfToolsPassAndCountForNothing(t *testing.T) {
	w := newWorld(t)
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.DefaultTools()...)
	for range 10 {
		w.Expect(w.call(w.sessionURL("coder"), token, "mcp_fs_fail", `{}`)).To(Equal(
			`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the tool failed"}],"isError":true}}`))
	}
	server.Fault(mcpfake.Call, 10, mcpfake.RPC(-32602, "bad <argument>", `{"field":"x","n":12345678901234567890}`))
	for range 10 {
		w.Expect(w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{}`)).To(MatchJSON(
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad <argument>",` +
				`"data":{"field":"x","n":12345678901234567890}}}`))
	}
	w.Expect(w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{}`)).To(ContainSubstring(`"result"`))
	w.awaitServer("fs", v1alpha1.ConditionConnected, "True Connected")
}

// Many requests with one id, of either type, get each the answer to its own request; one of them hangs and delays
// none.
func TestB73_ParallelCallsWithOneID(t *testing.T) {
	w := newWorld(t)
	server := mcpfake.New(t)
	w.apply(many("fs", server), builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	token := w.agent("coder")
	var hung sync.WaitGroup
	hung.Go(func() { w.call(w.sessionURL("coder"), token, "mcp_fs_slow", `{}`) })
	server.Await(t, func(s mcpfake.Stats) bool { return s.InFlight == 1 })
	var group sync.WaitGroup
	for i := range 40 {
		id := []string{`7`, `"7"`}[i%2]
		group.Go(func() {
			body := w.send(http.MethodPost, w.sessionURL("coder"), token, fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"mcp_fs_echo","arguments":{"i":%d}}}`, id, i)).body
			w.Expect(body).To(HavePrefix(`{"jsonrpc":"2.0","id":` + id + `,"result":`))
			w.Expect(body).To(ContainSubstring(fmt.Sprintf(`{\"i\":%d}`, i)))
		})
	}
	group.Wait()
	server.Release()
	hung.Wait()
	w.Expect(server.Violations()).To(BeEmpty())
}

// Twenty first calls at once cost one handshake, and from then on each call is one request.
func TestB13_OneHandshakeAndOneRequestACall(t *testing.T) {
	for name, era := range map[string]mcpfake.Era{"legacy": mcpfake.Legacy, "modern": mcpfake.Modern} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			server, token := w.serveFake(t, era, mcpfake.NewTool("echo", nil))
			shake := map[mcpfake.Era]string{mcpfake.Legacy: "initialize", mcpfake.Modern: "server/discover"}[era]
			before := server.Stats()
			var group sync.WaitGroup
			for range 20 {
				group.Go(func() { w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{}`) })
			}
			group.Wait()
			after := server.Stats()
			w.Expect(after.Count(shake)).To(Equal(before.Count(shake)+1), "%v", after)
			w.Expect(after.Count("GET")).To(Equal(before.Count("GET")), "a connection for calls has no stream")
			w.Expect(after.Count("tools/call")).To(Equal(20))
			w.Expect(after.Count("tools/list")).To(Equal(before.Count("tools/list")))
			for range 10 {
				w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{}`)
			}
			warm := server.Stats()
			w.Expect(warm.Count("tools/call")).To(Equal(30))
			w.Expect(warm.Requests-after.Requests).To(Equal(10), "each call is one request: %v", warm)
		})
	}
}

// Results of 15 MiB pass; one of 17 MiB fails alone.
func TestLargeResults(t *testing.T) {
	w := newWorld(t)
	sized := func(name string, mib int) mcpfake.Tool {
		return result(name, `{"content":[{"type":"text","text":"`+strings.Repeat("x", mib<<20)+`"}]}`)
	}
	_, token := w.serveFake(t, mcpfake.Legacy, sized("large", 15), sized("huge", 17), mcpfake.NewTool("echo", nil))
	w.Expect(len(w.call(w.sessionURL("coder"), token, "mcp_fs_large", `{}`))).To(BeNumerically(">", 15<<20))
	text, _ := w.failed(w.call(w.sessionURL("coder"), token, "mcp_fs_huge", `{}`))
	w.Expect(text).NotTo(BeEmpty())
	w.Expect(w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{}`)).To(ContainSubstring(`"result"`))
	huge := w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{"x":"`+strings.Repeat("x", 4<<20)+`"}`)
	w.Expect(huge).To(ContainSubstring("larger than 4 MiB"))
}
