package agentsession

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// action is something that may happen. do says what did, "" where it cannot happen now. It may cost so many writes of
// the ConfigMap beside those of the bucket.
type action struct {
	writes int
	do     func(h *history) string
}

var actions = []action{
	// What servers do.
	{0, stand(answers)},
	{0, stand(answers)},
	{0, stand(mute)},
	{0, stand(down)},
	{0, stand(late)},
	{1, stand(refuses)},
	{0, listOther},
	{0, flap},
	// What people do to servers.
	{1, toggleServer},
	{1, deleteServer},
	{1, declareServerAnew},
	{1, editServer("is given globs", func(h *history, s *v1alpha1.MCPServer) any {
		filter := pick(h, rawFilters)
		tools(s).Allow, tools(s).Deny = filter.Allow, filter.Deny
		return filter
	})},
	{1, editServer("is pinned", func(h *history, s *v1alpha1.MCPServer) any {
		tools(s).Pin, tools(s).ApprovedDigest = pick(h, []v1alpha1.PinPolicy{v1alpha1.PinNone, v1alpha1.PinStrict}), ""
		h.far(s).approved = nil
		return tools(s).Pin
	})},
	{1, editServer("is approved of", func(h *history, s *v1alpha1.MCPServer) any {
		f := h.far(s)
		tools(s).Pin, tools(s).ApprovedDigest = v1alpha1.PinStrict, fmt.Sprintf("sha256:%064x", h.random.Uint64())
		f.approved = slices.Clone(f.stored)
		return f.approved
	})},
	{1, editServer("is at", func(h *history, s *v1alpha1.MCPServer) any {
		s.Spec.HTTP.URL = pick(h, []string{"https://here.example/mcp", "https://there.example/mcp"})
		if f := h.far(s); f.address != s.Spec.HTTP.URL {
			f.become(late)
		}
		return s.Spec.HTTP.URL
	})},
	{1, editServer("may be used from", func(h *history, s *v1alpha1.MCPServer) any {
		s.Spec.AllowedNamespaces = pick(h, permissions)
		return s.Spec.AllowedNamespaces
	})},
	{1, labelServer},
	{1, labelNamespace},
	{0, catchUp},
	// What people do to the session.
	{1, editSession("denies or allows", func(h *history, s *v1alpha1.AgentSession) any {
		s.Spec.Tools = pick(h, filters)
		return s.Spec.Tools
	})},
	{1, editSession("cannot be read:", func(_ *history, s *v1alpha1.AgentSession) any {
		s.Spec.Tools = unreadable
		return s.Spec.Tools
	})},
	{1, editSession("chooses", func(h *history, s *v1alpha1.AgentSession) any {
		s.Spec.Servers = pick(h, selections)
		return s.Spec.Servers
	})},
	{1, editSession("chooses, and denies or allows,", func(h *history, s *v1alpha1.AgentSession) any {
		s.Spec.Servers, s.Spec.Tools = pick(h, selections), pick(h, filters)
		return fmt.Sprint(s.Spec.Servers, s.Spec.Tools)
	})},
	{1, editSession("has the parent", func(h *history, s *v1alpha1.AgentSession) any {
		s.Spec.ParentRef = pick(h, []*v1alpha1.AgentSessionReference{nil, {Name: "lead"}, {Name: "lead"}, {Name: "boss"}})
		return s.Spec.ParentRef
	})},
	{1, editSession("is switched", func(h *history, s *v1alpha1.AgentSession) any {
		s.Spec.MCP = pick(h, switches)
		return s.Spec.MCP
	})},
	{1, editSession("has project configuration", func(h *history, s *v1alpha1.AgentSession) any {
		s.Spec.ProjectConfig = pick(h, switches)
		return s.Spec.ProjectConfig
	})},
	{1, reload},
	{0, removeReload},
	{1, declareSessionAnew},
	// What people do to its parent.
	{1, toggleLead},
	{1, filterLead},
	{1, filterLead},
	{1, filterLead},
	{1, editLead("chooses", func(h *history, s *v1alpha1.AgentSession) any {
		s.Spec.Servers = pick(h, selections)
		return s.Spec.Servers
	})},
	{1, editLead("has the parent", func(h *history, s *v1alpha1.AgentSession) any {
		s.Spec.ParentRef = pick(h, []*v1alpha1.AgentSessionReference{nil, nil, {Name: coder.Name}, {Name: "boss"}})
		return s.Spec.ParentRef
	})},
	{1, editLead("is switched", func(h *history, s *v1alpha1.AgentSession) any {
		s.Spec.MCP = pick(h, switches)
		return s.Spec.MCP
	})},
	// What people do to the ConfigMap.
	{0, deleteConfigMap},
	{0, spoil("its labels are taken away", func(object *corev1.ConfigMap) { object.Labels = nil })},
	{0, spoil("it is garbled", func(object *corev1.ConfigMap) { object.Data["catalog.json"] = "{" })},
	{0, spoil("it is emptied", func(object *corev1.ConfigMap) { object.Data = nil })},
	{0, spoil("it gets a stray key", func(object *corev1.ConfigMap) { object.Data["stray"] = "x" })},
	{0, spoil("it is made immutable", func(object *corev1.ConfigMap) { object.Immutable = new(true) })},
	{0, takeItsPlace},
	{0, giveItsPlaceBack},
	// What the API server does.
	{0, refuseToStore},
	{0, refuseAll},
	{0, conflict},
	{0, beUnwell},
	// What the manager does, and time.
	{1, restart},
	{1, restartWithTheServers},
	{0, pass},
	{0, pass},
}

// The choices that people have.
var (
	switches = []v1alpha1.Toggle{v1alpha1.ToggleEnabled, v1alpha1.ToggleEnabled, v1alpha1.ToggleDisabled}

	filters = []*v1alpha1.ToolFilter{
		nil, nil, {Deny: []string{"*_x"}}, {Deny: []string{"*_y", "*_w"}}, {Deny: []string{"*"}}, unreadable,
		{Allow: []string{"mcp_a_*", "mcp_shared-*"}},
	}

	unreadable = &v1alpha1.ToolFilter{Deny: []string{"["}}

	rawFilters = []v1alpha1.ToolFilter{
		{}, {}, {Deny: []string{"x"}}, {Allow: []string{"x", "w"}}, {Deny: []string{"*"}}, {Deny: []string{"["}},
	}

	selections = []*v1alpha1.ServerSelection{
		nil, nil, {Selector: &metav1.LabelSelector{}},
		{Selector: &metav1.LabelSelector{}, Refs: []v1alpha1.ServerReference{shared}},
		{Refs: []v1alpha1.ServerReference{{Name: "a", Required: true}, shared}},
		{Selector: red, Refs: []v1alpha1.ServerReference{shared}, Exclude: []v1alpha1.ServerExclusion{{Name: "c"}}},
		{Selector: &metav1.LabelSelector{}, Exclude: []v1alpha1.ServerExclusion{{Name: "b"}}},
		{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Odd"}}},
			Exclude: []v1alpha1.ServerExclusion{{Name: "a"}}},
	}

	permissions = []*v1alpha1.AllowedNamespaces{
		nil, {From: v1alpha1.NamespacesAll}, {From: v1alpha1.NamespacesSelector, Selector: red},
	}

	red    = &metav1.LabelSelector{MatchLabels: map[string]string{"colour": "red"}}
	shared = v1alpha1.ServerReference{Namespace: "shared", Name: "fs"}

	lists = [][]string{{"x"}, {"x", "y"}, {"x=1", "y"}, {"y=1", "z"}, {"w", "x", "y", "z"}, {"w=2", "x=2"}}
)

func uidOf(n int) types.UID { return types.UID(fmt.Sprint("uid-", n)) }

// newServer declares a server anew.
func (h *history) newServer(f *far) *v1alpha1.MCPServer {
	h.made++
	f.uid = uidOf(h.made)
	f.stored, f.approved, f.judged = nil, nil, nil
	f.become(answers)
	server := builder.MCPServer(f.Name).Namespace(f.Namespace).UID(f.uid).Generation(1).
		URL("https://here.example/mcp").Created(time.Now().Add(-time.Hour))
	switch f.Name {
	case "a":
		server.Label("colour", "red")
	case "b":
		server.Mutate(func(s *v1alpha1.MCPServer) { s.Spec.Level = v1alpha1.LevelUser })
	case "fs":
		server.Mutate(func(s *v1alpha1.MCPServer) { s.Spec.AllowedNamespaces = permissions[1] })
	}
	return server.Obj()
}

// server is what is declared of a server; nil when nothing is.
func (h *history) server(f *far) *v1alpha1.MCPServer {
	h.t.Helper()
	server := &v1alpha1.MCPServer{}
	err := h.api.Get(h.t.Context(), types.NamespacedName{Namespace: f.Namespace, Name: f.Name}, server)
	h.Expect(client.IgnoreNotFound(err)).To(Succeed())
	if err != nil {
		return nil
	}
	return server
}

// far is the one that is declared so.
func (h *history) far(server *v1alpha1.MCPServer) *far {
	return h.farOf(refOf(server))
}

// tools are those of a server's declaration.
func tools(server *v1alpha1.MCPServer) *v1alpha1.Tools {
	if server.Spec.Tools == nil {
		server.Spec.Tools = &v1alpha1.Tools{}
	}
	return server.Spec.Tools
}

// heard has the controller of servers look at once, or later.
func (h *history) heard(f *far) string {
	if f.behind = h.random.IntN(4) == 0; f.behind {
		return f.String() + " (to be looked at)"
	}
	h.look(f)
	return f.String()
}

func stand(state string) func(h *history) string {
	return func(h *history) string {
		f := pick(h, h.fars)
		if f.state == state && !f.behind {
			return ""
		}
		f.become(state)
		return h.heard(f) + " " + state
	}
}

func listOther(h *history) string {
	f := pick(h, h.fars)
	f.lists = pick(h, lists)
	f.become(answers)
	return fmt.Sprint(h.heard(f), " lists ", f.lists)
}

// flap has a server's list change many times, faster than it may be written.
func flap(h *history) string {
	f := pick(h, h.fars)
	f.become(answers)
	for range 3 * configmap.WriteBurst {
		f.lists = pick(h, lists)
		h.look(f)
		h.pass()
	}
	return fmt.Sprint(f, " lists all kinds of tools, and at last ", f.lists)
}

func toggleServer(h *history) string {
	return editServer("is disabled:", func(_ *history, s *v1alpha1.MCPServer) any {
		s.Spec.Disabled = !s.Spec.Disabled
		return s.Spec.Disabled
	})(h)
}

func deleteServer(h *history) string {
	f := pick(h, h.fars)
	if server := h.server(f); server != nil {
		h.Expect(h.api.Delete(h.t.Context(), server)).To(Succeed())
		return h.heard(f) + " is deleted"
	}
	return declareServerAnew(h)
}

// declareServerAnew puts a server in the place of another one of its name, if there is any.
func declareServerAnew(h *history) string {
	f := pick(h, h.fars)
	if server := h.server(f); server != nil {
		h.Expect(h.api.Delete(h.t.Context(), server)).To(Succeed())
	}
	h.sessions.Forget(session.Key(f.uid))
	h.store.Delete(session.Key(f.uid))
	h.Expect(h.api.Create(h.t.Context(), h.newServer(f))).To(Succeed())
	return h.heard(f) + " is declared anew"
}

func editServer(what string, edit func(h *history, s *v1alpha1.MCPServer) any) func(h *history) string {
	return func(h *history) string {
		f := pick(h, h.fars)
		server := h.server(f)
		if server == nil {
			return ""
		}
		how := edit(h, server)
		server.Generation++
		h.Expect(h.api.Update(h.t.Context(), server)).To(Succeed())
		return fmt.Sprint(h.heard(f), " ", what, " ", how)
	}
}

func labelServer(h *history) string {
	f := pick(h, h.fars)
	server := h.server(f)
	if server == nil {
		return ""
	}
	server.Labels = map[string]string{"colour": pick(h, []string{"red", "blue"})}
	h.Expect(h.api.Update(h.t.Context(), server)).To(Succeed())
	return fmt.Sprint(f, " is ", server.Labels["colour"])
}

func labelNamespace(h *history) string {
	namespace := &corev1.Namespace{}
	h.Expect(h.api.Get(h.t.Context(), types.NamespacedName{Name: testNamespace}, namespace)).To(Succeed())
	namespace.Labels = map[string]string{"colour": pick(h, []string{"red", "blue"})}
	h.Expect(h.api.Update(h.t.Context(), namespace)).To(Succeed())
	return "the namespace is " + namespace.Labels["colour"]
}

func catchUp(h *history) string {
	what := ""
	for _, f := range h.fars {
		if f.behind {
			h.look(f)
			h.credit++
			what += f.String() + " "
		}
	}
	if what != "" {
		what += "looked at"
	}
	return what
}

func editSession(what string, edit func(h *history, s *v1alpha1.AgentSession) any) func(h *history) string {
	return func(h *history) string {
		var how any
		h.edit(func(s *v1alpha1.AgentSession) { how = edit(h, s) })
		return fmt.Sprint("the session ", what, " ", how)
	}
}

func reload(h *history) string {
	value := fmt.Sprint(h.random.IntN(5))
	h.annotate(value)
	return "reload " + value
}

func removeReload(h *history) string {
	session := h.get()
	if session.Annotations == nil {
		return ""
	}
	session.Annotations = nil
	h.Expect(h.api.Update(h.t.Context(), session)).To(Succeed())
	return "the annotation that asked for a reload is removed"
}

// declareSessionAnew has another session of the name, and the manager may or may not see that there was none between.
func declareSessionAnew(h *history) string {
	what, object, session := "the session is declared anew", h.ours(), h.get()
	h.Expect(h.api.Delete(h.t.Context(), session)).To(Succeed())
	if h.random.IntN(2) == 0 {
		h.pass()
		if object != nil && len(object.Labels) > 0 && metav1.IsControlledBy(object, session) { // else it is garbage
			h.Expect(h.configMap()).To(BeNil(), "it goes with its session")
		}
		what += ", after a while"
	}
	h.tokens, h.last.offered = configmap.WriteBurst, nil
	h.Expect(h.api.Create(h.t.Context(), h.newSession())).To(Succeed())
	return what
}

func (h *history) lead() *v1alpha1.AgentSession {
	h.t.Helper()
	lead := &v1alpha1.AgentSession{}
	err := h.api.Get(h.t.Context(), types.NamespacedName{Namespace: testNamespace, Name: "lead"}, lead)
	h.Expect(client.IgnoreNotFound(err)).To(Succeed())
	if err != nil {
		return nil
	}
	return lead
}

func toggleLead(h *history) string {
	if lead := h.lead(); lead != nil {
		h.Expect(h.api.Delete(h.t.Context(), lead)).To(Succeed())
		return "the parent is deleted"
	}
	h.Expect(h.api.Create(h.t.Context(), newLead())).To(Succeed())
	return "the parent is declared"
}

func editLead(what string, edit func(h *history, s *v1alpha1.AgentSession) any) func(h *history) string {
	return func(h *history) string {
		lead := h.lead()
		if lead == nil {
			return ""
		}
		how := edit(h, lead)
		h.Expect(h.api.Update(h.t.Context(), lead)).To(Succeed())
		return fmt.Sprint("the parent ", what, " ", how)
	}
}

func filterLead(h *history) string {
	return editLead("denies or allows", func(h *history, s *v1alpha1.AgentSession) any {
		s.Spec.Tools = pick(h, filters)
		return s.Spec.Tools
	})(h)
}

// ours is our ConfigMap; nil where there is none.
func (h *history) ours() *corev1.ConfigMap {
	h.t.Helper()
	if h.theirs != nil {
		return nil
	}
	return h.configMap()
}

func deleteConfigMap(h *history) string {
	object := h.ours()
	if object == nil {
		return ""
	}
	h.Expect(h.api.Delete(h.t.Context(), object)).To(Succeed())
	return "the ConfigMap is deleted"
}

// spoil has somebody change the ConfigMap, of which an immutable one leaves the labels alone to be changed.
func spoil(what string, change func(object *corev1.ConfigMap)) func(h *history) string {
	return func(h *history) string {
		object := h.ours()
		if object == nil {
			return ""
		}
		if object.Data == nil {
			object.Data = map[string]string{}
		}
		before := object.DeepCopy()
		change(object)
		if before.Immutable != nil && !sameData(before, object) {
			return ""
		}
		h.Expect(h.api.Update(h.t.Context(), object)).To(Succeed())
		return "the ConfigMap: " + what
	}
}

// owners are whose ConfigMaps are not ours.
var owners = map[string][]metav1.OwnerReference{
	"nobody's": nil,
	"another session's": {{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: catalogKind.Name, Name: "other", UID: "o", Controller: new(true),
	}},
	"a Deployment's": {{
		APIVersion: "apps/v1", Kind: "Deployment", Name: coder.Name, UID: "d", Controller: new(true),
	}},
}

func takeItsPlace(h *history) string {
	if h.theirs != nil {
		return ""
	}
	if object := h.configMap(); object != nil {
		h.Expect(h.api.Delete(h.t.Context(), object)).To(Succeed())
	}
	whose := pick(h, []string{"nobody's", "another session's", "a Deployment's"})
	object := builder.ConfigMap(testNamespace, catalogKind.Place(coder, "").Name).Key("catalog.json", "theirs").Obj()
	object.OwnerReferences = owners[whose]
	if h.random.IntN(2) == 0 {
		object.Labels = map[string]string{v1alpha1.LabelManagedBy: v1alpha1.LabelManagedByValue}
	}
	h.Expect(h.api.Create(h.t.Context(), object)).To(Succeed())
	h.theirs = h.configMap()
	return fmt.Sprint("somebody's own ConfigMap takes the place, ", whose, " ", object.Labels)
}

func giveItsPlaceBack(h *history) string {
	if h.theirs == nil {
		return ""
	}
	h.Expect(h.api.Delete(h.t.Context(), h.theirs)).To(Succeed())
	h.theirs = nil
	return "somebody's own ConfigMap is taken away"
}

func refuseToStore(h *history) string {
	h.storeErrors = []error{forbidden()} // once
	return "the API server refuses the next ConfigMap"
}

func refuseAll(h *history) string {
	if h.full = !h.full; h.full {
		return "the API server stores no ConfigMap any more"
	}
	return "the API server stores ConfigMaps again"
}

func conflict(h *history) string {
	h.statusErrors = []error{apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("agentsessions").GroupResource(),
		coder.Name, errUnwell)}
	return "the next status meets a newer version"
}

// beUnwell has one pass fail, which is made again.
func beUnwell(h *history) string {
	h.storeErrors, h.statusErrors = []error{errUnwell}, []error{errUnwell}
	_, err := h.reconciler.Reconcile(h.t.Context(), ctrl.Request{NamespacedName: coder})
	if err != nil {
		h.Expect(err).To(MatchError(errUnwell))
	}
	h.storeErrors, h.statusErrors = nil, nil
	h.pass()
	return "the API server is unwell"
}

func restart(h *history) string {
	h.start()
	return "the controller is restarted"
}

func restartWithTheServers(h *history) string {
	h.sessions = sessiontest.NewSessions(nil)
	h.store = &catalogstore.Store{Sessions: h.sessions}
	h.start()
	what := "the manager is restarted"
	for _, f := range h.fars {
		f.judged = nil
		what += ", " + h.heard(f)
	}
	return what
}

// pass lets time pass.
func pass(h *history) string {
	h.pass()
	d := pick(h, []time.Duration{time.Millisecond, time.Second, 6 * time.Second, 31 * time.Second, 6 * time.Minute})
	h.advance(d)
	if d > time.Minute && h.writable() { // what people did is written by now, but for servers that refuse
		h.credit = 0
		for _, f := range h.fars {
			if f.behind || f.state == refuses {
				h.credit++
			}
		}
	}
	return d.String()
}
