package selection

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
)

// World is what is declared, seen from one namespace.
type World struct {
	// Servers are all MCPServers of the namespace.
	Servers []*v1alpha1.MCPServer
	// Foreign returns a server of another namespace, nil when there is none.
	Foreign func(namespace, name string) *v1alpha1.MCPServer
	// Session returns an agent session of the namespace, nil when there is none.
	Session func(name string) *v1alpha1.AgentSession
	// Labels are those of the namespace.
	Labels labels.Set
}

// Choice is one server that the declaration speaks of.
type Choice struct {
	catalog.Ref
	// Server is the declaration, nil when it is missing or may not be used.
	Server *v1alpha1.MCPServer
	// Foreign: it is of another namespace than the session.
	Foreign bool
	// Required: the session is not ready without it.
	Required bool
	// State is empty for a server that is offered; else v1alpha1.ServerFiltered, ServerNotFound or ServerNotPermitted.
	State string
	// Message says why it is not offered.
	Message string

	referred bool // named by spec.servers.refs
}

// Selected tells whether the server counts: also one that is missing does, one that was left out does not.
func (c Choice) Selected() bool { return c.State != v1alpha1.ServerFiltered }

// Fault is why no servers are known.
type Fault struct {
	Reason, Message string
	// Final: somebody must change a declaration.
	Final bool
}

// Result is what a declaration comes to.
type Result struct {
	Choices    []Choice
	NativeKeys []v1alpha1.NativeKey
	// Filters are the session's own and those of its parents; a tool must pass all. Patterns is a text that is equal
	// exactly when they are.
	Filters  []catalog.Filter
	Patterns string
	Fault    *Fault
}

// Allows tells whether a tool of this exposed name is offered.
func (r *Result) Allows(name string) bool {
	for _, filter := range r.Filters {
		if !filter.Allows(name) {
			return false
		}
	}
	return true
}

// Resolve says what session comes to.
func Resolve(world *World, session *v1alpha1.AgentSession) Result {
	if !session.Spec.Enabled() {
		return Result{} // the off switch works whatever else is wrong
	}
	lineage, fault := lineageOf(world, session)
	if fault != nil {
		return Result{Fault: fault}
	}
	var result Result
	for i, member := range lineage {
		var parent *Result
		if i > 0 {
			parent = &result
		}
		next := resolveOne(world, member, parent)
		if next.Fault != nil {
			if member != session {
				next.Fault.Message = fmt.Sprintf("its parent %q: %s", member.Name, next.Fault.Message)
			}
			return Result{Fault: next.Fault}
		}
		result = next
	}
	return result
}

// lineageOf returns the session and its parents, the oldest first; with a fault, those that are known.
func lineageOf(world *World, session *v1alpha1.AgentSession) (lineage []*v1alpha1.AgentSession, fault *Fault) {
	defer func() { slices.Reverse(lineage) }()
	lineage = append(lineage, session)
	for youngest := session; youngest.Spec.ParentRef != nil; {
		name := youngest.Spec.ParentRef.Name
		if slices.ContainsFunc(lineage, func(s *v1alpha1.AgentSession) bool { return s.Name == name }) {
			return lineage, &Fault{Reason: v1alpha1.ReasonParentCycle, Final: true, Message: fmt.Sprintf(
				"spec.parentRef of AgentSession %q leads back to %q; one of them must have another parent or none",
				youngest.Name, name)}
		}
		parent := world.Session(name)
		if parent == nil {
			return lineage, &Fault{Reason: v1alpha1.ReasonParentNotFound, Message: fmt.Sprintf(
				"AgentSession %q, the parent of %q, does not exist; create it, or correct spec.parentRef",
				name, youngest.Name)}
		}
		lineage = append(lineage, parent)
		youngest = parent
	}
	return lineage, nil
}

// resolveOne says what one session of a lineage comes to, given what its parent does.
func resolveOne(world *World, session *v1alpha1.AgentSession, parent *Result) Result {
	result := Result{}
	if fault := result.readFilters(session, parent); fault != nil {
		return Result{Fault: fault}
	}
	if !session.Spec.Enabled() {
		return result
	}
	chosen, fault := choose(world, session, parent)
	if fault != nil {
		return Result{Fault: fault}
	}
	for _, choice := range chosen {
		if choice.Server != nil {
			result.leaveOut(&choice, session)
		}
		result.Choices = append(result.Choices, choice)
	}
	slices.SortFunc(result.Choices, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return result
}

// readFilters adds the session's globs to its parent's.
func (r *Result) readFilters(session *v1alpha1.AgentSession, parent *Result) *Fault {
	if parent != nil {
		r.Filters, r.Patterns = slices.Clone(parent.Filters), parent.Patterns
	}
	tools := session.Spec.Tools
	if tools == nil {
		return nil
	}
	filter, err := catalog.NewFilter(tools.Allow, tools.Deny)
	if err != nil {
		return &Fault{Reason: v1alpha1.ReasonInvalidSelector, Final: true, Message: fmt.Sprintf(
			"spec.tools: %v; correct it, or put a backslash before a character that is meant literally", err)}
	}
	r.Filters = append(r.Filters, filter)
	r.Patterns += fmt.Sprintf("%q %q\n", tools.Allow, tools.Deny)
	return nil
}

// choose returns the servers that the declaration names or matches, each once.
func choose(
	world *World, session *v1alpha1.AgentSession, parent *Result,
) (map[catalog.Ref]Choice, *Fault) {
	chosen := map[catalog.Ref]Choice{}
	switch servers := session.Spec.Servers; {
	case servers != nil:
		selector, err := metav1.LabelSelectorAsSelector(servers.Selector)
		if err != nil {
			return nil, &Fault{Reason: v1alpha1.ReasonInvalidSelector, Final: true,
				Message: fmt.Sprintf("spec.servers.selector: %v; correct it", err)}
		}
		for _, server := range world.Servers {
			if selector.Matches(labels.Set(server.Labels)) {
				add(chosen, own(server))
			}
		}
		for _, reference := range servers.Refs {
			add(chosen, refer(world, session.Namespace, reference))
		}
		for _, excluded := range servers.Exclude {
			delete(chosen, catalog.Ref{Namespace: session.Namespace, Name: excluded.Name})
		}
	case parent == nil:
		for _, server := range world.Servers {
			add(chosen, own(server))
		}
	}
	if parent != nil {
		inherit(chosen, session, parent)
	}
	return chosen, nil
}

func own(server *v1alpha1.MCPServer) Choice {
	return Choice{Ref: catalog.Ref{Namespace: server.Namespace, Name: server.Name}, Server: server}
}

// add joins what was chosen twice.
func add(chosen map[catalog.Ref]Choice, choice Choice) {
	before := chosen[choice.Ref]
	choice.Required = choice.Required || before.Required
	choice.referred = choice.referred || before.referred
	chosen[choice.Ref] = choice
}

// inherit leaves of what was chosen what the parent has; without a choice of its own, a session has all of it.
func inherit(chosen map[catalog.Ref]Choice, session *v1alpha1.AgentSession, parent *Result) {
	had := map[catalog.Ref]bool{}
	for _, choice := range parent.Choices {
		if !choice.Selected() {
			continue
		}
		had[choice.Ref] = true
		if session.Spec.Servers == nil {
			choice.Required, choice.referred = false, false
			chosen[choice.Ref] = choice
		}
	}
	for ref, choice := range chosen {
		switch {
		case had[ref]:
		case choice.referred:
			choice.Server, choice.State = nil, v1alpha1.ServerFiltered
			choice.Message = fmt.Sprintf("its parent %q is not offered this server", session.Spec.ParentRef.Name)
			chosen[ref] = choice
		default:
			delete(chosen, ref)
		}
	}
}

// Source is the label that says where the server's declaration came from; empty when there is none.
func (c Choice) Source() string {
	switch {
	case c.Server == nil:
		return ""
	case c.Server.Spec.Provider == "":
		return "mcp:" + c.Name
	}
	return "mcp:" + c.Name + " via " + c.Server.Spec.Provider
}

// refer looks a reference up.
func refer(world *World, namespace string, reference v1alpha1.ServerReference) Choice {
	choice := Choice{
		Ref:      catalog.Ref{Namespace: reference.NamespaceIn(namespace), Name: reference.Name},
		Required: reference.Required, referred: true,
	}
	if choice.Namespace == namespace {
		for _, server := range world.Servers {
			if server.Name == choice.Name {
				choice.Server = server
				return choice
			}
		}
		choice.State = v1alpha1.ServerNotFound
		choice.Message = fmt.Sprintf("MCPServer %q does not exist; create it, or correct spec.servers.refs", choice.Name)
		return choice
	}
	choice.Foreign = true
	if server := world.Foreign(choice.Namespace, choice.Name); server != nil && server.PermitsNamespace(world.Labels) {
		choice.Server = server
		return choice
	}
	choice.State = v1alpha1.ServerNotPermitted
	choice.Message = fmt.Sprintf("namespace %q does not permit MCPServer %q to be used from namespace %q; "+
		"its spec.allowedNamespaces can", choice.Namespace, choice.Name, namespace)
	return choice
}

// leaveOut filters a server that is declared but not wanted here.
func (r *Result) leaveOut(choice *Choice, session *v1alpha1.AgentSession) {
	spec := &choice.Server.Spec
	switch {
	case spec.Disabled:
		choice.filter("the MCPServer is disabled")
	case !session.Spec.WithProjectConfig() && spec.ConfigLevel() == v1alpha1.LevelProject:
		choice.filter("the MCPServer is of level Project, and spec.projectConfig is Disabled")
	default:
		r.leaveToAgent(choice, session)
	}
}

func (c *Choice) filter(why string) { c.State, c.Message = v1alpha1.ServerFiltered, why }

// Remainder says what may stand of what a session was given, servers by name and UID (or "" for any of that name),
// while Resolve finds this fault: its Choices are those that every declaration which can be read still allows, its
// Filters are those that can be read. Nothing is added, since what cannot be read may forbid it.
func Remainder(world *World, session *v1alpha1.AgentSession, fault *Fault, given map[catalog.Ref]string) Result {
	lineage, _ := lineageOf(world, session)
	result := Result{Fault: fault}
	for ref, uid := range given {
		reference := v1alpha1.ServerReference{Namespace: ref.Namespace, Name: ref.Name}
		choice := refer(world, session.Namespace, reference)
		if choice.Server != nil && (uid == "" || string(choice.Server.UID) == uid) {
			result.Choices = append(result.Choices, choice)
		}
	}
	slices.SortFunc(result.Choices, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, member := range lineage {
		result.narrow(world, member)
	}
	return result
}

// narrow leaves what one session of a lineage allows, looked at alone. One that chooses nothing itself goes by its
// parent.
func (r *Result) narrow(world *World, member *v1alpha1.AgentSession) {
	_ = r.readFilters(member, r) // globs that cannot be read are the fault, and limit nothing
	chosen, fault := choose(world, member, nil)
	limits := fault == nil && (member.Spec.Servers != nil || member.Spec.ParentRef == nil)
	r.Choices = slices.DeleteFunc(r.Choices, func(choice Choice) bool {
		if limits && chosen[choice.Ref].Server == nil || excludes(member, choice.Ref) {
			return true
		}
		var apart Result // whose native keys these would be is not known
		apart.leaveOut(&choice, member)
		return !member.Spec.Enabled() || choice.State != ""
	})
}

// excludes tells whether a session leaves a server out by name, which can be read also where its selector cannot.
func excludes(member *v1alpha1.AgentSession, ref catalog.Ref) bool {
	return member.Spec.Servers != nil && ref.Namespace == member.Namespace &&
		slices.Contains(member.Spec.Servers.Exclude, v1alpha1.ServerExclusion{Name: ref.Name})
}
