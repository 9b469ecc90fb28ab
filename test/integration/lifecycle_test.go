package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/config"
	"github.com/mooring-dev/mooring/internal/cli"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// Servers that do not answer DELETE are closed in the background: with one worker, all objects and their ConfigMaps go
// about as soon as those of servers that answer, and others are served meanwhile. Waiting for each would take a second
// a server.
func TestServersThatHangOnDeleteDelayNothing(t *testing.T) {
	t.Parallel()
	const count = 20
	w := newWorld(t, func(s *cli.Settings) { s.Workers = 1 })
	fleet := func(name string, fault mcpfake.Fault) (fakes []*mcpfake.Server) {
		for i := range count {
			fakes = append(fakes, mcpfake.New(t))
			fakes[i].Fault(mcpfake.Delete, mcpfake.Forever, fault)
			w.apply(builder.MCPServer(fmt.Sprintf("%s-%d", name, i)).URL(fakes[i].URL()).Obj())
		}
		for i := range count {
			w.ready(fmt.Sprintf("%s-%d", name, i))
		}
		return fakes
	}
	deleted := func(name string) time.Duration {
		begun := time.Now()
		for i := range count {
			w.Expect(admin.Delete(w.ctx, w.get(fmt.Sprintf("%s-%d", name, i)))).To(Succeed())
		}
		w.apply(builder.MCPServer("beside-" + name).URL(mcpfake.New(t).URL()).Obj())
		for i := range count {
			w.Eventually(func() bool { return w.configMap(fmt.Sprintf("%s-%d-mcp-tools", name, i)) == nil }).Should(BeTrue())
		}
		w.ready("beside-" + name)
		return time.Since(begun)
	}
	fleet("quick", mcpfake.Delay(0))
	hung := fleet("hung", mcpfake.Hang())
	quick := deleted("quick")
	w.Expect(deleted("hung")).To(BeNumerically("<", 2*quick+count/2*time.Second))
	for _, fake := range hung {
		fake.AwaitCount(t, "DELETE", 1)
	}
}

// ownerOf is the UID of the object that the catalog ConfigMap of a server belongs to; empty when there is none.
func (w *world) ownerOf(server string) types.UID {
	w.t.Helper()
	object := w.configMap(server + "-mcp-tools")
	if object == nil || metav1.GetControllerOf(object) == nil {
		return ""
	}
	return metav1.GetControllerOf(object).UID
}

// Who declares a server anew under the same name gets a new session, and the catalog that was left is theirs.
func TestRecreatedServerTakesItsCatalogOver(t *testing.T) {
	t.Parallel()
	t.Run("while the manager runs", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		fake := mcpfake.New(t)
		w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
		w.Expect(admin.Delete(w.ctx, w.ready("fs"))).To(Succeed())
		w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
		second := w.ready("fs")
		w.Eventually(func() types.UID { return w.ownerOf("fs") }).Should(Equal(second.UID))
		fake.Await(t, func(s mcpfake.Stats) bool { return s.Opened == 2 && s.Sessions == 1 })
		w.Expect(fake.Count("DELETE")).To(Equal(1))
	})
	t.Run("while no manager runs", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		fake := mcpfake.New(t)
		w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
		first := w.ready("fs")
		w.manager.stop()
		w.Expect(admin.Delete(w.ctx, first)).To(Succeed())
		w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
		w.Expect(w.ownerOf("fs")).To(Equal(first.UID))
		w.startManager()
		second := w.ready("fs")
		w.Eventually(func() types.UID { return w.ownerOf("fs") }).Should(Equal(second.UID))
		w.Expect(w.stored("fs").Tools).To(HaveLen(len(mcpfake.DefaultTools())))
	})
}

// What was deleted while nobody watched leaves nothing behind once somebody does.
func TestServerDeletedWhileNoManagerRan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(builder.MCPServer("gone").URL(mcpfake.New(t).URL()).Obj(),
		builder.MCPServer("kept").URL(mcpfake.New(t).URL()).Obj())
	gone := w.ready("gone")
	w.ready("kept")
	w.manager.stop()
	w.Expect(admin.Delete(w.ctx, gone)).To(Succeed())
	w.Expect(w.configMap("gone-mcp-tools")).NotTo(BeNil())
	w.startManager()
	w.Eventually(func() bool { return w.configMap("gone-mcp-tools") == nil }).Should(BeTrue())
	w.Expect(w.configMap("kept-mcp-tools")).NotTo(BeNil())
}

// Of two managers one holds the sessions. When it ends, it closes them before it gives the lease away, and its
// successor takes over without a write.
func TestSecondManagerTakesOver(t *testing.T) {
	t.Parallel()
	elected := func(s *cli.Settings) { s.LeaderElect, s.LeaderNamespace = true, config.Namespace }
	w := newWorld(t, elected)
	fakes := make([]*mcpfake.Server, 3)
	for i := range fakes {
		fakes[i] = mcpfake.New(t)
		w.apply(builder.MCPServer(fmt.Sprintf("s-%d", i)).URL(fakes[i].URL()).Obj())
	}
	versions := w.versions(len(fakes))
	first := w.manager
	w.startManager(elected)
	first.stop()
	w.Eventually(func() float64 { return w.gauge("mooring_server_ready") }).Should(BeEquivalentTo(len(fakes)))
	w.Expect(w.versions(len(fakes))).To(Equal(versions))
	w.Expect(w.manager.writes.status.Load()).To(BeZero(), "status writes")
	w.Expect(w.manager.writes.configMaps.Load()).To(BeZero(), "ConfigMap writes")
	for _, fake := range fakes {
		w.Expect(fake.Stats().Opened).To(Equal(2))
		w.Expect(fake.OpenSessions()).To(Equal(1))
		closed, opened := fake.Requests("DELETE"), fake.Requests("initialize")
		w.Expect(closed).To(HaveLen(1))
		w.Expect(closed[0].Seq).To(BeNumerically("<", opened[1].Seq), "at no time were there two")
	}
}

// The tools that people and pipelines use see what they expect.
func TestKubectlWaitAndDiff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithBearer("token-1"))
	manifest := func(list string) string {
		return fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {token: token-1}
---
apiVersion: mooring.dev/v1alpha1
kind: MCPServer
metadata:
  name: fs
  annotations: {mooring.dev/reconnect: "1"}
spec:
  http:
    url: %s?tenant=acme
    headers: [{name: X-Org, value: acme}]
    auth: {bearer: {secretKeyRef: {name: login, key: token}}}
  timeouts: {connect: 0.5m, list: %s}
  recovery: {attempts: 2, probeInterval: 0s}
  tools: {allow: ["e*"]}
  allowedNamespaces: {from: Same}
`, fake.URL(), list)
	}
	out, err := w.run(manifest("90s"), "apply", "-f", "-")
	w.Expect(err).NotTo(HaveOccurred(), out)
	out, err = w.run("", "wait", "--for=condition=Ready", "--timeout=60s", "mcpserver/fs")
	w.Expect(err).NotTo(HaveOccurred(), out)
	w.Expect(out).To(Equal("mcpserver.mooring.dev/fs condition met\n"))
	w.ready("fs")
	out, err = w.run(manifest("90s"), "diff", "-f", "-")
	w.Expect(err).NotTo(HaveOccurred(), out)
	w.Expect(out).To(BeEmpty())
	out, err = w.run(manifest("91s"), "diff", "-f", "-")
	var differs *exec.ExitError
	w.Expect(err).To(BeAssignableToTypeOf(differs))
	w.Expect(out).To(ContainSubstring("+    list: 91s"))
}

// run runs kubectl in the test's namespace and returns what it printed.
func (w *world) run(input string, arguments ...string) (string, error) {
	w.t.Helper()
	command := exec.CommandContext(w.ctx, kubectlPath(),
		append([]string{"--kubeconfig", kubeconfigFile, "--namespace", w.namespace}, arguments...)...)
	command.Stdin = strings.NewReader(input)
	differ := filepath.Join(w.t.TempDir(), "differ") // git is there where diff may not be
	w.Expect(os.WriteFile(differ, []byte("#!/bin/sh\nexec git diff --no-index \"$@\"\n"), 0o700)).To(Succeed())
	command.Env = append(os.Environ(), "KUBECTL_EXTERNAL_DIFF="+differ)
	out, err := command.CombinedOutput()
	return string(out), err
}

// reconnect asks for a new connection, as the documentation says to.
func (w *world) reconnect(name, value string) {
	w.t.Helper()
	w.change(name, func(s *v1alpha1.MCPServer) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationReconnect, value)
	})
}

func TestReconnectOpensOneNewSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t)
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
	before := w.ready("fs")
	w.reconnect("fs", "2026-03-01")
	w.Eventually(func() string { return w.get("fs").Status.LastHandledReconnectAt }).Should(Equal("2026-03-01"))
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Sessions == 1 && s.Streams == 1 && s.Count("DELETE") == 1 })
	w.Expect(fake.Stats().Opened).To(Equal(2))
	after := w.get("fs")
	w.Expect(says(after, v1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.Expect(readySince(after)).To(Equal(readySince(before)), "Ready never left True")
}

// A quarantine outlives the manager: nothing is sent before it is over, and the next strike is the next one.
func TestQuarantineSurvivesARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad, good := mcpfake.New(t), mcpfake.New(t)
	bad.Fault(mcpfake.Any, mcpfake.Forever, mcpfake.Status(500, nil, "no"))
	w.apply(builder.MCPServer("bad").URL(bad.URL()).Attempts(1).Cooldown(10*time.Second).Strikes(10).Obj(),
		builder.MCPServer("good").URL(good.URL()).Obj())
	w.await("bad", v1alpha1.ConditionQuarantined, "True ServerError")
	w.ready("good")
	w.manager.stop()
	before, sent := w.get("bad"), bad.Stats().Requests
	w.startManager()
	good.Await(t, func(s mcpfake.Stats) bool { return s.Opened == 2 })
	strikes := func() int { return int(*w.get("bad").Status.Session.Strikes) }
	w.Eventually(strikes).ShouldNot(BeEquivalentTo(*before.Status.Session.Strikes))
	w.Expect(strikes()).To(BeEquivalentTo(*before.Status.Session.Strikes + 1))
	probe := bad.Requests("")[sent]
	w.Expect(probe.Time).To(BeTemporally(">=", before.Status.Session.QuarantinedUntil.Time), "an early probe")
	after := w.get("bad")
	w.Expect(after.Status.Session.LastFailure).To(Equal(before.Status.Session.LastFailure), "since included")
	w.Expect(w.manager.writes.status.Load()).To(BeEquivalentTo(1), "the strike and nothing else")
	w.Eventually(func() []string { return w.warnings("bad") }).Should(HaveLen(1))

	bad.ClearFaults()
	w.reconnect("bad", "now")
	w.Expect(w.ready("bad").Status.Session.Strikes).To(BeNil())
}

// A refusal outlives the manager, too, and so does a reconnect that was asked for while none ran.
func TestReconnectAskedForWhileNoManagerRan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake, good := mcpfake.New(t, mcpfake.WithBearer("token-1")), mcpfake.New(t)
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj(), builder.MCPServer("good").URL(good.URL()).Obj())
	w.await("fs", v1alpha1.ConditionStalled, "True AuthenticationFailed")
	w.ready("good")
	w.manager.stop()
	sent := fake.Stats().Requests
	w.startManager()
	good.Await(t, func(s mcpfake.Stats) bool { return s.Opened == 2 })
	w.manager.stop()
	w.Expect(fake.Stats().Requests).To(Equal(sent), "a credential that was refused is not shown again")
	w.Expect(w.manager.writes.status.Load()).To(BeZero())

	fake.SetBearer()
	w.reconnect("fs", "now")
	w.startManager()
	w.Expect(w.ready("fs").Status.LastHandledReconnectAt).To(Equal("now"))
	w.Eventually(func() []string { return w.warnings("fs") }).Should(HaveLen(1))
}

// What the server says changed is listed anew, also over a stream that was opened again, and what changed while there
// was none is not missed.
func TestListChangedReachesTheCatalog(t *testing.T) {
	t.Parallel()
	for name, era := range eras {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			fake := mcpfake.New(t, mcpfake.WithEra(era))
			w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
			w.ready("fs")
			listening := func(opened int) {
				fake.Await(t, func(s mcpfake.Stats) bool { return s.Phase(mcpfake.Stream) == opened && s.Streams == 1 })
			}
			published := func(tool string) {
				w.Eventually(func() bool { _, ok := w.stored("fs").Find(tool); return ok }).Should(BeTrue(), tool)
				w.Eventually(func() int { return toolCount(w.get("fs")) }).Should(Equal(len(w.stored("fs").Tools)))
			}
			listening(1)
			fake.AddTool(mcpfake.NewTool("told", nil))
			fake.NotifyListChanged()
			published("told")
			fake.AddTool(mcpfake.NewTool("missed", nil))
			fake.DropStreams(true)
			published("missed")
			listening(2)
			fake.AddTool(mcpfake.NewTool("told-again", nil))
			fake.NotifyListChanged()
			published("told-again")
			w.Expect(fake.Violations()).To(BeEmpty())
			w.Expect(fake.Stats().Opened).To(BeNumerically("<=", 1), "the session outlived its stream")
		})
	}
}

// When a manager has ended there is no goroutine and no connection of it left, whatever its servers did meanwhile.
func TestManagerLeavesNothingBehind(t *testing.T) {
	w := newNamespace(t)
	w.permitSecrets()
	fakes := []*mcpfake.Server{
		mcpfake.New(t), mcpfake.New(t, mcpfake.WithEra(mcpfake.Modern)), mcpfake.New(t, mcpfake.WithBearer("token-1")),
		mcpfake.New(t), mcpfake.New(t),
	}
	hung, mute := fakes[3], fakes[4]
	hung.Freeze()
	mute.Fault(mcpfake.Delete, mcpfake.Forever, mcpfake.Hang())
	before := goleak.IgnoreCurrent()

	restConfig, err := managerConfig()
	w.Expect(err).NotTo(HaveOccurred())
	dialer := &trackingDialer{}
	restConfig.Dial = dialer.dial
	manager, err := cli.NewManager(w.ctx, restConfig, &cli.Settings{
		MetricsAddress: "127.0.0.1:0", ProbeAddress: "127.0.0.1:0", Workers: 4, DrainTimeout: time.Second,
		AllowLoopback: true, Registry: prometheus.NewRegistry(), WatchNamespaces: []string{w.namespace},
		LeaderElect: true, LeaderNamespace: config.Namespace,
	})
	w.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(w.ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	w.apply(builder.Secret(w.namespace, "login").Key("token", "token-1").Obj())
	for i, fake := range fakes {
		w.apply(builder.MCPServer(fmt.Sprintf("s-%d", i)).URL(fake.URL()).Bearer("login", "token").Obj())
	}
	for _, i := range []int{0, 1, 2, 4} {
		w.ready(fmt.Sprintf("s-%d", i))
	}
	hung.Await(t, func(s mcpfake.Stats) bool { return s.Accepted > 0 })
	stop()
	w.Eventually(ended).Should(Receive(BeNil()))

	w.Expect(dialer.closeAll()).To(BeNumerically(">", 0)) // client-go keeps its connections for whoever comes next
	w.Expect(hung.Restore()).To(Succeed())                // frozen, it would not see that its client left
	for _, fake := range fakes {
		fake.Await(t, func(s mcpfake.Stats) bool { return s.Conns == 0 })
	}
	// A watch of client-go whose reader has stopped while an event was on its way is stuck with it for good. Connections
	// of this package of HTTP/2 are those to the API server, which this test's own client opens anew when it likes.
	stuck := goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop")
	shared := goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run")
	w.Eventually(func() error { return goleak.Find(before, stuck, shared) }).Should(Succeed())
}

// trackingDialer knows the connections that it opened, and opens no more when they have been closed.
type trackingDialer struct {
	mu     sync.Mutex
	open   []net.Conn
	closed bool
}

func (d *trackingDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	d.open = append(d.open, conn)
	return conn, nil
}

// closeAll closes them and returns how many there were.
func (d *trackingDialer) closeAll() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, conn := range d.open {
		_ = conn.Close()
	}
	return len(d.open)
}
