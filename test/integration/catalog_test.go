package integration

import (
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// tools are n tools that do nothing, named prefix-0 and so on.
func tools(prefix string, n int) []mcpfake.Tool {
	out := make([]mcpfake.Tool, 0, n)
	for i := range n {
		out = append(out, mcpfake.RawTool(fmt.Sprintf(`{"name":"%s-%d","inputSchema":{"type":"object"}}`, prefix, i)))
	}
	return out
}

// stored reads the catalog that agents get.
func (w *world) stored(name string) catalog.Catalog {
	w.t.Helper()
	object := w.configMap(name + "-mcp-tools")
	w.Expect(object).NotTo(BeNil())
	document, err := catalog.Decode(object.Data, object.BinaryData)
	w.Expect(err).NotTo(HaveOccurred())
	return document.Catalog
}

func toolCount(server *v1alpha1.MCPServer) int {
	if server.Status.Catalog == nil || server.Status.Catalog.ToolCount == nil {
		return -1
	}
	return int(*server.Status.Catalog.ToolCount)
}

func warningTypes(server *v1alpha1.MCPServer) []string {
	var out []string
	for _, warning := range server.Status.Warnings {
		out = append(out, warning.Type)
	}
	return out
}

// A page that leads back to itself ends the list; every tool is there once.
func TestB24_CursorThatNeverEnds(t *testing.T) {
	t.Parallel()
	t.Run("the last page leads to itself", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		fake := mcpfake.New(t, mcpfake.WithTools(tools("t", 8)...))
		fake.SetPaging(8, mcpfake.Loop)
		w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
		server := w.ready("fs")
		w.Expect(toolCount(server)).To(Equal(8))
		w.Expect(warningTypes(server)).To(Equal([]string{"PaginationLoop"}))
		w.Expect(fake.Count("tools/list")).To(Equal(2))
	})
	t.Run("an empty cursor is the end", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		fake := mcpfake.New(t, mcpfake.WithTools(tools("t", 8)...))
		fake.SetPaging(8, mcpfake.Empty)
		w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
		server := w.ready("fs")
		w.Expect(toolCount(server)).To(Equal(8))
		w.Expect(server.Status.Warnings).To(BeEmpty())
		w.Expect(fake.Count("tools/list")).To(Equal(1))
	})
	t.Run("new tools for ever", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		fake := mcpfake.New(t)
		fake.SetPaging(50, mcpfake.Endless)
		w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
		server := w.await("fs", v1alpha1.ConditionReady, "False CatalogTooLarge")
		w.Expect(says(server, v1alpha1.ConditionStalled)).To(Equal("True CatalogTooLarge"))
		w.Expect(w.configMap("fs-mcp-tools")).To(BeNil())
	})
}

func TestB25_AllPagesAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithTools(tools("t", 101)...), mcpfake.WithPageSize(50))
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
	server := w.ready("fs")
	w.Expect(toolCount(server)).To(Equal(101))
	w.Expect(w.stored("fs").Tools).To(HaveLen(101))
	w.Expect(fake.Count("tools/list")).To(Equal(3))

	// A page that fails fails the pass: what was published before stays whole.
	digest := w.stored("fs").Digest
	fake.SetTools(tools("u", 120)...)
	fake.Fault(mcpfake.List, mcpfake.Forever, mcpfake.Status(500, nil, "no"), mcpfake.Skip(1))
	fake.NotifyListChanged()
	failing := w.await("fs", v1alpha1.ConditionCatalogPublished, "False ListToolsFailed")
	w.Expect(says(failing, v1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.Expect(w.stored("fs").Digest).To(Equal(digest))
}

// 200 notifications are a few lists, and one change is one write.
func TestB26_StormOfListChanged(t *testing.T) {
	t.Parallel()
	for name, era := range eras {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			fake := mcpfake.New(t, mcpfake.WithEra(era))
			w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
			w.ready("fs")
			fake.Await(t, func(s mcpfake.Stats) bool { return s.Streams == 1 })
			lists, written := fake.Count("tools/list"), w.manager.writes.configMaps.Load()
			for range 199 {
				fake.NotifyListChanged()
			}
			fake.AddTool(mcpfake.RawTool(`{"name":"late","inputSchema":{"type":"object"}}`))
			fake.NotifyListChanged()
			w.Eventually(func() bool { _, ok := w.stored("fs").Find("late"); return ok }).Should(BeTrue())
			w.Expect(fake.Count("tools/list") - lists).To(BeNumerically("<=", 2))
			w.Expect(w.manager.writes.configMaps.Load() - written).To(BeEquivalentTo(1))
		})
	}
}

// A server that lists nothing while it warms up is asked again before that is believed; nothing empty is published.
func TestB28_EmptyWhileWarmingUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithTools(tools("t", 12)...))
	fake.Fault(mcpfake.List, 2, mcpfake.NoTools())
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
	server := w.await("fs", v1alpha1.ConditionCatalogPublished, "False EmptyCatalog")
	w.Expect(says(server, v1alpha1.ConditionReady)).To(Equal("False EmptyCatalog"))
	w.Expect(w.configMap("fs-mcp-tools")).To(BeNil())
	w.Expect(toolCount(w.ready("fs"))).To(Equal(12))
	w.Expect(w.manager.writes.configMaps.Load()).To(BeEquivalentTo(1))
}

func TestB31_ServerWithoutTools(t *testing.T) {
	t.Parallel()
	t.Run("no tools capability", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		fake := mcpfake.New(t, mcpfake.WithCapabilities(`{"resources":{}}`))
		w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
		server := w.ready("fs")
		w.Expect(says(server, v1alpha1.ConditionCatalogPublished)).To(Equal("True NoTools"))
		w.Expect(toolCount(server)).To(BeZero())
		w.Expect(fake.Count("tools/list")).To(BeZero())
	})
	t.Run("tools/list is not known", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		fake := mcpfake.New(t)
		fake.Fault(mcpfake.List, mcpfake.Forever, mcpfake.RPC(-32601, "Method not found", ""))
		w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
		server := w.ready("fs")
		w.Expect(says(server, v1alpha1.ConditionCatalogPublished)).To(Equal("True NoTools"))
		w.Expect(fake.Count("tools/list")).To(Equal(1))
	})
}

// A list that hangs is told as such; with a catalog from before, the server stays Ready.
func TestB21_ListThatNeverEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithTools(tools("t", 3)...))
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Mutate(func(s *v1alpha1.MCPServer) {
		s.Spec.Timeouts = &v1alpha1.Timeouts{List: seconds(1)}
	}).Obj())
	w.ready("fs")
	mend := fake.Fault(mcpfake.List, mcpfake.Forever, mcpfake.Hang())
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Streams == 1 })
	fake.NotifyListChanged()
	server := w.await("fs", v1alpha1.ConditionCatalogPublished, "False ListToolsTimeout")
	w.Expect(says(server, v1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.Expect(toolCount(server)).To(Equal(3))
	mend()
	fake.Release()
	w.await("fs", v1alpha1.ConditionCatalogPublished, "True Published")
}

// What the user's own ConfigMap holds is never touched; the condition says what to do, and the server comes back when
// it was done.
func TestNameConflictLeavesForeignConfigMapAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t)
	own := builder.ConfigMap(w.namespace, "fs-mcp-tools").Key("mine", "value").Obj()
	w.apply(own, builder.MCPServer("fs").URL(fake.URL()).Obj())
	server := w.await("fs", v1alpha1.ConditionReady, "False NameConflict")
	w.Expect(says(server, v1alpha1.ConditionStalled)).To(Equal("True NameConflict"))
	w.Expect(w.configMap("fs-mcp-tools").ResourceVersion).To(Equal(own.ResourceVersion))
	w.Expect(admin.Delete(w.ctx, own)).To(Succeed())
	w.change("fs", func(s *v1alpha1.MCPServer) { s.Spec.Notes = "look again" })
	w.ready("fs")
}

// A catalog that somebody damaged or deleted is put right.
func TestDamagedCatalogIsWrittenAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithTools(tools("t", 3)...))
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
	w.ready("fs")
	digest := w.stored("fs").Digest
	object := w.configMap("fs-mcp-tools")
	object.Data["catalog.json"] = `{"schemaVersion":1,"tools":[]}`
	w.Expect(admin.Update(w.ctx, object)).To(Succeed())
	w.Eventually(func() string {
		return digestOf(w.configMap("fs-mcp-tools").Data["catalog.json"])
	}).Should(BeEquivalentTo(digest))
	w.Expect(admin.Delete(w.ctx, w.configMap("fs-mcp-tools"))).To(Succeed())
	w.Eventually(func() bool { return w.configMap("fs-mcp-tools") != nil }).Should(BeTrue())
	w.Expect(w.stored("fs").Digest).To(Equal(digest))
}

// digestOf is the digest that a document claims.
func digestOf(document string) string {
	var claimed struct{ Digest string }
	_ = json.Unmarshal([]byte(document), &claimed) // empty when it is none
	return claimed.Digest
}
