package cel

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
)

// maxCRDBytes keeps a CRD well below the 256 KiB of annotations, where a plain kubectl apply keeps a copy of it.
const maxCRDBytes = 200 << 10

// crds reads the CRDs as they are shipped.
func crds(t *testing.T) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(crdDir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs in %s: %v", crdDir, err)
	}
	all := map[string]apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = crd
	}
	return all
}

// walk visits a schema and everything in it. A path reads like spec.http.headers[].name.
func walk(path string, schema apiextensionsv1.JSONSchemaProps, visit func(string, apiextensionsv1.JSONSchemaProps)) {
	visit(path, schema)
	for name, property := range schema.Properties {
		walk(strings.TrimPrefix(path+"."+name, "."), property, visit)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		walk(path+"[]", *schema.Items.Schema, visit)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		walk(path+"{}", *schema.AdditionalProperties.Schema, visit)
	}
}

// eachSchema visits every part of every version of every CRD.
func eachSchema(t *testing.T, visit func(kind, path string, schema apiextensionsv1.JSONSchemaProps)) {
	t.Helper()
	for _, crd := range crds(t) {
		for _, version := range crd.Spec.Versions {
			walk("", *version.Schema.OpenAPIV3Schema, func(path string, schema apiextensionsv1.JSONSchemaProps) {
				visit(crd.Spec.Names.Kind, path, schema)
			})
		}
	}
}

func TestCRDsAreSmallEnoughForAPlainApply(t *testing.T) {
	for file := range crds(t) {
		info, err := os.Stat(filepath.Join(crdDir, file))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(info.Size()).To(BeNumerically("<", maxCRDBytes), file)
	}
}

// Every rule of the CRDs is refused by a case of this package, with its message.
func TestEveryRuleHasARefusal(t *testing.T) {
	server := slices.Concat(urlRefusals, httpRefusals, specRefusals)
	for _, f := range durationFields {
		server = append(server, f.refused()...)
	}
	tested := map[string]map[string]bool{
		"MCPServer":    messages(server, nameLength, nameDots, headerOurs, callMaxBelow),
		"AgentSession": messages(sessionRefusals, nameLength, nameDots),
	}

	eachSchema(t, func(kind, path string, schema apiextensionsv1.JSONSchemaProps) {
		for _, rule := range schema.XValidations {
			if !tested[kind][rule.Message] {
				t.Errorf("no case is refused by the rule of %s %q: %s", kind, path, rule.Message)
			}
		}
	})
}

// messages are what the cases are refused with, without fields and values, and those of further tests.
func messages(cases []refused, further ...string) map[string]bool {
	all := map[string]bool{}
	for _, message := range further {
		all[message] = true
	}
	for _, tc := range cases {
		for _, text := range tc.want {
			_, message, _ := strings.Cut(text, ": Invalid value: ")
			if quoted, rest, ok := strings.Cut(message, `": `); ok && strings.HasPrefix(quoted, `"`) {
				message = rest
			}
			all[message] = true
		}
	}
	return all
}

// What is stored is what was sent: nothing has a default but the mark of an object that was never acted on.
func TestB65_NoFieldHasADefault(t *testing.T) {
	eachSchema(t, func(kind, path string, schema apiextensionsv1.JSONSchemaProps) {
		if schema.Default == nil {
			return
		}
		g := NewWithT(t)
		g.Expect(path).To(Equal("status"), kind)
		g.Expect(string(schema.Default.Raw)).To(MatchJSON(`{"observedGeneration": -1}`))
	})
}

// Everything is bounded, so that no object grows without end and rules cost little. Types that Kubernetes shares are
// bounded as it bounds them.
func TestEverythingIsBounded(t *testing.T) {
	shared := []string{
		"apiVersion", "kind", "status.conditions[].", "spec.allowedNamespaces.selector.", "spec.stdio.resources.",
		"spec.servers.selector.",
	}
	eachSchema(t, func(kind, path string, schema apiextensionsv1.JSONSchemaProps) {
		for _, prefix := range shared {
			if strings.HasPrefix(path, prefix) {
				return
			}
		}
		switch {
		case schema.Type == "string" && schema.MaxLength == nil && schema.Enum == nil && schema.Format == "":
			t.Errorf("string %s of %s has no maxLength", path, kind)
		case schema.Type == "array" && schema.MaxItems == nil:
			t.Errorf("list %s of %s has no maxItems", path, kind)
		case schema.Type == "array" && schema.XListType == nil:
			t.Errorf("list %s of %s has no x-kubernetes-list-type", path, kind)
		}
	})
}

func TestB64_NoStatusFieldIsRequired(t *testing.T) {
	eachSchema(t, func(kind, path string, schema apiextensionsv1.JSONSchemaProps) {
		ours := strings.HasPrefix(path, "status") && !strings.HasPrefix(path, "status.conditions[]")
		if ours && len(schema.Required)+len(schema.Enum) > 0 {
			t.Errorf("%s of %s requires %v and admits only %v", path, kind, schema.Required, schema.Enum)
		}
	})
}

func TestEveryFieldIsDocumented(t *testing.T) {
	eachSchema(t, func(kind, path string, schema apiextensionsv1.JSONSchemaProps) {
		inner := strings.HasSuffix(path, "[]") || strings.HasSuffix(path, "{}") || path == "metadata"
		if !inner && schema.Description == "" {
			t.Errorf("%s of %s has no description", path, kind)
		}
	})
}

func TestShortNameAndCategory(t *testing.T) {
	g := NewWithT(t)
	client, err := discovery.NewDiscoveryClientForConfig(restConfig)
	g.Expect(err).NotTo(HaveOccurred())

	list, err := client.ServerResourcesForGroupVersion(mooringv1alpha1.GroupVersion.String())
	g.Expect(err).NotTo(HaveOccurred())

	resources := map[string]metav1.APIResource{}
	for _, resource := range list.APIResources {
		resources[resource.Name] = resource
	}
	for plural, short := range map[string]string{"mcpservers": "mcps", "agentsessions": "asess"} {
		g.Expect(resources).To(HaveKey(plural + "/status"))
		g.Expect(resources).To(HaveKeyWithValue(plural, And(
			HaveField("ShortNames", []string{short}),
			HaveField("Categories", []string{"mooring"}),
			HaveField("Namespaced", true),
		)))
	}
}

// The columns of `kubectl get mcpservers`, as the API server fills them.
func TestPrinterColumns(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	obj := builder.MCPServer("status").Namespace(namespace).URL("https://mcp.example.com/mcp").Obj()
	g.Expect(k8s.Create(ctx, obj)).To(Succeed())
	t.Cleanup(func() { g.Expect(k8s.Delete(ctx, obj)).To(Succeed()) })
	g.Expect(applyStatus(ctx, fullStatus())).To(Succeed())

	table := tableOf(t, "mcpservers", "status")

	narrow, wide := columns(table)
	g.Expect(narrow).To(Equal([]string{"Name", "Transport", "Tools", "Ready", "Reason", "Age"}))
	g.Expect(wide).To(Equal(append(slices.Clone(narrow), "Retry-at", "Message")))
	g.Expect(table.Rows).To(HaveLen(1))
	g.Expect(table.Rows[0].Cells).To(HaveExactElements("status", "HTTP", BeEquivalentTo(0), "False",
		"AuthenticationFailed", Not(BeEmpty()), "2026-07-28T12:00:00Z", "the server answered 401"))
}

// columns are the names of a table's columns: those of kubectl get, and of kubectl get -o wide.
func columns(table *metav1.Table) (narrow, wide []string) {
	for _, column := range table.ColumnDefinitions {
		wide = append(wide, column.Name)
		if column.Priority == 0 {
			narrow = append(narrow, column.Name)
		}
	}
	return narrow, wide
}

// tableOf asks for one object as kubectl get does.
func tableOf(t *testing.T, plural, name string) *metav1.Table {
	t.Helper()
	config := rest.CopyConfig(restConfig)
	config.GroupVersion = &mooringv1alpha1.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	rc, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{}
	err = rc.Get().Namespace(namespace).Resource(plural).Name(name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		Do(context.Background()).Into(table)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
