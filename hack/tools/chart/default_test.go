package chart

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomized is `kubectl kustomize` of a folder of config/.
func kustomized(t *testing.T, dir string) objects {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), configDir+"/"+dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, string(manifest))
}

// bare is an object without what Helm alone puts on it.
func bare(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	for _, name := range []string{
		"app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart",
	} {
		unstructured.RemoveNestedField(o.Object, "metadata", "labels", name)
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "helm.sh/resource-policy")
	for _, field := range []string{"labels", "annotations"} {
		if kept, _, _ := unstructured.NestedMap(o.Object, "metadata", field); len(kept) == 0 {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
	}
	return o.Object
}

// compare fails unless both hold the same objects.
func compare(t *testing.T, got, want objects) {
	t.Helper()
	if diff := gocmp.Diff(want.names(), got.names()); diff != "" {
		t.Errorf("objects of config (-) and chart (+):\n%s", diff)
	}
	for name, o := range want {
		if got[name] == nil {
			continue // told above
		}
		if diff := gocmp.Diff(bare(o), bare(got[name])); diff != "" {
			t.Errorf("%s of config (-) and chart (+):\n%s", name, diff)
		}
	}
}

func TestDefaultsAreConfigDefault(t *testing.T) {
	want := kustomized(t, "default")
	if want["Namespace "+namespace] == nil {
		t.Fatalf("config/default has no namespace among %q", want.names())
	}
	delete(want, "Namespace "+namespace) // the one object that Helm makes itself, or finds
	compare(t, render(t, ""), want)
}

func TestSecretNamespacesAreConfigSecretReader(t *testing.T) {
	want := kustomized(t, "rbac/secret-reader")
	binding := want["RoleBinding mooring-secret-reader"]
	binding.SetNamespace("team-a")

	got, plain := render(t, "secretNamespaces: [team-a, team-b]"), render(t, "")
	for name := range plain {
		delete(got, name)
	}
	other := binding.DeepCopy()
	other.SetNamespace("team-b")
	compare(t, got, objects{key(binding): binding, key(other): other})
}

func TestEveryObjectIsLabelled(t *testing.T) {
	for name, o := range render(t, everything) {
		labels := o.GetLabels()
		want := map[string]string{
			"app.kubernetes.io/instance":   "mooring",
			"app.kubernetes.io/version":    "latest",
			"app.kubernetes.io/managed-by": "Helm",
			"helm.sh/chart":                "mooring-0.1.0",
		}
		for label, value := range want {
			if labels[label] != value {
				t.Errorf("%s: label %s is %q, want %q", name, label, labels[label], value)
			}
		}
	}
}

func TestCRDsStayUnlessToldOtherwise(t *testing.T) {
	for text, want := range map[string]string{"": "keep", "crds: {keep: false}": ""} {
		var crds []string
		for name, o := range render(t, text) {
			if o.GetKind() != "CustomResourceDefinition" {
				continue
			}
			crds = append(crds, name)
			if got := o.GetAnnotations()["helm.sh/resource-policy"]; got != want {
				t.Errorf("%q: resource policy of %s is %q, want %q", text, name, got, want)
			}
		}
		if !slices.Contains(crds, "CustomResourceDefinition mcpservers.mooring.dev") {
			t.Errorf("%q: CRDs %q", text, crds)
		}
	}
	for name, o := range render(t, "crds: {install: false}") {
		if o.GetKind() == "CustomResourceDefinition" {
			t.Errorf("crds.install is false, and there is %s", name)
		}
	}
}
