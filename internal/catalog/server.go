package catalog

import (
	"encoding/json"
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

// storedTools are the parts that a server's documents have in common. Keys that this release does not know are
// passed over: whoever rewrites a document replaces it whole, so a later release's additions would only go stale.
type storedTools struct {
	SchemaVersion int    `json:"schemaVersion"`
	Digest        Digest `json:"digest"`
	Tools         []struct {
		Name       string          `json:"name"`
		Digest     Digest          `json:"digest"`
		Compat     []Compat        `json:"compat"`
		Definition json.RawMessage `json:"definition"`
	} `json:"tools"`
}

// Decode reads the content of a server's ConfigMap and proves its digests. Its errors wrap ErrNoDocument, ErrMalformed,
// ErrUnsupportedVersion, ErrDigestMismatch or ErrTooLarge. Approved stays nil: DecodeBaseline reads it, because the
// list is worth having where the baseline is lost, and the other way round.
func Decode(data map[string]string, binaryData map[string][]byte) (ServerDocument, error) {
	raw, err := Unpack(CatalogKey, data, binaryData)
	if err != nil {
		return ServerDocument{}, err
	}
	var stored struct {
		storedTools
		Server     Ref    `json:"server"`
		ConfigHash string `json:"configHash"`
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		return ServerDocument{}, fmt.Errorf("%w: %s: %w", ErrMalformed, CatalogKey, err)
	}
	catalog, err := stored.verify()
	if err != nil {
		return ServerDocument{}, fmt.Errorf("%s: %w", CatalogKey, err)
	}
	return ServerDocument{Server: stored.Server, ConfigHash: stored.ConfigHash, Catalog: catalog}, nil
}

// verify returns the stored tools as a Catalog after all digests were computed anew.
func (s *storedTools) verify() (Catalog, error) {
	if err := CheckVersion(s.SchemaVersion); err != nil {
		return Catalog{}, err
	}
	var (
		parser jsontree.Parser
		out    writer
		tools  = make([]Tool, 0, len(s.Tools))
		seen   = make(map[string]bool, len(s.Tools))
	)
	for _, stored := range s.Tools {
		root, _, err := parser.Parse(stored.Definition)
		if err != nil {
			return Catalog{}, fmt.Errorf("%w: tool %s: %w", ErrMalformed, quoted(stored.Name), err)
		}
		if !root.Get("name").IsText(stored.Name) || seen[stored.Name] {
			return Catalog{}, fmt.Errorf("%w: tool %s: wrong or repeated name", ErrMalformed, quoted(stored.Name))
		}
		seen[stored.Name] = true
		definition, digest := out.write(&root)
		if digest != stored.Digest {
			return Catalog{}, fmt.Errorf("%w: tool %s", ErrDigestMismatch, quoted(stored.Name))
		}
		tools = append(tools, Tool{
			Name: stored.Name, Definition: slices.Clone(definition), Digest: digest, Compat: stored.Compat,
		})
	}
	catalog := New(tools)
	if catalog.Digest != s.Digest {
		return Catalog{}, fmt.Errorf("%w: %s is stored, %s is right", ErrDigestMismatch, quoted(string(s.Digest)),
			catalog.Digest)
	}
	return catalog, nil
}
