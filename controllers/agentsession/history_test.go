package agentsession

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/pace"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// Whatever people, servers, the API server and the manager do, in whichever order: nothing is offered that a
// declaration forbids, what others own is not touched, and after a while everything is offered that may be, status
// says so, and nothing is written any more, a restart of the manager included.
func TestPropertyAnyHistoryComesToRest(t *testing.T) {
	first, last := pace.Seeds(t, 30, 150)
	for seed := first; seed <= last; seed++ {
		inBubble(t, fmt.Sprint(seed), func(t *testing.T) {
			h := newHistory(t, seed)
			defer h.tellFailure()
			h.happen()
			h.comeToRest()
			h.clear()
			h.complete()
			h.restartAtRest()
		})
	}
}

// history is a world in which things happen at random.
type history struct {
	*world
	seed   uint64
	random *rand.Rand
	script []string
	fars   []*far
	made   int // objects that were declared, each with a UID of its own

	// theirs is a ConfigMap that somebody else put where ours is to be; nil when nobody did.
	theirs *corev1.ConfigMap
	// full: the API server stores nothing.
	full bool
	// unstored: the last write was refused.
	unstored bool
	// written counts writes that succeeded; tokens and credit are what may still be written, of the bucket at a time and
	// for what people did.
	written, credit int
	tokens          float64
	filled          time.Time
	// passes counts those since something happened; newest is the newest version of a ConfigMap that was seen.
	passes, newest int
	// last is what the last pass left; offered is of the last one that left a catalog, which the process remembers.
	last struct {
		written, stores int
		offered         map[string]offered
	}
}

// offered is a tool that agents have.
type offered struct {
	server     catalog.Ref
	uid        string
	raw, title string
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	h := &history{seed: seed, random: rand.New(rand.NewPCG(seed, 0)), credit: 1}
	h.fars = []*far{
		{Ref: catalog.Ref{Namespace: testNamespace, Name: "a"}, lists: []string{"x", "y"}},
		{Ref: catalog.Ref{Namespace: testNamespace, Name: "b"}, lists: []string{"z"}},
		{Ref: catalog.Ref{Namespace: testNamespace, Name: "c"}, lists: []string{"x"}},
		{Ref: catalog.Ref{Namespace: "shared", Name: "fs"}, lists: []string{"w", "x"}},
	}
	objects := []client.Object{h.newSession(), newLead()}
	for _, f := range h.fars {
		objects = append(objects, h.newServer(f))
	}
	h.world = newWorld(t, objects...)
	h.start()
	h.passed = h.keepsTheLaws
	for _, f := range h.fars {
		h.look(f)
	}
	h.pass()
	return h
}

// newSession is the agent session as somebody may declare it.
func (h *history) newSession() *v1alpha1.AgentSession {
	h.made++
	session := agent().UID(uidOf(h.made))
	if h.random.IntN(2) == 0 {
		session.Parent("lead")
	}
	return session.Mutate(func(s *v1alpha1.AgentSession) { s.Spec.Servers = pick(h, selections) }).Obj()
}

func newLead() *v1alpha1.AgentSession {
	return builder.AgentSession("lead").Namespace(testNamespace).SelectAll().ForeignRef("shared", "fs").Obj()
}

// start makes a reconciler that remembers nothing, over the sessions and the store that there are.
func (h *history) start() {
	sessions, stored := h.sessions, h.store
	h.restart()
	h.sessions, h.store = sessions, stored
	r := h.reconciler
	r.Sessions, r.Servers, r.ConfigHash = sessions, stored, addressOf
	r.Client = interceptor.NewClient(interceptor.NewClient(h.api, h.storage()), h.cached())
	h.tokens, h.filled, h.last.offered = configmap.WriteBurst, time.Now(), nil
}

// storage is what the API server does with writes: it keeps what is immutable.
func (h *history) storage() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(
			ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption,
		) error {
			if h.full {
				return forbidden()
			}
			err := c.Create(ctx, object, options...)
			for err == nil && versionOf(object) <= h.newest { // a real API server does not give a version twice
				err = c.Update(ctx, object)
			}
			return h.account(err)
		},
		Update: func(
			ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption,
		) error {
			if h.full {
				return forbidden()
			}
			if stored := h.configMap(); ptr.Deref(stored.Immutable, false) && !sameData(stored, object) {
				return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), stored.Name, nil)
			}
			return h.account(c.Update(ctx, object, options...))
		},
	}
}

// configMap reads the catalog ConfigMap; nil when there is none.
func (h *history) configMap() *corev1.ConfigMap {
	h.t.Helper()
	object := h.world.configMap()
	if object != nil {
		h.newest = max(h.newest, versionOf(object))
	}
	return object
}

func versionOf(object client.Object) int {
	version, _ := strconv.Atoi(object.GetResourceVersion()) // the fake API server counts
	return version
}

func sameData(stored *corev1.ConfigMap, object client.Object) bool {
	wanted, ok := object.(*corev1.ConfigMap)
	return ok && maps.Equal(stored.Data, wanted.Data)
}

// account counts a write, which must not come too soon after others.
func (h *history) account(err error) error {
	if err != nil {
		return err
	}
	h.written++
	now := time.Now()
	h.tokens = min(configmap.WriteBurst, h.tokens+now.Sub(h.filled).Seconds()/configmap.RefillInterval.Seconds())
	h.filled = now
	switch {
	case h.tokens >= 1:
		h.tokens--
	case h.credit > 0:
		h.credit--
	default:
		h.Expect(h.tokens).To(BeNumerically(">=", 1), "a write comes too soon")
	}
	return nil
}

// happen lets things happen.
func (h *history) happen() {
	h.t.Helper()
	for steps := 5 + h.random.IntN(35); steps > 0; {
		h.passes = 0
		action := pick(h, actions)
		what := action.do(h)
		if what == "" {
			continue // it cannot happen now
		}
		steps--
		h.script = append(h.script, what)
		h.credit += action.writes
		if h.random.IntN(3) > 0 {
			h.pass()
		}
	}
}

// tellFailure prints how a history that went wrong can be lived through again.
func (h *history) tellFailure() {
	if h.t.Failed() {
		h.t.Logf("%s=%d go test ./controllers/agentsession -run '%s'\n%s", pace.Variable, h.seed,
			"TestPropertyAnyHistoryComesToRest", strings.Join(h.script, "\n"))
	}
}

// keepsTheLaws checks what holds after each pass.
func (h *history) keepsTheLaws() {
	h.t.Helper()
	h.passes++
	h.Expect(h.passes).To(BeNumerically("<", 1000), "there is no rest")
	switch attempts, written := h.stores-h.last.stores, h.written-h.last.written; {
	case written > 0:
		h.unstored = false
	case attempts > 0:
		h.unstored = true
	}
	h.last.stores, h.last.written = h.stores, h.written
	if h.theirs != nil {
		h.Expect(h.configMap()).To(Equal(h.theirs), "what belongs to somebody else is not touched")
	}
	if _, there := h.find(); !there {
		return
	}
	now, m := h.onOffer(), h.read()
	if h.writable() {
		for name, tool := range now {
			h.Expect(h.forbids(m, name, tool)).To(BeEmpty(), name)
		}
	}
	if before := h.last.offered; m.fault() && before != nil && now != nil {
		for name, tool := range now {
			h.Expect(before).To(HaveKeyWithValue(name, tool), "under a fault nothing is added or replaced")
		}
		for name, tool := range before {
			if h.forbids(m, name, tool) == "" {
				h.Expect(now).To(HaveKey(name), "under a fault what nobody forbids stands")
			}
		}
	}
	if now != nil { // what is lost is remembered
		h.last.offered = now
	}
}

// writable tells whether nothing keeps the ConfigMap from being written.
func (h *history) writable() bool {
	object := h.configMap()
	return h.theirs == nil && !h.full && !h.unstored && (object == nil || !ptr.Deref(object.Immutable, false))
}

// onOffer are the tools that agents have, by exposed name; nil when there is no catalog of ours that can be read.
func (h *history) onOffer() map[string]offered {
	h.t.Helper()
	object := h.configMap()
	if session, ok := h.find(); !ok || object == nil || !metav1.IsControlledBy(object, session) {
		return nil
	}
	document, err := sessioncatalog.Decode(object.Data, object.BinaryData)
	if err != nil {
		return nil
	}
	out := map[string]offered{}
	for _, slice := range document.Servers {
		for _, tool := range slice.Tools {
			out[tool.Name] = offered{slice.Ref, slice.UID, tool.RawName, titleIn(tool.Entry)}
		}
	}
	return out
}

// forbids says why a tool must not be offered; "" when nothing speaks against it.
func (h *history) forbids(m *model, name string, tool offered) string {
	f := h.farOf(tool.server)
	switch server := m.servers[tool.server]; {
	case server == nil:
		return "its server is not declared"
	case string(server.UID) != tool.uid:
		return "it is of a former server"
	case f.state == refuses && !f.behind && time.Since(f.since) >= gate.WithdrawAfter:
		return "its server refuses to be used"
	case (!f.behind || m.fault()) && withheld(server, tool.raw):
		return "its server's declaration withholds it"
	}
	return m.forbids(tool.server, name)
}

// comeToRest lets time pass until nothing changes any more by itself, and proves that.
func (h *history) comeToRest() {
	h.t.Helper()
	h.storeErrors, h.statusErrors, h.passes = nil, nil, 0
	for _, f := range h.fars {
		if f.behind {
			h.look(f)
			h.credit++
		}
	}
	h.pass()
	h.advance(10 * time.Minute)
	h.unstored = false // or it is tried again
	h.advance(2 * time.Minute)
	object, session, stores, statusWrites := h.configMap(), h.get(), h.stores, h.statusWrites
	const long = 20 * time.Minute
	h.advance(long)
	h.pass()
	h.Expect(cmp.Diff(object, h.configMap())).To(BeEmpty(), "nothing is written at rest")
	h.Expect(cmp.Diff(session, h.get())).To(BeEmpty(), "nothing is told at rest")
	h.Expect(h.statusWrites).To(Equal(statusWrites))
	most := stores
	if !h.writable() { // it is tried again
		most += int(long / configmap.RetryInterval)
	}
	h.Expect(h.stores).To(BeNumerically("<=", most), "attempts at rest")
	h.tellsTheTruth()
}

// clear takes away what keeps the ConfigMap from being written.
func (h *history) clear() {
	h.t.Helper()
	if h.writable() {
		return
	}
	if object := h.configMap(); object != nil {
		h.Expect(h.api.Delete(h.t.Context(), object)).To(Succeed())
	}
	h.theirs, h.full = nil, false
	h.script = append(h.script, "all that is in the way is taken away")
	h.comeToRest()
	h.Expect(h.writable()).To(BeTrue())
}

// nothingOffered are the words that say so.
var nothingOffered = []string{"nothing is offered", "no tools to offer", "an empty catalog is published"}

// tellsTheTruth checks what status says of the catalog.
func (h *history) tellsTheTruth() {
	h.t.Helper()
	status, tools := &h.get().Status, h.onOffer()
	for _, condition := range status.Conditions {
		if slices.ContainsFunc(nothingOffered, func(s string) bool { return strings.Contains(condition.Message, s) }) {
			h.Expect(tools).To(BeEmpty(), "%s: %s", condition.Type, condition.Message)
		}
	}
	if h.theirs != nil {
		if !h.full { // else the API server may not tell that the name is taken
			h.Expect(h.ready()).To(Equal("False NameConflict"))
		}
		return
	}
	published := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionCatalogPublished)
	if tools == nil { // there is none, or one that somebody spoilt, or of a former session
		h.Expect(h.writable()).To(BeFalse())
		h.Expect(published.Reason).To(Equal(v1alpha1.ReasonPublishFailed))
		h.Expect(published.Message).NotTo(ContainSubstring("stays published"))
		h.Expect(h.ready()).To(Equal("False PublishFailed"))
		return
	}
	h.Expect(status.Catalog).NotTo(BeNil())
	h.Expect(status.Catalog.Digest).To(Equal(string(h.document().Digest)))
	h.Expect(status.Catalog.ToolCount).To(HaveValue(BeEquivalentTo(len(tools))))
	if published.Reason == v1alpha1.ReasonPublished {
		h.Expect(tools).NotTo(BeEmpty(), published.Message)
	}
	for _, entry := range status.Servers {
		count := 0
		for _, tool := range tools {
			if tool.server == (catalog.Ref{Namespace: entry.Namespace, Name: entry.Name}) {
				count++
			}
		}
		if entry.Tools != nil {
			h.Expect(entry.Tools).To(HaveValue(BeEquivalentTo(count)), entry.Name)
		}
	}
	m := h.read()
	if m.fault() && published.Reason != v1alpha1.ReasonPublishFailed {
		h.Expect(h.ready()).To(Equal("False DiscoveryFailed"))
		h.Expect(published.Reason).To(Equal(v1alpha1.ReasonDiscoveryFailed))
	}
	for name, tool := range tools { // else it says that it could not be written
		if published.Reason != v1alpha1.ReasonPublishFailed {
			h.Expect(h.forbids(m, name, tool)).To(BeEmpty(), name)
		}
	}
}

// complete checks that all is offered that may be, as the servers list it, and that the ConfigMap and the
// acknowledgement of a reload are as they are to be.
func (h *history) complete() {
	h.t.Helper()
	object, session := h.configMap(), h.get()
	h.Expect(object.Labels).To(HaveKeyWithValue(v1alpha1.LabelManagedBy, v1alpha1.LabelManagedByValue))
	h.Expect(session.Status.ObservedGeneration).To(Equal(session.Generation))
	h.Expect(session.Status.LastHandledReloadAt).To(Equal(session.Annotations[v1alpha1.AnnotationReload]))
	m := h.read()
	if m.fault() {
		return
	}
	h.Expect(slices.Sorted(maps.Keys(object.Data))).To(Equal([]string{"catalog.json", "mcp.json"}))
	tools := h.onOffer()
	for _, f := range h.fars {
		server := m.servers[f.Ref]
		if server == nil || !f.known(server) {
			continue
		}
		for _, listed := range f.offers(server) {
			raw, title, _ := strings.Cut(listed, "=")
			name := "mcp_" + f.part() + "_" + raw
			want := offered{f.Ref, string(server.UID), raw, title}
			if h.forbids(m, name, want) == "" {
				h.Expect(tools).To(HaveKeyWithValue(name, want))
				delete(tools, name)
			}
		}
	}
	for name, tool := range tools { // of servers whose present tools are not known, what agents had
		f := h.farOf(tool.server)
		h.Expect(f.known(m.servers[f.Ref])).To(BeFalse(), name)
	}
}

// restartAtRest restarts the manager, whose servers come back one after the other: nothing is written.
func (h *history) restartAtRest() {
	h.t.Helper()
	object, session, stores := h.configMap(), h.get(), h.stores
	stands := func(when string) {
		h.t.Helper()
		h.pass()
		h.Expect(cmp.Diff(object, h.configMap())).To(BeEmpty(), when)
		h.Expect(cmp.Diff(session, h.get())).To(BeEmpty(), when)
	}
	h.sessions = sessiontest.NewSessions(nil)
	h.store = &catalogstore.Store{Sessions: h.sessions}
	h.start()
	for _, f := range h.fars {
		f.behind, f.judged = true, nil
	}
	stands("after a restart")
	for _, f := range h.fars {
		if state := f.state; state != refuses { // that is remembered
			f.state = late
			h.look(f)
			stands(f.Name + " is connecting")
			f.state = state
		}
		h.look(f)
		stands(f.Name + " is as it was")
	}
	h.advance(12 * time.Minute)
	stands("later")
	h.Expect(h.stores).To(Equal(stores))
}

// pick is one of several.
func pick[T any](h *history, from []T) T { return from[h.random.IntN(len(from))] }

// refOf is a server's name.
func refOf(server *v1alpha1.MCPServer) catalog.Ref {
	return catalog.Ref{Namespace: server.Namespace, Name: server.Name}
}

func (h *history) farOf(ref catalog.Ref) *far {
	h.t.Helper()
	at := slices.IndexFunc(h.fars, func(f *far) bool { return f.Ref == ref })
	h.Expect(at).To(BeNumerically(">=", 0), ref.String())
	return h.fars[at]
}

// addressOf stands for what a list must have been made under.
func addressOf(spec *v1alpha1.MCPServerSpec) string { return spec.HTTP.URL }
