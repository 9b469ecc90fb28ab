package integration

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
	secrets "github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// Two replicas that know nothing of each other's sessions, behind a balancer without affinity: that is told, after a
// few handshakes and not a stream of them.
func TestB03_ReplicasWithoutAffinity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	replicas := []*mcpfake.Server{mcpfake.New(t), mcpfake.New(t)}
	var turn atomic.Int64
	balancer := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		target, _ := url.Parse(replicas[turn.Add(1)%2].Origin())
		httputil.NewSingleHostReverseProxy(target).ServeHTTP(out, in)
	}))
	t.Cleanup(balancer.Close)
	w.apply(builder.MCPServer("fs").URL(balancer.URL + "/mcp").Obj())
	server := w.await("fs", v1alpha1.ConditionConnected, "False SessionFlapping")
	w.Expect(message(server, v1alpha1.ConditionConnected)).To(ContainSubstring("session affinity"))
	w.Expect(server.Status.Session.Strikes).To(BeNil(), "a flapping server is put off, not quarantined")
	w.Expect(replicas[0].Count("initialize") + replicas[1].Count("initialize")).To(Equal(3))
}

// A credential that is refused is not shown again and again, and is told once; another one is tried at once.
func TestB08_RefusedCredentialIsShownOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithBearer("good"))
	login := builder.Secret(w.namespace, "login").Key("token", "revoked").Obj()
	w.apply(login, builder.MCPServer("fs").URL(fake.URL()).Bearer("login", "token").Obj())
	w.await("fs", v1alpha1.ConditionStalled, "True AuthenticationFailed")
	shown := fake.Stats().Requests
	w.Expect(shown).To(BeNumerically("<=", 2))
	w.replace(login, "token", "revoked, too")
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Requests > shown })
	w.await("fs", v1alpha1.ConditionStalled, "True AuthenticationFailed")
	w.Expect(fake.Stats().Requests).To(BeNumerically("<=", 2*shown))
	w.replace(login, "token", "good")
	w.ready("fs")
	w.Eventually(func() []string { return w.warnings("fs") }).Should(Equal([]string{"AuthenticationFailed"}))
}

// A token that lapses in the middle of a session makes the server not Ready, and takes no tools away; the next one is
// used without a restart.
func TestB10_TokenLapsesInTheMiddleOfASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithBearer("first"))
	login := builder.Secret(w.namespace, "login").Key("token", "first").Obj()
	w.apply(login, builder.MCPServer("fs").URL(fake.URL()).Bearer("login", "token").Obj())
	w.ready("fs")
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Streams == 1 })
	published := w.version("fs-mcp-tools")
	fake.SetBearer("second")
	fake.NotifyListChanged()
	w.await("fs", v1alpha1.ConditionReady, "False AuthenticationFailed")
	w.Expect(w.version("fs-mcp-tools")).To(Equal(published))
	w.replace(login, "token", "second")
	w.ready("fs")
	w.Expect(w.version("fs-mcp-tools")).To(Equal(published))
}

// A gateway that answers 502 is asked a few times, not in a loop, and no connection to it is left open meanwhile.
func TestB14_BadGateway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t)
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Cooldown(10 * time.Second).Obj())
	w.ready("fs")
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Streams == 1 })
	sent := fake.Stats().Requests
	mend := fake.Fault(mcpfake.Any, mcpfake.Forever, mcpfake.Status(http.StatusBadGateway, nil, "no"))
	fake.CutConnections(true)
	w.reconnect("fs", "now")
	down := w.await("fs", v1alpha1.ConditionQuarantined, "True ServerError")
	w.Expect(*down.Status.Session.LastFailure.HTTPStatus).To(BeEquivalentTo(http.StatusBadGateway))
	w.Expect(fake.Stats().Requests-sent).To(BeNumerically("<=", 8), "two requests a try, and the end of the old session")
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Conns == 0 })
	mend()
	w.ready("fs")
}

// A name that DNS does not know yet is asked for at every try: the server comes by itself.
func TestB23_NameThatComesLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t)
	target, err := url.Parse(fake.URL())
	w.Expect(err).NotTo(HaveOccurred())
	const host = "late.example.test"
	w.apply(builder.MCPServer("fs").URL("http://" + host + ":" + target.Port() + "/mcp").
		Attempts(1).Cooldown(time.Second).Strikes(9).Obj())
	w.await("fs", v1alpha1.ConditionConnected, "False DNSError")
	lateNames.Store(host+".", struct{}{})
	t.Cleanup(func() { lateNames.Delete(host + ".") })
	w.ready("fs")
}

// No object of ours holds a deletion up: not while its server does not answer, and not while no manager runs.
func TestB63_NothingHoldsADeletionUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hung := mcpfake.New(t)
	hung.Fault(mcpfake.Delete, mcpfake.Forever, mcpfake.Hang())
	for _, name := range []string{"one", "two"} {
		w.apply(builder.MCPServer(name).URL(hung.URL()).Obj(), builder.AgentSession(name).Ref(name).Obj())
		w.ready(name)
		w.awaitAgent(name, "True AllServersAvailable")
	}
	gone := func(name string) {
		for _, object := range []client.Object{w.get(name), w.agent(name)} {
			w.Expect(object.GetFinalizers()).To(BeEmpty())
			w.Expect(admin.Delete(w.ctx, object)).To(Succeed())
			err := admin.Get(w.ctx, client.ObjectKeyFromObject(object), object)
			w.Expect(client.IgnoreNotFound(err)).To(Succeed())
			w.Expect(err).To(HaveOccurred())
		}
	}
	gone("one")
	for _, name := range []string{"one-mcp-tools", "one-mcp-catalog"} {
		w.Eventually(func() string { return w.version(name) }).Should(BeEmpty())
	}
	w.manager.stop()
	gone("two")
	for _, name := range []string{"two-mcp-tools", "two-mcp-catalog"} {
		w.Expect(w.configMap(name).Finalizers).To(BeEmpty())
		w.Expect(w.configMap(name).OwnerReferences).To(HaveLen(1), "the garbage collector's, where no manager runs")
	}
}

// Ready speaks of tools: at no time is it True before the catalog that it counts is published.
func TestB66_NeverReadyBeforeItsTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithTools(tools("t", 3)...))
	fake.Fault(mcpfake.List, 1, mcpfake.Hang())
	watch, err := admin.Watch(w.ctx, &v1alpha1.MCPServerList{}, client.InNamespace(w.namespace))
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(watch.Stop)
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Hanging > 0 && s.Count("tools/list") == 1 })
	w.await("fs", v1alpha1.ConditionReady, "Unknown Connecting")
	fake.Release()
	w.ready("fs")
	for ready := false; !ready; {
		server := (<-watch.ResultChan()).Object.(*v1alpha1.MCPServer)
		ready = says(server, v1alpha1.ConditionReady) == "True Ready"
		w.Expect(ready).To(Equal(toolCount(server) == 3), describe(server))
	}
	w.Expect(w.stored("fs").Tools).To(HaveLen(3))
}

// Objects that are declared and deleted in quick succession leave one session on the server: that of the last.
func TestB76_RecreatedServersLeaveOneSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t)
	const rounds = 20
	for round := range rounds {
		server := builder.MCPServer("fs").URL(fake.URL()).Obj()
		w.apply(server)
		if round%3 == 0 {
			w.Eventually(func() string { return w.version("fs-mcp-tools") }).ShouldNot(BeEmpty())
		}
		if round < rounds-1 {
			w.Expect(admin.Delete(w.ctx, server)).To(Succeed())
		}
	}
	last := w.ready("fs")
	w.Eventually(func() any { return w.ownerOf("fs") }).Should(Equal(last.UID))
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Sessions == 1 && s.Opened == s.Count("DELETE")+1 })
}

// An ending namespace takes no new object. What goes in it is not written anew, and that is no error of ours.
func TestEndingNamespaceIsLeftInPeace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake, other := mcpfake.New(t), mcpfake.New(t)
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj(), builder.AgentSession("coder").Obj())
	w.ready("fs")
	w.mustOffer("coder")
	for _, name := range []string{"fs", "coder"} { // what is told of them comes behind
		w.Eventually(func() int { return len(w.events(name)) }).Should(BeNumerically(">", 0), name)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.Expect(admin.Delete(w.ctx, namespace)).To(Succeed())
	for _, name := range []string{"fs-mcp-tools", "coder-mcp-catalog"} {
		writes := w.manager.writes.configMaps.Load()
		w.Expect(admin.Delete(w.ctx, w.configMap(name))).To(Succeed())
		w.Eventually(w.manager.writes.configMaps.Load).Should(BeNumerically(">", writes), "it was tried")
	}
	w.change("fs", func(s *v1alpha1.MCPServer) { s.Spec.HTTP.URL = other.URL() })
	other.Await(t, func(s mcpfake.Stats) bool { return s.Count("tools/list") == 1 })
	w.Expect(admin.Delete(w.ctx, w.get("fs"))).To(Succeed())
	other.Await(t, func(s mcpfake.Stats) bool { return s.Sessions == 0 })
	for line := range strings.Lines(logs.String()) {
		w.Expect(line).NotTo(ContainSubstring("content in namespace " + w.namespace))
	}
}

// A status that somebody edits by hand is put right; what is edited while nobody watches leads to nothing that could
// not have come about.
func TestEditedStatusIsPutRight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake, bad := mcpfake.New(t), mcpfake.New(t)
	w.Expect(bad.Refuse()).To(Succeed())
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj(),
		builder.MCPServer("bad").URL(bad.URL()).Attempts(1).Cooldown(time.Hour).Obj())
	w.ready("fs")
	w.await("bad", v1alpha1.ConditionQuarantined, "True ConnectFailed")
	edit := func(name string, change func(*v1alpha1.MCPServerStatus)) {
		server := w.get(name)
		before := server.DeepCopy()
		change(&server.Status)
		w.Expect(admin.Status().Patch(w.ctx, server, client.MergeFrom(before))).To(Succeed())
	}
	edit("bad", func(s *v1alpha1.MCPServerStatus) { s.Conditions[0].Status, s.Conditions[0].Reason = "True", "Ready" })
	w.await("bad", v1alpha1.ConditionReady, "False ConnectFailed")

	w.manager.stop()
	never, dawn := metav1.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), int32(-1<<31)
	edit("bad", func(s *v1alpha1.MCPServerStatus) {
		s.Session.Strikes, s.Session.QuarantinedUntil = &dawn, &never
		s.Session.LastFailure.Class, s.Session.LastFailure.Reason = "", "not a reason!"
	})
	edit("fs", func(s *v1alpha1.MCPServerStatus) {
		s.Session.State, s.Session.Retirement, s.Session.RetiredAt =
			v1alpha1.SessionRetired, v1alpha1.RetirementRefused, &never
	})
	w.startManager()
	w.Eventually(func() string { return w.get("fs").Status.Session.State }).Should(Equal(v1alpha1.SessionConnected))
	w.change("bad", func(s *v1alpha1.MCPServer) { s.Spec.Notes = "tried once" })
	tried := w.await("bad", v1alpha1.ConditionQuarantined, "True ConnectFailed")
	w.Expect(tried.Status.Session.QuarantinedUntil.Time).To(BeTemporally("<", time.Now().AddDate(0, 0, 1)))
}

// carrier opens call sessions as a gateway does.
func carrier(t *testing.T, fake *mcpfake.Server, change func(*session.Config)) func(string) (session.Answer, error) {
	t.Helper()
	g := NewWithT(t)
	policy, err := egress.NewPolicy(egress.Options{AllowLoopback: true})
	g.Expect(err).NotTo(HaveOccurred())
	dialer, err := upstream.NewDialer(upstream.Config{
		URL: secrets.New(fake.URL()), Egress: policy.ForNamespace("agents"),
		Timeouts: sessiontest.Timeouts(session.Timeouts{}),
	})
	g.Expect(err).NotTo(HaveOccurred())
	config := sessiontest.Config(session.Config{Dialer: dialer, Timeouts: session.Timeouts{Call: patience}})
	if change != nil {
		change(&config)
	}
	supervisor := session.New(session.Options{DrainTimeout: -1})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- supervisor.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		g.Eventually(ended, patience).Should(Receive(BeNil()))
	})
	supervisor.Ensure("fs", config)
	g.Eventually(func() error {
		_, err := supervisor.Call(ctx, "fs", session.Caller{Name: "warm", Session: "warm"}, session.Call{Method: "ping"})
		return err
	}).Should(Succeed())
	return func(tool string) (session.Answer, error) {
		return supervisor.Call(ctx, "fs", session.Caller{Name: "me", Session: "s"}, session.Call{
			Method: "tools/call", Tool: tool, Params: json.RawMessage(`{"name":"` + tool + `","arguments":{}}`),
		})
	}
}

// together makes n calls at once and returns how many were answered.
func together(n int, call func(string) (session.Answer, error), tool string) (answered int64) {
	var all sync.WaitGroup
	var count atomic.Int64
	for range n {
		all.Go(func() {
			if answer, err := call(tool); err == nil && answer.Result != nil {
				count.Add(1)
			}
		})
	}
	all.Wait()
	return count.Load()
}

// Twenty calls on a cold session share one handshake, and none of them lists.
func TestB13_TwentyCallsOneHandshake(t *testing.T) {
	t.Parallel()
	fake := mcpfake.New(t)
	call := carrier(t, fake, nil)
	g := NewWithT(t)
	warm := fake.Stats()
	g.Expect(together(20, call, "echo")).To(BeEquivalentTo(20))
	after := fake.Stats()
	for method, want := range map[string]int{
		"initialize": 1, "notifications/initialized": 1, "tools/call": 20, "tools/list": 0,
	} {
		g.Expect(after.Count(method)-warm.Count(method)).To(Equal(want), method)
	}
}

// A call that the server ran and did not answer is not sent again, unless a person said that its tool may be.
func TestB67_LostAnswer(t *testing.T) {
	t.Parallel()
	lost := func(replay func(string) bool) (*mcpfake.Server, func(string) (session.Answer, error)) {
		fake := mcpfake.New(t)
		call := carrier(t, fake, func(c *session.Config) { c.Calls.Replay = replay })
		fake.Fault(mcpfake.Call, 1, mcpfake.ExecuteThenReset())
		return fake, call
	}
	g := NewWithT(t)
	fake, call := lost(nil)
	_, err := call("echo")
	var told *failure.Error
	g.Expect(errors.As(err, &told)).To(BeTrue())
	g.Expect(told.Outcome()).To(Equal(failure.OutcomeUnknown))
	g.Expect(fake.Executions("echo")).To(Equal(1))
	_, err = call("echo")
	g.Expect(err).NotTo(HaveOccurred(), "the session is built anew")

	fake, call = lost(func(tool string) bool { return tool == "echo" })
	answer, err := call("echo")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Result).NotTo(BeNil())
	g.Expect(fake.Executions("echo")).To(Equal(2))
}

// Tools that fail and calls that are refused are answers: they pass through and trip nothing.
func TestB71_FailingToolsTripNothing(t *testing.T) {
	t.Parallel()
	failing := mcpfake.NewTool("failing", func(*mcpfake.Invocation) (json.RawMessage, error) {
		return json.RawMessage(`{"isError":true,"content":[]}`), nil
	})
	wrong := mcpfake.NewTool("wrong", func(*mcpfake.Invocation) (json.RawMessage, error) {
		return nil, &mcpfake.RPCError{Code: -32602, Message: "Invalid params"}
	})
	fake := mcpfake.New(t, mcpfake.WithTools(append(mcpfake.DefaultTools(), failing, wrong)...))
	call := carrier(t, fake, nil)
	g := NewWithT(t)
	for range 10 {
		answer, err := call("failing")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.Result).To(MatchJSON(`{"isError":true,"content":[]}`))
	}
	for range 10 {
		answer, err := call("wrong")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.Error).To(ContainSubstring("-32602"))
	}
	g.Expect(together(1, call, "echo")).To(BeEquivalentTo(1))
	g.Expect(fake.Stats().Opened).To(Equal(2), "one session for the calls, one to warm up")
}

// A server that loses the answers of calls that overlap works with one call at a time; by default, a call that hangs
// holds up no other.
func TestB73_OverlappingCalls(t *testing.T) {
	t.Parallel()
	t.Run("one at a time", func(t *testing.T) {
		t.Parallel()
		alone := mcpfake.NewTool("alone", func(c *mcpfake.Invocation) (json.RawMessage, error) {
			if c.Overlap > 1 {
				c.Wait(0)
			}
			return mcpfake.Text("ok"), nil
		})
		fake := mcpfake.New(t, mcpfake.WithTools(alone))
		call := carrier(t, fake, func(c *session.Config) { c.Calls.MaxConcurrent = 1 })
		NewWithT(t).Expect(together(20, call, "alone")).To(BeEquivalentTo(20))
	})
	t.Run("one hangs", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		hanging := mcpfake.NewTool("hanging", func(c *mcpfake.Invocation) (json.RawMessage, error) {
			c.Wait(0)
			return mcpfake.Text("ok"), nil
		})
		fake := mcpfake.New(t, mcpfake.WithTools(append(mcpfake.DefaultTools(), hanging)...))
		call := carrier(t, fake, nil)
		done := make(chan error, 1)
		go func() {
			_, err := call("hanging")
			done <- err
		}()
		fake.Await(t, func(s mcpfake.Stats) bool { return s.InFlight == 1 })
		g.Expect(together(7, call, "echo")).To(BeEquivalentTo(7))
		g.Expect(done).NotTo(Receive())
		fake.Release()
		g.Eventually(done, patience).Should(Receive(BeNil()))
	})
}
