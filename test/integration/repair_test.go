package integration

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// adopt has another manager of fields own all that stands in a ConfigMap, as a restored backup does, and a key more.
func (w *world) adopt(name string) {
	w.t.Helper()
	found := w.configMap(name)
	w.Expect(found).NotTo(BeNil())
	found.Data["stray"] = "x"
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": found.Namespace, "name": found.Name},
		"data":     map[string]any{},
	}}
	for key, value := range found.Data {
		w.Expect(unstructured.SetNestedField(object.Object, value, "data", key)).To(Succeed())
	}
	w.Expect(admin.Apply(w.ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("backup"),
		client.ForceOwnership)).To(Succeed())
}

// patchConfigMap changes a ConfigMap as somebody might.
func (w *world) patchConfigMap(name string, patch map[string]any) {
	w.t.Helper()
	body, err := json.Marshal(patch)
	w.Expect(err).NotTo(HaveOccurred())
	object := &corev1.ConfigMap{}
	object.Namespace, object.Name = w.namespace, name
	w.Expect(admin.Patch(w.ctx, object, client.RawPatch("application/merge-patch+json", body))).To(Succeed())
}

// keys are those of a ConfigMap's data.
func (w *world) keys(name string) []string {
	w.t.Helper()
	var keys []string
	if object := w.configMap(name); object != nil {
		for key := range object.Data {
			keys = append(keys, key)
		}
	}
	return keys
}

// Whatever others do to our ConfigMaps, readers find what status says there, and nothing else.
func TestWhatOthersDoToOurConfigMaps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithTools(tools("t", 2)...))
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj(), builder.AgentSession("coder").Obj())
	w.awaitOffer("coder", "mcp_fs_t-0", "mcp_fs_t-1")
	const offered, listed = "coder-mcp-catalog", "fs-mcp-tools"

	t.Run("another manager owns it too", func(*testing.T) {
		w.adopt(offered)
		w.adopt(listed)
		w.Eventually(func() []string { return w.keys(offered) }).Should(ConsistOf("catalog.json", "mcp.json"))
		w.Eventually(func() []string { return w.keys(listed) }).Should(ConsistOf("catalog.json"))
		w.changeAgent("coder", func(s *v1alpha1.AgentSession) {
			s.Spec.Tools = &v1alpha1.ToolFilter{Deny: []string{"*_t-1"}}
		})
		w.awaitOffer("coder", "mcp_fs_t-0")
	})
	t.Run("it loses its labels", func(*testing.T) {
		none := map[string]any{"metadata": map[string]any{"labels": nil}}
		w.patchConfigMap(offered, none)
		w.patchConfigMap(listed, none)
		for _, name := range []string{offered, listed} {
			w.Eventually(func() map[string]string { return w.configMap(name).Labels }).
				Should(HaveKeyWithValue(v1alpha1.LabelManagedBy, v1alpha1.LabelManagedByValue), name)
		}
		w.awaitOffer("coder", "mcp_fs_t-0")
	})
	t.Run("it is made immutable", func(*testing.T) {
		w.patchConfigMap(offered, map[string]any{"immutable": true})
		w.changeAgent("coder", func(s *v1alpha1.AgentSession) { s.Spec.MCP = v1alpha1.ToggleDisabled })
		session := w.awaitAgent("coder", "False PublishFailed")
		w.Expect(describeAgent(session)).To(ContainSubstring("was made immutable, so that it cannot be written; delete it"))
		w.Expect(admin.Delete(w.ctx, w.configMap(offered))).To(Succeed())
		w.awaitAgent("coder", "True Disabled")
		w.awaitOffer("coder")
	})
}
