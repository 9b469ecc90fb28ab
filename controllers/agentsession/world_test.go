package agentsession

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/events"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/kstatustest"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// inBubble runs a test in fake time.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

const testNamespace = "agents"

// coder is the agent session that the tests of this package are about.
var coder = types.NamespacedName{Namespace: testNamespace, Name: "coder"}

// world is one reconciler over a fake API server, with sessions and a catalog store that say what the test wants. Its
// clock is that of the synctest bubble; advance has passes made when they are due.
type world struct {
	*WithT
	t        *testing.T
	api      client.WithWatch
	sessions *sessiontest.Sessions
	store    *catalogstore.Store
	told     *told
	// due is when the next pass was asked for; zero: not at all.
	due time.Time
	// statusErrors and storeErrors are the answers to the next writes.
	statusErrors, storeErrors []error
	statusWrites, stores      int
	// passed is called after each pass, unless it is nil.
	passed     func()
	reconciler *Reconciler
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	w := &world{WithT: NewWithT(t), t: t, told: &told{}}
	w.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	w.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testNamespace}}
	w.api = fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, namespace)...).
		WithStatusSubresource(&v1alpha1.MCPServer{}, &v1alpha1.AgentSession{}).Build()
	w.restart()
	return w
}

// restart throws away all that a process remembers.
func (w *world) restart() {
	w.sessions, w.due = sessiontest.NewSessions(nil), time.Time{}
	w.store = &catalogstore.Store{Sessions: w.sessions}
	w.reconciler = &Reconciler{
		Client: interceptor.NewClient(w.api, w.cached()), Live: w.api,
		Servers: w.store, Wakes: &Wakes{}, Sessions: w.sessions,
		ConfigHash: func(*v1alpha1.MCPServerSpec) string { return "h" },
		Target:     func(spec *v1alpha1.MCPServerSpec) string { return spec.HTTP.URL },
		Gateway:    "https://gateway.example", Events: events.New(w.told), Workers: 1,
	}
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

// agent is an AgentSession as the API server stores it when it has just been created.
func agent() *builder.AgentSessionBuilder {
	return builder.AgentSession(coder.Name).Namespace(coder.Namespace).UID("uid-coder").Generation(1).Created(time.Now()).
		Mutate(func(s *v1alpha1.AgentSession) { s.Status.ObservedGeneration = -1 })
}

// declared is an MCPServer that was declared long ago.
func declared(name string) *builder.MCPServerBuilder {
	return builder.MCPServer(name).Namespace(testNamespace).UID(types.UID("uid-" + name)).Generation(1).
		URL("https://" + name + ".example/mcp").Created(time.Now().Add(-time.Hour))
}

// pass reconciles the object, once more when that is asked for at once, and keeps the laws of kstatus.
func (w *world) pass() {
	w.t.Helper()
	request := ctrl.Request{NamespacedName: coder}
	result, err := w.reconciler.Reconcile(w.t.Context(), request)
	w.Expect(err).NotTo(HaveOccurred())
	if result.RequeueAfter == atOnce {
		result, err = w.reconciler.Reconcile(w.t.Context(), request)
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.due = time.Time{}
	if result.RequeueAfter > 0 {
		w.due = time.Now().Add(result.RequeueAfter)
	}
	if session, ok := w.find(); ok {
		kstatustest.Check(w.t, session)
	}
	if w.passed != nil {
		w.passed()
	}
}

// advance lets time pass, making the passes that are due.
func (w *world) advance(d time.Duration) {
	w.t.Helper()
	end := time.Now().Add(d)
	for !w.due.IsZero() && !w.due.After(end) {
		time.Sleep(time.Until(w.due))
		w.pass()
	}
	time.Sleep(time.Until(end))
}

func key(name string) session.Key { return session.Key("uid-" + name) }

// stands lets a server's session stand as the snapshot says, and puts what was decided of it in the catalog store.
func (w *world) stands(name string, snapshot session.Snapshot, item catalogstore.Entry) {
	w.t.Helper()
	item.Generation, item.ConfigHash = max(item.Generation, 1), "h"
	if item.Listing == "" && snapshot.Listing != nil {
		item.Listing = snapshot.ListingID
	}
	w.sessions.Ensure(key(name), session.Config{Catalog: "h"})
	w.sessions.Set(key(name), snapshot)
	w.store.Set(key(name), item)
}

// up is a server that is connected and offers these tools.
func (w *world) up(name string, tools ...string) {
	w.t.Helper()
	w.stands(name, session.Snapshot{
		State: session.Connected, Settled: true, Listing: sessiontest.Tools(tools...), ListingID: fmt.Sprint(tools),
	}, catalogstore.Entry{Offered: offering(tools...)})
}

// down is a server of which an attempt has failed; with tools, they are stored.
func (w *world) down(name string, tools ...string) {
	w.t.Helper()
	fault := &session.Fault{Failure: failure.Failure{Class: failure.Transport, Reason: failure.ConnectFailed}}
	w.stands(name, session.Snapshot{State: session.Waiting, Settled: true, Fault: fault}, catalogstore.Entry{
		Offered: offering(tools...),
		Trouble: catalogstore.Trouble{Class: "transport", Reason: "ConnectFailed", Message: name + " is down"},
	})
}

// late is a server whose first attempt has not ended; with tools, they are stored.
func (w *world) late(name string, tools ...string) {
	w.t.Helper()
	w.stands(name, session.Snapshot{State: session.Connecting}, catalogstore.Entry{Offered: offering(tools...)})
}

// catalogs keeps what offering made, so that the same tools are the same catalog, as on a real store.
var catalogs sync.Map

// offering is a catalog of these tools; nil without any.
func offering(tools ...string) *catalog.Catalog {
	if len(tools) == 0 {
		return nil
	}
	var raw []json.RawMessage
	for _, tool := range tools {
		name, rest, _ := strings.Cut(tool, "=")
		raw = append(raw, json.RawMessage(fmt.Sprintf(`{"name":%q,"title":%q,"inputSchema":{"type":"object"}}`, name, rest)))
	}
	parsed := catalog.Parse(raw)
	kept, _ := catalogs.LoadOrStore(fmt.Sprint(tools), &parsed)
	return kept.(*catalog.Catalog)
}

func (w *world) find() (*v1alpha1.AgentSession, bool) {
	w.t.Helper()
	session := &v1alpha1.AgentSession{}
	err := w.api.Get(w.t.Context(), coder, session)
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return session, err == nil
}

// get reads the object as it stands.
func (w *world) get() *v1alpha1.AgentSession {
	w.t.Helper()
	session, ok := w.find()
	w.Expect(ok).To(BeTrue())
	return session
}

// edit changes the object as a person would, generation included.
func (w *world) edit(change func(*v1alpha1.AgentSession)) {
	w.t.Helper()
	session := w.get()
	change(session)
	session.Generation++
	w.Expect(w.api.Update(w.t.Context(), session)).To(Succeed())
}

// annotate asks for a reload.
func (w *world) annotate(value string) {
	w.t.Helper()
	session := w.get()
	session.Annotations = map[string]string{v1alpha1.AnnotationReload: value}
	w.Expect(w.api.Update(w.t.Context(), session)).To(Succeed())
}

// configMap reads the catalog ConfigMap; nil when there is none.
func (w *world) configMap() *corev1.ConfigMap {
	w.t.Helper()
	object := &corev1.ConfigMap{}
	err := w.api.Get(w.t.Context(), types.NamespacedName{Namespace: testNamespace, Name: "coder-mcp-catalog"}, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return object
}

// document is what agents have.
func (w *world) document() sessioncatalog.Document {
	w.t.Helper()
	object := w.configMap()
	w.Expect(object).NotTo(BeNil(), "nothing is published")
	document, err := sessioncatalog.Decode(object.Data, object.BinaryData)
	w.Expect(err).NotTo(HaveOccurred())
	return document
}

// offers are the exposed names on offer, and "server: Reason" of each error; "nothing" before a catalog is published.
func (w *world) offers() string {
	w.t.Helper()
	if w.configMap() == nil {
		return "nothing"
	}
	document := w.document()
	out := slices.Sorted(func(yield func(string) bool) {
		for name := range document.Routes() {
			if !yield(name) {
				return
			}
		}
	})
	for _, failed := range document.Errors {
		out = append(out, failed.Server.Name+": "+failed.Reason)
	}
	return strings.Join(out, " ")
}

// says is "True Published" for a condition, "" for one that is not there.
func says(session *v1alpha1.AgentSession, condition string) string {
	if found := meta.FindStatusCondition(session.Status.Conditions, condition); found != nil {
		return string(found.Status) + " " + found.Reason
	}
	return ""
}

// ready is what Ready says now.
func (w *world) ready() string {
	w.t.Helper()
	return says(w.get(), v1alpha1.ConditionReady)
}

// servers are "name State tools" of each entry of status, tools being "-" where there are none to tell of.
func (w *world) servers() string {
	w.t.Helper()
	var out []string
	for _, entry := range w.get().Status.Servers {
		tools := "-"
		if entry.Tools != nil {
			tools = fmt.Sprint(*entry.Tools)
		}
		out = append(out, entry.Name+" "+entry.State+" "+tools)
	}
	return strings.Join(out, ", ")
}

// told keeps the events that people see, as "Type Reason Action: message".
type told struct {
	mu     sync.Mutex
	events []string
}

//nolint:revive // its arguments are client-go's
func (e *told) Eventf(_, _ runtime.Object, kind, reason, action, _ string, arguments ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, fmt.Sprintf("%s %s %s: %s", kind, reason, action, arguments[0]))
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
