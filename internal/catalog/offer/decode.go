package offer

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// Decode reads the content of an agent session's ConfigMap and proves its digest. Its errors wrap those of
// catalog.Decode. Members that this release does not know are covered by the digest and otherwise passed over.
func Decode(data map[string]string, binaryData map[string][]byte) (Document, error) {
	raw, err := catalog.Unpack(catalog.CatalogKey, data, binaryData)
	if err != nil {
		return Document{}, err
	}
	const wrapping = 2 // the document and its list of tools
	parser := jsontree.Parser{Room: wrapping}
	root, _, err := parser.Parse(raw)
	if err != nil {
		return Document{}, fmt.Errorf("%w: %w", catalog.ErrMalformed, err)
	}
	version := root.Get("schemaVersion")
	if version == nil || version.Kind != jsontree.Number {
		return Document{}, malformed("no schemaVersion")
	}
	number, err := strconv.Atoi(version.Text)
	if err != nil {
		return Document{}, malformed("a schemaVersion that is no whole number")
	}
	if err := catalog.CheckVersion(number); err != nil {
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

// reader reads members of known kinds and remembers whether one was of another.
type reader struct{ bad bool }

// text returns a member that must be a string.
func (r *reader) text(object *jsontree.Node, key string) string {
	if m := object.Get(key); m != nil && m.Kind == jsontree.String {
		return m.Text
	}
	r.bad = true
	return ""
}

// optional returns a member that is a string if it is there.
func (r *reader) optional(object *jsontree.Node, key string) string {
	if object.Get(key) == nil {
		return ""
	}
	return r.text(object, key)
}

// list returns the items of a member that must be an array.
func (r *reader) list(object *jsontree.Node, key string) []jsontree.Member {
	if m := object.Get(key); m != nil && m.Kind == jsontree.Array {
		return m.Members
	}
	r.bad = true
	return nil
}

// ref returns a member that must be "namespace/name".
func (r *reader) ref(object *jsontree.Node, key string) catalog.Ref {
	ref, ok := parseRef(r.text(object, key))
	r.bad = r.bad || !ok
	return ref
}

func (r *reader) named(object *jsontree.Node) catalog.Ref {
	if object == nil {
		r.bad = true
		return catalog.Ref{}
	}
	return catalog.Ref{Namespace: r.text(object, "namespace"), Name: r.text(object, "name")}
}

// read turns a verified document into values.
func read(root *jsontree.Node, digest catalog.Digest) (Document, error) {
	var r reader
	d := Document{Digest: digest, Session: r.named(root.Get("session"))}
	for _, item := range r.list(root, "servers") {
		d.Slices = append(d.Slices, Slice{Server: Server{
			Ref: r.named(&item.Node), UID: r.text(&item.Node, "uid"),
			Source: r.optional(&item.Node, "source"), Notes: r.optional(&item.Node, "notes"),
		}})
	}
	for _, item := range r.list(root, "errors") {
		e := Error{Reason: r.text(&item.Node, "reason")}
		if item.Get("server") != nil {
			e.Server = r.ref(&item.Node, "server")
		}
		d.Errors = append(d.Errors, e)
	}
	if r.bad || !strictlySorted(d.Slices) {
		return Document{}, malformed("servers or errors of another form")
	}
	if !r.tools(root, &d) {
		return Document{}, malformed("tools of another form")
	}
	return d, nil
}

// strictlySorted reports whether the slices stand as Merge puts them.
func strictlySorted(all []Slice) bool {
	for i := range all {
		if i > 0 && compareRefs(all[i-1].Ref, all[i].Ref) >= 0 {
			return false
		}
	}
	return true
}

// tools hands every tool to its server's slice; false when one has none, or a name of another's.
func (r *reader) tools(root *jsontree.Node, d *Document) bool {
	seen := map[string]bool{}
	for _, item := range r.list(root, "tools") {
		tool := Tool{Name: r.text(&item.Node, "name"), RawName: r.text(&item.Node, "rawName")}
		server := r.ref(&item.Node, "server")
		at, known := slices.BinarySearchFunc(d.Slices, server, func(s Slice, ref catalog.Ref) int {
			return compareRefs(s.Ref, ref)
		})
		if r.bad || !known || seen[tool.Name] {
			return false
		}
		seen[tool.Name] = true
		tool.Entry = item.Append(nil)
		d.Slices[at].Tools = append(d.Slices[at].Tools, tool)
	}
	return !r.bad
}
