package config

import (
	"embed"
	"fmt"
	"io/fs"
	"path"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Who and where the manager is.
const (
	// Namespace is the namespace that Mooring is installed into by default.
	Namespace = "mooring-system"
	// ManagerServiceAccount is the manager's service account in that namespace.
	ManagerServiceAccount = "mooring-manager"
	// GatewayServiceAccount is the gateway's.
	GatewayServiceAccount = "mooring-gateway"
)

//go:embed crd/bases/*.yaml rbac/*.yaml rbac/secret-reader/*.yaml manager/namespace.yaml
//go:embed gateway/rbac/*.yaml
var files embed.FS

// CRDs returns the CustomResourceDefinitions, by file name.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	all, err := objects("crd/bases")
	if err != nil {
		return nil, err
	}
	out := make([]*apiextensionsv1.CustomResourceDefinition, len(all))
	for i, o := range all {
		out[i] = &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out[i]); err != nil {
			return nil, fmt.Errorf("CRD %s: %w", o.GetName(), err)
		}
	}
	return out, nil
}

// Access returns the namespace, the manager's service account, and its roles and bindings, in an order that they can be
// applied in. None of them permits to read Secrets.
func Access() ([]*unstructured.Unstructured, error) {
	namespace, err := object("manager/namespace.yaml")
	if err != nil {
		return nil, err
	}
	rules, err := objects("rbac")
	if err != nil {
		return nil, err
	}
	return append([]*unstructured.Unstructured{namespace}, rules...), nil
}

// GatewayAccess returns the gateway's service account, and its role and bindings, in an order that they can be applied
// in after Access.
func GatewayAccess() ([]*unstructured.Unstructured, error) { return objects("gateway/rbac") }

// SecretReader returns the RoleBinding that lets the manager read the Secrets of one namespace.
func SecretReader(namespace string) (*unstructured.Unstructured, error) {
	binding, err := object("rbac/secret-reader/role_binding.yaml")
	if err != nil {
		return nil, err
	}
	binding.SetNamespace(namespace)
	return binding, nil
}

// objects returns the objects of a folder's files, one each, without those of folders below it.
func objects(dir string) ([]*unstructured.Unstructured, error) {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return nil, fmt.Errorf("manifests: %w", err)
	}
	var all []*unstructured.Unstructured
	for _, entry := range entries {
		if entry.IsDir() || entry.Name() == "kustomization.yaml" {
			continue
		}
		o, err := object(path.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func object(file string) (*unstructured.Unstructured, error) {
	raw, err := files.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("manifests: %w", err)
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(raw, &o.Object); err != nil {
		return nil, fmt.Errorf("manifest %s: %w", file, err)
	}
	return o, nil
}
