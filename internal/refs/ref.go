package refs

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Kind is what may be referred to.
type Kind string

// The kinds.
const (
	Secret    Kind = "Secret"
	ConfigMap Kind = "ConfigMap"
)

// Ref points at one key of a Secret or ConfigMap.
type Ref struct {
	Kind      Kind
	Namespace string
	Name      string
	// Key is not looked at by Track: a watch is told of objects, not of keys.
	Key string
}

// resource is the plural that the API server knows.
func (k Kind) resource() string {
	if k == Secret {
		return "secrets"
	}
	return "configmaps"
}

func (k Kind) groupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: k.resource()}
}

// scope is what one watch covers.
type scope struct {
	namespace string
	kind      Kind
}

func (r Ref) scope() scope { return scope{namespace: r.Namespace, kind: r.Kind} }

// object is a Ref without its key.
func (r Ref) object() Ref {
	r.Key = ""
	return r
}

// owner is what refers; it is woken.
type owner = types.NamespacedName
