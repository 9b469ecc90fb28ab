package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// What real clients send is understood, whatever its form, and each answer has the id with the same bytes.
func TestC29_FormsOfRealClients(t *testing.T) {
	w := newWorld(t)
	_, token := w.serveFake(t, mcpfake.Legacy, mcpfake.DefaultTools()...)
	url := w.sessionURL("coder")
	methods := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`,
		"ping":       `null`, "tools/list": `[]`, "tools/call": `{"name":"mcp_fs_echo"}`,
	}
	for method, params := range methods {
		for _, id := range []string{`0`, `""`, `-1`, `1.0`, `9007199254740993`, `"ä"`} {
			got := w.send(http.MethodPost, url, token,
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
			w.Expect(got.status).To(Equal(http.StatusOK), method+got.body)
			w.Expect(got.body).To(HavePrefix(`{"jsonrpc":"2.0","id":`+id+`,"result":`), method)
		}
		for accept, want := range map[string]string{
			"": "application/json", "*/*": "application/json", "application/*": "application/json",
			"application/json": "application/json", "text/event-stream": "text/event-stream",
			"text/event-stream;q=0.9, application/json": "application/json", "text/html": "application/json",
		} {
			got := w.send(http.MethodPost, url, token,
				fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params), "Accept", accept)
			w.Expect(got.header.Get("Content-Type")).To(Equal(want), method+" "+accept)
			w.Expect(got.body).To(ContainSubstring(`{"jsonrpc":"2.0","id":1,"result":`), method+" "+accept)
		}
	}
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":0}}}`
	for name, test := range map[string][]string{
		"charset":          {list, "Content-Type", "application/json; charset=UTF-8"},
		"quoted charset":   {list, "Content-Type", `application/json;charset="utf-8"`},
		"byte order mark":  {"\xef\xbb\xbf" + list},
		"an older version": {list, "Mcp-Protocol-Version", "2025-03-26"},
	} {
		w.Expect(w.send(http.MethodPost, url, token, test[0], test[1:]...).body).To(ContainSubstring(`"tools":[`), name)
	}
	w.Expect(w.send(http.MethodPost, url+"/", token, list).body).To(ContainSubstring(`"tools":[`), "a slash at the end")
	for _, note := range []string{`null`, `[]`, `{}`} {
		got := w.send(http.MethodPost, url, token, `{"jsonrpc":"2.0","method":"notifications/initialized","params":`+note+`}`)
		w.Expect(got.status).To(Equal(http.StatusAccepted))
	}
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1.50,"method":"nonsense"}`:  `{"jsonrpc":"2.0","id":1.50,"error":{"code":-32601`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/call"}`: `{"jsonrpc":"2.0","id":"x","error":{"code":-32602`,
		`{"jsonrpc":"2.0","id":7,"method":"initialize"}`:   `{"jsonrpc":"2.0","id":7,"error":{"code":-326`,
		`{`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
		`[{"id":1,"method":"ping"},{"id":2,"method":"ping"}]`:       `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":3}`: `{"jsonrpc":"2.0","id":1,"error":{"code":-32602`,
	} {
		w.Expect(w.send(http.MethodPost, url, token, body).body).To(HavePrefix(want))
	}
}

// The catalog is served as it is published, and in the forms of models and people.
func TestCatalogIsServed(t *testing.T) {
	w := newWorld(t)
	_, token := w.serveFake(t, mcpfake.Legacy, mcpfake.DefaultTools()...)
	url := strings.TrimSuffix(w.sessionURL("coder"), "mcp") + "catalog"
	got := w.send(http.MethodGet, url, token, "")
	session := w.awaitSession("coder", "AllServersAvailable")
	w.Expect(got.header.Get("ETag")).To(Equal(`"` + session.Status.Catalog.Digest + `"`))
	w.Expect(got.body).To(ContainSubstring(`"rawName":"echo"`))
	unchanged := w.send(http.MethodGet, url, token, "", "If-None-Match", got.header.Get("ETag"))
	w.Expect(unchanged.status).To(Equal(http.StatusNotModified))
	w.Expect(w.send(http.MethodGet, url+"?format=openai", token, "").body).To(ContainSubstring(`"type":"function"`))
	w.Expect(w.send(http.MethodGet, url+"?format=anthropic", token, "").body).To(ContainSubstring(`"input_schema"`))
	w.Expect(w.send(http.MethodGet, url+"?format=markdown", token, "").body).To(HavePrefix("## `mcp_fs_"))
	w.Expect(w.send(http.MethodGet, url+"?format=x", token, "").status).To(Equal(http.StatusBadRequest))
	w.Expect(session.Status.Endpoint).To(Equal(w.sessionURL("coder")))
}

// Links in results pass. Where several servers meet, nobody is asked for what they lead to, and the error says where
// to ask; at the one server's place, that server is.
func TestC30_LinksLeadToTheirServerAlone(t *testing.T) {
	w := newWorld(t)
	link := `{"content":[{"type":"resource_link","uri":"file:///report.txt","name":"report"}],` +
		`"_meta":{"ui":{"resourceUri":"ui://p"}}}`
	one := mcpfake.New(t, mcpfake.WithTools(result("report", link)))
	two := mcpfake.New(t, mcpfake.WithTools(result("report", link)))
	w.apply(builder.MCPServer("one").URL(one.URL()).Obj(), builder.MCPServer("two").URL(two.URL()).Obj(),
		builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	token := w.agent("coder")
	w.Expect(w.call(w.sessionURL("coder"), token, "mcp_one_report", `{}`)).To(ContainSubstring(link))
	read := `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///report.txt"}}`
	w.Expect(w.send(http.MethodPost, w.sessionURL("coder"), token, read).body).To(And(
		ContainSubstring(`"code":-32601`), ContainSubstring("/servers/NAMESPACE/NAME/mcp")))
	w.Expect(one.Count("resources/read") + two.Count("resources/read")).To(BeZero())
	w.send(http.MethodPost, w.serverURL("two"), token, read)
	w.Expect(one.Count("resources/read")).To(BeZero())
	w.Expect(two.Requests("resources/read")).To(HaveLen(1))
	w.Expect(string(two.Requests("resources/read")[0].Params)).To(ContainSubstring(`"uri":"file:///report.txt"`))
}

// Of a server of another namespace only what is permitted can be called, whatever a ConfigMap says.
func TestNoConfigMapPermitsAnything(t *testing.T) {
	w := newWorld(t)
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.DefaultTools()...)
	change(w, "fs", &v1alpha1.MCPServer{}, func(s *v1alpha1.MCPServer) {
		s.Spec.Tools = &v1alpha1.Tools{Allow: []string{"echo"}}
	})
	w.Eventually(func() string { return w.call(w.sessionURL("coder"), token, "mcp_fs_count", `{}`) }).Should(
		Or(ContainSubstring("withdrawn"), ContainSubstring("no tool")))
	w.Expect(server.Executions("count")).To(BeZero())
}
