package integration

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// fleetOf applies servers s-0 and so on, each with two tools, and returns what stands behind them.
func (w *world) fleetOf(count int) []*mcpfake.Server {
	w.t.Helper()
	var fakes []*mcpfake.Server
	for i := range count {
		fake := mcpfake.New(w.t, mcpfake.WithTools(tools("t", 2)...), mcpfake.WithRecordLimit(20))
		fakes = append(fakes, fake)
		w.apply(builder.MCPServer(fmt.Sprintf("s-%d", i)).URL(fake.URL()).Obj())
	}
	return fakes
}

// slicesOf is the text of each server's tools, by server.
func slicesOf(document sessioncatalog.Document) map[string]string {
	out := map[string]string{}
	for _, slice := range document.Servers {
		var text strings.Builder
		for _, tool := range slice.Tools {
			text.Write(tool.Entry)
		}
		out[slice.Name] = text.String()
	}
	return out
}

// One of eight servers changes a tool: one write for each agent that is offered it, and the seven other slices are the
// same to the byte. How long that takes is what BenchmarkChangedTool measures.
func TestOneChangedToolIsOneWrite(t *testing.T) {
	t.Parallel() // it mostly waits for a second write that must not come
	w := newWorld(t)
	fakes := w.fleetOf(8)
	w.apply(builder.AgentSession("all").Obj(), builder.AgentSession("some").Ref("s-3").Ref("s-4").Obj(),
		builder.AgentSession("none").Ref("s-5").Obj())
	for _, name := range []string{"all", "some", "none"} {
		w.awaitAgent(name, "True AllServersAvailable")
	}
	fakes[3].Await(t, func(s mcpfake.Stats) bool { return s.Streams == 1 })
	before, untouched := slicesOf(w.mustOffer("all")), w.version("none-mcp-catalog")
	writes := w.manager.writes.offers.Load()
	fakes[3].SetTools(mcpfake.RawTool(`{"name":"t-0","title":"new","inputSchema":{"type":"object"}}`), tools("t", 2)[1])
	fakes[3].NotifyListChanged()
	for _, name := range []string{"all", "some"} {
		w.Eventually(func() string { return slicesOf(w.mustOffer(name))["s-3"] }).
			WithPolling(20 * time.Millisecond).Should(ContainSubstring(`"title":"new"`))
	}
	after := slicesOf(w.mustOffer("all"))
	for name, slice := range before {
		if name == "s-3" {
			w.Expect(after[name]).NotTo(Equal(slice))
			continue
		}
		w.Expect(after[name]).To(Equal(slice), name)
	}
	w.settleWrites()
	w.Expect(w.manager.writes.offers.Load()-writes).To(BeEquivalentTo(2), "one for each agent that is offered it")
	w.Expect(w.version("none-mcp-catalog")).To(Equal(untouched))
}

// An outage takes no tools away, however long it lasts. What is deleted, deselected or disabled goes without waiting
// for its turn to be written; how long that takes is what BenchmarkWithdrawnTools measures.
func TestB29_OutagesKeepToolsAndWithdrawalsDoNotWait(t *testing.T) {
	t.Parallel() // it mostly waits for edges that are joined
	w := newWorld(t)
	fakes := w.fleetOf(4)
	failing := mcpfake.New(t, mcpfake.WithTools(tools("t", 2)...))
	w.apply(builder.MCPServer("s-4").URL(failing.URL()).Attempts(1).Strikes(2).Cooldown(8*time.Second).Obj(),
		builder.AgentSession("coder").SelectAll().Obj())
	w.awaitAgent("coder", "True AllServersAvailable")
	version := w.version("coder-mcp-catalog")
	for _, fake := range []*mcpfake.Server{fakes[3], failing} {
		w.Expect(fake.Refuse()).To(Succeed())
		fake.CutConnections(true)
	}
	outage := split("s-0 Connected 2, s-1 Connected 2, s-2 Connected 2, s-3 Disconnected 2, s-4 Disconnected 2")
	w.await("s-4", v1alpha1.ConditionQuarantined, "True ConnectFailed")
	w.awaitServers("coder", outage...)
	w.await("s-4", v1alpha1.ConditionRetired, "True ConnectFailed")
	w.awaitServers("coder", outage...)
	w.Expect(w.version("coder-mcp-catalog")).To(Equal(version), "unreachable, quarantined, exhausted: tools are kept")

	for _, step := range []struct {
		server string
		act    func()
	}{
		{"s-0", func() { w.Expect(admin.Delete(w.ctx, w.get("s-0"))).To(Succeed()) }},
		{"s-1", func() { w.change("s-1", func(s *v1alpha1.MCPServer) { s.Spec.Disabled = true }) }},
		{"s-2", func() {
			w.changeAgent("coder", func(s *v1alpha1.AgentSession) {
				s.Spec.Servers.Exclude = []v1alpha1.ServerExclusion{{Name: "s-2"}}
			})
		}},
		{"s-4", func() { w.Expect(admin.Delete(w.ctx, w.get("s-4"))).To(Succeed()) }},
	} {
		step.act()
		w.Eventually(func() map[string]string { return slicesOf(w.mustOffer("coder")) }).
			ShouldNot(HaveKey(step.server))
	}
	w.awaitOffer("coder", "mcp_s-3_t-0", "mcp_s-3_t-1")
	w.awaitServers("coder", "s-1 Filtered -", "s-3 Disconnected 2")
	w.Expect(w.agent("coder").Status.Summary).To(Equal("0/1"))
}

// A server that lists nothing while it warms up is an error for its agents, and nothing empty is ever offered of it.
func TestB28_AgentsOfAServerThatWarmsUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake, other := mcpfake.New(t, mcpfake.WithTools(tools("t", 12)...)), mcpfake.New(t)
	fake.Fault(mcpfake.List, 1, mcpfake.NoTools())
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj(), builder.MCPServer("other").URL(other.URL()).Obj(),
		builder.AgentSession("coder").Obj())
	w.awaitAgent("coder", "True PartiallyAvailable")
	w.Expect(errorsOf(w.mustOffer("coder"))).To(Equal([]string{"fs EmptyCatalog"}))
	w.awaitAgent("coder", "True AllServersAvailable")
	document := w.mustOffer("coder")
	w.Expect(document.Errors).To(BeEmpty())
	w.Expect(document.ToolCount()).To(Equal(12 + len(mcpfake.DefaultTools())))
}

// A server without tools is as usable as any.
func TestB31_AgentsOfAServerWithoutTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithCapabilities(`{"resources":{}}`))
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj(), builder.AgentSession("coder").Obj())
	session := w.awaitAgent("coder", "True AllServersAvailable")
	w.Expect(sessionSays(session, v1alpha1.ConditionCatalogPublished)).To(Equal("True NoTools"))
	w.Expect(serversOf(session)).To(Equal([]string{"fs Connected 0"}))
	w.Expect(w.mustOffer("coder").Errors).To(BeEmpty())
}

var exposedName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,50}$`)

// Two servers have a tool of one name, and names that no client takes: all are offered, under distinct and valid names
// that outlive a restart, another order, and tools that come.
func TestB32_B34_ExposedNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := "a" + strings.Repeat("b", 39)
	raw := []string{strings.Repeat("a", 60), strings.Repeat("a", 59) + "b", "files.read", "数据库", "x_", "send_email"}
	list := func(names ...string) (out []mcpfake.Tool) {
		for _, name := range names {
			out = append(out, mcpfake.RawTool(fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)))
		}
		return out
	}
	first := mcpfake.New(t, mcpfake.WithTools(list(raw...)...))
	second := mcpfake.New(t, mcpfake.WithTools(list("send_email")...))
	w.apply(builder.MCPServer(long).URL(first.URL()).Obj(), builder.MCPServer("mail").URL(second.URL()).Obj(),
		builder.AgentSession("coder").Obj())
	w.awaitAgent("coder", "True AllServersAvailable")
	ways := func() map[string]string {
		out := map[string]string{}
		for name, route := range w.mustOffer("coder").Routes() {
			out[route.Server.Name+"/"+route.RawName] = name
		}
		return out
	}
	before := ways()
	w.Expect(before).To(HaveLen(len(raw) + 1))
	seen := map[string]bool{}
	for _, name := range before {
		w.Expect(name).To(MatchRegexp(exposedName.String()))
		seen[name] = true
	}
	w.Expect(seen).To(HaveLen(len(raw)+1), "distinct")
	w.Expect(before["mail/send_email"]).To(Equal("mcp_mail_send_email"))

	w.manager.stop()
	reversed := append([]string{"new"}, raw...)
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	first.SetTools(list(reversed...)...)
	w.startManager()
	w.Eventually(func() map[string]string { return ways() }).Should(HaveKey(long + "/new"))
	after := ways()
	delete(after, long+"/new")
	w.Expect(after).To(Equal(before))
}

// What is applied by the server carries no copy of itself in an annotation, however large it is.
func TestB41_NoPayloadInAnnotations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var large []mcpfake.Tool
	for i := range 5 {
		large = append(large, mcpfake.RawTool(fmt.Sprintf(
			`{"name":"t-%d","description":%q,"inputSchema":{"type":"object"}}`, i, strings.Repeat("word ", 24<<10))))
	}
	fake := mcpfake.New(t, mcpfake.WithTools(large...))
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj(), builder.AgentSession("coder").Obj())
	w.awaitAgent("coder", "True AllServersAvailable")
	object := w.configMap("coder-mcp-catalog")
	w.Expect(len(object.Data[catalog.CatalogKey])).To(BeNumerically(">", 600<<10))
	for _, annotations := range []map[string]string{object.Annotations, w.configMap("fs-mcp-tools").Annotations} {
		size := 0
		for key, value := range annotations {
			size += len(key) + len(value)
		}
		w.Expect(size).To(BeNumerically("<", 1<<10))
	}
}

// A reader during updates has the old or the new catalog, whole: its digest holds, and it is never a mixture.
func TestB59_ReadersSeeOneRevisionWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fakes := w.fleetOf(2)
	w.apply(builder.AgentSession("coder").Obj())
	w.awaitAgent("coder", "True AllServersAvailable")
	generations := []string{"one", "two", "three"}
	watch, err := admin.Watch(w.ctx, &corev1.ConfigMapList{}, client.InNamespace(w.namespace),
		client.MatchingLabels{v1alpha1.LabelSession: "coder"})
	w.Expect(err).NotTo(HaveOccurred())
	var mixed, read atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watch.ResultChan() {
			object, ok := event.Object.(*corev1.ConfigMap)
			if !ok { // the end of the watch
				continue
			}
			document, err := sessioncatalog.Decode(object.Data, object.BinaryData)
			read.Add(1)
			title := titleOf(document)
			if err != nil || title != "" && strings.Count(object.Data[catalog.CatalogKey], `"title":"`+title+`"`) != 2 {
				mixed.Add(1)
			}
		}
	}()
	for _, title := range generations {
		fakes[1].SetTools(mcpfake.RawTool(`{"name":"a","title":"`+title+`","inputSchema":{"type":"object"}}`),
			mcpfake.RawTool(`{"name":"b","title":"`+title+`","inputSchema":{"type":"object"}}`))
		fakes[1].NotifyListChanged()
		w.Eventually(func() string { return titleOf(w.mustOffer("coder")) }).Should(Equal(title))
	}
	watch.Stop()
	<-done
	w.Expect(read.Load()).To(BeNumerically(">=", len(generations)))
	w.Expect(mixed.Load()).To(BeZero())
}

// titleOf is the title of the first tool that has one.
func titleOf(document sessioncatalog.Document) string {
	for _, slice := range document.Servers {
		for _, tool := range slice.Tools {
			if _, rest, ok := strings.Cut(string(tool.Entry), `"title":"`); ok {
				title, _, _ := strings.Cut(rest, `"`)
				return title
			}
		}
	}
	return ""
}

// A mount by subPath is never updated: nothing that is shipped shows one.
func TestB60_NothingShippedMountsBySubPath(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(fs.WalkDir(os.DirFS("../../config"), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		content, err := fs.ReadFile(os.DirFS("../../config"), path)
		g.Expect(string(content)).NotTo(MatchRegexp(`(?m)^\s*-?\s*subPath(Expr)?:`), path)
		return err
	})).To(Succeed())
}

// Ten servers, of which one lists 12 MiB and two have more than fits beside the others.
func TestB40_OneServerNeverCostsAnAgentItsCatalog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fleetOf(7)
	for i, size := range []int{12 << 20, 1 << 20, 900 << 10} {
		fake := mcpfake.New(t, mcpfake.WithTools(noise(i, size)...), mcpfake.WithRecordLimit(5))
		w.apply(builder.MCPServer(fmt.Sprintf("big-%d", i)).URL(fake.URL()).Obj())
	}
	// What an error entry says is how the server stands when the gate opens, which does not wait for ever.
	w.await("big-0", v1alpha1.ConditionReady, "False CatalogTooLarge")
	w.ready("big-1")
	w.ready("big-2")
	w.apply(builder.AgentSession("coder").Obj())
	session := w.awaitAgent("coder", "True PartiallyAvailable")
	w.Expect(session.Status.Summary).To(Equal("8/10"))
	document := w.mustOffer("coder")
	w.Expect(errorsOf(document)).To(Equal([]string{"big-0 CatalogTooLarge", "big-1 CatalogTooLarge"}))
	w.Expect(document.Servers).To(HaveLen(8))
	w.Expect(session.Status.Catalog.Encoding).To(Equal(v1alpha1.EncodingGzip))
	w.Expect(w.configMap("coder-mcp-catalog").Data).To(HaveKey("mcp.json"), "clients read it as it is")
	version := w.version("coder-mcp-catalog")
	w.Consistently(func() string { return w.version("coder-mcp-catalog") }, 5*time.Second).Should(Equal(version))
}

// noise are tools of a size in all that does not compress.
func noise(seed, size int) []mcpfake.Tool {
	const each = 60 << 10
	var out []mcpfake.Tool
	for i := 0; i*each < size; i++ {
		var text strings.Builder
		for j := 0; text.Len() < each; j++ {
			text.WriteString(strings.TrimPrefix(string(catalog.Sum([]byte(fmt.Sprint(seed, i, j)))), "sha256:"))
		}
		out = append(out, mcpfake.RawTool(fmt.Sprintf(
			`{"name":"t-%d","description":%q,"inputSchema":{"type":"object"}}`, i, text.String()[:each])))
	}
	return out
}

// Somebody's own ConfigMap of our name is left alone; one that a former object of the same name left is taken over.
func TestAgentSessionNameConflictAndTakeover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fleetOf(1)
	theirs := builder.ConfigMap(w.namespace, "coder-mcp-catalog").Key("mine", "value").Obj()
	w.apply(theirs, builder.AgentSession("coder").Obj(), builder.AgentSession("lasting").Obj())
	session := w.awaitAgent("coder", "False NameConflict")
	w.Expect(sessionSays(session, v1alpha1.ConditionStalled)).To(Equal("True NameConflict"))
	w.Expect(w.version("coder-mcp-catalog")).To(Equal(theirs.ResourceVersion))
	w.Expect(admin.Delete(w.ctx, theirs)).To(Succeed())
	w.changeAgent("coder", func(s *v1alpha1.AgentSession) { s.Spec.ProjectConfig = v1alpha1.ToggleEnabled })
	w.awaitAgent("coder", "True AllServersAvailable")

	// While no manager runs, server and agent session are replaced by others of their names.
	w.awaitAgent("lasting", "True AllServersAvailable")
	w.manager.stop()
	server, agent := w.get("s-0"), w.agent("lasting")
	w.Expect(admin.Delete(w.ctx, server)).To(Succeed())
	w.Expect(admin.Delete(w.ctx, agent)).To(Succeed())
	w.apply(&v1alpha1.MCPServer{ObjectMeta: metav1.ObjectMeta{Name: "s-0"}, Spec: server.Spec},
		builder.AgentSession("lasting").Obj())
	w.startManager()
	w.awaitAgent("lasting", "True AllServersAvailable")
	w.Eventually(func() types.UID { return metav1.GetControllerOf(w.configMap("lasting-mcp-catalog")).UID }).
		Should(Equal(w.agent("lasting").UID))
	w.Eventually(func() types.UID { return w.ownerOf("s-0") }).Should(Equal(w.get("s-0").UID))
	w.Eventually(func() string { return fmt.Sprint(w.mustOffer("lasting").Servers[0].UID) }).
		Should(BeEquivalentTo(w.get("s-0").UID))

	w.Expect(admin.Delete(w.ctx, w.agent("lasting"))).To(Succeed())
	w.Eventually(func() bool { return w.configMap("lasting-mcp-catalog") == nil }).Should(BeTrue())
}

// Catalogs of every size reach agents, or are refused with a condition and no loop of writes.
func TestB40_SizesOfCatalogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var many []mcpfake.Tool
	for i := range 1200 {
		many = append(many, mcpfake.RawTool(fmt.Sprintf(
			`{"name":"t-%d","description":%q,"inputSchema":{"type":"object"}}`, i, strings.Repeat("word ", 400))))
	}
	heavy := mcpfake.RawTool(fmt.Sprintf(
		`{"name":"heavy","description":%q,"inputSchema":{"type":"object"}}`, strings.Repeat("x", 300<<10)))
	fake := mcpfake.New(t, mcpfake.WithTools(many...), mcpfake.WithPageSize(100), mcpfake.WithRecordLimit(5))
	one := mcpfake.New(t, mcpfake.WithTools(heavy, tools("light", 1)[0]))
	w.apply(builder.MCPServer("many").URL(fake.URL()).Obj(), builder.MCPServer("heavy").URL(one.URL()).Obj(),
		builder.AgentSession("coder").Obj())
	session := w.awaitAgent("coder", "True AllServersAvailable")
	w.Expect(session.Status.Catalog.Encoding).To(Equal(v1alpha1.EncodingGzip))
	w.Expect(serversOf(session)).To(Equal([]string{"heavy Connected 1", "many Connected 1200"}))
	withheld := w.get("heavy").Status.Warnings
	w.Expect(withheld).To(HaveLen(1))
	w.Expect(withheld[0].Type + " " + withheld[0].Tool).To(Equal("ToolTooLarge heavy"))

	fake.Await(t, func(s mcpfake.Stats) bool { return s.Streams == 1 })
	versions := []string{w.version("coder-mcp-catalog"), w.version("many-mcp-tools")}
	fake.SetTools(noise(0, 20<<20)...)
	fake.NotifyListChanged()
	w.await("many", v1alpha1.ConditionCatalogPublished, "False CatalogTooLarge")
	w.Expect(says(w.get("many"), v1alpha1.ConditionReady)).To(Equal("True Ready"), "the last good one is kept")
	writes := w.manager.writes.configMaps.Load()
	w.Consistently(func() []string {
		return []string{w.version("coder-mcp-catalog"), w.version("many-mcp-tools")}
	}, 5*time.Second).Should(Equal(versions))
	w.Expect(w.manager.writes.configMaps.Load()).To(Equal(writes), "no loop of writes")
}

// Seed rule: a server is validated, its credential resolved, connected (initialize and initialized), listed and cached.
func TestSeedRule5_FromDeclarationToStoredCatalog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithEra(mcpfake.Legacy), mcpfake.WithBearer("token-1"))
	w.apply(builder.Secret(w.namespace, "login").Key("token", "token-1").Obj(),
		builder.MCPServer("fs").URL(fake.URL()).Bearer("login", "token").Obj())
	server := w.ready("fs")
	w.Expect(says(server, v1alpha1.ConditionAccepted)).To(Equal("True Valid"))
	for _, method := range []string{"initialize", "notifications/initialized", "tools/list"} {
		w.Expect(fake.Count(method)).To(Equal(1), method)
	}
	w.Expect(server.Spec.ConnectTimeout()).To(Equal(30 * time.Second))
	w.Expect(w.stored("fs").Tools).To(HaveLen(len(mcpfake.DefaultTools())))
	w.Expect(w.configMap("fs-mcp-tools").Data["catalog.json"]).NotTo(ContainSubstring("token-1"))
}
