package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/events"
	"github.com/mooring-dev/mooring/internal/metrics"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

const (
	testNamespace = "agents"
	testUID       = types.UID("0d5c8f0e-8f0e-4b5e-9d7c-000000000001")
	testKey       = session.Key(testUID)
	testURL       = "https://mcp.example.com/mcp"
)

// testName is the object that the tests of this package are about.
var testName = types.NamespacedName{Namespace: testNamespace, Name: "fs"}

// world is one reconciler over a fake API server, with sessions and references that say what the test wants.
type world struct {
	*WithT
	t          *testing.T
	api        client.WithWatch // everything, as an administrator sees it
	sessions   *sessiontest.Sessions
	references *references
	told       *told
	series     *prometheus.Registry
	// statusErrors and storeErrors are the answers of the next writes.
	statusErrors, storeErrors []error
	// statusWrites and stores count the writes.
	statusWrites, stores int
	reconciler           *Reconciler
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	w := &world{
		WithT: NewWithT(t), t: t, references: &references{values: map[refs.Ref]string{}},
		told: &told{}, series: prometheus.NewRegistry(),
	}
	w.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	w.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	w.api = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.MCPServer{}).Build()
	w.sessions = sessiontest.NewSessions(nil)
	w.start()
	return w
}

// start makes a reconciler that remembers nothing, as a new process has it.
func (w *world) start() {
	series, err := metrics.New(w.series, States()...)
	w.Expect(err).NotTo(HaveOccurred())
	policy, err := egress.NewPolicy(egress.Options{Deny: []string{"10.0.0.0/8"}})
	w.Expect(err).NotTo(HaveOccurred())
	w.reconciler = &Reconciler{
		Client: interceptor.NewClient(w.api, w.cached()), Live: w.api,
		Keys: &Keys{}, Sessions: w.sessions, References: w.references,
		Connector: connect.New(connect.Options{Values: w.references, Egress: policy}),
		Catalogs:  &catalogstore.Store{Sessions: w.sessions}, Events: events.New(w.told), Metrics: series, Workers: 1,
	}
}

// restart throws away all that a process remembers.
func (w *world) restart() {
	w.sessions = sessiontest.NewSessions(nil)
	w.series = prometheus.NewRegistry()
	w.start()
}

// cached sees what the manager's client sees: of ConfigMaps only those that carry our label.
func (w *world) cached() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(
			ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption,
		) error {
			if err := c.Get(ctx, key, object, options...); err != nil {
				return err
			}
			_, ours := object.GetLabels()[v1alpha1.LabelManagedBy]
			if _, isConfigMap := object.(*corev1.ConfigMap); isConfigMap && !ours {
				return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
			}
			return nil
		},
		Create: func(
			ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption,
		) error {
			w.stores++
			if err := next(&w.storeErrors); err != nil {
				return err
			}
			return c.Create(ctx, object, options...)
		},
		Update: func(
			ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption,
		) error {
			w.stores++
			if err := next(&w.storeErrors); err != nil {
				return err
			}
			return c.Update(ctx, object, options...)
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch,
			options ...client.SubResourcePatchOption,
		) error {
			w.statusWrites++
			if err := next(&w.statusErrors); err != nil {
				return err
			}
			return c.SubResource(name).Patch(ctx, object, patch, options...)
		},
	}
}

// next takes the first error; nil when there is none left.
func next(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	err := (*errs)[0]
	*errs = (*errs)[1:]
	return err
}

// declared is an MCPServer as the API server stores it when it is new.
func declared() *builder.MCPServerBuilder {
	return builder.MCPServer(testName.Name).Namespace(testNamespace).UID(testUID).Generation(1).URL(testURL).
		Mutate(func(s *v1alpha1.MCPServer) { s.Status.ObservedGeneration = -1 })
}

// pass reconciles the object once.
func (w *world) pass() ctrl.Result {
	w.t.Helper()
	result, err := w.reconciler.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: testName})
	w.Expect(err).NotTo(HaveOccurred())
	return result
}

// settle declares the session, lets it stand as the snapshot says, and reconciles.
func (w *world) settle(snapshot session.Snapshot) ctrl.Result {
	w.t.Helper()
	w.pass()
	w.sessions.Set(testKey, snapshot)
	return w.pass()
}

// get reads the object as it stands.
func (w *world) get() *v1alpha1.MCPServer {
	w.t.Helper()
	server := &v1alpha1.MCPServer{}
	w.Expect(w.api.Get(w.t.Context(), testName, server)).To(Succeed())
	return server
}

// edit changes the object as a person would, generation included.
func (w *world) edit(change func(*v1alpha1.MCPServer)) {
	w.t.Helper()
	server := w.get()
	change(server)
	server.Generation++
	w.Expect(w.api.Update(w.t.Context(), server)).To(Succeed())
}

// catalog reads the catalog ConfigMap; nil when there is none.
func (w *world) catalog() *corev1.ConfigMap {
	w.t.Helper()
	object := &corev1.ConfigMap{}
	err := w.api.Get(w.t.Context(), types.NamespacedName{Namespace: testNamespace, Name: "fs-mcp-tools"}, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return object
}

// published are the names of the tools in the catalog ConfigMap.
func (w *world) published() []string {
	w.t.Helper()
	object := w.catalog()
	w.Expect(object).NotTo(BeNil())
	document, err := catalog.Decode(object.Data, object.BinaryData)
	w.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, tool := range document.Catalog.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// standing is "True Connected" and so on for each condition.
func standing(server *v1alpha1.MCPServer) map[string]string {
	out := map[string]string{}
	for _, condition := range server.Status.Conditions {
		out[condition.Type] = string(condition.Status) + " " + condition.Reason
	}
	return out
}

// message is what a condition tells a person.
func message(server *v1alpha1.MCPServer, condition string) string {
	if found := meta.FindStatusCondition(server.Status.Conditions, condition); found != nil {
		return found.Message
	}
	return ""
}

// connected is the snapshot of a session that listed these tools; none lists nothing.
func connected(tools ...string) session.Snapshot {
	return session.Snapshot{
		State: session.Connected, Settled: true, Listing: sessiontest.Tools(tools...), ListingID: fmt.Sprint(tools),
		Info: session.Info{Name: "files", Title: "Files", Version: "1.2.3", ProtocolVersion: "2025-11-25"},
	}
}

// references are Secrets and ConfigMaps that say what the test wants; what is not there is not found.
type references struct {
	values  map[refs.Ref]string
	errs    map[refs.Ref]error
	tracked [][]refs.Ref
}

func (r *references) Track(_ types.NamespacedName, references []refs.Ref) {
	r.tracked = append(r.tracked, references)
}

func (r *references) ReadKeys(_ context.Context, reference refs.Ref, keys ...string) ([]secret.Value, string, error) {
	var out []secret.Value
	version := "uid/"
	for _, key := range keys {
		reference.Key = key
		if err := r.errs[reference]; err != nil {
			return nil, "", err
		}
		text, ok := r.values[reference]
		if !ok {
			missing := refs.NotFoundError{Kind: reference.Kind, Namespace: reference.Namespace, Name: reference.Name}
			return nil, "", missing
		}
		out, version = append(out, secret.New(text)), version+text
	}
	return out, version, nil
}

// era is what the process knows of how the server speaks.
func (w *world) era(server *v1alpha1.MCPServer) *connect.EraMemory {
	wanted, err := w.reconciler.Connector.Session(w.t.Context(), server)
	w.Expect(err).NotTo(HaveOccurred())
	return wanted.Era
}

// told keeps the events that people see, as "Type Reason Action".
type told struct {
	mu     sync.Mutex
	events []string
}

//nolint:revive // its arguments are client-go's
func (e *told) Eventf(_, _ runtime.Object, kind, reason, action, _ string, _ ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, kind+" "+reason+" "+action)
}

// take returns the events since the last time.
func (e *told) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	events := e.events
	e.events = nil
	return events
}

var errUnwell = errors.New("the API server is not well")
