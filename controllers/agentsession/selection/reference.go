package selection

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
)

// refer looks a reference up.
func refer(world *World, namespace string, reference v1alpha1.ServerReference) Choice {
	choice := Choice{
		Ref:      catalog.Ref{Namespace: reference.NamespaceIn(namespace), Name: reference.Name},
		Required: reference.Required, referred: true,
	}
	if choice.Namespace == namespace {
		for _, server := range world.Servers {
			if server.Name == choice.Name {
				choice.Server = server
				return choice
			}
		}
		choice.State = v1alpha1.ServerNotFound
		choice.Message = fmt.Sprintf("MCPServer %q does not exist; create it, or correct spec.servers.refs", choice.Name)
		return choice
	}
	choice.Foreign = true
	if server := world.Foreign(choice.Namespace, choice.Name); server != nil && permits(server, world.Labels) {
		choice.Server = server
		return choice
	}
	choice.State = v1alpha1.ServerNotPermitted
	choice.Message = fmt.Sprintf("namespace %q does not permit MCPServer %q to be used from namespace %q; "+
		"its spec.allowedNamespaces can", choice.Namespace, choice.Name, namespace)
	return choice
}

// permits tells whether a server may be used from another namespace, which has these labels.
func permits(server *v1alpha1.MCPServer, namespace labels.Set) bool {
	switch server.Spec.NamespacesFrom() {
	case v1alpha1.NamespacesAll:
		return true
	case v1alpha1.NamespacesSelector:
		selector, err := metav1.LabelSelectorAsSelector(server.Spec.AllowedNamespaces.Selector)
		return err == nil && selector.Matches(namespace)
	case v1alpha1.NamespacesSame:
	}
	return false
}

// leaveOut filters a server that is declared but not wanted here.
func (r *Result) leaveOut(choice *Choice, session *v1alpha1.AgentSession) {
	spec := &choice.Server.Spec
	switch {
	case spec.Disabled:
		choice.filter("the MCPServer is disabled")
	case !session.Spec.WithProjectConfig() && spec.ConfigLevel() == v1alpha1.LevelProject:
		choice.filter("the MCPServer is of level Project, and spec.projectConfig is Disabled")
	default:
		r.leaveToAgent(choice, session)
	}
}

func (c *Choice) filter(why string) { c.State, c.Message = v1alpha1.ServerFiltered, why }
