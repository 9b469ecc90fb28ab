package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/internal/gateway"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// open begins a request over a connection of its own, to which the test writes the rest.
func (w *world) open(url, token string, lines ...string) (net.Conn, *bufio.Reader) {
	w.t.Helper()
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	conn, err := net.Dial("tcp", host)
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { _ = conn.Close() })
	lines = append([]string{
		"POST /" + path + " HTTP/1.1", "Host: " + host, "Content-Type: application/json", "Authorization: Bearer " + token,
	}, lines...)
	_, err = fmt.Fprint(conn, strings.Join(lines, "\r\n")+"\r\n\r\n")
	w.Expect(err).NotTo(HaveOccurred())
	return conn, bufio.NewReader(conn)
}

// Requests hold the room of what has arrived of them, not of what they announce, or could be.
func TestLittleIsHeldForLittle(t *testing.T) {
	w := newWorld(t)
	server := mcpfake.New(t)
	w.apply(many("fs", server), builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	token := w.agent("coder")
	for range 70 {
		_, answer := w.open(w.sessionURL("coder"), token, "Content-Length: 4194304", "Expect: 100-continue")
		line, err := answer.ReadString('\n')
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(line).To(ContainSubstring("100 Continue"), "the gateway waits for the body")
	}
	w.Expect(w.send(http.MethodPost, w.sessionURL("coder"), token, ping).status).To(Equal(http.StatusOK))

	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_fs_slow"}}`
	var group sync.WaitGroup
	for range 64 {
		conn, answer := w.open(w.sessionURL("coder"), token, "Transfer-Encoding: chunked")
		_, err := fmt.Fprintf(conn, "%x\r\n%s\r\n0\r\n\r\n", len(body), body)
		w.Expect(err).NotTo(HaveOccurred())
		group.Go(func() {
			response, err := http.ReadResponse(answer, nil)
			w.Expect(err).NotTo(HaveOccurred())
			defer response.Body.Close()
			text, _ := io.ReadAll(response.Body)
			w.Expect(string(text)).To(ContainSubstring("done"))
		})
	}
	server.Await(t, func(s mcpfake.Stats) bool { return s.InFlight == 64 })
	w.Expect(w.send(http.MethodPost, w.sessionURL("coder"), token, ping).status).To(Equal(http.StatusOK))
	server.Release()
	group.Wait()
}

// Who sends a body slowly is not waited for without end, least of all who may not send any.
func TestASlowBodyIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		near, far := net.Pipe()
		listener := &oneConn{conn: far, closed: make(chan struct{})}
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() {
			server := &gateway.Server{Gateway: gateway.New(gateway.Options{}), Listener: listener}
			g.Expect(server.Start(ctx)).To(Succeed())
		})
		_, err := fmt.Fprint(near, "POST /sessions/a/b/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
		g.Expect(err).NotTo(HaveOccurred())
		answer, err := io.ReadAll(near)
		g.Expect(err).NotTo(HaveOccurred(), "the connection is closed")
		g.Expect(string(answer)).To(HavePrefix("HTTP/1.1 401"))
		cancel()
		running.Wait()
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn   net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *oneConn) Accept() (conn net.Conn, err error) {
	if conn, l.conn = l.conn, nil; conn != nil {
		return conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// Millions of members cost no more than the bytes that they came with: what has so many is refused before they are
// taken apart.
func TestMillionsOfMembersAreNotTakenApart(t *testing.T) {
	w := newWorld(t)
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.NewTool("echo", nil))
	members := "{" + strings.Repeat(`"0":0,`, 600_000) + `"0":0}`
	called := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + members + `}`
	for body, want := range map[string]string{
		"[" + strings.Repeat("0,", 2_000_000) + "0]": `"code":-32600`,
		members: `"code":-32700`,
		called:  `"id":7,"error":{"code":-32602`,
	} {
		w.Expect(w.send(http.MethodPost, w.sessionURL("coder"), token, body).body).To(ContainSubstring(want))
	}
	w.Expect(server.Count("tools/call")).To(BeZero())
	w.Expect(w.call(w.sessionURL("coder"), token, "mcp_fs_echo", members)).To(ContainSubstring(`"result"`))
}

// No path is answered with a redirect, and none that can be nobody's is asked for.
func TestOddPathsAreNotFound(t *testing.T) {
	w := newWorld(t)
	w.apply(builder.AgentSession("coder").Obj())
	token := w.agent("coder")
	home := "/sessions/" + w.namespace
	for _, path := range []string{
		"/" + home + "/coder/mcp", home + "/coder/mcp//", home + "//coder/mcp", home + "/x/../coder/mcp",
		home + "%2fcoder/mcp",
		home + "/%2e%2e/mcp", home + "/coder%00/mcp", home + "/Coder/mcp", home + "/" + strings.Repeat("x", 50_000) + "/mcp",
		"/.well-known//oauth-protected-resource", "/x/../register", "//register",
	} {
		got := w.send(http.MethodPost, w.url+path, token, ping)
		w.Expect(got.status).To(Equal(http.StatusNotFound), path)
		w.Expect(got.header.Get("Content-Type")).To(Equal("application/json"), path)
	}
	w.Expect(w.send(http.MethodPost, w.sessionURL("coder")+"/", token, ping).status).To(Equal(http.StatusOK))
}

// Of several tokens, or origins, none is believed.
func TestSeveralTokensAreNone(t *testing.T) {
	w := newWorld(t)
	w.apply(builder.AgentSession("coder").Obj())
	token := w.agent("coder")
	for _, lines := range [][]string{
		{"Authorization: Bearer x"}, {"Authorization: Bearer " + token}, {"Authorization:"},
		{"Origin: http://localhost", "Origin: https://evil.example"},
	} {
		_, answer := w.open(w.sessionURL("coder"), token, append(lines, "Content-Length: 0")...)
		response, err := http.ReadResponse(answer, nil)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(response.Body.Close()).To(Succeed())
		w.Expect(response.StatusCode).To(BeElementOf(http.StatusUnauthorized, http.StatusForbidden), "%v", lines)
	}
}

// A call in a version of the protocol that is not known is told which are, as any other request is.
func TestAnUnknownVersionCallsNothing(t *testing.T) {
	w := newWorld(t)
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.NewTool("echo", nil))
	got := w.send(http.MethodPost, w.sessionURL("coder"), token,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+
			`"name":"mcp_fs_echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01",`+
			`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"Mcp-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/call", "Mcp-Name", "mcp_fs_echo")
	w.Expect(got.status).To(Equal(http.StatusBadRequest))
	w.Expect(got.body).To(And(ContainSubstring(`"code":-32022`), ContainSubstring("2026-07-28")))
	w.Expect(server.Count("tools/call")).To(BeZero())
}

// What is no progress token is given back in no notification.
func TestWhatIsNoProgressTokenIsNone(t *testing.T) {
	w := newWorld(t)
	server := mcpfake.New(t, mcpfake.WithEncoding(mcpfake.SSE))
	w.apply(builder.MCPServer("fs").URL(server.URL()).Obj(), builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	token := w.agent("coder")
	for _, own := range []string{`null`, `{}`, `[]`, `true`} {
		got := w.send(http.MethodPost, w.sessionURL("coder"), token, `{"jsonrpc":"2.0","id":9,"method":"tools/call",`+
			`"params":{"name":"mcp_fs_progress","arguments":{"steps":3},"_meta":{"progressToken":`+own+`}}}`,
			"Accept", "application/json, text/event-stream")
		w.Expect(got.body).To(And(ContainSubstring(`"result"`), Not(ContainSubstring("progressToken"))), own)
	}
}
