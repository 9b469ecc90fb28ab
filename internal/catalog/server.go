package catalog

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// Ref names a server or an agent session.
type Ref struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns "namespace/name".
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// ServerDocument is what one server offered when it was last asked. It says nothing about when that was: the same
// catalog gives the same bytes.
type ServerDocument struct {
	Server Ref
	// ConfigHash identifies the configuration under which the list was obtained.
	ConfigHash string
	// Catalog is the whole list, without its warnings.
	Catalog Catalog
	// Approved is what was approved of it; nil when the server is not pinned.
	Approved *Baseline
}

// Encode returns the content of the server's ConfigMap: catalog.json, and approved.json where there is a baseline.
// Its error wraps ErrTooLarge.
func (d ServerDocument) Encode() (Encoded, error) {
	documents := map[string][]byte{CatalogKey: d.appendCatalog(make([]byte, 0, d.Catalog.Bytes+d.Catalog.Bytes/8+512))}
	if d.Approved != nil {
		documents[ApprovedKey] = d.Approved.appendJSON(nil)
	}
	return Pack(documents)
}

// appendCatalog writes catalog.json with its keys in canonical order.
func (d ServerDocument) appendCatalog(dst []byte) []byte {
	dst = jsontree.AppendText(append(dst, `{"configHash":`...), d.ConfigHash)
	dst = jsontree.AppendText(append(dst, `,"digest":`...), string(d.Catalog.Digest))
	dst = strconv.AppendInt(append(dst, `,"schemaVersion":`...), SchemaVersion, 10)
	dst = jsontree.AppendText(append(dst, `,"server":{"name":`...), d.Server.Name)
	dst = jsontree.AppendText(append(dst, `,"namespace":`...), d.Server.Namespace)
	return append(appendTools(append(dst, `},"tools":`...), d.Catalog.Tools), '}')
}

// appendTools writes the tools of a server's documents.
func appendTools(dst []byte, tools []Tool) []byte {
	dst = append(dst, '[')
	for i, tool := range tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		if len(tool.Compat) > 0 {
			dst = append(appendCompat(append(dst, `"compat":`...), tool.Compat), ',')
		}
		dst = append(append(dst, `"definition":`...), tool.Definition...)
		dst = jsontree.AppendText(append(dst, `,"digest":`...), string(tool.Digest))
		dst = append(jsontree.AppendText(append(dst, `,"name":`...), tool.Name), '}')
	}
	return append(dst, ']')
}

func appendCompat(dst []byte, marks []Compat) []byte {
	dst = append(dst, '[')
	for i, mark := range marks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontree.AppendText(dst, string(mark))
	}
	return append(dst, ']')
}

// Decode reads the content of a server's ConfigMap and proves its digests. Its errors wrap ErrNoDocument, ErrMalformed,
// ErrUnsupportedVersion, ErrDigestMismatch or ErrTooLarge. Approved stays nil: DecodeBaseline reads it, because the
// list is worth having where the baseline is lost, and the other way round. Members that this release does not know
// are passed over: who rewrites a document replaces it whole, so a later release's additions would only go stale.
func Decode(data map[string]string, binaryData map[string][]byte) (ServerDocument, error) {
	root, err := Read(CatalogKey, data, binaryData)
	if err != nil {
		return ServerDocument{}, err
	}
	var r jsontree.Reader
	server := r.Object(&root, "server")
	d := ServerDocument{
		Server:     Ref{Namespace: r.Text(server, "namespace"), Name: r.Text(server, "name")},
		ConfigHash: r.Text(&root, "configHash"),
	}
	if r.Bad {
		return ServerDocument{}, fmt.Errorf("%w: %s has another form", ErrMalformed, CatalogKey)
	}
	if d.Catalog, err = readTools(&root); err != nil {
		return ServerDocument{}, fmt.Errorf("%s: %w", CatalogKey, err)
	}
	return d, nil
}

// readTools returns the tools of a server's document as a Catalog after all digests were computed anew.
func readTools(root *jsontree.Node) (Catalog, error) {
	var (
		r     jsontree.Reader
		out   writer
		items = r.Items(root, "tools")
		tools = make([]Tool, 0, len(items))
		seen  = make(map[string]bool, len(items))
	)
	for _, item := range items {
		tool := Tool{Name: r.Text(&item.Node, "name"), Compat: readCompat(&r, &item.Node)}
		object := r.Object(&item.Node, "definition")
		if r.Bad || !object.Get("name").IsText(tool.Name) || seen[tool.Name] {
			return Catalog{}, fmt.Errorf("%w: tool %s: another form, or a wrong or repeated name", ErrMalformed,
				quoted(tool.Name))
		}
		seen[tool.Name] = true
		definition, digest := out.write(object)
		if !item.Get("digest").IsText(string(digest)) {
			return Catalog{}, fmt.Errorf("%w: tool %s", ErrDigestMismatch, quoted(tool.Name))
		}
		tool.Definition, tool.Digest = slices.Clone(definition), digest
		tools = append(tools, tool)
	}
	if r.Bad {
		return Catalog{}, fmt.Errorf("%w: no list of tools", ErrMalformed)
	}
	catalog := New(tools)
	if !root.Get("digest").IsText(string(catalog.Digest)) {
		return Catalog{}, fmt.Errorf("%w: %s is right", ErrDigestMismatch, catalog.Digest)
	}
	return catalog, nil
}

func readCompat(r *jsontree.Reader, entry *jsontree.Node) []Compat {
	if entry.Get("compat") == nil {
		return nil
	}
	var marks []Compat
	for _, item := range r.Items(entry, "compat") {
		r.Bad = r.Bad || item.Kind != jsontree.String
		marks = append(marks, Compat(item.Text))
	}
	return marks
}
