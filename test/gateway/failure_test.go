package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// many is a declaration of a server that takes many calls at once.
func many(name string, server *mcpfake.Server) *v1alpha1.MCPServer {
	return builder.MCPServer(name).URL(server.URL()).Mutate(func(s *v1alpha1.MCPServer) {
		s.Spec.Calls = &v1alpha1.Calls{MaxConcurrent: 64}
	}).Obj()
}

// A server's bad answers cost its own callers one clear answer each, and calls to another server nothing.
func TestB06_AFaultIsThatCallsAlone(t *testing.T) {
	w := newWorld(t)
	x, y := mcpfake.New(t), mcpfake.New(t)
	w.apply(builder.MCPServer("x").URL(x.URL()).Obj(), many("y", y), builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	token := w.agent("coder")
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			w.Expect(w.call(w.sessionURL("coder"), token, "mcp_y_slow", `{}`)).To(ContainSubstring("done"))
		})
	}
	y.Await(t, func(s mcpfake.Stats) bool { return s.InFlight == 5 })
	for status, want := range map[int]failure{
		500: {"server", 500, false, 0}, 401: {"auth", 401, false, 0}, 403: {"permission", 403, false, 0},
	} {
		x.Fault(mcpfake.Call, 1, mcpfake.Status(status, nil, "a secret of the server"))
		text, told := w.failed(w.call(w.sessionURL("coder"), token, "mcp_x_echo", `{}`))
		w.Expect(told).To(Equal(want))
		w.Expect(text).To(ContainSubstring(fmt.Sprint(status)))
		w.Expect(text).NotTo(Or(ContainSubstring("secret"), ContainSubstring(x.Origin()), ContainSubstring("cancel")))
	}
	y.Release()
	group.Wait()
}

// A short 429 is waited out and the call sent again once; a long one fails the call at once and holds for others.
func TestB11_RetryAfterIsFollowed(t *testing.T) {
	w := newWorld(t)
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.DefaultTools()...)
	w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{}`)
	before := server.Count("tools/call")
	server.Fault(mcpfake.Call, 1, mcpfake.RetryAfter(429, "1"))
	w.Expect(w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{}`)).To(ContainSubstring(`"result"`))
	w.Expect(server.Count("tools/call")).To(Equal(before + 2))
	server.Fault(mcpfake.Call, 1, mcpfake.RetryAfter(429, "600"))
	for range 2 {
		text, told := w.failed(w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{}`))
		w.Expect(told.Class).To(Equal("rateLimit"))
		w.Expect(told.Retryable).To(BeTrue())
		w.Expect(told.RetryAfterSeconds).To(And(BeNumerically(">", 400), BeNumerically("<=", 600)))
		w.Expect(text).To(ContainSubstring("try again in about"))
	}
	w.Expect(server.Count("tools/call")).To(Equal(before + 3))
	w.awaitServer("fs", v1alpha1.ConditionConnected, "True Connected")
}

// A lost answer is not asked for again, unless the tool was named as safe to repeat.
func TestB67_ALostAnswerIsNotAskedForTwice(t *testing.T) {
	w := newWorld(t)
	server := mcpfake.New(t)
	w.apply(builder.MCPServer("fs").URL(server.URL()).Mutate(func(s *v1alpha1.MCPServer) {
		s.Spec.Calls = &v1alpha1.Calls{ReplayTools: []string{"cou*"}}
	}).Obj(), builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	token := w.agent("coder")
	server.Fault(mcpfake.Call, 1, mcpfake.ExecuteThenReset())
	text, told := w.failed(w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{}`))
	w.Expect(told).To(Equal(failure{"transport", 0, false, 0}))
	w.Expect(text).To(ContainSubstring("may have been carried out"))
	w.Expect(server.Executions("echo")).To(Equal(1))
	server.Fault(mcpfake.Call, 1, mcpfake.ExecuteThenReset())
	w.Expect(w.call(w.sessionURL("coder"), token, "mcp_fs_count", `{}`)).To(ContainSubstring(`"result"`))
	w.Expect(server.Executions("count")).To(Equal(2))
}

// A server that dies is told to its callers, at once while its breaker is open; it works again after its cooldown.
func TestADyingServerIsToldToItsCallers(t *testing.T) {
	w := newWorld(t)
	x, y := mcpfake.New(t), mcpfake.New(t)
	w.apply(builder.MCPServer("x").URL(x.URL()).Attempts(1).Cooldown(time.Second).Obj(),
		builder.MCPServer("y").URL(y.URL()).Obj(), builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	token := w.agent("coder")
	w.call(w.sessionURL("coder"), token, "mcp_x_echo", `{}`)
	x.Refuse()
	x.CutConnections(true)
	for range 3 {
		text, told := w.failed(w.call(w.sessionURL("coder"), token, "mcp_x_echo", `{}`))
		w.Expect(told.Class).To(Equal("transport"))
		w.Expect(told.Retryable).To(BeTrue())
		w.Expect(text).To(HavePrefix("Server x is temporarily unavailable: "))
		w.Expect(w.call(w.sessionURL("coder"), token, "mcp_y_echo", `{}`)).To(ContainSubstring(`"result"`))
	}
	w.Expect(x.Restore()).To(Succeed())
	w.Eventually(func() string { return w.call(w.sessionURL("coder"), token, "mcp_x_echo", `{}`) }).
		Should(ContainSubstring(`"content":[{"type":"text","text":"{}"}]}`))
}

// Progress goes to the client under its own token, whatever that is, as it comes.
func TestB70_ProgressPasses(t *testing.T) {
	for name, era := range eras {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			server := mcpfake.New(t, mcpfake.WithEra(era), mcpfake.WithEncoding(mcpfake.SSE))
			w.apply(builder.MCPServer("fs").URL(server.URL()).Obj(), builder.AgentSession("coder").Obj())
			w.awaitSession("coder", "AllServersAvailable")
			token := w.agent("coder")
			for _, own := range []string{`0`, `"p"`, `12345678901234567890`} {
				got := w.send(http.MethodPost, w.sessionURL("coder"), token, `{"jsonrpc":"2.0","id":9,"method":"tools/call",`+
					`"params":{"name":"mcp_fs_progress","arguments":{"steps":3},"_meta":{"progressToken":`+own+`}}}`,
					"Accept", "application/json, text/event-stream")
				w.Expect(got.header.Get("Content-Type")).To(Equal("text/event-stream"))
				w.Expect(strings.Count(got.body, `"progressToken":`+own+`,`)).To(Equal(3), got.body)
				w.Expect(got.body).To(ContainSubstring(`data: {"jsonrpc":"2.0","id":9,"result":`))
			}
		})
	}
}

// A client that goes away, and one that says so, end the call at the server.
func TestB69_CancellationReachesTheServer(t *testing.T) {
	for name, era := range eras {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			server, token := w.serveFake(t, era, mcpfake.DefaultTools()...)
			agent := w.connect(w.sessionURL("coder"), token, nil)
			w.cancelled(server, 1, func(cancelled <-chan struct{}) {
				ctx, cancel := context.WithCancel(w.ctx)
				defer cancel()
				go func() {
					<-cancelled
					cancel()
				}()
				_, err := agent.CallTool(ctx, &mcp.CallToolParams{Name: "mcp_fs_slow"})
				w.Expect(err).To(HaveOccurred())
			})
			w.cancelled(server, 2, func(cancelled <-chan struct{}) {
				done := make(chan string, 1)
				go func() {
					done <- w.send(http.MethodPost, w.sessionURL("coder"), token,
						`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"mcp_fs_slow"}}`).body
				}()
				<-cancelled
				got := w.send(http.MethodPost, w.sessionURL("coder"), token,
					`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`)
				w.Expect(got.status).To(Equal(http.StatusAccepted))
				w.Eventually(done).Should(Receive(ContainSubstring(`"id":"x","error":{"code":-32800`)))
			})
			w.Expect(w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{}`)).To(ContainSubstring(`"result"`))
		})
	}
}

// cancelled runs a call, closes the channel when it is in flight, and awaits that the server has heard of n ends.
func (w *world) cancelled(server *mcpfake.Server, n int, run func(<-chan struct{})) {
	inFlight := make(chan struct{})
	go func() {
		server.Await(w.t, func(s mcpfake.Stats) bool { return s.InFlight > 0 })
		close(inFlight)
	}()
	run(inFlight)
	server.Await(w.t, func(s mcpfake.Stats) bool { return s.Cancelled == n && s.InFlight == 0 })
}

// Agents hear that their tools changed, in either protocol era, and see the change.
func TestListChangesAreTold(t *testing.T) {
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprint("modern ", modern), func(t *testing.T) {
			w := newWorld(t)
			server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.NewTool("echo", nil))
			changed := make(chan struct{}, 10)
			if modern {
				w.connect(w.sessionURL("coder"), token, &mcp.ClientOptions{
					ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
				})
			} else {
				go w.listen(w.sessionURL("coder"), token, changed)
				w.Eventually(changed).Should(Receive(), "the stream stands")
			}
			server.AddTool(mcpfake.NewTool("late", nil))
			server.NotifyListChanged()
			w.Eventually(changed).Should(Receive())
			w.Expect(w.call(w.sessionURL("coder"), token, "mcp_fs_late", `{}`)).To(ContainSubstring(`"result"`))
		})
	}
}

// listen sends a word when the GET stream stands, and one for each change that it tells.
func (w *world) listen(url, token string, words chan<- struct{}) {
	request, err := http.NewRequestWithContext(w.ctx, http.MethodGet, url, http.NoBody)
	w.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Accept", "text/event-stream")
	response, err := bearer{token}.RoundTrip(request)
	w.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	w.Expect(response.StatusCode).To(Equal(http.StatusOK))
	w.Expect(response.Header.Get("X-Accel-Buffering")).To(Equal("no"))
	words <- struct{}{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), "notifications/tools/list_changed") {
			words <- struct{}{}
		}
	}
}

// A call that is silent for long gets signs of life and is carried out once; headers tell proxies not to buffer.
func TestC28_B17_ASlowCallShowsLife(t *testing.T) {
	w := newWorld(t)
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.DefaultTools()...)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_fs_slow"}}`
	for accept, sign := range map[string]string{"application/json, text/event-stream": ": ", "application/json": "\n"} {
		request, err := http.NewRequestWithContext(w.ctx, http.MethodPost, w.sessionURL("coder"), strings.NewReader(call))
		w.Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Accept", accept)
		request.Header.Set("Content-Type", "application/json")
		before := server.Executions("slow")
		response, err := bearer{token}.RoundTrip(request)
		w.Expect(err).NotTo(HaveOccurred())
		body := bufio.NewReader(response.Body)
		first, err := body.Peek(len(sign))
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(string(first)).To(Equal(sign), "while the tool still runs")
		w.Expect(response.Header.Get("Cache-Control")).To(ContainSubstring("no-cache"))
		if sign != "\n" {
			w.Expect(response.Header.Get("X-Accel-Buffering")).To(Equal("no"))
		}
		server.Release()
		var rest strings.Builder
		_, err = body.WriteTo(&rest)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(response.Body.Close()).To(Succeed())
		w.Expect(rest.String()).To(ContainSubstring("done"))
		if sign == "\n" {
			w.Expect(json.Valid([]byte(rest.String()))).To(BeTrue())
		}
		w.Expect(server.Executions("slow")).To(Equal(before + 1))
	}
}
