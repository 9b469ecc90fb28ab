package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of Mooring's kinds.
const GroupName = "mooring.dev"

var (
	// GroupVersion is the group and version of the types in this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeGroupVersion is GroupVersion under the name that generated clients expect.
	SchemeGroupVersion = GroupVersion

	// AddToScheme registers the types of this package.
	AddToScheme = schemeBuilder.AddToScheme

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &AgentSession{}, &AgentSessionList{}, &MCPServer{}, &MCPServerList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
