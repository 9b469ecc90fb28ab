package offer

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
	"github.com/mooring-dev/mooring/internal/text"
)

// Server is what a document says of a server.
type Server struct {
	catalog.Ref
	// UID is that of the MCPServer, so that a server that was replaced by one of the same name gets no calls.
	UID string
	// Source says where the declaration came from: "mcp:<name> via <provider>".
	Source string
	// Notes tell agents what the connection is for.
	Notes string
}

// Tool is one tool under its exposed name.
type Tool struct {
	// Name is the exposed name.
	Name    string
	RawName string
	// Entry is the tool as it stands in the document: the MCP tool object in canonical JSON, its name the exposed one,
	// with server, rawName, digest (of the tool under its raw name) and compat.
	Entry json.RawMessage
}

// Slice is one server's part of a document.
type Slice struct {
	Server
	// Tools are sorted by raw name.
	Tools []Tool
}

// NewSlice offers tools, which are of a catalog and keep its order, under the names that part, the server's
// catalog.ServerPart, gives them.
func NewSlice(server Server, part string, tools []catalog.Tool) Slice {
	server.Source, _ = text.Sanitise(server.Source)
	server.Notes, _ = text.Sanitise(server.Notes)
	slice := Slice{Server: server, Tools: make([]Tool, 0, len(tools))}
	var parser jsontree.Parser
	for _, tool := range tools {
		parser.Recycle()
		entry, _, err := parser.Parse(tool.Definition)
		if err != nil || entry.Kind != jsontree.Object {
			continue // not of a catalog
		}
		name := catalog.ExposedName(part, tool.Name)
		entry.Set("name", jsontree.Text(name))
		entry.Set("rawName", jsontree.Text(tool.Name))
		entry.Set("server", jsontree.Text(server.String()))
		entry.Set("digest", jsontree.Text(string(tool.Digest)))
		entry.Delete("compat")
		if len(tool.Compat) > 0 {
			entry.Set("compat", compatNode(tool.Compat))
		}
		size := len(tool.Definition) + len(name) + len(tool.Digest) + len(tool.Name) + len(server.Name) + 64
		slice.Tools = append(slice.Tools, Tool{Name: name, RawName: tool.Name, Entry: entry.Append(make([]byte, 0, size))})
	}
	return slice
}

func compatNode(marks []catalog.Compat) jsontree.Node {
	node := jsontree.Node{Kind: jsontree.Array}
	for _, mark := range marks {
		node.Members = append(node.Members, jsontree.Member{Node: jsontree.Text(string(mark))})
	}
	return node
}

// Filter returns the part of s that f allows by exposed name.
func (s Slice) Filter(f catalog.Filter) Slice {
	s.Tools = slices.DeleteFunc(slices.Clone(s.Tools), func(t Tool) bool { return !f.Allows(t.Name) })
	return s
}

// size is what the slice adds to a document, but for its server's entry.
func (s Slice) size() int {
	total := 0
	for _, tool := range s.Tools {
		total += len(tool.Entry) + 1
	}
	return total
}

// compareRefs orders servers as documents do.
func compareRefs(a, b catalog.Ref) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
