package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/kstatustest"
	"github.com/mooring-dev/mooring/test/pace"
)

// Whatever people, the server, the API server and the manager do, in whichever order: nothing is offered that the
// filter denies, that nobody approved where somebody must, or that was listed at another address; what others own is
// not touched; and after a while status says what is offered, and nothing is written any more, a restart included.
func TestPropertyAnyHistoryComesToRest(t *testing.T) {
	first, last := pace.Seeds(t, 20, 100)
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHistory(t, seed)
				defer h.tellFailure()
				h.happen()
				h.comeToRest()
				h.clear()
				h.complete()
				h.restartAtRest()
			})
		})
	}
}

// history is a world in which things happen at random to one server.
type history struct {
	*world
	seed   uint64
	random *rand.Rand
	script []string
	policy v1alpha1.PinPolicy
	due    time.Time // of the next pass; zero: when something happens
	passes int       // since something happened

	// stands is how its session stands; the tools it lists, as "name=title", are lists.
	stands session.Snapshot
	lists  []string
	// approved are the tools that somebody approved, or that were listed when nothing had been; known are the lists by
	// their digests, and made those tools that were ever listed at an address.
	approved map[string]bool
	known    map[string][]string
	made     map[string]map[string]bool
	// judged are the tools that were on offer when the declaration was accepted last.
	judged map[string]bool
	theirs *corev1.ConfigMap // that somebody else put in the place of ours
	newest int               // version of a ConfigMap that was seen
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	h := &history{
		seed: seed, random: rand.New(rand.NewPCG(seed, 0)), stands: down(),
		approved: map[string]bool{}, known: map[string][]string{}, made: map[string]map[string]bool{},
	}
	h.policy = pick(h, []v1alpha1.PinPolicy{v1alpha1.PinNone, v1alpha1.PinTrustOnFirstUse, v1alpha1.PinStrict})
	h.world = newWorld(t, declared().Pin(h.policy).Obj())
	h.begin()
	h.settles()
	return h
}

// begin starts the manager.
func (h *history) begin() {
	h.restart()
	h.reconciler.Client = interceptor.NewClient(interceptor.NewClient(h.api, interceptor.Funcs{Create: func(
		ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption,
	) error {
		err := c.Create(ctx, object, options...)
		for err == nil && versionOf(object) <= h.newest { // a real API server does not give a version twice
			err = c.Update(ctx, object)
		}
		return err
	}}), h.cached())
}

// catalog reads the catalog ConfigMap; nil when there is none.
func (h *history) catalog() *corev1.ConfigMap {
	h.t.Helper()
	object := h.world.catalog()
	if object != nil {
		h.newest = max(h.newest, versionOf(object))
	}
	return object
}

func versionOf(object client.Object) int {
	version, _ := strconv.Atoi(object.GetResourceVersion()) // the fake API server counts
	return version
}

// pick is one of several.
func pick[T any](h *history, from []T) T { return from[h.random.IntN(len(from))] }

// look makes a pass and checks what holds after each.
func (h *history) look() {
	h.t.Helper()
	h.passes++
	h.Expect(h.passes).To(BeNumerically("<", 1000), "there is no rest")
	result := h.pass()
	h.due = time.Time{}
	if result.RequeueAfter > 0 {
		h.due = time.Now().Add(result.RequeueAfter)
	}
	server := h.get()
	kstatustest.Check(h.t, server)
	if h.theirs != nil {
		h.Expect(h.ours()).To(BeNil())
		h.Expect(cmp.Diff(h.theirs, h.catalog())).To(BeEmpty(), "what belongs to somebody else is not touched")
	}
	for tool := range h.onOffer() {
		h.Expect(h.forbids(server, tool)).To(BeEmpty(), tool)
	}
	if accepted(server) && !server.Spec.Disabled {
		h.judged = h.onOffer()
	}
}

// advance lets time pass, making the passes that are due.
func (h *history) advance(d time.Duration) {
	h.t.Helper()
	end := time.Now().Add(d)
	for !h.due.IsZero() && !h.due.After(end) {
		time.Sleep(time.Until(h.due))
		h.look()
	}
	time.Sleep(time.Until(end))
}

// settles declares the session and lets it stand as it does.
func (h *history) settles() {
	h.t.Helper()
	h.look()
	if _, held := h.sessions.Snapshot(testKey); held {
		h.sessions.Set(testKey, h.stands)
		h.look()
	}
}

// onOffer are the tools that agents may be offered, as "name=title"; nil when nothing is stored.
func (h *history) onOffer() map[string]bool {
	h.t.Helper()
	item := h.reconciler.Catalogs.Get(testKey).Entry
	if item == nil || item.Offered == nil {
		return nil
	}
	out := map[string]bool{}
	for _, tool := range item.Offered.Tools {
		out[tool.Name+"="+titleIn(tool)] = true
	}
	return out
}

// forbids says why a tool must not be offered; "" when nothing speaks against it.
func (h *history) forbids(server *v1alpha1.MCPServer, tool string) string {
	name, _, _ := strings.Cut(tool, "=")
	switch {
	case server.Spec.Disabled:
		return "the server is disabled"
	case !h.made[server.Spec.HTTP.URL][tool]:
		return "it was not listed at this address"
	case !accepted(server) && !h.judged[tool]:
		return "it was not offered before the declaration was rejected"
	case accepted(server) && denied(server, name):
		return "the filter denies it"
	case h.policy != v1alpha1.PinNone && !h.approved[tool]:
		return "nobody approved it"
	}
	return ""
}

// accepted tells whether the globs of a declaration can be read.
func accepted(server *v1alpha1.MCPServer) bool {
	return !slices.ContainsFunc(server.Spec.Tools.Deny, func(glob string) bool {
		_, err := path.Match(glob, "")
		return errors.Is(err, path.ErrBadPattern)
	})
}

func denied(server *v1alpha1.MCPServer, name string) bool {
	return slices.ContainsFunc(server.Spec.Tools.Deny, func(glob string) bool {
		found, _ := path.Match(glob, name)
		return found
	})
}

func (h *history) happen() {
	h.t.Helper()
	names := slices.Sorted(maps.Keys(actions))
	for steps := 4 + h.random.IntN(26); steps > 0; {
		h.passes = 0
		name := pick(h, names)
		if how, happens := actions[name](h); happens {
			h.script = append(h.script, name+" "+how)
			h.look()
			steps--
		}
	}
}

// tellFailure prints how a history that went wrong can be lived through again.
func (h *history) tellFailure() {
	if h.t.Failed() {
		h.t.Logf("%s=%d go test ./controllers/mcpserver -run TestPropertyAnyHistoryComesToRest\npinned %s\n%s",
			pace.Variable, h.seed, h.policy, strings.Join(h.script, "\n"))
	}
}

// writable tells whether nothing keeps the ConfigMap from being written.
func (h *history) writable() bool {
	object := h.catalog()
	return h.theirs == nil && (object == nil || !ptr.Deref(object.Immutable, false))
}

// comeToRest lets time pass until nothing changes any more by itself, and proves that.
func (h *history) comeToRest() {
	h.t.Helper()
	h.storeErrors, h.statusErrors, h.passes = nil, nil, 0
	h.look()
	h.advance(12 * time.Minute)
	object, server, statusWrites, stores := h.catalog(), h.get(), h.statusWrites, h.stores
	for range 20 {
		h.advance(time.Minute)
		h.look()
	}
	h.Expect(cmp.Diff(object, h.catalog())).To(BeEmpty(), "nothing is written at rest")
	h.Expect(cmp.Diff(server, h.get())).To(BeEmpty(), "nothing is told at rest")
	h.Expect(h.statusWrites).To(Equal(statusWrites))
	if !h.writable() { // it is tried again
		stores += int(20 * time.Minute / configmap.RetryInterval)
	}
	h.Expect(h.stores).To(BeNumerically("<=", stores))
}

// clear takes away what keeps the ConfigMap from being written.
func (h *history) clear() {
	h.t.Helper()
	if h.writable() {
		return
	}
	h.Expect(h.api.Delete(h.t.Context(), h.catalog())).To(Succeed())
	h.theirs = nil
	h.script = append(h.script, "all that is in the way is taken away")
	h.comeToRest()
}

// complete checks that all is offered that may be, that status says so, and that the ConfigMap is as it is to be.
func (h *history) complete() {
	h.t.Helper()
	server, object, offered := h.get(), h.catalog(), h.onOffer()
	h.Expect(server.Status.ObservedGeneration).To(Equal(server.Generation))
	if offered != nil {
		h.Expect(object.Labels).To(HaveKeyWithValue(v1alpha1.LabelManagedBy, v1alpha1.LabelManagedByValue))
	}
	if h.stands.Listing == nil || server.Spec.Disabled || !accepted(server) {
		return
	}
	h.Expect(object.Data).NotTo(HaveKey("stray"))
	h.Expect(server.Status.Catalog.Digest).To(Equal(listDigest(h.lists)))
	h.Expect(server.Status.Catalog.ToolCount).To(HaveValue(BeEquivalentTo(len(offered))))
	if h.policy != v1alpha1.PinNone && server.Spec.Tools.ApprovedDigest == listDigest(h.lists) {
		h.Expect(h.drift()).To(BeEmpty())
	}
	for _, tool := range h.lists {
		name, _, _ := strings.Cut(tool, "=")
		if !denied(server, name) && !offered[tool] {
			h.Expect(h.drift()).NotTo(BeEmpty(), tool+" is withheld, and why is not told")
		}
	}
	if h.drift() == "" && h.policy == v1alpha1.PinTrustOnFirstUse && len(h.lists) > 0 {
		h.Expect(server.Status.Catalog.PinnedDigest).NotTo(BeEmpty(), "what is trusted is recorded")
	}
}

// restartAtRest restarts the manager: nothing is written while the server is connected anew, nor when it lists what it
// listed before.
func (h *history) restartAtRest() {
	h.t.Helper()
	object, server, offered := h.catalog(), h.get(), h.onOffer()
	stands := func(when string) {
		h.t.Helper()
		h.Expect(cmp.Diff(object, h.catalog())).To(BeEmpty(), when)
		h.Expect(cmp.Diff(server, h.get())).To(BeEmpty(), when)
	}
	h.begin()
	h.passes, h.judged = 0, offered
	h.look()
	stands("after a restart")
	h.settles()
	h.advance(12 * time.Minute)
	stands("later")
	if accepted(server) {
		h.Expect(h.onOffer()).To(Equal(offered))
	}
}

// listDigest is the digest of a list.
func listDigest(tools []string) string {
	return string(catalog.Parse(lists(tools...).Listing.Tools).Digest)
}

// titleIn is the title of a tool.
func titleIn(tool catalog.Tool) string {
	_, rest, _ := strings.Cut(string(tool.Definition), `"title":"`)
	title, _, _ := strings.Cut(rest, `"`)
	return title
}

// ours is our ConfigMap; nil where there is none.
func (h *history) ours() *corev1.ConfigMap {
	h.t.Helper()
	if h.theirs != nil {
		return nil
	}
	return h.catalog()
}

// actions are what may happen, by name. Each says how it did, and whether it could.
var actions = map[string]func(h *history) (how string, happens bool){
	"the server lists":       list,
	"the server, again, has": list,
	"at last it has":         list,
	"the server is down": func(h *history) (string, bool) {
		stored := h.stands.Listing
		h.stands = down()
		if h.random.IntN(2) == 0 { // within this process, its last list is known
			h.stands.Listing, h.stands.ListingID = stored, fmt.Sprint(h.lists)
		}
		h.settles()
		return "", true
	},
	"the manager is restarted": func(h *history) (string, bool) {
		h.begin()
		if server := h.get(); !accepted(server) {
			h.judged = map[string]bool{}
		}
		h.settles()
		return "", true
	},
	"somebody approves": func(h *history) (string, bool) {
		status := h.get().Status.Catalog
		if h.policy == v1alpha1.PinNone || status == nil || status.Digest == "" {
			return "", false
		}
		h.edit(func(s *v1alpha1.MCPServer) { s.Spec.Tools.ApprovedDigest = status.Digest })
		for _, tool := range h.known[status.Digest] {
			h.approved[tool] = true
		}
		return fmt.Sprint(h.known[status.Digest]), true
	},
	"the filter denies": func(h *history) (string, bool) {
		denies := pick(h, [][]string{nil, nil, {"a"}, {"b", "c"}, {"*"}, {"["}})
		h.edit(func(s *v1alpha1.MCPServer) { s.Spec.Tools.Deny = denies })
		h.look()
		if server := h.get(); accepted(server) {
			h.settles()
		}
		return fmt.Sprint(denies), true
	},
	"the address is": func(h *history) (string, bool) {
		to := pick(h, []string{testURL, "https://other.example/mcp"})
		h.edit(func(s *v1alpha1.MCPServer) {
			if s.Spec.HTTP.URL != to {
				h.stands, h.lists = down(), nil
			}
			s.Spec.HTTP.URL = to
		})
		h.settles()
		return to, true
	},
	"it is disabled:": func(h *history) (string, bool) {
		h.edit(func(s *v1alpha1.MCPServer) { s.Spec.Disabled = !s.Spec.Disabled })
		h.look()
		h.settles()
		return fmt.Sprint(h.get().Spec.Disabled), true
	},
	"the ConfigMap is deleted": func(h *history) (string, bool) {
		object := h.ours()
		if object != nil {
			h.Expect(h.api.Delete(h.t.Context(), object)).To(Succeed())
		}
		return "", object != nil
	},
	"the ConfigMap loses its labels": spoil(func(object *corev1.ConfigMap) { object.Labels = nil }),
	"the ConfigMap loses the approval": spoil(func(object *corev1.ConfigMap) {
		delete(object.Data, catalog.ApprovedKey)
	}),
	"the ConfigMap gets a stray key": spoil(func(object *corev1.ConfigMap) { object.Data["stray"] = "x" }),
	"the ConfigMap is garbled":       spoil(func(object *corev1.ConfigMap) { object.Data["catalog.json"] = "{" }),
	"somebody's own takes the place": takeItsPlace,
	"somebody's own gives it back":   giveItsPlaceBack,
	"the next ConfigMap is refused": func(h *history) (string, bool) {
		h.storeErrors = []error{refusal()}
		return "", true
	},
	"the next status meets a newer version": func(h *history) (string, bool) {
		h.statusErrors = []error{conflict()}
		return "", true
	},
	"time passes:": func(h *history) (string, bool) {
		d := pick(h, []time.Duration{time.Second, 11 * time.Second, time.Minute, 2 * day, 31 * day})
		if d > day && h.theirs != nil { // it is looked at each minute
			d = time.Hour
		}
		h.advance(d)
		return d.String(), true
	},
}

// list has the server answer with other tools.
func list(h *history) (string, bool) {
	server := h.get()
	if server.Spec.Disabled || !accepted(server) {
		return "", false
	}
	h.lists = pick(h, [][]string{{}, {"a="}, {"a=", "b="}, {"a=", "b=evil"}, {"a=evil"}, {"a=", "b=", "c="}})
	h.stands = listed(h.lists...)
	h.known[listDigest(h.lists)] = h.lists
	if h.made[server.Spec.HTTP.URL] == nil {
		h.made[server.Spec.HTTP.URL] = map[string]bool{}
	}
	nothingApproved := server.Spec.Tools.ApprovedDigest == "" &&
		(server.Status.Catalog == nil || server.Status.Catalog.PinnedDigest == "")
	for _, tool := range h.lists {
		h.made[server.Spec.HTTP.URL][tool] = true
		if h.policy == v1alpha1.PinTrustOnFirstUse && nothingApproved {
			h.approved[tool] = true
		}
	}
	h.settles()
	return fmt.Sprint(h.lists), true
}

// spoil has somebody change the ConfigMap.
func spoil(change func(object *corev1.ConfigMap)) func(h *history) (string, bool) {
	return func(h *history) (string, bool) {
		object := h.ours()
		if object == nil {
			return "", false
		}
		change(object)
		h.Expect(h.api.Update(h.t.Context(), object)).To(Succeed())
		return "", true
	}
}

func takeItsPlace(h *history) (string, bool) {
	if h.theirs != nil {
		return "", false
	}
	if object := h.catalog(); object != nil {
		h.Expect(h.api.Delete(h.t.Context(), object)).To(Succeed())
	}
	object := builder.ConfigMap(testNamespace, catalogKind.Place(testName, "").Name).Key("catalog.json", "theirs").Obj()
	object.OwnerReferences = pick(h, [][]metav1.OwnerReference{nil, {{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: catalogKind.Name, Name: "other", UID: "o", Controller: new(true),
	}}})
	if h.random.IntN(2) == 0 {
		object.Labels = map[string]string{v1alpha1.LabelManagedBy: v1alpha1.LabelManagedByValue}
	}
	h.Expect(h.api.Create(h.t.Context(), object)).To(Succeed())
	h.theirs = h.catalog()
	return "", true
}

func giveItsPlaceBack(h *history) (string, bool) {
	if h.theirs == nil {
		return "", false
	}
	h.Expect(h.api.Delete(h.t.Context(), h.theirs)).To(Succeed())
	h.theirs = nil
	return "", true
}

func refusal() error {
	return apierrors.NewForbidden(corev1.Resource("configmaps"), catalogKind.Place(testName, "").Name, errUnwell)
}
