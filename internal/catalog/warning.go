package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/internal/text"
)

// WarningType says what is remarkable about a tool or a list.
type WarningType string

// The types. The first group leaves the tool on offer; the second withholds it; the third is about the whole list.
const (
	InputSchemaNormalised WarningType = "InputSchemaNormalised" // the inputSchema was completed so that it is an object's
	OutputSchemaDropped   WarningType = "OutputSchemaDropped"   // the outputSchema was not usable and was left out
	FieldDropped          WarningType = "FieldDropped"          // an optional field of a wrong type was left out
	NonStandardSchema     WarningType = "NonStandardSchema"     // keywords of draft 4 or earlier, kept as they are
	TextSanitised         WarningType = "TextSanitised"         // hidden or control characters were removed

	InvalidTool        WarningType = "InvalidTool"        // not a JSON object with a name, or not safe to show
	InvalidToolName    WarningType = "InvalidToolName"    // hidden or control characters in the name
	InvalidInputSchema WarningType = "InvalidInputSchema" // an inputSchema that no arguments object can satisfy
	RemoteSchemaRef    WarningType = "RemoteSchemaRef"    // a schema that would have to be fetched
	ToolTooLarge       WarningType = "ToolTooLarge"       // more than MaxToolBytes
	DuplicateTool      WarningType = "DuplicateTool"      // a second tool of one name; the first is kept

	PaginationLoop WarningType = "PaginationLoop" // the server's cursor led back to a page already read
	CatalogLarge   WarningType = "CatalogLarge"   // more tokens than agents can afford
)

// What a Warning may hold at most, in characters.
const (
	MaxWarnings       = 20
	MaxWarningTool    = 128
	MaxWarningMessage = 256
)

// Warning is one remark, ready to be shown. Tool, where the remark is about one, is the raw name, shortened.
type Warning struct {
	Type    WarningType
	Tool    string
	Message string
}

// NewWarning returns a Warning whose tool and message are cleaned and shortened to fit.
func NewWarning(kind WarningType, tool, message string) Warning {
	return Warning{Type: kind, Tool: text.Line(tool, MaxWarningTool), Message: text.Line(message, MaxWarningMessage)}
}

// Warnings are the first MaxWarnings by tool, type and message, and how many there were in all. The order does not
// depend on the order in which they arose, so a server that lists its tools in another order changes nothing.
type Warnings struct {
	Items []Warning
	Count int
}

// With returns w and more.
func (w Warnings) With(more ...Warning) Warnings {
	items := append(slices.Clone(w.Items), more...)
	slices.SortFunc(items, func(a, b Warning) int {
		return cmp.Or(
			strings.Compare(a.Tool, b.Tool),
			strings.Compare(string(a.Type), string(b.Type)),
			strings.Compare(a.Message, b.Message),
		)
	})
	return Warnings{Items: slices.Clip(items[:min(len(items), MaxWarnings)]), Count: w.Count + len(more)}
}

// quoted shows a short piece of a server's text inside a message.
func quoted(s string) string {
	const limit = 60
	return fmt.Sprintf("%q", text.Line(s, limit))
}
