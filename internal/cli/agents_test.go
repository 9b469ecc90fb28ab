package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/cli/lease"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/test/builder"
)

// with is a cluster that has these objects.
func with(t *testing.T, objects ...client.Object) connected {
	t.Helper()
	return connected{fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.AgentSession{}).Build()}
}

// call runs one command of the program and returns what it printed.
func call(t *testing.T, cmd *cobra.Command, arguments ...string) (string, error) {
	t.Helper()
	out, _, err := callAs(t, "mooring", cmd, arguments...)
	return out, err
}

// callAs runs a command of a program of this name, and returns what it printed where.
func callAs(t *testing.T, name string, cmd *cobra.Command, arguments ...string) (out, errOut string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := &cobra.Command{Use: "mooring", SilenceUsage: true, SilenceErrors: true}
	setName(root, name)
	root.AddCommand(cmd)
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs(append([]string{cmd.Name()}, arguments...))
	root.SetContext(t.Context())
	err = executeRoot(root)
	return stdout.String(), stderr.String(), err
}

func parsed(definitions ...string) catalog.Catalog {
	var raw []json.RawMessage
	for _, definition := range definitions {
		raw = append(raw, json.RawMessage(definition))
	}
	return catalog.Parse(raw)
}

const (
	search = `{"name":"search","description":"Searches issues.\nSecond line.","inputSchema":{"type":"object",` +
		`"properties":{"query":{"type":"string"}}}}`
	searchChanged = `{"name":"search","description":"Searches issues and sends them away.",` +
		`"inputSchema":{"type":"object","properties":{"query":{"type":"string"}}}}`
	create = `{"name":"create","title":"Create an issue","inputSchema":{"type":"object"}}`
	long   = `{"name":"long","description":"A description that is much longer than what has room in one row of a table",` +
		`"inputSchema":{"type":"object"}}`
)

// canonicalCreate is create as it is published.
const canonicalCreate = `{"inputSchema":{"type":"object"},"name":"create","title":"Create an issue"}`

func configMap(t *testing.T, name string, encoded catalog.Encoded, err error) *corev1.ConfigMap {
	t.Helper()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: name}, Data: encoded.Data, BinaryData: encoded.BinaryData,
	}
}

// publishedServer is an MCPServer with its catalog.
func publishedServer(t *testing.T, document catalog.ServerDocument) []client.Object {
	t.Helper()
	object := builder.MCPServer("github").Namespace("agents").URL("https://mcp.example.com/mcp").Obj()
	document.Server = catalog.Ref{Namespace: "agents", Name: "github"}
	document.ConfigHash = connect.Hash(&object.Spec)
	encoded, err := document.Encode()
	object.Status.Catalog = &v1alpha1.CatalogStatus{ConfigMap: "github-mcp-tools"}
	return []client.Object{object, configMap(t, "github-mcp-tools", encoded, err)}
}

// publishedSession is an AgentSession with its catalog, in which one server is missing.
func publishedSession(t *testing.T) []client.Object {
	t.Helper()
	github := sessioncatalog.NewServerEntry(sessioncatalog.ServerInfo{
		Ref: catalog.Ref{Namespace: "agents", Name: "github"}, UID: "u", Source: "mcp:github via claude-code",
	}, "github", parsed(search, create).Tools)
	dead := sessioncatalog.Error{Server: catalog.Ref{Namespace: "agents", Name: "dead"}, Reason: "ConnectFailed"}
	publication, err := sessioncatalog.Publish(
		catalog.Ref{Namespace: "agents", Name: "coder"}, "http://"+LocalGateway,
		[]sessioncatalog.ServerEntry{github}, []sessioncatalog.Error{dead})
	object := builder.AgentSession("coder").Namespace("agents").Obj()
	object.Status.Catalog = &v1alpha1.SessionCatalogStatus{ConfigMap: "coder-mcp-catalog"}
	return []client.Object{object, configMap(t, "coder-mcp-catalog", publication.Encoded, err)}
}

func TestToolsInEveryForm(t *testing.T) {
	for _, form := range []string{"table", "json", "openai", "anthropic", "markdown"} {
		t.Run("server "+form, func(t *testing.T) {
			objects := publishedServer(t, catalog.ServerDocument{Catalog: parsed(search, create, long)})
			out, err := call(t, newTools(with(t, objects...)), "github", "-o", form)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			golden(t, "tools-server-"+form, out)
		})
		t.Run("session "+form, func(t *testing.T) {
			out, err := call(t, newTools(with(t, publishedSession(t)...)), "session/coder", "-o", form)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			golden(t, "tools-session-"+form, out)
		})
	}
}

// notReady are the conditions of what is not, for 20 minutes.
func notReady(reason, message string) []metav1.Condition {
	return []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(time.Now().Add(-20 * time.Minute)),
	}}
}

func TestToolsTellsWhatIsNotThere(t *testing.T) {
	unlisted := builder.MCPServer("new").Namespace("agents").URL("https://mcp.example.com/mcp").Obj()
	waiting := builder.AgentSession("waiting").Namespace("agents").Obj()
	refused := builder.MCPServer("refused").Namespace("agents").URL("https://mcp.example.com/mcp").Obj()
	refused.Status.Conditions = notReady("ConnectFailed", "it was refused; check that it runs")
	late := builder.AgentSession("late").Namespace("agents").Obj()
	late.Status.Conditions = notReady("AwaitingServers", "waiting for the first answer of agents/slow")
	objects := append(publishedServer(t, catalog.ServerDocument{Catalog: parsed(search)}),
		unlisted, waiting, refused, late)
	objects[1].(*corev1.ConfigMap).Data["catalog.json"] = "{"
	for line, want := range map[string]string{
		"none":           "no AgentSession or MCPServer \"none\" in namespace \"agents\"",
		"session/github": "no AgentSession \"github\" in namespace \"agents\"",
		"server/waiting": "no MCPServer \"waiting\" in namespace \"agents\"",
		"new":            "MCPServer \"new\" has no catalog yet; `mooring why server/new -n agents` tells more",
		"waiting":        "AgentSession \"waiting\" has no catalog yet; `mooring why session/waiting -n agents` tells more",
		"refused": "MCPServer \"refused\" has no catalog yet (ConnectFailed: it was refused; check that it runs); " +
			"`mooring why server/refused -n agents` tells more",
		"late": "AgentSession \"late\" has no catalog yet (AwaitingServers: waiting for the first answer of agents/slow); " +
			"`mooring why session/late -n agents` tells more",
		"pod/github": "no kind \"pod\"; use session or server",
		"github":     "catalog in ConfigMap github-mcp-tools: malformed catalog document",
	} {
		t.Run(line, func(t *testing.T) {
			out, err := call(t, newTools(with(t, objects...)), line)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)))
			NewWithT(t).Expect(out).To(BeEmpty())
		})
	}
	_, err := call(t, newTools(with(t, publishedSession(t)...)), "coder", "-o", "xml")
	NewWithT(t).Expect(err).To(MatchError(`no output form "xml"; use one of table, json, openai, anthropic, markdown`))
}

// What is denied or withheld is marked in the table, and is in no other form.
func TestToolsThatAreNotOffered(t *testing.T) {
	approved := catalog.NewBaseline(parsed(search, long))
	nothing := &v1alpha1.Tools{Pin: v1alpha1.PinStrict}
	some := &v1alpha1.Tools{Pin: v1alpha1.PinTrustOnFirstUse, Deny: []string{"l*"}}
	for name, test := range map[string]struct {
		tools *v1alpha1.Tools
		base  *catalog.Baseline
		want  string
		note  string
	}{
		"withheld-and-denied": {some, &approved, "[]", "Not offered: 1 denied by spec.tools, 2 withheld " +
			"(`mooring diff github -n agents` tells more).\n"},
		"denied": {&v1alpha1.Tools{Allow: []string{"create"}}, nil, "[" + canonicalCreate + "]",
			"Not offered: 2 denied by spec.tools.\n"},
		"not-approved": {nothing, nil, "[]",
			"Not offered: 3 withheld (`mooring diff github -n agents` tells more).\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			document := catalog.ServerDocument{Catalog: parsed(searchChanged, create, long), Approved: test.base}
			objects := publishedServer(t, document)
			objects[0].(*v1alpha1.MCPServer).Spec.Tools = test.tools
			out, errOut, err := callAs(t, "mooring", newTools(with(t, objects...)), "github")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(errOut).To(BeEmpty())
			golden(t, "tools-"+name, out)
			out, errOut, err = callAs(t, "mooring", newTools(with(t, objects...)), "github", "-o", "json")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out).To(Equal(test.want + "\n"))
			g.Expect(errOut).To(Equal(test.note))
		})
	}
}

// What a server listed before it was edited or disabled is nobody's, and is shown as such.
func TestToolsOfAServerThatIsNoLongerThatOne(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*v1alpha1.MCPServerSpec)
		note string
	}{
		"edited": {func(spec *v1alpha1.MCPServerSpec) { spec.HTTP.URL = "https://other.example.com/mcp" },
			"Not offered: 2 listed under a former spec."},
		"disabled": {func(spec *v1alpha1.MCPServerSpec) { spec.Disabled = true },
			"Not offered: 2 of a server that spec.disabled turns off."},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects := publishedServer(t, catalog.ServerDocument{Catalog: parsed(search, create)})
			test.edit(&objects[0].(*v1alpha1.MCPServer).Spec)
			out, errOut, err := callAs(t, "mooring", newTools(with(t, objects...)), "github", "-o", "json")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out).To(Equal("[]\n"))
			g.Expect(errOut).To(Equal(test.note + "\n"))
		})
	}
}

func TestToolsOfAFilterThatCannotBeRead(t *testing.T) {
	objects := publishedServer(t, catalog.ServerDocument{Catalog: parsed(search)})
	objects[0].(*v1alpha1.MCPServer).Spec.Tools = &v1alpha1.Tools{Deny: []string{"["}}
	_, err := call(t, newTools(with(t, objects...)), "github")
	NewWithT(t).Expect(err).To(MatchError(HavePrefix(`spec.tools of github: invalid glob "["`)))
}

func TestDiff(t *testing.T) {
	approved := catalog.NewBaseline(parsed(search, long))
	const trust, strict = v1alpha1.PinTrustOnFirstUse, v1alpha1.PinStrict
	drifted, other := parsed(searchChanged, create, long), string(parsed(long).Digest)
	for name, test := range map[string]struct {
		pin      v1alpha1.PinPolicy
		now      catalog.Catalog
		base     *catalog.Baseline
		recorded string
		approved string
	}{
		"unchanged":          {trust, parsed(search), &approved, "", ""},
		"unchanged-mistaken": {trust, parsed(search), &approved, string(approved.Digest()), other},
		"drifted":            {trust, drifted, &approved, "", ""},
		"drifted-approved":   {trust, drifted, &approved, "", string(approved.Digest())},
		"drifted-mistaken":   {trust, drifted, &approved, string(approved.Digest()), other},
		"first-list":         {trust, parsed(search), nil, "", ""},
		"first-mistaken":     {trust, parsed(create), nil, "", other},
		"forged":             {trust, parsed(create), &approved, "", other},
		"strict":             {strict, parsed(search, create), nil, "", ""},
		"strict-mistaken":    {strict, parsed(create), nil, "", other},
		"strict-approved":    {strict, parsed(create), nil, "", string(parsed(create).Digest)},
		"lost":               {trust, parsed(create), nil, string(approved.Digest()), ""},
		"altered":            {trust, parsed(create), &approved, other, ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects := publishedServer(t, catalog.ServerDocument{Catalog: test.now, Approved: test.base})
			object := objects[0].(*v1alpha1.MCPServer)
			object.Spec.Tools = &v1alpha1.Tools{Pin: test.pin, ApprovedDigest: test.approved}
			object.Status.Catalog.PinnedDigest = test.recorded
			out, err := call(t, newDiff(with(t, objects...)), "github")
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			golden(t, "diff-"+name, out)
		})
	}
	unlisted := builder.MCPServer("new").Namespace("agents").URL("https://mcp.example.com/mcp").Pin(trust).Obj()
	for argument, want := range map[string]string{
		"none":   "no MCPServer \"none\" in namespace \"agents\"; list all with `mooring get servers -A`",
		"github": "MCPServer \"github\" is not pinned, so no tools of it were approved; spec.tools.pin pins it",
		"new":    "MCPServer \"new\" has no catalog yet; `mooring why server/new -n agents` tells more",
	} {
		t.Run(argument, func(t *testing.T) {
			objects := append(publishedServer(t, catalog.ServerDocument{Catalog: parsed(search)}), unlisted)
			_, err := call(t, newDiff(with(t, objects...)), argument)
			NewWithT(t).Expect(err).To(MatchError(want))
		})
	}
}

// echoing is a cluster in which the manager echoes a reload as soon as somebody watches for it, with this status.
func echoing(t *testing.T, object *v1alpha1.AgentSession, status *v1alpha1.AgentSessionStatus) connected {
	t.Helper()
	c := with(t, object)
	c.WithWatch = interceptor.NewClient(c.WithWatch, interceptor.Funcs{
		Watch: func(
			ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption,
		) (watch.Interface, error) {
			watcher, err := c.Watch(ctx, list, options...) // unlike the API server's, it tells of changes alone
			if err != nil {
				return nil, err
			}
			echoed := &v1alpha1.AgentSession{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(object), echoed); err != nil {
				return nil, err
			}
			status.DeepCopyInto(&echoed.Status)
			echoed.Status.LastHandledReloadAt = echoed.Annotations[v1alpha1.AnnotationReload]
			return watcher, c.Status().Update(ctx, echoed)
		},
	})
	return c
}

// The manager echoes the annotation; what is offered then is told.
func TestReloadWaitsForTheEcho(t *testing.T) {
	g := NewWithT(t)
	c := echoing(t, builder.AgentSession("coder").Namespace("agents").Obj(), &v1alpha1.AgentSessionStatus{
		Summary: "3/4",
		Catalog: &v1alpha1.SessionCatalogStatus{ToolCount: ptr.To[int32](7), Revision: "0123456789ab"},
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPartiallyAvailable,
		}},
	})
	out, errOut, err := callAs(t, "mooring", newReload(c), "coder")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(Equal("coder: 7 tools of 3/4 servers, revision 0123456789ab\n"))
	g.Expect(errOut).To(MatchRegexp(`^reloading coder \.\.\.\nreloading coder: done in \d+(\.\d)?m?s\n$`))
	_, err = call(t, newReload(c), "none")
	g.Expect(err).To(MatchError(
		"no AgentSession \"none\" in namespace \"agents\"; list all with `mooring get sessions -A`"))
}

// A reload that was acted on, and after which the agent lacks what was declared, has not succeeded.
func TestReloadOfWhatIsNotReady(t *testing.T) {
	g := NewWithT(t)
	status := &v1alpha1.AgentSessionStatus{
		Summary: "0/1", Conditions: notReady("PublishFailed", "ConfigMap was refused; change the quota"),
	}
	c := echoing(t, builder.AgentSession("coder").Namespace("agents").Obj(), status)
	out, errOut, err := callAs(t, "mooring", newReload(c), "coder")
	g.Expect(err).To(MatchError("the agent session is not ready"))
	g.Expect(errOut).To(ContainSubstring("reloading coder: done in "))
	since := status.Conditions[0].LastTransitionTime.UTC().Format(time.DateTime)
	g.Expect(out).To(Equal(`AgentSession coder in namespace agents is not ready yet (PublishFailed).
  Because   ConfigMap was refused; change the quota
  Not ready since ` + since + ` UTC (20m ago)
  Servers   0/1 can be used
  Next      the catalog is written again automatically: every 60s after a refusal, with backoff after any other error
  Tools     none are published
`))
}

// A former catalog keeps the session ready when the one of the reload is refused; that is no success, either.
func TestReloadWhoseCatalogIsRefused(t *testing.T) {
	g := NewWithT(t)
	const message = `the API server refused to store ConfigMap "coder-mcp-catalog" (exceeded quota: objects); ` +
		`the last catalog stays published`
	c := echoing(t, builder.AgentSession("coder").Namespace("agents").Obj(), &v1alpha1.AgentSessionStatus{
		Summary: "1/1",
		Catalog: &v1alpha1.SessionCatalogStatus{ToolCount: ptr.To[int32](7), Revision: "0123456789ab"},
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllServersAvailable},
			{Type: v1alpha1.ConditionCatalogPublished, Status: metav1.ConditionFalse,
				Reason: v1alpha1.ReasonPublishFailed, Message: message},
		},
	})
	out, _, err := callAs(t, "mooring", newReload(c), "coder")
	g.Expect(err).To(MatchError("the catalog was not published: " + message))
	g.Expect(out).To(BeEmpty())
}

// Without a manager there is nothing to wait for: the request is made, and that it remains is told at once.
func TestReloadWithoutAManager(t *testing.T) {
	g := NewWithT(t)
	c := with(t, builder.AgentSession("coder").Namespace("agents").Obj())
	stopped(&c)
	out, errOut, err := callAs(t, "mooring", newReload(c), "coder")
	g.Expect(err).To(MatchError(MatchRegexp("^no manager has been running since .* UTC \\(60m ago\\); the request " +
		"remains, and is acted on once one runs: `mooring run` runs one here, ")))
	g.Expect(out + errOut).To(BeEmpty())
	asked := &v1alpha1.AgentSession{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "agents", Name: "coder"}, asked)).To(Succeed())
	g.Expect(asked.Annotations).To(HaveKey(v1alpha1.AnnotationReload))
}

// stopped has the cluster tell that a manager ran until an hour ago.
func stopped(c *connected) {
	until := metav1.NewMicroTime(time.Now().Add(-time.Hour))
	c.WithWatch = interceptor.NewClient(c.WithWatch, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			list.(*coordinationv1.LeaseList).Items = []coordinationv1.Lease{{
				ObjectMeta: metav1.ObjectMeta{Name: lease.Elected}, Spec: coordinationv1.LeaseSpec{RenewTime: &until},
			}}
			return nil
		},
	})
}

// While nothing comes of it, what is known of the session is told, and the request remains.
func TestReloadWithoutAnOutcome(t *testing.T) {
	g := NewWithT(t)
	object := builder.AgentSession("coder").Namespace("agents").Obj()
	object.Status.Conditions = notReady("AwaitingServers", "waiting for the first answer of agents/slow")
	object.Status.Summary = "0/1"
	object.Status.Servers = []v1alpha1.SessionServerStatus{{Name: "slow", Namespace: "agents", State: "Connecting"}}
	out, errOut, err := callAs(t, "kubectl mooring", newReload(with(t, object)), "coder", "--timeout", "100ms")
	g.Expect(err).To(MatchError("no outcome in time; the request remains, and --timeout waits longer"))
	g.Expect(errOut).To(Equal("reloading coder ...\n"))
	since := object.Status.Conditions[0].LastTransitionTime.UTC().Format(time.DateTime)
	g.Expect(out).To(Equal(`AgentSession coder in namespace agents is not ready yet (AwaitingServers).
  Because   waiting for the first answer of agents/slow
  Not ready since ` + since + ` UTC (20m ago)
  Servers   0/1 can be used
            slow: connecting (kubectl mooring why slow -n agents)
  Next      the catalog is published once each server has answered, after 30s at most
  Tools     none are published
`))
}

// What was deleted meanwhile has nothing to tell.
func TestReloadOfWhatIsDeleted(t *testing.T) {
	g := NewWithT(t)
	c := with(t, builder.AgentSession("coder").Namespace("agents").Obj())
	c.WithWatch = interceptor.NewClient(c.WithWatch, interceptor.Funcs{
		Watch: func(
			context.Context, client.WithWatch, client.ObjectList, ...client.ListOption,
		) (watch.Interface, error) {
			fed := watch.NewFakeWithChanSize(1, false)
			fed.Delete(builder.AgentSession("coder").Namespace("agents").Obj())
			return fed, nil
		},
	})
	out, err := call(t, newReload(c), "coder")
	g.Expect(err).To(MatchError("outcome: it was deleted"))
	g.Expect(out).To(BeEmpty())
}

// Without a manager, what is published is what was last known: that is said beside the output, not in it.
func TestWithoutAManager(t *testing.T) {
	g := NewWithT(t)
	c := with(t, publishedServer(t, catalog.ServerDocument{Catalog: parsed(search)})...)
	stopped(&c)
	out, errOut, err := callAs(t, "mooring", newTools(c), "github", "-o", "json")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Valid([]byte(out))).To(BeTrue())
	g.Expect(errOut).To(MatchRegexp(
		`^No manager has been running since .* UTC \(60m ago\): what follows is what was last known\.\n$`))
}
