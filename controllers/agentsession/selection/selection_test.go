package selection_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/selection"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/test/builder"
)

// declared is a server of namespace agents.
func declared(name string) *builder.MCPServerBuilder {
	return builder.MCPServer(name).Namespace("agents").URL("https://" + name + ".example.com/mcp")
}

func agent(name string) *builder.AgentSessionBuilder {
	return builder.AgentSession(name).Namespace("agents")
}

// world is namespace agents with servers; foreign ones and other sessions are found by name.
func world(servers ...*v1alpha1.MCPServer) *selection.World {
	return &selection.World{
		Servers: servers,
		Foreign: func(string, string) *v1alpha1.MCPServer { return nil },
		Session: func(string) *v1alpha1.AgentSession { return nil },
		Labels:  labels.Set{"team": "red"},
	}
}

func withForeign(w *selection.World, servers ...*v1alpha1.MCPServer) *selection.World {
	w.Foreign = func(namespace, name string) *v1alpha1.MCPServer {
		for _, server := range servers {
			if server.Namespace == namespace && server.Name == name {
				return server
			}
		}
		return nil
	}
	return w
}

func withSessions(w *selection.World, sessions ...*v1alpha1.AgentSession) *selection.World {
	w.Session = func(name string) *v1alpha1.AgentSession {
		for _, session := range sessions {
			if session.Name == name {
				return session
			}
		}
		return nil
	}
	return w
}

// told is "namespace/name State" of each choice, with "!" where it is required.
func told(result selection.Result) []string {
	var out []string
	for _, choice := range result.Choices {
		text := choice.String()
		if choice.State != "" {
			text += " " + choice.State
		}
		if choice.Required {
			text += " !"
		}
		out = append(out, text)
	}
	return out
}

// What cannot be read limits nothing, and what can is never gone beyond.
func TestRemainder(t *testing.T) {
	given := map[catalog.Ref]string{}
	given[catalog.Ref{Namespace: "agents", Name: "failed"}] = ""
	for _, name := range []string{"blue", "gone", "off", "red", "renewed"} {
		given[catalog.Ref{Namespace: "agents", Name: name}] = "uid-" + name
	}
	given[catalog.Ref{Namespace: "shared", Name: "open"}] = "uid-open"
	given[catalog.Ref{Namespace: "shared", Name: "shut"}] = "uid-shut"
	is := func(name string) *builder.MCPServerBuilder { return declared(name).UID(types.UID("uid-" + name)) }
	servers := []*v1alpha1.MCPServer{
		is("blue").Label("colour", "blue").Obj(), is("failed").Obj(), is("new").Obj(), is("off").Disabled().Obj(),
		is("red").Label("colour", "red").Obj(), is("renewed").UID("uid-2").Obj(),
	}
	open := is("open").Namespace("shared").Mutate(func(s *v1alpha1.MCPServer) {
		s.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesAll}
	}).Obj()
	shut := is("shut").Namespace("shared").Obj()
	own := []string{"agents/blue", "agents/failed", "agents/red"}
	all := append(slices.Clone(own), "shared/open")
	for name, c := range map[string]struct {
		session *builder.AgentSessionBuilder
		others  []*v1alpha1.AgentSession
		reason  string
		want    []string
		denied  string // by the filters that could be read
	}{
		"own globs": {session: agent("coder").Deny("["), reason: "InvalidSelector", want: own},
		"own globs, a foreign server being named": {
			session: agent("coder").Deny("[").SelectAll().ForeignRef("shared", "open"), reason: "InvalidSelector", want: all,
		},
		"own selector, others being left out": {
			session: agent("coder").Exclude("red", "open").Mutate(func(s *v1alpha1.AgentSession) {
				s.Spec.Servers.Selector = &metav1.LabelSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Odd"}}}
			}),
			reason: "InvalidSelector", want: []string{"agents/blue", "agents/failed", "shared/open"},
		},
		"own selection, while its globs are bad": {
			session: agent("coder").Deny("[").Select("colour", "red"), reason: "InvalidSelector", want: []string{"agents/red"},
		},
		"no parent": {session: agent("coder").Parent("lead").Deny("x*"), reason: "ParentNotFound", want: all, denied: "xy"},
		"a cycle": {
			session: agent("coder").Parent("lead"), reason: "ParentCycle", want: []string{"agents/blue"}, denied: "xy",
			others: []*v1alpha1.AgentSession{agent("lead").Parent("coder").Ref("blue").Deny("x*").Obj()},
		},
		"a grandparent that is missing": {
			session: agent("coder").Parent("lead"), reason: "ParentNotFound", want: []string{"agents/red"},
			others: []*v1alpha1.AgentSession{agent("lead").Parent("boss").Ref("red").Obj()},
		},
		"a parent's globs": {
			session: agent("coder").Parent("lead").Deny("x*"), reason: "InvalidSelector", want: own, denied: "xy",
			others: []*v1alpha1.AgentSession{agent("lead").Allow("[").Obj()},
		},
		"a parent that is switched off": {
			session: agent("coder").Parent("lead").Deny("["), reason: "InvalidSelector",
			others: []*v1alpha1.AgentSession{agent("lead").MCPDisabled().Obj()},
		},
		"a parent's other namespace": {
			session: agent("coder").Parent("lead").Deny("["), reason: "InvalidSelector", want: []string{"shared/open"},
			others: []*v1alpha1.AgentSession{agent("lead").ForeignRef("shared", "open").ForeignRef("shared", "shut").Obj()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := withSessions(withForeign(world(servers...), open, shut), append(c.others, c.session.Obj())...)
			result := selection.Remainder(w, c.session.Obj(), selection.Resolve(w, c.session.Obj()).Fault, given)
			if len(result.NativeKeys) != 0 {
				t.Errorf("keys are %v, want none", result.NativeKeys)
			}
			if result.Fault == nil || result.Fault.Reason != c.reason {
				t.Errorf("fault is %v, want %s", result.Fault, c.reason)
			}
			if got := told(result); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if !result.Allows("y") || c.denied != "" && result.Allows(c.denied) {
				t.Errorf("filters are %v; want %q denied, and y not", result.Filters, c.denied)
			}
		})
	}
}

func TestChoosing(t *testing.T) {
	red, blue, plain := declared("red").Label("colour", "red").Obj(), declared("blue").Label("colour", "blue").Obj(),
		declared("plain").Obj()
	for name, c := range map[string]struct {
		session *builder.AgentSessionBuilder
		want    string
	}{
		"nothing said: every server of the namespace": {agent("a"), "agents/blue agents/plain agents/red"},
		"a selector":                          {agent("a").Select("colour", "red"), "agents/red"},
		"the empty selector":                  {agent("a").SelectAll(), "agents/blue agents/plain agents/red"},
		"references":                          {agent("a").Ref("plain").Ref("red"), "agents/plain agents/red"},
		"a selector and references are added": {agent("a").Select("colour", "red").Ref("plain"), "agents/plain agents/red"},
		"chosen twice":                        {agent("a").Select("colour", "red").RequiredRef("red"), "agents/red !"},
		"left out again":                      {agent("a").SelectAll().Exclude("blue", "none"), "agents/plain agents/red"},
		"a reference that is left out":        {agent("a").Ref("blue").Exclude("blue"), ""},
		"nothing chosen":                      {agent("a").Select("colour", "green"), ""},
		"a reference to nothing":              {agent("a").Ref("gone").Ref("red"), "agents/gone NotFound agents/red"},
		"the own namespace spelt out":         {agent("a").ForeignRef("agents", "red"), "agents/red"},
		"the same server in both spellings":   {agent("a").RequiredRef("red").ForeignRef("agents", "red"), "agents/red !"},
		"MCP is disabled":                     {agent("a").MCPDisabled().Ref("red"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			result := selection.Resolve(world(red, blue, plain), c.session.Obj())
			if got := strings.Join(told(result), " "); got != c.want || result.Fault != nil {
				t.Errorf("got %q %v, want %q", got, result.Fault, c.want)
			}
		})
	}
}

// Seed rule: startup is skipped when MCP is off; project-level and disabled servers are skipped; source metadata is
// kept.
func TestSeedRule1_Filtering(t *testing.T) {
	user := declared("user").Mutate(func(s *v1alpha1.MCPServer) { s.Spec.Level = v1alpha1.LevelUser }).Obj()
	project := declared("project").Mutate(func(s *v1alpha1.MCPServer) { s.Spec.Provider = "claude-code" }).Obj()
	off := declared("off").Disabled().Obj()
	result := selection.Resolve(world(user, project, off), agent("a").Obj())
	if got := strings.Join(told(result), " "); got != "agents/off Filtered agents/project agents/user" {
		t.Errorf("got %q", got)
	}
	if got := result.Choices[0].Message; got != "the MCPServer is disabled" || result.Choices[0].Selected() {
		t.Errorf("of the disabled one: %q", got)
	}
	sources := result.Choices[1].Source() + ", " + result.Choices[2].Source()
	if sources != "mcp:project via claude-code, mcp:user" {
		t.Errorf("sources: %q", sources)
	}
	result = selection.Resolve(world(user, project, off), agent("a").WithoutProjectConfig().Obj())
	if got := strings.Join(told(result), " "); got != "agents/off Filtered agents/project Filtered agents/user" {
		t.Errorf("without project configuration: %q", got)
	}
	if got := (selection.Choice{}).Source(); got != "" {
		t.Errorf("the source of what is not there: %q", got)
	}
}

// A server of another namespace is used by its permission only, and what is said without one does not tell whether it
// exists.
func TestB51_ForeignReferences(t *testing.T) {
	allow := func(name string, allowed *v1alpha1.AllowedNamespaces) *v1alpha1.MCPServer {
		return builder.MCPServer(name).Namespace("shared").URL("https://h.example/mcp").
			Mutate(func(s *v1alpha1.MCPServer) { s.Spec.AllowedNamespaces = allowed }).Obj()
	}
	matching := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	w := withForeign(world(),
		allow("all", &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesAll}),
		allow("same", &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesSame}),
		allow("absent", nil),
		allow("red", &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesSelector, Selector: matching("team", "red")}),
		allow("blue", &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesSelector, Selector: matching("team", "blue")}),
		allow("odd", &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesSelector, Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Odd"}}}}))
	session := agent("a")
	for _, name := range []string{"all", "same", "absent", "red", "blue", "odd", "missing"} {
		session.ForeignRef("shared", name)
	}
	result := selection.Resolve(w, session.Obj())
	want := "shared/absent NotPermitted shared/all shared/blue NotPermitted shared/missing NotPermitted " +
		"shared/odd NotPermitted shared/red shared/same NotPermitted"
	if got := strings.Join(told(result), " "); got != want {
		t.Errorf("\ngot  %q\nwant %q", got, want)
	}
	for _, choice := range result.Choices {
		if choice.State == "" {
			if !choice.Foreign || choice.Server == nil {
				t.Errorf("%s is permitted: %+v", choice, choice)
			}
			continue
		}
		want := fmt.Sprintf("namespace \"shared\" does not permit MCPServer %q to be used from namespace \"agents\"; "+
			"its spec.allowedNamespaces can", choice.Name)
		if choice.Message != want || choice.Server != nil || choice.Source() != "" || !choice.Selected() {
			t.Errorf("%s: %+v", choice, choice)
		}
	}
}

func TestFaultsOfADeclaration(t *testing.T) {
	odd := agent("a").SelectAll().Mutate(func(s *v1alpha1.AgentSession) {
		s.Spec.Servers.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Odd"}}
	}).Obj()
	for name, c := range map[string]struct {
		session *v1alpha1.AgentSession
		want    selection.Fault
	}{
		"a selector that is none": {odd, selection.Fault{
			Reason: v1alpha1.ReasonInvalidSelector, Final: true,
			Message: `spec.servers.selector: "Odd" is not a valid label selector operator; correct it`,
		}},
		"a glob that is none": {agent("a").Deny("mcp_[a").Obj(), selection.Fault{
			Reason: v1alpha1.ReasonInvalidSelector, Final: true,
			Message: `spec.tools: invalid glob "mcp_[a": a character class without end; correct it, or put a backslash ` +
				`before a character that is meant literally`,
		}},
		"a parent that is missing": {agent("a").Parent("b").Obj(), selection.Fault{
			Reason:  v1alpha1.ReasonParentNotFound,
			Message: `AgentSession "b", the parent of "a", does not exist; create it, or correct spec.parentRef`,
		}},
		"a cycle": {agent("c").Parent("d").Obj(), selection.Fault{
			Reason: v1alpha1.ReasonParentCycle, Final: true,
			Message: `spec.parentRef of AgentSession "d" leads back to "c"; one of them must have another parent or none`,
		}},
		"a parent with a fault": {agent("e").Parent("f").Obj(), selection.Fault{
			Reason: v1alpha1.ReasonInvalidSelector, Final: true,
			Message: `its parent "f": spec.tools: invalid glob "[": a character class without end; correct it, or put a ` +
				`backslash before a character that is meant literally`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := withSessions(world(declared("x").Obj()), agent("d").Parent("c").Obj(), agent("f").Allow("[").Obj())
			result := selection.Resolve(w, c.session)
			if result.Fault == nil || *result.Fault != c.want || result.Choices != nil {
				t.Errorf("\ngot  %+v\nwant %+v", result.Fault, c.want)
			}
		})
	}
}

// Seed rule: subagents go through the parent's connections. They get a part of what the parent gets, never more.
func TestSeedRule10_Subagents(t *testing.T) {
	shared := builder.MCPServer("far").Namespace("shared").URL("https://h.example/mcp").Mutate(
		func(s *v1alpha1.MCPServer) {
			s.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesAll}
		}).Obj()
	parent := agent("parent").RequiredRef("one").Ref("two").Ref("gone").ForeignRef("shared", "far").
		Allow("mcp_one_*", "mcp_two_*").Obj()
	quiet := agent("quiet").MCPDisabled().Obj()
	exclusive := agent("exclusive").SelectAll().Exclude("two").WithoutProjectConfig().Obj()
	user := declared("user").Mutate(func(s *v1alpha1.MCPServer) { s.Spec.Level = v1alpha1.LevelUser }).Obj()
	child := agent("child").Parent("parent").SelectAll().Deny("*_b").Obj()
	for name, c := range map[string]struct {
		session *v1alpha1.AgentSession
		want    string
	}{
		"all of the parent's": {
			agent("a").Parent("parent").Obj(), "agents/gone NotFound agents/one agents/two shared/far",
		},
		"a selector chooses among them": {child, "agents/one agents/two"},
		"references do, too": {
			agent("a").Parent("parent").Ref("one").ForeignRef("shared", "far").Obj(), "agents/one shared/far",
		},
		"a reference beyond": {
			agent("a").Parent("parent").Ref("one").RequiredRef("user").Obj(), "agents/one agents/user Filtered !",
		},
		"what the parent left out": {
			agent("a").Parent("exclusive").Ref("two").Ref("one").Obj(),
			"agents/one Filtered agents/two Filtered",
		},
		"of a parent without MCP": {agent("a").Parent("quiet").Obj(), ""},
		"of a grandparent":        {agent("a").Parent("child").Obj(), "agents/one agents/two"},
	} {
		t.Run(name, func(t *testing.T) {
			w := withForeign(world(declared("one").Obj(), declared("two").Obj(), user), shared)
			result := selection.Resolve(withSessions(w, parent, quiet, exclusive, child), c.session)
			if got := strings.Join(told(result), " "); got != c.want || result.Fault != nil {
				t.Errorf("got %q %v, want %q", got, result.Fault, c.want)
			}
		})
	}

	w := withSessions(world(declared("one").Obj()), parent, child)
	result := selection.Resolve(w, agent("a").Parent("child").Obj())
	allowed := slices.DeleteFunc([]string{"mcp_one_a", "mcp_one_b", "mcp_three_a"}, func(name string) bool {
		return !result.Allows(name)
	})
	if !slices.Equal(allowed, []string{"mcp_one_a"}) {
		t.Errorf("the filters of all parents hold: %v", allowed)
	}
	if other := selection.Resolve(w, agent("a").Parent("parent").Obj()); other.Patterns == result.Patterns {
		t.Error("other filters have the same patterns")
	}
}

// The off switch works whatever else is wrong with a declaration.
func TestDisabledHasNoFault(t *testing.T) {
	for name, session := range map[string]*v1alpha1.AgentSession{
		"missing parent": agent("a").MCPDisabled().Parent("gone").Obj(),
		"invalid glob": agent("a").MCPDisabled().Mutate(func(s *v1alpha1.AgentSession) {
			s.Spec.Tools = &v1alpha1.ToolFilter{Deny: []string{"[a-"}}
		}).Obj(),
	} {
		t.Run(name, func(t *testing.T) {
			got := selection.Resolve(&selection.World{}, session)
			if got.Fault != nil || len(got.Choices) != 0 {
				t.Errorf("got %+v, want nothing chosen and no fault", got)
			}
		})
	}
}
