package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// Digest is "sha256:" and 64 hexadecimal digits.
type Digest string

const digestPrefix = "sha256:"

// Revision returns the first 12 hexadecimal digits, short enough to be read aloud; empty for an empty Digest.
func (d Digest) Revision() string {
	const length = 12
	digits := strings.TrimPrefix(string(d), digestPrefix)
	return digits[:min(length, len(digits))]
}

// Sum returns the Digest of content.
func Sum(content []byte) Digest {
	sum := sha256.Sum256(content)
	return Digest(digestPrefix + hex.EncodeToString(sum[:]))
}

// Tool is one tool of one server, as it is published.
type Tool struct {
	// Name is the raw name.
	Name string
	// Definition is the MCP tool object in canonical JSON, fields unknown to us included.
	Definition json.RawMessage
	// Digest is the SHA-256 of the canonical JSON of those of name, title, description, inputSchema, outputSchema and
	// annotations that Definition has.
	Digest Digest
	// Compat are marks in alphabetical order; nil for a plain tool.
	Compat []Compat
}

// Catalog is the set of tools that one server offers.
type Catalog struct {
	// Tools are sorted by raw name, each name once.
	Tools []Tool
	// Digest is the SHA-256 of the JSON array of ["name","digest"] pairs in the order of Tools.
	Digest Digest
	// Bytes is the length of all definitions together.
	Bytes int
	// Warnings are what Parse had to remark. They are not stored with the catalog.
	Warnings Warnings
}

// New returns the Catalog of tools, of which each has another name. It sorts tools in place and keeps them.
func New(tools []Tool) Catalog {
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	c := Catalog{Tools: tools}
	pairs := []byte{'['}
	for i, tool := range tools {
		if i > 0 {
			pairs = append(pairs, ',')
		}
		pairs = jsontree.AppendText(append(pairs, '['), tool.Name)
		pairs = append(jsontree.AppendText(append(pairs, ','), string(tool.Digest)), ']')
		c.Bytes += len(tool.Definition)
	}
	c.Digest = Sum(append(pairs, ']'))
	return c
}

// EstimatedTokens is what the tools cost in a model's context, at 4 bytes a token.
func (c Catalog) EstimatedTokens() int {
	const bytesPerToken = 4
	return c.Bytes / bytesPerToken
}

// Find returns the tool of a raw name.
func (c Catalog) Find(name string) (Tool, bool) {
	byName := func(t Tool, name string) int { return strings.Compare(t.Name, name) }
	at, ok := slices.BinarySearchFunc(c.Tools, name, byName)
	if !ok {
		return Tool{}, false
	}
	return c.Tools[at], true
}

// Select returns the part of c whose raw names keep approves of, with the same warnings.
func (c Catalog) Select(keep func(name string) bool) Catalog {
	tools := make([]Tool, 0, len(c.Tools))
	for _, tool := range c.Tools {
		if keep(tool.Name) {
			tools = append(tools, tool)
		}
	}
	if len(tools) == len(c.Tools) {
		return c
	}
	part := New(tools)
	part.Warnings = c.Warnings
	return part
}

// Filter returns the part of c that f allows by raw name.
func (c Catalog) Filter(f Filter) Catalog { return c.Select(f.Allows) }
