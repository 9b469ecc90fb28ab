package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// PermitsNamespace says whether AgentSessions of another namespace, which has these labels, may use the server.
func (s *MCPServer) PermitsNamespace(namespace labels.Set) bool {
	switch s.Spec.NamespacesFrom() {
	case NamespacesAll:
		return true
	case NamespacesSelector:
		selector, err := metav1.LabelSelectorAsSelector(s.Spec.AllowedNamespaces.Selector)
		return err == nil && selector.Matches(namespace)
	case NamespacesSame:
	}
	return false
}
