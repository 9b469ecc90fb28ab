package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// Each caller of each agent session has a session of its own at the server, unless sharing was asked for; a subagent
// goes through its parent's.
func TestB52_SessionsAreNotShared(t *testing.T) {
	w := newWorld(t)
	server, shared := mcpfake.New(t), mcpfake.New(t)
	w.apply(builder.MCPServer("own").URL(server.URL()).Obj(),
		builder.MCPServer("shared").URL(shared.URL()).Mutate(func(s *v1alpha1.MCPServer) {
			s.Spec.Sessions = &v1alpha1.Sessions{Sharing: v1alpha1.SharingShared}
		}).Obj(),
		builder.AgentSession("one").Obj(), builder.AgentSession("two").Obj(),
		builder.AgentSession("child").Parent("one").Obj())
	for _, name := range []string{"one", "two", "child"} {
		w.awaitSession(name, "AllServersAvailable")
	}
	a, b := w.agent("a"), w.agent("b")
	count := func(session, token, server string) string {
		body := w.call(w.sessionURL(session), token, "mcp_"+server+"_count", `{}`)
		_, rest, _ := strings.Cut(body, `"text":"`)
		number, _, _ := strings.Cut(rest, `"`)
		return number
	}
	for _, want := range []string{"1", "2"} {
		w.Expect(count("one", a, "own")).To(Equal(want))
		w.Expect(count("two", a, "own")).To(Equal(want))
		w.Expect(count("one", b, "own")).To(Equal(want))
	}
	w.Expect(count("child", a, "own")).To(Equal("3"), "through the parent's session")
	var seen []string
	for _, token := range []string{a, b} {
		seen = append(seen, count("one", token, "shared"), count("two", token, "shared"))
	}
	w.Expect(seen).To(Equal([]string{"1", "2", "3", "4"}))

	// An id of somebody's session, sent along, is not believed and reaches no server.
	ids := server.Requests("tools/call")
	stolen := ids[0].Session
	w.send(http.MethodPost, w.sessionURL("two"), b,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_own_count"}}`, "Mcp-Session-Id", stolen)
	last := server.Requests("tools/call")
	w.Expect(last[len(last)-1].Session).NotTo(Equal(stolen))
}

// Sessions are deleted at the server when they idle, when their agent session ends or is reloaded, and at the end.
func TestB76_SessionsAreDeletedAtTheServer(t *testing.T) {
	w := newWorld(t)
	server, idle := mcpfake.New(t), mcpfake.New(t)
	w.apply(builder.MCPServer("fs").URL(server.URL()).Obj(),
		builder.MCPServer("idle").URL(idle.URL()).Mutate(func(s *v1alpha1.MCPServer) {
			s.Spec.Sessions = &v1alpha1.Sessions{IdleTimeout: &metav1.Duration{Duration: time.Second}}
		}).Obj(), builder.AgentSession("stays").Obj())
	w.awaitSession("stays", "AllServersAvailable")
	token := w.agent("coder")
	open := func(n int) { server.Await(t, func(s mcpfake.Stats) bool { return s.Sessions == n }) }
	w.call(w.sessionURL("stays"), token, "mcp_idle_echo", `{}`)
	idle.Await(t, func(s mcpfake.Stats) bool { return s.Opened == 2 && s.Sessions == 1 })

	w.call(w.sessionURL("stays"), token, "mcp_fs_echo", `{}`)
	open(2) // and the manager's own
	for i := range 5 {
		name := fmt.Sprint("agent-", i)
		w.apply(builder.AgentSession(name).Obj())
		w.awaitSession(name, "AllServersAvailable")
		w.call(w.sessionURL(name), token, "mcp_fs_echo", `{}`)
		open(3)
		w.Expect(admin.Delete(w.ctx, builder.AgentSession(name).Namespace(w.namespace).Obj())).To(Succeed())
		open(2)
	}
	opened := server.Stats().Opened
	change(w, "stays", &v1alpha1.AgentSession{}, func(s *v1alpha1.AgentSession) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationReload, "now")
	})
	open(1)
	w.call(w.sessionURL("stays"), token, "mcp_fs_echo", `{}`)
	w.Expect(server.Stats().Opened).To(Equal(opened + 1))
	w.stopGateway()
	open(1)
}

// Of three servers one is healthy, one refuses and one hangs: the healthy one's tools are listed and called.
func TestB22_OneBadServerLeavesTheOthers(t *testing.T) {
	w := newWorld(t)
	good, refuses, hangs := mcpfake.New(t), mcpfake.New(t), mcpfake.New(t)
	refuses.Refuse()
	hangs.Fault(mcpfake.Any, mcpfake.Forever, mcpfake.Hang())
	w.apply(builder.MCPServer("good").URL(good.URL()).Obj(), builder.MCPServer("refuses").URL(refuses.URL()).Obj(),
		builder.MCPServer("hangs").URL(hangs.URL()).ConnectTimeout(time.Second).Obj(), builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "PartiallyAvailable")
	token := w.agent("coder")
	list := w.send(http.MethodPost, w.sessionURL("coder"), token, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).body
	w.Expect(list).To(ContainSubstring("mcp_good_echo"))
	w.Expect(w.call(w.sessionURL("coder"), token, "mcp_good_echo", `{}`)).To(ContainSubstring(`"result"`))
}

// Fifty calls in flight all end well when the gateway is told to stop, and streams do not hold it up.
func TestStoppingLosesNoCall(t *testing.T) {
	w := newWorld(t)
	server := mcpfake.New(t)
	w.apply(many("fs", server), builder.AgentSession("coder").Obj())
	w.awaitSession("coder", "AllServersAvailable")
	token := w.agent("coder")
	words := make(chan struct{}, 1)
	go w.listen(w.sessionURL("coder"), token, words)
	w.Eventually(words).Should(Receive())
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			w.Expect(w.call(w.sessionURL("coder"), token, "mcp_fs_slow", `{}`)).To(ContainSubstring("done"))
		})
	}
	server.Await(t, func(s mcpfake.Stats) bool { return s.InFlight == 50 })
	var stopping sync.WaitGroup
	stopping.Go(w.stopGateway)
	w.Eventually(func() error {
		_, err := http.Get(w.url)
		return err
	}).Should(HaveOccurred(), "nothing new is taken")
	server.Release()
	group.Wait()
	stopping.Wait()
}

// A call session that the server forgot is opened anew, and the call sent again once.
func TestForgottenSessionsAreOpenedAnew(t *testing.T) {
	w := newWorld(t)
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.DefaultTools()...)
	for range 3 {
		w.Expect(w.call(w.sessionURL("coder"), token, "mcp_fs_echo", `{}`)).To(ContainSubstring(`"result"`))
		server.LoseSessions()
	}
	w.Expect(server.Executions("echo")).To(Equal(3))
}

// A call of a tool whose server is declared anew waits until that is listed, and goes to what is declared then; a tool
// that is no longer there is told to be withdrawn, and nothing is sent.
func TestACallWaitsForItsServersList(t *testing.T) {
	w := newWorld(t)
	old, token := w.serveFake(t, mcpfake.Legacy, mcpfake.NewTool("echo", nil), mcpfake.NewTool("gone", nil))
	renewed := mcpfake.New(t, mcpfake.WithTools(mcpfake.NewTool("echo", nil)))
	renewed.Fault(mcpfake.List, 1, mcpfake.Hang())
	change(w, "fs", &v1alpha1.MCPServer{}, func(s *v1alpha1.MCPServer) { s.Spec.HTTP.URL = renewed.URL() })
	renewed.Await(t, func(s mcpfake.Stats) bool { return s.Hanging == 1 })
	answers := make(chan string, 2)
	for _, tool := range []string{"mcp_fs_echo", "mcp_fs_gone"} {
		go func() { answers <- w.call(w.sessionURL("coder"), token, tool, `{}`) }()
	}
	w.Consistently(answers, 100*time.Millisecond).ShouldNot(Receive())
	renewed.Release()
	var got []string
	for range 2 {
		var one string
		w.Eventually(answers).Should(Receive(&one))
		got = append(got, one)
	}
	w.Expect(got).To(ConsistOf(ContainSubstring(`"content":[{"type":"text","text":"{}"}]`),
		Or(ContainSubstring("withdrawn"), ContainSubstring("no tool"))))
	w.Expect(old.Count("tools/call")).To(BeZero())
	w.Expect(renewed.Count("tools/call")).To(Equal(1))
}
