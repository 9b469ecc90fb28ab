package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// MaxToolBytes is the size, as sent, above which a tool is withheld.
const MaxToolBytes = 256 << 10

// Parse reads the tool objects of one server, as they were sent and in the order in which they were sent. It never
// fails: what cannot be published is withheld tool by tool, and the Catalog's warnings say why.
func Parse(tools []json.RawMessage) Catalog {
	r := reader{seen: make(map[string]bool, len(tools)), tools: make([]Tool, 0, len(tools))}
	for i, raw := range tools {
		r.entry, r.name = i+1, ""
		if tool, ok := r.read(raw); ok {
			r.seen[tool.Name] = true
			r.tools = append(r.tools, tool)
		}
	}
	catalog := New(slices.Clip(r.tools))
	catalog.Warnings = Warnings{}.With(r.warnings...)
	return catalog
}

// reader reads tools one after the other.
type reader struct {
	json     jsontree.Parser
	entry    int    // the tool's place in the list, from 1
	name     string // the tool's name, once known
	seen     map[string]bool
	tools    []Tool
	warnings []Warning
	writer   writer
}

func (r *reader) warn(kind WarningType, format string, args ...any) {
	r.warnings = append(r.warnings, NewWarning(kind, r.name, fmt.Sprintf(format, args...)))
}

// read turns one raw tool into what is published of it; false when nothing is.
func (r *reader) read(raw json.RawMessage) (Tool, bool) {
	r.json.Recycle() // of the tool before, only what was written is left
	root, removed, err := r.json.Parse(raw)
	if errors.Is(err, jsontree.ErrDepth) {
		r.name = outerName(raw)
		r.warn(InvalidTool, "entry %d of the list nests deeper than %d levels", r.entry, jsontree.MaxDepth)
		return Tool{}, false
	}
	if err != nil {
		r.warn(InvalidTool, "entry %d of the list: %v", r.entry, err)
		return Tool{}, false
	}
	if !r.identify(&root) {
		return Tool{}, false
	}
	if len(raw) > MaxToolBytes {
		r.warn(ToolTooLarge, "%d KiB, more than %d", (len(raw)+1023)>>10, MaxToolBytes>>10)
		return Tool{}, false
	}
	r.dropBadFields(&root)
	input, ok := r.readInput(&root)
	if !ok {
		return Tool{}, false
	}
	output := r.readOutput(&root)
	rest := cleanRest(&root)
	if rest.hides != "" {
		r.warn(InvalidTool, "the field name %s hides characters", quoted(rest.hides))
		return Tool{}, false
	}
	if input.nonStandard || output.nonStandard {
		r.warn(NonStandardSchema, "keywords of JSON Schema draft 4 or earlier are kept as they are")
	}
	if removed += input.removed + output.removed + rest.removed; removed > 0 {
		r.warn(TextSanitised, "%d hidden or control characters removed", removed)
	}
	return r.publish(&root, input.compat(root.Get("inputSchema"))), true
}

// outerName is the name of a tool that cannot be read whole, empty where that has none.
func outerName(raw json.RawMessage) (name string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) == nil {
		_ = json.Unmarshal(members["name"], &name) // what is no text is no name
	}
	return name
}

// identify finds the tool's name and reports whether it may be offered under it.
func (r *reader) identify(root *jsontree.Node) bool {
	if root.Kind != jsontree.Object {
		r.warn(InvalidTool, "entry %d of the list is not an object", r.entry)
		return false
	}
	name := root.Get("name")
	if name == nil || name.Kind != jsontree.String || name.Text == "" {
		r.warn(InvalidTool, "entry %d of the list has no name", r.entry)
		return false
	}
	r.name = name.Text
	switch {
	case !cleanName(r.name):
		r.warn(InvalidToolName, "hidden or control characters in the name")
	case r.seen[r.name]:
		r.warn(DuplicateTool, "listed more than once; the first is kept")
	default:
		return true
	}
	return false
}

// readInput completes and checks the input schema; false when it withholds the tool.
func (r *reader) readInput(root *jsontree.Node) (inspection, bool) {
	schema := root.Get("inputSchema")
	if schema == nil {
		root.Set("inputSchema", jsontree.Node{})
		schema = root.Get("inputSchema")
	}
	changed, problem := normaliseInput(schema)
	if problem != "" {
		r.warn(InvalidInputSchema, "%s", problem)
		return inspection{}, false
	}
	found := inspect(schema)
	switch {
	case found.remote != "":
		r.warn(RemoteSchemaRef, "the inputSchema refers to %s, which is never fetched", found.remote)
		return found, false
	case found.hides != "":
		r.warn(InvalidInputSchema, "a name or value of the inputSchema hides characters: %s", quoted(found.hides))
		return found, false
	case changed:
		r.warn(InputSchemaNormalised, "the inputSchema was completed to describe an object")
	}
	return found, true
}

// readOutput checks the output schema and leaves it out where it cannot be published.
func (r *reader) readOutput(root *jsontree.Node) inspection {
	schema := root.Get("outputSchema")
	if schema == nil {
		return inspection{}
	}
	problem := outputProblem(schema)
	found := inspect(schema)
	switch {
	case problem != "":
	case found.remote != "":
		problem = fmt.Sprintf("the outputSchema refers to %s, which is never fetched", found.remote)
	case found.hides != "":
		problem = "a name or value of the outputSchema hides characters: " + quoted(found.hides)
	default:
		return found
	}
	r.warn(OutputSchemaDropped, "%s", problem)
	root.Delete("outputSchema")
	return inspection{}
}

// optional are the fields of a tool that typed clients decode, by the kind that they expect.
var optional = map[string]jsontree.Kind{
	"title": jsontree.String, "description": jsontree.String, "annotations": jsontree.Object, "_meta": jsontree.Object,
	"icons": jsontree.Array, "execution": jsontree.Object,
}

// hints are the members of annotations that typed clients decode.
var hints = map[string]jsontree.Kind{
	"title": jsontree.String, "readOnlyHint": jsontree.Bool, "destructiveHint": jsontree.Bool,
	"idempotentHint": jsontree.Bool, "openWorldHint": jsontree.Bool,
}

// dropBadFields leaves out optional fields that would make a typed client refuse the whole list. A dropped hint falls
// back to the default of the MCP specification, which is the cautious one.
func (r *reader) dropBadFields(root *jsontree.Node) {
	if schema := root.Get("outputSchema"); schema != nil && schema.Kind == jsontree.Null {
		root.Delete("outputSchema")
	}
	r.dropUnlike(root, optional, "")
	if annotations := root.Get("annotations"); annotations != nil {
		r.dropUnlike(annotations, hints, "annotations.")
	}
}

// dropUnlike deletes the members of an object that are not of the kind expected. Null and, for an object, an empty
// array mean "absent" and are not worth a warning.
func (r *reader) dropUnlike(object *jsontree.Node, expected map[string]jsontree.Kind, prefix string) {
	object.Members = slices.DeleteFunc(object.Members, func(m jsontree.Member) bool {
		kind, known := expected[m.Key]
		if !known || m.Kind == kind {
			return false
		}
		if m.Kind != jsontree.Null && (kind != jsontree.Object || !blank(&m.Node)) {
			r.warn(FieldDropped, "%s%s is of the wrong type and was left out", prefix, m.Key)
		}
		return true
	})
}

// cleanRest cleans everything outside name and schemas.
func cleanRest(root *jsontree.Node) inspection {
	var i inspection
	for k := range root.Members {
		switch m := &root.Members[k]; m.Key {
		case "name", "inputSchema", "outputSchema":
		default:
			i.member(m, prose)
		}
	}
	return i
}

// publish writes a finished tool and its digest.
func (r *reader) publish(root *jsontree.Node, compat []Compat) Tool {
	definition, digest := r.writer.write(root)
	return Tool{Name: r.name, Definition: slices.Clone(definition), Digest: digest, Compat: compat}
}

// pinned are the fields of a tool that its digest covers.
var pinned = map[string]bool{
	"name": true, "title": true, "description": true, "inputSchema": true, "outputSchema": true, "annotations": true,
}

// writer writes tools one after the other into the same memory.
type writer struct{ whole, part []byte }

// write returns a tool object in canonical form, good until the next call, and its digest.
func (w *writer) write(root *jsontree.Node) ([]byte, Digest) {
	w.whole, w.part = append(w.whole[:0], '{'), append(w.part[:0], '{')
	for i := range root.Members {
		m := &root.Members[i]
		start := len(w.whole)
		w.whole = append(jsontree.AppendText(w.whole, m.Key), ':')
		w.whole = append(m.Append(w.whole), ',')
		if pinned[m.Key] {
			w.part = append(w.part, w.whole[start:]...)
		}
	}
	w.whole, w.part = closeObject(w.whole), closeObject(w.part)
	return w.whole, Sum(w.part)
}

// closeObject ends an object whose members each have a comma behind them.
func closeObject(members []byte) []byte {
	if last := len(members) - 1; members[last] == ',' {
		members = members[:last]
	}
	return append(members, '}')
}
