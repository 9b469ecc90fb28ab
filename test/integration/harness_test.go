package integration

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/config"
	"github.com/mooring-dev/mooring/internal/cli"
	"github.com/mooring-dev/mooring/test/pace"
)

// patience is how long a test waits for what must happen; it fails after that. It is no measurement.
const patience = pace.Patience

// gatewayURL is where managers say that agents reach the gateway.
const gatewayURL = "https://mooring-gateway.mooring-system.svc"

// journal keeps what all managers logged, for the search for canaries.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

var logs = &journal{}

// world is one test's namespace, with or without a manager at work on the control plane.
type world struct {
	*WithT
	t         testing.TB
	ctx       context.Context
	namespace string
	manager   *managerRun
}

// managerRun is one life of a manager.
type managerRun struct {
	stop   func()
	writes *writes
	series *prometheus.Registry
}

// newWorld makes a namespace whose Secrets the manager may read, and runs a manager.
func newWorld(t testing.TB, change ...func(*cli.Settings)) *world {
	t.Helper()
	w := newNamespace(t)
	w.permitSecrets()
	w.startManager(change...)
	return w
}

// newNamespace makes a namespace only.
func newNamespace(t testing.TB) *world {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w := &world{WithT: NewWithT(t), t: t, ctx: ctx}
	w.SetDefaultEventuallyTimeout(patience)
	w.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	w.Expect(admin.Create(ctx, namespace)).To(Succeed())
	w.namespace = namespace.Name
	return w
}

// permitSecrets is the installer's explicit choice for this namespace.
func (w *world) permitSecrets() {
	w.t.Helper()
	binding, err := config.SecretReader(w.namespace)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(admin.Create(w.ctx, binding)).To(Succeed())
}

// startManager runs the manager under its own service account until the test ends or stopManager is called.
func (w *world) startManager(change ...func(*cli.Settings)) {
	w.t.Helper()
	restConfig, err := managerConfig()
	w.Expect(err).NotTo(HaveOccurred())
	run := &managerRun{writes: &writes{}, series: prometheus.NewRegistry()}
	restConfig.Wrap(run.writes.wrap)
	settings := &cli.Settings{
		MetricsAddress: "0", ProbeAddress: "0", Workers: 4, DrainTimeout: time.Second, AllowLoopback: true,
		Registry: run.series, WatchNamespaces: []string{w.namespace}, GatewayURL: gatewayURL,
	}
	for _, f := range change {
		f(settings)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	manager, err := cli.NewManager(ctx, restConfig, settings)
	w.Expect(err).NotTo(HaveOccurred())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	run.stop = sync.OnceFunc(func() {
		cancel()
		w.Eventually(ended).Should(Receive(BeNil()), "the manager ends cleanly")
	})
	w.manager = run
	w.t.Cleanup(run.stop)
}

// apply creates objects in the test's namespace.
func (w *world) apply(objects ...client.Object) {
	w.t.Helper()
	for _, object := range objects {
		object.SetNamespace(w.namespace)
		w.Expect(admin.Create(w.ctx, object)).To(Succeed())
	}
}

// get reads a server as it stands.
func (w *world) get(name string) *v1alpha1.MCPServer {
	w.t.Helper()
	server := &v1alpha1.MCPServer{}
	w.Expect(admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, server)).To(Succeed())
	return server
}

// change edits a server.
func (w *world) change(name string, edit func(*v1alpha1.MCPServer)) {
	w.t.Helper()
	server := w.get(name)
	before := server.DeepCopy()
	edit(server)
	w.Expect(admin.Patch(w.ctx, server, client.MergeFrom(before))).To(Succeed())
}

// says is "True Connected" for a condition, and "" for one that is not there. The condition must speak of the present
// generation.
func says(server *v1alpha1.MCPServer, condition string) string {
	found := meta.FindStatusCondition(server.Status.Conditions, condition)
	if found == nil || found.ObservedGeneration != server.Generation {
		return ""
	}
	return string(found.Status) + " " + found.Reason
}

// await waits until a condition says what is wanted, and returns the object.
func (w *world) await(name, condition, wanted string) *v1alpha1.MCPServer {
	w.t.Helper()
	var server *v1alpha1.MCPServer
	w.Eventually(func() string {
		server = w.get(name)
		return says(server, condition)
	}).Should(Equal(wanted), func() string { return describe(w.get(name)) })
	return server
}

// ready waits until the server is Ready.
func (w *world) ready(name string) *v1alpha1.MCPServer {
	w.t.Helper()
	return w.await(name, v1alpha1.ConditionReady, "True Ready")
}

// describe prints what a person would look at.
func describe(server *v1alpha1.MCPServer) string {
	var out strings.Builder
	for _, condition := range server.Status.Conditions {
		fmt.Fprintf(&out, "%s=%s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	return out.String()
}

// configMap reads a catalog ConfigMap; nil when there is none.
func (w *world) configMap(name string) *corev1.ConfigMap {
	w.t.Helper()
	object := &corev1.ConfigMap{}
	err := admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, object)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return object
}

// writes counts the requests of a manager that change something, by verb and resource.
type writes struct {
	status, configMaps, other atomic.Int64
	offers, agents            atomic.Int64 // those of agent sessions: their ConfigMaps and their status
	refuse                    atomic.Int64 // how many status writes are still to meet a conflict
}

func (c *writes) wrap(next http.RoundTripper) http.RoundTripper { return &countingTripper{c, next} }

type countingTripper struct {
	*writes
	next http.RoundTripper
}

func (c *countingTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	path := request.URL.Path
	switch {
	case request.Method == http.MethodGet, strings.Contains(path, "selfsubject"):
	case strings.HasSuffix(path, "/status"):
		c.status.Add(1)
		if strings.Contains(path, "/agentsessions/") {
			c.agents.Add(1)
		}
		if c.refuse.Add(-1) >= 0 {
			return conflict(request), nil
		}
	case strings.Contains(path, "/configmaps"):
		c.configMaps.Add(1)
		if strings.HasSuffix(path, "-mcp-catalog") || creates(request, "-mcp-catalog") {
			c.offers.Add(1)
		}
	default:
		c.other.Add(1)
	}
	return c.next.RoundTrip(request)
}

// creates tells whether a request creates an object whose name ends so.
func creates(request *http.Request, suffix string) bool {
	if request.Method != http.MethodPost || request.GetBody == nil {
		return false
	}
	body, err := request.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	head := make([]byte, 512) // the name comes first
	n, _ := io.ReadFull(body, head)
	return bytes.Contains(head[:n], []byte(suffix))
}

// conflict is what the API server answers to a write of an old version.
func conflict(request *http.Request) *http.Response {
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,` +
		`"message":"the object has been modified"}`
	return &http.Response{
		StatusCode: http.StatusConflict, Status: "409 Conflict", Request: request, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// message is what a condition tells a person.
func message(server *v1alpha1.MCPServer, condition string) string {
	if found := meta.FindStatusCondition(server.Status.Conditions, condition); found != nil {
		return found.Message
	}
	return ""
}

// readySince is when Ready last changed.
func readySince(server *v1alpha1.MCPServer) metav1.Time {
	return meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady).LastTransitionTime
}

// warnings are the reasons of the Warning events about an object, one for each time that it was told.
func (w *world) warnings(name string) []string {
	w.t.Helper()
	var out []string
	for _, event := range w.events(name) {
		if event.Type == corev1.EventTypeWarning {
			out = append(out, event.Reason)
		}
	}
	return out
}

// events are what was told about an object.
func (w *world) events(name string) (out []eventsv1.Event) {
	w.t.Helper()
	list := &eventsv1.EventList{}
	w.Expect(admin.List(w.ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	for _, event := range list.Items {
		if event.Regarding.Name == name {
			out = append(out, event)
		}
	}
	return out
}

// passes is how often objects of this namespace were reconciled by any manager.
func (w *world) passes() int {
	count := 0
	for line := range strings.Lines(logs.String()) {
		if strings.Contains(line, "\tpass\t") && strings.Contains(line, `"namespace": "`+w.namespace+`"`) {
			count++
		}
	}
	return count
}
