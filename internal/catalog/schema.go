package catalog

import (
	"net/url"
	"strings"

	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
	"github.com/mooring-dev/mooring/internal/text"
)

// Compat marks a valid tool whose input schema some model providers refuse, so that an agent can leave it out.
type Compat string

// The marks.
const (
	Conditional        Compat = "Conditional"        // if, then, else or dependent keywords somewhere
	TopLevelCombinator Compat = "TopLevelCombinator" // anyOf, oneOf, allOf or not at the root
	UsesRef            Compat = "UsesRef"            // a reference inside the schema
)

// place says what a value inside a schema is.
type place uint8

const (
	prose      place = iota // text to be read, or an extension: cleaned
	subschema               // a schema, or an array of them
	subschemas              // schemas by name
	exact                   // a value whose bytes matter: never changed
)

// places are the keywords of all drafts whose values are not prose.
var places = map[string]place{
	"additionalItems": subschema, "additionalProperties": subschema, "allOf": subschema, "anyOf": subschema,
	"contains": subschema, "contentSchema": subschema, "else": subschema, "extends": subschema, "if": subschema,
	"items": subschema, "not": subschema, "oneOf": subschema, "prefixItems": subschema, "propertyNames": subschema,
	"then": subschema, "unevaluatedItems": subschema, "unevaluatedProperties": subschema,

	"$defs": subschemas, "definitions": subschemas, "dependencies": subschemas, "dependentSchemas": subschemas,
	"patternProperties": subschemas, "properties": subschemas,

	"$anchor": exact, "$dynamicAnchor": exact, "$dynamicRef": exact, "$id": exact, "$recursiveRef": exact,
	"$ref": exact, "$schema": exact, "$vocabulary": exact, "const": exact, "contentEncoding": exact,
	"contentMediaType": exact, "default": exact, "dependentRequired": exact, "discriminator": exact, "disallow": exact,
	"enum": exact, "example": exact, "examples": exact, "format": exact, "id": exact, "pattern": exact,
	"required": exact, "type": exact,
}

// inspection is what a walk over one schema found.
type inspection struct {
	removed     int    // hidden characters removed from prose
	hides       string // a name or value that hides characters; empty when there is none
	remote      string // what a reference that is not local points at; empty when there is none
	nonStandard bool
	usesRef     bool
	conditional bool
}

// inspect walks a schema, cleans its prose in place and reports what it found.
func inspect(schema *jsontree.Node) inspection {
	var i inspection
	i.walk(schema, subschema)
	return i
}

func (i *inspection) walk(n *jsontree.Node, at place) {
	switch n.Kind {
	case jsontree.String:
		i.text(n, at)
	case jsontree.Array:
		for k := range n.Members {
			i.walk(&n.Members[k].Node, at)
		}
	case jsontree.Object:
		for k := range n.Members {
			i.member(&n.Members[k], at)
		}
	default: // null, booleans and numbers hide nothing
	}
}

func (i *inspection) text(n *jsontree.Node, at place) {
	if at == prose {
		var removed int
		n.Text, removed = text.Sanitise(n.Text)
		i.removed += removed
		return
	}
	if !cleanValue(n.Text) {
		i.hides = n.Text
	}
}

func (i *inspection) member(m *jsontree.Member, at place) {
	if !cleanName(m.Key) {
		i.hides = m.Key
	}
	// References are looked for in every place: clients that resolve them do not tell schemas from examples.
	if isRef(m.Key) && m.Kind == jsontree.String {
		i.usesRef = true
		if !strings.HasPrefix(m.Text, "#") {
			i.remote = target(m.Text)
		}
	}
	switch at {
	case subschemas:
		i.walk(&m.Node, subschema)
	case subschema:
		i.keyword(m)
		i.walk(&m.Node, places[m.Key])
	default:
		i.walk(&m.Node, at)
	}
}

func isRef(key string) bool { return key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef" }

// keyword notes what a keyword's presence or form says about the schema.
func (i *inspection) keyword(m *jsontree.Member) {
	switch m.Key {
	case "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies":
		i.conditional = true
	case "required", "exclusiveMinimum", "exclusiveMaximum":
		i.nonStandard = i.nonStandard || m.Kind == jsontree.Bool
	case "id":
		i.nonStandard = i.nonStandard || m.Kind == jsontree.String
	case "divisibleBy", "disallow", "extends":
		i.nonStandard = true
	case "$schema":
		i.nonStandard = i.nonStandard || strings.Contains(m.Text, "/draft-04/") || strings.Contains(m.Text, "/draft-03/")
	}
}

// compat returns the marks of an input schema in alphabetical order.
func (i *inspection) compat(schema *jsontree.Node) []Compat {
	var marks []Compat
	if i.conditional {
		marks = append(marks, Conditional)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "not"} {
		if schema.Get(key) != nil {
			marks = append(marks, TopLevelCombinator)
			break
		}
	}
	if i.usesRef {
		marks = append(marks, UsesRef)
	}
	return marks
}

// normaliseInput completes an input schema in place so that it describes an object, and reports whether it had to.
// The second result says why no arguments object can satisfy it; empty when one can.
func normaliseInput(schema *jsontree.Node) (changed bool, problem string) {
	switch schema.Kind {
	case jsontree.Object:
	case jsontree.Null:
		*schema = jsontree.Node{Kind: jsontree.Object}
	default:
		return false, "the inputSchema is not an object"
	}
	switch kind := schema.Get("type"); {
	case kind == nil:
		schema.Set("type", jsontree.Text("object"))
		changed = true
	case !kind.IsText("object"):
		return false, "the inputSchema's type is not object"
	}
	switch properties := schema.Get("properties"); {
	case properties == nil || properties.Kind == jsontree.Object:
	case blank(properties):
		*properties = jsontree.Node{Kind: jsontree.Object}
		changed = true
	default:
		return false, "the inputSchema's properties are not an object"
	}
	if required := schema.Get("required"); required != nil && required.Kind == jsontree.Null {
		schema.Delete("required")
		changed = true
	}
	return changed, ""
}

// outputProblem says why an output schema cannot be published; empty when it can.
func outputProblem(schema *jsontree.Node) string {
	switch {
	case schema.Kind != jsontree.Object:
		return "the outputSchema is not an object"
	case schema.Get("type") == nil:
		return "the outputSchema has no type"
	case !schema.Get("type").IsText("object"):
		return "the outputSchema's type is not object"
	}
	if p := schema.Get("properties"); p != nil && p.Kind != jsontree.Object {
		return "the outputSchema's properties are not an object"
	}
	return ""
}

// blank reports whether n is null or an empty array, which is how some languages write an empty object.
func blank(n *jsontree.Node) bool {
	return n.Kind == jsontree.Null || n.Kind == jsontree.Array && len(n.Members) == 0
}

// target shows where a reference points without user-info and query, which may be secret.
func target(ref string) string {
	u, err := url.Parse(ref)
	if err != nil {
		return "another document"
	}
	return quoted((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}
