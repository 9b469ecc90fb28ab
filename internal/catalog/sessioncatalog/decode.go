package sessioncatalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// Decode reads the content of an agent session's ConfigMap and proves its digest. Its errors wrap those of
// catalog.Decode. Members that this release does not know are covered by the digest and otherwise passed over.
func Decode(data map[string]string, binaryData map[string][]byte) (Document, error) {
	root, err := catalog.Read(catalog.CatalogKey, data, binaryData)
	if err != nil {
		return Document{}, err
	}
	digest, err := verify(&root)
	if err != nil {
		return Document{}, err
	}
	return read(&root, digest)
}

func malformed(what string) error { return fmt.Errorf("%w: %s", catalog.ErrMalformed, what) }

// verify computes the digest of a document anew.
func verify(root *jsontree.Node) (catalog.Digest, error) {
	body := jsontree.Node{Kind: jsontree.Object}
	for _, m := range root.Members {
		if m.Key != "digest" && m.Key != "revision" && m.Key != "errors" {
			body.Members = append(body.Members, m)
		}
	}
	digest := catalog.Sum(body.Append(nil))
	if !root.Get("digest").IsText(string(digest)) || !root.Get("revision").IsText(digest.Revision()) {
		return "", fmt.Errorf("%w: %s is right", catalog.ErrDigestMismatch, digest)
	}
	return digest, nil
}

// reader reads members of known kinds.
type reader struct{ jsontree.Reader }

// ref returns a member that must be "namespace/name".
func (r *reader) ref(object *jsontree.Node, key string) catalog.Ref {
	namespace, name, ok := strings.Cut(r.Text(object, key), "/")
	r.Bad = r.Bad || !ok
	return catalog.Ref{Namespace: namespace, Name: name}
}

// named returns the namespace and name that are members of object.
func (r *reader) named(object *jsontree.Node) catalog.Ref {
	return catalog.Ref{Namespace: r.Text(object, "namespace"), Name: r.Text(object, "name")}
}

// read turns a verified document into values.
func read(root *jsontree.Node, digest catalog.Digest) (Document, error) {
	var r reader
	d := Document{Digest: digest, Session: r.named(r.Object(root, "session"))}
	for _, item := range r.Items(root, "servers") {
		d.Servers = append(d.Servers, ServerEntry{ServerInfo: ServerInfo{
			Ref: r.named(&item.Node), UID: r.Text(&item.Node, "uid"),
			Source: r.OptionalText(&item.Node, "source"), Notes: r.OptionalText(&item.Node, "notes"),
		}})
	}
	for _, item := range r.Items(root, "errors") {
		e := Error{Reason: r.Text(&item.Node, "reason")}
		if item.Get("server") != nil {
			e.Server = r.ref(&item.Node, "server")
		}
		d.Errors = append(d.Errors, e)
	}
	inOrder := slices.IsSortedFunc(d.Servers, func(a, b ServerEntry) int {
		return cmp.Or(compareRefs(a.Ref, b.Ref), 1) // none twice
	})
	if r.Bad || !inOrder {
		return Document{}, malformed("servers or errors of another form")
	}
	if !r.tools(root, &d) {
		return Document{}, malformed("tools of another form")
	}
	return d, nil
}

// tools hands every tool to its server's entry; false when one has none, or a name of another's.
func (r *reader) tools(root *jsontree.Node, d *Document) bool {
	seen := map[string]bool{}
	for _, item := range r.Items(root, "tools") {
		tool := Tool{Name: r.Text(&item.Node, "name"), RawName: r.Text(&item.Node, "rawName")}
		server := r.ref(&item.Node, "server")
		at, known := d.find(server)
		if r.Bad || !known || seen[tool.Name] {
			return false
		}
		seen[tool.Name] = true
		tool.Entry = item.Append(nil)
		d.Servers[at].Tools = append(d.Servers[at].Tools, tool)
	}
	return !r.Bad
}
