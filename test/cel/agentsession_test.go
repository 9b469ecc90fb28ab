package cel

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
)

const (
	refsTwice    = "refs must not name a server twice"
	excludeAlone = "exclude takes from what selector and refs choose: set one of them (selector: {} chooses every " +
		"MCPServer of the namespace)"
	serverForm = "name must be the name of an MCPServer: lower case letters, digits and '-', with a letter or digit " +
		"at either end"
	sessionForm = "name must be the name of an AgentSession: lower case letters, digits and '-', with a letter or " +
		"digit at either end"
	accountForm = "name must be the name of a service account: lower case letters, digits, '-' and '.', with a " +
		"letter or digit at either end"
	namespaceForm = "namespace must be the name of a namespace: lower case letters, digits and '-', with a letter or " +
		"digit at either end"
	accountsTwice = "allowedServiceAccounts must not name a service account twice"
	parentSelf    = "parentRef must name another AgentSession, not this one"
	startupBounds = "startupTimeout must be a duration from 0s to 30s, such as 250ms"
)

// refs is a session with these refs.
func refs(entries string) string {
	return `servers: {refs: [` + entries + `]}`
}

// accounts is a session with these allowedServiceAccounts.
func accounts(entries string) string {
	return `allowedServiceAccounts: [` + entries + `]`
}

// many repeats a list entry with %d for its number.
func many(n int, entry string) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = fmt.Sprintf(entry, i)
	}
	return strings.Join(entries, ", ")
}

var sessionAcceptances = []accepted{
	{"every server", `{}`},
	{"mcp Enabled", `mcp: Enabled`},
	{"mcp Disabled", `mcp: Disabled`},
	{"no server", `servers: {}`},
	{"every server by selector", `servers: {selector: {}}`},
	{"selector", `servers: {selector: {matchLabels: {team: a}, matchExpressions: [{key: tier, operator: In, ` +
		`values: [gold, silver]}]}}`},
	{"ref", refs(`{name: github}`)},
	{"ref of another namespace", refs(`{name: github, namespace: shared}`)},
	{"required ref", refs(`{name: github, required: true}`)},
	{"ref that is not required", refs(`{name: github, required: false}`)},
	{"one name in three namespaces", refs(`{name: a}, {name: a, namespace: b}, {name: a, namespace: c}`)},
	{"selector, refs and exclude", `servers: {selector: {}, refs: [{name: a}], exclude: [{name: b}, {name: "0"}]}`},
	{"exclude beside refs", `servers: {refs: [{name: a}, {name: b}], exclude: [{name: b}]}`},
	{"empty lists", `{servers: {refs: [], exclude: []}, nativeIntegrations: [], tools: {allow: [], deny: []}, ` +
		`allowedServiceAccounts: []}`},
	{"most refs", refs(many(256, `{name: "`+strings.Repeat("a", 37)+`%03d", namespace: "`+strings.Repeat("b", 63)+`"}`))},
	{"most exclusions", `servers: {selector: {}, exclude: [` + many(256, `{name: "s%d"}`) + `]}`},
	{"projectConfig Enabled", `projectConfig: Enabled`},
	{"projectConfig Disabled", `projectConfig: Disabled`},
	{"native integration", `nativeIntegrations: [Exa]`},
	{"startupTimeout at least", `startupTimeout: 0s`},
	{"startupTimeout as by default", `startupTimeout: 250ms`},
	{"startupTimeout at most", `startupTimeout: 30s`},
	{"startupTimeout at most, in other words", `startupTimeout: 0.5m`},
	{"exposure Tools", `exposure: Tools`},
	{"exposure Dispatch", `exposure: Dispatch`},
	{"tools", `tools: {allow: ["mcp_github_*", "mcp_docs_search"], deny: ["*_delete_?*"]}`},
	{"parent", `parentRef: {name: coder}`},
	{"service accounts", accounts(`{name: coder}, {name: coder, namespace: ci}, {name: build.robot-1}`)},
	{"most service accounts", accounts(many(64, `{name: "`+strings.Repeat("a", 251)+`%02d", namespace: "`+
		strings.Repeat("b", 63)+`"}`))},
}

var sessionRefusals = []refused{
	{"unknown mcp", `mcp: Auto`, []string{`spec.mcp: Unsupported value: "Auto": supported values: "Enabled", "Disabled"`}},
	{"mcp as a boolean", `mcp: false`, []string{
		`spec.mcp: Invalid value: "boolean": spec.mcp in body must be of type string: "boolean"`,
		`spec.mcp: Unsupported value: false: supported values: "Enabled", "Disabled"`,
	}},
	{"projectConfig as YAML takes it for a boolean", `projectConfig: Off`, []string{
		`spec.projectConfig: Invalid value: "boolean": spec.projectConfig in body must be of type string: "boolean"`,
		`spec.projectConfig: Unsupported value: false: supported values: "Enabled", "Disabled"`,
	}},
	{"exclude alone", `servers: {exclude: [{name: a}]}`, invalid("spec.servers.exclude", excludeAlone)},
	{"exclusion given twice", `servers: {selector: {}, exclude: [{name: a}, {name: a}]}`,
		[]string{`spec.servers.exclude[1]: Duplicate value: {"name":"a"}`}},
	{"exclusion without a name", `servers: {selector: {}, exclude: [{}]}`,
		[]string{"spec.servers.exclude[0].name: Required value"}},
	{"exclusion with a dot", `servers: {selector: {}, exclude: [{name: a.b}]}`,
		invalidValue("spec.servers.exclude[0].name", "a.b", serverForm)},
	{"too many exclusions", `servers: {selector: {}, exclude: [` + many(257, `{name: "s%d"}`) + `]}`,
		[]string{"spec.servers.exclude: Too many: 257: must have at most 256 items"}},
	{"ref given twice", refs(`{name: a}, {name: b}, {name: a, required: true}`),
		invalid("spec.servers.refs", refsTwice)},
	{"foreign ref given twice", refs(`{name: a, namespace: b}, {name: a, namespace: b}`),
		invalid("spec.servers.refs", refsTwice)},
	{"ref without a name", refs(`{namespace: b}`), []string{"spec.servers.refs[0].name: Required value"}},
	{"ref with an empty name", refs(`{name: ""}`), []string{
		`spec.servers.refs[0].name: Invalid value: "": spec.servers.refs[0].name in body should be at least 1 chars long`,
	}},
	{"ref with capitals", refs(`{name: GitHub}`), invalidValue("spec.servers.refs[0].name", "GitHub", serverForm)},
	{"ref with a final hyphen", refs(`{name: a-}`), invalidValue("spec.servers.refs[0].name", "a-", serverForm)},
	{"ref with a long name", refs(`{name: ` + strings.Repeat("a", 41) + `}`),
		[]string{"spec.servers.refs[0].name: Too long: may not be more than 40 bytes"}},
	{"ref of an empty namespace", refs(`{name: a, namespace: ""}`), []string{
		`spec.servers.refs[0].namespace: Invalid value: "": spec.servers.refs[0].namespace in body should be at least 1 ` +
			`chars long`,
	}},
	{"ref of every namespace", refs(`{name: a, namespace: "*"}`),
		invalidValue("spec.servers.refs[0].namespace", "*", namespaceForm)},
	{"too many refs", refs(many(257, `{name: "s%d"}`)),
		[]string{"spec.servers.refs: Too many: 257: must have at most 256 items"}},
	{"unknown native integration", `nativeIntegrations: [Bing]`,
		[]string{`spec.nativeIntegrations[0]: Unsupported value: "Bing": supported values: "Exa"`}},
	{"native integration given twice", `nativeIntegrations: [Exa, Exa]`,
		[]string{`spec.nativeIntegrations[1]: Duplicate value: "Exa"`}},
	{"unknown exposure", `exposure: All`,
		[]string{`spec.exposure: Unsupported value: "All": supported values: "Tools", "Dispatch"`}},
	{"glob given twice", `tools: {deny: [a, a]}`, []string{`spec.tools.deny[1]: Duplicate value: "a"`}},
	{"empty glob", `tools: {allow: [""]}`, []string{
		`spec.tools.allow[0]: Invalid value: "": spec.tools.allow[0] in body should be at least 1 chars long`,
	}},
	{"parent of itself", `parentRef: {name: refused}`, invalid("spec.parentRef.name", parentSelf)},
	{"parent without a name", `parentRef: {}`, []string{"spec.parentRef.name: Required value"}},
	{"parent with an underscore", `parentRef: {name: a_b}`, invalidValue("spec.parentRef.name", "a_b", sessionForm)},
	{"service account given twice", accounts(`{name: a}, {name: a}`),
		invalid("spec.allowedServiceAccounts", accountsTwice)},
	{"foreign service account given twice", accounts(`{name: a, namespace: b}, {name: a, namespace: b}`),
		invalid("spec.allowedServiceAccounts", accountsTwice)},
	{"service account by user name", accounts(`{name: "system:serviceaccount:a:b"}`),
		invalidValue("spec.allowedServiceAccounts[0].name", "system:serviceaccount:a:b", accountForm)},
	{"every service account", accounts(`{name: "*"}`),
		invalidValue("spec.allowedServiceAccounts[0].name", "*", accountForm)},
	{"service account of every namespace", accounts(`{name: a, namespace: "*"}`),
		invalidValue("spec.allowedServiceAccounts[0].namespace", "*", namespaceForm)},
	{"too many service accounts", accounts(many(65, `{name: "a%d"}`)),
		[]string{"spec.allowedServiceAccounts: Too many: 65: must have at most 64 items"}},
	{"startupTimeout above", `startupTimeout: 30.001s`, invalidValue("spec.startupTimeout", "30.001s", startupBounds)},
	{"startupTimeout below", `startupTimeout: "-1s"`, invalidValue("spec.startupTimeout", "-1s", startupBounds)},
	{"startupTimeout without a unit", `startupTimeout: "250"`, invalidValue("spec.startupTimeout", "250", startupBounds)},
	{"startupTimeout in days", `startupTimeout: 1d`, invalidValue("spec.startupTimeout", "1d", startupBounds)},
	{"startupTimeout beyond what a duration holds", `startupTimeout: 99999h99999h99999h99999h`,
		invalidValue("spec.startupTimeout", "99999h99999h99999h99999h", startupBounds)},
	{"startupTimeout as a number", `startupTimeout: 250`, []string{
		`spec.startupTimeout: Invalid value: "integer": spec.startupTimeout in body must be of type string: "integer"`,
	}},
}

func TestSessionAccepted(t *testing.T) { runAccepted(t, agentSession, sessionAcceptances) }

func TestSessionRefused(t *testing.T) { runRefused(t, agentSession, sessionRefusals) }

// A slip of the pen is refused by strict validation, as kubectl asks for it, and never without effect. Nothing that a
// session refers to, servers apart, can stand in another namespace.
func TestB65_UnknownFieldsOfASessionAreRefused(t *testing.T) {
	for _, tc := range []struct{ spec, field string }{
		{`server: {selector: {}}`, "spec.server"},
		{`mcpEnabled: true`, "spec.mcpEnabled"},
		{`servers: {ref: [{name: a}]}`, "spec.servers.ref"},
		{refs(`{name: a, kind: MCPServer}`), "spec.servers.refs[0].kind"},
		{`servers: {selector: {}, exclude: [{name: a, namespace: b}]}`, "spec.servers.exclude[0].namespace"},
		{`servers: {selector: {labels: {team: a}}}`, "spec.servers.selector.labels"},
		{`parentRef: {name: a, namespace: b}`, "spec.parentRef.namespace"},
		{`tools: {pin: Strict}`, "spec.tools.pin"},
		{accounts(`{name: a, kind: ServiceAccount}`), "spec.allowedServiceAccounts[0].kind"},
	} {
		t.Run(tc.field, func(t *testing.T) {
			err := k8s.Create(context.Background(), agentSession(t, "unknown", tc.spec), client.DryRunAll)

			g := NewWithT(t)
			g.Expect(err).To(MatchError(apierrors.IsBadRequest, "IsBadRequest"))
			g.Expect(err).To(MatchError(ContainSubstring(`strict decoding error: unknown field "` + tc.field + `"`)))
		})
	}
}

// The Go types say the same as the CRD: an object with every field set survives the way there and back.
func TestTypedSessionSurvivesTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	obj := builder.AgentSession("typed").Namespace(namespace).
		MCPDisabled().
		Select("team", "a").Ref("a").ForeignRef("shared", "a").RequiredRef("b").Exclude("c", "d").
		WithoutProjectConfig().
		Native(mooringv1alpha1.NativeExa).
		StartupTimeout(0).
		Dispatch().Allow("mcp_a_*").Deny("*_delete").
		Parent("coder").
		ServiceAccount("", "coder").ServiceAccount("ci", "coder").
		Obj()
	sent := obj.Spec.DeepCopy()

	g.Expect(k8s.Create(context.Background(), obj, client.DryRunAll)).To(Succeed())

	g.Expect(obj.Spec).To(BeComparableTo(*sent))
	g.Expect(obj.Spec.Gate()).To(BeZero())
}

// What a Go client leaves out is not sent as an empty value, and an empty selection is told from an absent one.
func TestTypedSessionSendsWhatItSays(t *testing.T) {
	for name, tc := range map[string]struct {
		obj  *mooringv1alpha1.AgentSession
		want map[string]any
	}{
		"absent": {builder.AgentSession("typed").Obj(), nil},
		"absent in a spec": {
			builder.AgentSession("typed").StartupTimeout(30 * time.Second).Obj(),
			map[string]any{"startupTimeout": "30s"},
		},
		"every server by selector": {
			builder.AgentSession("typed").SelectAll().Obj(),
			map[string]any{"servers": map[string]any{"selector": map[string]any{}}},
		},
		"none": {noServers(), map[string]any{"servers": map[string]any{}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tc.obj.Namespace = namespace
			g.Expect(k8s.Create(context.Background(), tc.obj)).To(Succeed())
			t.Cleanup(func() { g.Expect(k8s.Delete(context.Background(), tc.obj)).To(Succeed()) })

			stored := agentSession(t, "typed", `{}`)
			g.Expect(k8s.Get(context.Background(), client.ObjectKeyFromObject(stored), stored)).To(Succeed())

			spec, _ := stored.Object["spec"].(map[string]any)
			g.Expect(spec).To(BeComparableTo(tc.want))
		})
	}
}

func noServers() *mooringv1alpha1.AgentSession {
	return builder.AgentSession("typed").Mutate(func(s *mooringv1alpha1.AgentSession) {
		s.Spec.Servers = &mooringv1alpha1.ServerSelection{}
	}).Obj()
}
