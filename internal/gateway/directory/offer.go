package directory

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
)

// Kind is what offers tools.
type Kind string

// The kinds.
const (
	SessionKind Kind = "agentsession"
	ServerKind  Kind = "mcpserver"
)

// Offer is what can be listed and called at one place, as it stands at one instant.
type Offer struct {
	Kind Kind
	Name types.NamespacedName
	// UID is of whom the upstream sessions are: the AgentSession, the oldest of its parents, or the MCPServer.
	UID types.UID
	// Reload is the value of the annotation that asked for new sessions last.
	Reload string

	directory *Directory
	session   *v1alpha1.AgentSession
	server    *v1alpha1.MCPServer
	filters   []catalog.Filter
	// closed: nothing may be called, whatever was published.
	closed bool
}

// ServiceAccounts are those who may connect besides those whom RBAC permits it.
func (o *Offer) ServiceAccounts() []v1alpha1.ServiceAccountReference {
	if o.session == nil {
		return nil
	}
	return o.session.Spec.AllowedServiceAccounts
}

// Exposure says how the tools are shown.
func (o *Offer) Exposure() v1alpha1.Exposure {
	if o.session == nil {
		return v1alpha1.ExposureTools
	}
	return o.session.Spec.ExposureMode()
}

// List is the JSON array of the tools; an empty one while nothing is published.
func (o *Offer) List() json.RawMessage {
	empty := json.RawMessage(`[]`)
	if o.server != nil {
		if tools := o.directory.tools(o.server); tools != nil {
			return listOf(definitions(tools))
		}
		return empty
	}
	if document := o.directory.published(o.session); document != nil {
		return document.list
	}
	return empty
}

func definitions(tools *catalog.Catalog) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(tools.Tools))
	for _, tool := range tools.Tools {
		out = append(out, tool.Definition)
	}
	return out
}

// Instructions tell the agent what its servers are for.
func (o *Offer) Instructions() string {
	if o.server != nil {
		return o.server.Spec.Notes
	}
	if document := o.directory.published(o.session); document != nil {
		return document.instructions
	}
	return ""
}

// Tools are those of the published catalog of an AgentSession, one by one.
func (o *Offer) Tools() []json.RawMessage {
	if o.session == nil {
		return nil
	}
	if document := o.directory.published(o.session); document != nil {
		return document.tools
	}
	return nil
}

// Document is the published catalog of an AgentSession, its tools one by one, and the digest; ok is false while
// nothing is published.
func (o *Offer) Document() (document []byte, tools []json.RawMessage, digest catalog.Digest, ok bool) {
	if o.session == nil {
		return nil, nil, "", false
	}
	published := o.directory.published(o.session)
	if published == nil {
		return nil, nil, "", false
	}
	return published.document.JSON(), published.tools, published.document.Digest, true
}

// Changed is closed when anything about the offer changes; leave ends the wait.
func (o *Offer) Changed() (change <-chan struct{}, leave func()) {
	if o.server != nil {
		return o.directory.news.hear(serverTopic(o.Name))
	}
	return o.directory.news.hear(sessionTopic(o.Name))
}

// Target is where a call leads.
type Target struct {
	Server *v1alpha1.MCPServer
	// Tool is the raw name, Definition what the server lists of it.
	Tool       string
	Definition json.RawMessage
}

// Finding says what came of looking for a tool.
type Finding int

// The findings.
const (
	// Unknown: no such tool was published here.
	Unknown Finding = iota
	// Withdrawn: it was published, and may not be called any more.
	Withdrawn
	// Pending: its server's tools are being listed, and that did not end in time.
	Pending
	// Found: it may be called.
	Found
)

// Find looks a tool up by its exposed name. It waits, until ctx ends, for a server whose tools are being listed. With
// Pending, Target names the server alone.
func (o *Offer) Find(ctx context.Context, tool string) (Target, Finding) {
	name, uid, raw, known := o.route(tool)
	if !known {
		return Target{}, Unknown
	}
	if o.withholds(tool) {
		return Target{}, Withdrawn
	}
	server, tools, err := o.directory.await(ctx, name, uid)
	switch {
	case server == nil, o.session != nil && !o.directory.permits(server, o.Name.Namespace):
		return Target{}, Withdrawn
	case err != nil:
		return Target{Server: server}, Pending
	}
	found, offered := tools.Find(raw)
	if !offered {
		if o.server != nil {
			return Target{}, Unknown
		}
		return Target{}, Withdrawn
	}
	return Target{Server: server, Tool: raw, Definition: found.Definition}, Found
}

// withholds tells whether the declaration lets a name not pass.
func (o *Offer) withholds(tool string) bool {
	return o.closed || slices.ContainsFunc(o.filters, func(f catalog.Filter) bool { return !f.Allows(tool) })
}

// route is which tool of which server a name stands for.
func (o *Offer) route(tool string) (server types.NamespacedName, uid types.UID, raw string, known bool) {
	if o.server != nil {
		return o.Name, o.server.UID, tool, true
	}
	document := o.directory.published(o.session)
	if document == nil {
		return types.NamespacedName{}, "", "", false
	}
	route, known := document.routes[tool]
	return types.NamespacedName{Namespace: route.Server.Namespace, Name: route.Server.Name}, types.UID(route.UID),
		route.RawName, known
}

// Whole is the MCPServer of an offer that has one, for what is no call of a tool.
func (o *Offer) Whole() Target { return Target{Server: o.server} }

// Patience is how long a call of the tool may wait for its server.
func (o *Offer) Patience(tool string) time.Duration {
	name, _, _, known := o.route(tool)
	server := o.directory.Server(name)
	if !known || server == nil {
		return v1alpha1.DefaultCallTimeout
	}
	return server.Spec.CallTimeout()
}
