package directory

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/connect"
)

// serverDocument is the content of a server's ConfigMap.
type serverDocument struct {
	document *catalog.ServerDocument // nil when it cannot be read
	approved *catalog.Baseline       // likewise, and when nothing was approved
}

// basis is what an offer of a server is made of.
type basis struct {
	stored     *corev1.ConfigMap
	uid        types.UID
	generation int64
	recorded   string
}

// Server returns an MCPServer, nil when there is none.
func (d *Directory) Server(name types.NamespacedName) *v1alpha1.MCPServer {
	server, _ := d.servers.get(name)
	return server
}

// ServerOffer is what an MCPServer offers under its own tool names; nil when there is no such server.
func (d *Directory) ServerOffer(name types.NamespacedName) *Offer {
	server := d.Server(name)
	if server == nil {
		return nil
	}
	o := &Offer{directory: d, Kind: ServerKind, Name: name, UID: server.UID, server: server}
	return o
}

// tools is the part of a server's stored list that its filter and its pin let pass; nil while nothing is stored that
// was listed under the present configuration.
func (d *Directory) tools(server *v1alpha1.MCPServer) *catalog.Catalog {
	name := named(server)
	stored, found := d.serverCatalogs.get(name)
	if !found || !belongs(stored, server) {
		return nil
	}
	from := basis{stored: stored, uid: server.UID, generation: server.Generation}
	if server.Status.Catalog != nil {
		from.recorded = server.Status.Catalog.PinnedDigest
	}
	return d.offered.of(name, from, func() *catalog.Catalog {
		read := d.serverDocuments.of(name, stored, func() *serverDocument { return readServer(stored) })
		if read.document == nil || read.document.ConfigHash != connect.Hash(&server.Spec) {
			return nil
		}
		var allow, deny []string
		if tools := server.Spec.Tools; tools != nil {
			allow, deny = tools.Allow, tools.Deny
		}
		filter, err := catalog.NewFilter(allow, deny)
		if err != nil {
			return nil // the manager says so in its status
		}
		part := d.options.Approve(&server.Spec, from.recorded, read.approved, read.document.Catalog).Offered.Filter(filter)
		return &part
	})
}

func readServer(object *corev1.ConfigMap) *serverDocument {
	out := &serverDocument{}
	if document, err := catalog.Decode(object.Data, object.BinaryData); err == nil {
		out.document = &document
	}
	if approved, err := catalog.DecodeBaseline(object.Data, object.BinaryData); err == nil {
		out.approved = &approved
	}
	return out
}

// await waits until a server's tools are known under its present configuration, or ctx ends. It returns the server as
// it is then: nil when it is gone, was replaced, or is disabled.
func (d *Directory) await(
	ctx context.Context, name types.NamespacedName, uid types.UID,
) (*v1alpha1.MCPServer, *catalog.Catalog, error) {
	for {
		change, leave := d.news.hear(serverTopic(name))
		server := d.Server(name)
		if server == nil || server.UID != uid || server.Spec.Disabled {
			leave()
			return nil, nil, nil
		}
		if tools := d.tools(server); tools != nil {
			leave()
			return server, tools, nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			leave()
			return server, nil, context.Cause(ctx)
		}
		leave()
	}
}
