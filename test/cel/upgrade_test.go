package cel

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/mooring-dev/mooring/test/pace"
)

// earlier is the group under which these tests install the kinds as an earlier release might have had them: without the
// rules and bounds of today.
const earlier = "earlier.mooring.dev"

// Objects that were stored before a rule came stay usable: their status can be written and so can their labels, though
// nobody could store them today.
func TestB64_StoredObjectsSurviveNewRules(t *testing.T) {
	for _, tc := range []struct{ kind, plural, spec string }{
		{"MCPServer", "mcpservers", `{http: {url: "ftp://mcp.example.com#x", headers: [{name: "a b"}]}, ` +
			`timeouts: {connect: 5 minutes}, level: Team, tools: {allow: [""]}, calls: {maxConcurrent: 0}}`},
		{"AgentSession", "agentsessions", `{mcp: Auto, servers: {refs: [{name: A_B}, {name: A_B}], ` +
			`exclude: [{name: ""}]}, startupTimeout: 1 hour, parentRef: {}, nativeIntegrations: [Bing]}`},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			g := NewWithT(t)
			ctx := context.Background()
			today := renamed(crds(t)["mooring.dev_"+tc.plural+".yaml"])
			lenient := today.DeepCopy()
			schema := lenient.Spec.Versions[0].Schema.OpenAPIV3Schema
			schema.Properties["spec"] = relaxed(schema.Properties["spec"])
			schema.XValidations = nil
			install(t, lenient)
			t.Cleanup(func() {
				g.Expect(envtest.UninstallCRDs(restConfig, envtest.CRDInstallOptions{
					CRDs: []*apiextensionsv1.CustomResourceDefinition{today},
				})).To(Succeed())
			})
			obj := object(t, tc.kind, "stored", tc.spec)
			obj.SetAPIVersion(earlier + "/v1alpha1")
			g.Expect(k8s.Create(ctx, obj.DeepCopy())).To(Succeed())

			install(t, today)
			// The new schema holds once it refuses what the old one took.
			g.Eventually(func() error {
				another := obj.DeepCopy()
				another.SetName("another")
				return k8s.Create(ctx, another, client.DryRunAll)
			}, pace.Patience).Should(MatchError(apierrors.IsInvalid, "IsInvalid"))

			status := []byte(`{"status": {"observedGeneration": 1}}`)
			g.Expect(k8s.Status().Patch(ctx, obj, client.RawPatch("application/merge-patch+json", status))).To(Succeed())
			label := []byte(`{"metadata": {"labels": {"touched": "yes"}}}`)
			g.Expect(k8s.Patch(ctx, obj, client.RawPatch("application/merge-patch+json", label))).To(Succeed())

			g.Expect(obj.GetLabels()).To(HaveKeyWithValue("touched", "yes"))
			observed, _, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(observed).To(Equal(int64(1)))
		})
	}
}

// renamed is a CRD under the group of these tests.
func renamed(crd apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	crd.Name = crd.Spec.Names.Plural + "." + earlier
	crd.Spec.Group = earlier
	crd.Spec.Names.ShortNames, crd.Spec.Names.Categories = nil, nil
	return &crd
}

// relaxed is a schema of the same shape that refuses no value.
func relaxed(schema apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	free := apiextensionsv1.JSONSchemaProps{
		Type: schema.Type, XIntOrString: schema.XIntOrString, Properties: map[string]apiextensionsv1.JSONSchemaProps{},
	}
	for name, property := range schema.Properties {
		free.Properties[name] = relaxed(property)
	}
	if schema.Items != nil {
		items := relaxed(*schema.Items.Schema)
		free.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}
	}
	if schema.AdditionalProperties != nil {
		values := relaxed(*schema.AdditionalProperties.Schema)
		free.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &values}
		free.Properties = nil
	}
	return free
}

// install creates the CRD, or puts it in the place of the one of its name, and waits until its kind is served.
func install(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	_, err := envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{crd.DeepCopy()},
	})
	if err != nil {
		t.Fatal(err)
	}
}
