package gateway

import (
	"fmt"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// Whoever may not is refused, in a sentence that says what is missing, and nothing reaches the server; no token is
// logged.
func TestWhoMayNotIsRefused(t *testing.T) {
	w := newWorld(t)
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.NewTool("echo", nil))
	w.account("stranger")
	other := newNamespace(t)
	foreign := other.agent("coder")
	before := server.Stats().Requests
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_fs_echo"}}`
	forged := token[:len(token)-8] + "AAAAAAAA"
	for name, test := range map[string]struct {
		token, url string
		status     int
		says       string
	}{
		"no token":          {"", w.sessionURL("coder"), 401, "audience mooring"},
		"no JWT":            {"secret", w.sessionURL("coder"), 401, "not accepted"},
		"a forged one":      {forged, w.sessionURL("coder"), 401, "not accepted"},
		"another audience":  {w.token("coder", "https://other"), w.sessionURL("coder"), 401, "another audience"},
		"no permission":     {w.token("stranger", "mooring"), w.sessionURL("coder"), 403, "mooring-agent"},
		"another namespace": {foreign, w.sessionURL("coder"), 403, "may not use agentsession"},
		"the server itself": {w.token("stranger", "mooring"), w.serverURL("fs"), 403, "may not use mcpserver"},
		"nothing there":     {w.token("stranger", "mooring"), w.sessionURL("none"), 403, "may not use"},
	} {
		got := w.send(http.MethodPost, test.url, test.token, body)
		w.Expect(got.status).To(Equal(test.status), name)
		w.Expect(got.body).To(ContainSubstring(test.says), name)
		w.Expect(got.header.Get("Content-Type")).To(Equal("application/json"), name)
		if test.token != "" {
			w.Expect(logs.String()).NotTo(ContainSubstring(test.token), name)
			w.Expect(got.body).NotTo(ContainSubstring(test.token), name)
		}
	}
	w.Expect(w.send(http.MethodPost, w.sessionURL("none"), token, body).status).To(Equal(http.StatusNotFound))
	w.Expect(server.Stats().Requests).To(Equal(before))
	w.Expect(logs.String()).NotTo(ContainSubstring(token))
	w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{}`)
	for _, request := range server.Requests("") {
		w.Expect(request.Header.Get("Authorization")).To(BeEmpty(), "no token of an agent reaches a server")
	}
}

// An AgentSession may name who connects, and nobody else does.
func TestAllowedServiceAccounts(t *testing.T) {
	w := newWorld(t)
	w.account("named")
	w.account("other")
	w.apply(builder.AgentSession("coder").ServiceAccount("", "named").Obj())
	w.awaitSession("coder", "NoServersSelected")
	w.Expect(w.send(http.MethodPost, w.sessionURL("coder"), w.token("named", "mooring"), ping).status).To(Equal(200))
	w.Expect(w.send(http.MethodPost, w.sessionURL("coder"), w.token("other", "mooring"), ping).status).To(Equal(403))
}

// A tool outside of a filter is neither listed nor called, under the filters of the agent session and of the server.
func TestFilteredToolsCannotBeCalled(t *testing.T) {
	w := newWorld(t)
	server := mcpfake.New(t)
	w.apply(builder.MCPServer("fs").URL(server.URL()).Deny("count").Obj(),
		builder.AgentSession("coder").Deny("*_slow").Obj(), builder.AgentSession("child").Parent("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	w.awaitSession("child", "AllServersAvailable")
	token := w.agent("coder")
	for _, session := range []string{"coder", "child"} {
		url := w.sessionURL(session)
		list := w.send(http.MethodPost, url, token, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).body
		w.Expect(list).To(ContainSubstring("mcp_fs_echo"))
		w.Expect(list).NotTo(Or(
			ContainSubstring("mcp_fs_slow"), ContainSubstring("mcp_fs_count"), ContainSubstring("rawName")))
		w.Expect(w.call(url, token, "mcp_fs_slow", `{}`)).To(ContainSubstring("no tool"))
		w.Expect(w.call(url, token, "mcp_fs_count", `{}`)).To(ContainSubstring("no tool"))
	}
	w.Expect(w.call(w.serverURL("fs"), token, "count", `{}`)).To(ContainSubstring("no tool"))
	w.Expect(w.call(w.serverURL("fs"), token, "echo", `{}`)).To(ContainSubstring(`"result"`))
	// An edit holds at once, whatever is published.
	change(w, "coder", &v1alpha1.AgentSession{}, func(s *v1alpha1.AgentSession) { s.Spec.Tools.Deny = []string{"*"} })
	w.Eventually(func() string { return w.call(w.sessionURL("child"), token, "mcp_fs_echo", `{}`) }).Should(
		Or(ContainSubstring("withdrawn"), ContainSubstring("no tool")))
	w.Expect(server.Executions("slow") + server.Executions("count")).To(BeZero())
}

// What a filter let pass is what the server runs, also where it reads repeated or capital members in its own way.
func TestNoSecondNameGetsPastAFilter(t *testing.T) {
	w := newWorld(t)
	server := mcpfake.New(t)
	w.apply(builder.MCPServer("fs").URL(server.URL()).Deny("count").Obj(), builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	token := w.agent("coder")
	for _, params := range []string{
		`{"name":"%secho","Name":"count"}`, `{"name":"count","name":"%secho"}`, `{"name":"%secho","n\u0041me":"count"}`,
		`{"Name":"%secho"}`, `{"name":"%secho","arguments":{},"Arguments":[]}`,
		`{"name":"%secho","arguments":[],"arguments":{}}`,
	} {
		for url, prefix := range map[string]string{w.sessionURL("coder"): "mcp_fs_", w.serverURL("fs"): ""} {
			got := w.send(http.MethodPost, url, token,
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+fmt.Sprintf(params, prefix)+`}`)
			w.Expect(got.body).To(ContainSubstring(`"code":-32602`), params)
		}
	}
	w.Expect(server.Count("tools/call")).To(BeZero())
}

// A 401 begins no OAuth dance: no metadata is named, none is found, and the sentence says which token is wanted.
func TestC35_A401BeginsNoOAuthDance(t *testing.T) {
	w := newWorld(t)
	w.apply(builder.AgentSession("coder").Obj())
	token := w.agent("coder")
	none := w.send(http.MethodPost, w.sessionURL("coder"), "", ping)
	w.Expect(none.header.Get("WWW-Authenticate")).To(Equal("Bearer"))
	other := w.send(http.MethodPost, w.sessionURL("coder"), w.token("coder", "https://other"), ping)
	w.Expect(other.header.Get("WWW-Authenticate")).To(HavePrefix(`Bearer error="invalid_token"`))
	w.Expect(other.header.Get("WWW-Authenticate")).NotTo(ContainSubstring("resource_metadata"))
	for _, path := range []string{
		"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/sessions/a/b/mcp",
		"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/register",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			got := w.send(method, w.url+path, "", "{}")
			w.Expect(got.status).To(Equal(http.StatusNotFound), path)
			w.Expect(got.header.Get("Content-Type")).To(Equal("application/json"), path)
		}
	}
	w.Expect(w.send(http.MethodPost, w.sessionURL("coder"), token, ping).status).To(Equal(http.StatusOK))
}

// A page of another origin, and a name that is not ours, are refused.
func TestHostAndOriginAreChecked(t *testing.T) {
	w := newWorld(t)
	w.apply(builder.AgentSession("coder").Obj())
	token := w.agent("coder")
	got := w.send(http.MethodPost, w.sessionURL("coder"), token, ping, "Origin", "https://evil.example")
	w.Expect(got.status).To(Equal(http.StatusForbidden))
	request, err := http.NewRequestWithContext(w.ctx, http.MethodPost, w.sessionURL("coder"), http.NoBody)
	w.Expect(err).NotTo(HaveOccurred())
	for host, status := range map[string]int{
		"evil.example": 403, "mooring-gateway.com": 403, "mooring-gateway.x.svc.evil.example": 403,
		"mooring-gateway.mooring-system.svc": 401, "localhost:8330": 401, "[::1]:8330": 401,
	} {
		request.Host = host
		response, err := http.DefaultTransport.RoundTrip(request)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(response.Body.Close()).To(Succeed())
		w.Expect(response.StatusCode).To(Equal(status), host)
	}
}
