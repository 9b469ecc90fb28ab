package directory

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
)

// sessionDocument is what was published for an AgentSession, ready to be served.
type sessionDocument struct {
	document     sessioncatalog.Document
	tools        []json.RawMessage
	list         json.RawMessage
	instructions string
	routes       map[string]sessioncatalog.Route
}

// SessionOffer is what an AgentSession offers; nil when there is no such session.
func (d *Directory) SessionOffer(name types.NamespacedName) *Offer {
	session, found := d.sessions.get(name)
	if !found {
		return nil
	}
	o := &Offer{directory: d, Kind: SessionKind, Name: name, session: session}
	root := d.inherit(o, session)
	o.UID, o.Reload = root.UID, root.Annotations[v1alpha1.AnnotationReload]
	return o
}

// inherit collects the filters of a session and its parents, and returns the oldest of them, through whose sessions
// the calls go. A filter that cannot be read, and a parent that is not there, let nothing pass.
func (d *Directory) inherit(o *Offer, session *v1alpha1.AgentSession) (root *v1alpha1.AgentSession) {
	seen := map[types.UID]bool{}
	for root = session; ; {
		seen[root.UID] = true
		o.closed = o.closed || !root.Spec.Enabled()
		if tools := root.Spec.Tools; tools != nil {
			filter, err := catalog.NewFilter(tools.Allow, tools.Deny)
			o.closed = o.closed || err != nil
			o.filters = append(o.filters, filter)
		}
		if root.Spec.ParentRef == nil {
			return root
		}
		parent, found := d.sessions.get(types.NamespacedName{Namespace: root.Namespace, Name: root.Spec.ParentRef.Name})
		if !found || seen[parent.UID] {
			o.closed = true
			return root
		}
		root = parent
	}
}

// published is what was published for a session; nil while nothing was.
func (d *Directory) published(session *v1alpha1.AgentSession) *sessionDocument {
	name := named(session)
	stored, found := d.sessionCatalogs.get(name)
	if !found || !belongs(stored, session) {
		return nil
	}
	return d.sessionDocuments.of(name, stored, func() *sessionDocument { return readSession(stored) })
}

func readSession(object *corev1.ConfigMap) *sessionDocument {
	document, err := sessioncatalog.Decode(object.Data, object.BinaryData)
	if err != nil {
		return nil // the manager puts it right
	}
	out := &sessionDocument{document: document, routes: document.Routes()}
	var notes []string
	for _, server := range document.Servers {
		for _, tool := range server.Tools {
			out.tools = append(out.tools, tool.Entry)
		}
		if server.Notes != "" {
			notes = append(notes, server.Name+": "+server.Notes)
		}
	}
	out.list = listOf(out.tools)
	out.instructions = strings.Join(notes, "\n\n")
	return out
}

// listOf is the array of MCP tools, without the members that a published document has besides.
func listOf(tools []json.RawMessage) json.RawMessage {
	list := []byte{'['}
	var parser jsontree.Parser
	for _, raw := range tools {
		parser.Recycle()
		tool, _, err := parser.Parse(raw)
		if err != nil {
			continue // not of a catalog
		}
		for _, ours := range []string{"server", "rawName", "digest", "compat"} {
			tool.Delete(ours)
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = tool.Append(list)
	}
	return append(list, ']')
}

// permits tells whether a session of the namespace may use the server.
func (d *Directory) permits(server *v1alpha1.MCPServer, namespace string) bool {
	if server.Namespace == namespace {
		return true
	}
	object, found := d.namespaces.get(types.NamespacedName{Name: namespace})
	return found && server.PermitsNamespace(labels.Set(object.Labels))
}
