package catalog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// Baseline is the set of tools that a person, or the first list, approved: with each tool's whole definition, so that
// a later change can be shown and not only detected.
type Baseline struct{ approved Catalog }

// NewBaseline approves everything that c offers.
func NewBaseline(c Catalog) Baseline {
	c.Warnings = Warnings{}
	return Baseline{approved: c}
}

// Digest identifies the baseline; it is the digest of the Catalog that was approved.
func (b Baseline) Digest() Digest { return b.approved.Digest }

// Tools returns what was approved, sorted by raw name.
func (b Baseline) Tools() []Tool { return b.approved.Tools }

// DriftKind says how a tool differs from what was approved.
type DriftKind string

// The kinds. A tool that is no longer offered has not drifted.
const (
	Changed DriftKind = "Changed"
	Added   DriftKind = "Added"
)

// DriftedTool is a tool on offer that is not as approved.
type DriftedTool struct {
	Name string
	Kind DriftKind
	// Approved is the definition that was approved, nil for Added; Current is the one on offer.
	Approved, Current json.RawMessage
}

// Drift returns the tools of current that are not as b approved them, sorted by raw name.
func (b Baseline) Drift(current Catalog) []DriftedTool {
	var drifted []DriftedTool
	for _, tool := range current.Tools {
		switch approved, known := b.approved.Find(tool.Name); {
		case !known:
			drifted = append(drifted, DriftedTool{Name: tool.Name, Kind: Added, Current: tool.Definition})
		case approved.Digest != tool.Digest:
			drifted = append(drifted, DriftedTool{
				Name: tool.Name, Kind: Changed, Approved: approved.Definition, Current: tool.Definition,
			})
		}
	}
	return drifted
}

// Hold returns the part of current that is as b approved it; the rest is withheld.
func (b Baseline) Hold(current Catalog) Catalog {
	return current.Select(func(name string) bool {
		approved, known := b.approved.Find(name)
		offered, _ := current.Find(name)
		return known && approved.Digest == offered.Digest
	})
}

// appendJSON writes approved.json with its keys in canonical order.
func (b Baseline) appendJSON(dst []byte) []byte {
	dst = jsontree.AppendText(append(dst, `{"digest":`...), string(b.approved.Digest))
	dst = strconv.AppendInt(append(dst, `,"schemaVersion":`...), SchemaVersion, 10)
	return append(appendTools(append(dst, `,"tools":`...), b.approved.Tools), '}')
}

// DecodeBaseline reads approved.json from the content of a server's ConfigMap and proves its digests. Its errors are
// those of Decode: ErrNoDocument when nothing was approved yet, any other when the baseline is lost.
func DecodeBaseline(data map[string]string, binaryData map[string][]byte) (Baseline, error) {
	root, err := Read(ApprovedKey, data, binaryData)
	if err != nil {
		return Baseline{}, err
	}
	approved, err := readTools(&root)
	if err != nil {
		return Baseline{}, fmt.Errorf("%s: %w", ApprovedKey, err)
	}
	return Baseline{approved: approved}, nil
}

// IsDigest reports whether text has the form of a Digest, so that a mistyped approval can be told from an outdated one.
func IsDigest(text string) bool {
	digits, ok := strings.CutPrefix(text, digestPrefix)
	return ok && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}
