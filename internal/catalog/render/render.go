package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// OpenAI returns a JSON array for the parameter "tools" of OpenAI's Chat Completions API and of those like it. A schema
// without properties gets empty ones, because that API refuses it otherwise. The error names a tool that is no object.
func OpenAI(tools []json.RawMessage) ([]byte, error) {
	return array(tools, func(tool *jsontree.Node) jsontree.Node {
		schema := member(tool, "inputSchema")
		if schema.Kind == jsontree.Object && schema.Get("properties") == nil {
			schema.Set("properties", jsontree.Node{Kind: jsontree.Object})
		}
		function := object()
		describe(&function, tool)
		function.Set("parameters", schema)
		entry := object()
		entry.Set("type", jsontree.Text("function"))
		entry.Set("function", function)
		return entry
	})
}

// Anthropic returns a JSON array for the parameter "tools" of Anthropic's Messages API. The error names a tool that
// is no
// object.
func Anthropic(tools []json.RawMessage) ([]byte, error) {
	return array(tools, func(tool *jsontree.Node) jsontree.Node {
		entry := object()
		describe(&entry, tool)
		entry.Set("input_schema", member(tool, "inputSchema"))
		return entry
	})
}

// Markdown returns a text for people and for prompts. Text of servers stands in quotations and fenced blocks that it
// cannot leave. The error names a tool that is no object.
func Markdown(tools []json.RawMessage) (string, error) {
	var out strings.Builder
	if err := each(tools, func(tool *jsontree.Node) { markdownTool(&out, tool) }); err != nil {
		return "", err
	}
	return out.String(), nil
}

func markdownTool(out *strings.Builder, tool *jsontree.Node) {
	if out.Len() > 0 {
		out.WriteByte('\n')
	}
	fmt.Fprintf(out, "## %s\n", code(text(tool, "name")))
	if server := text(tool, "server"); server != "" {
		fmt.Fprintf(out, "\nServer %s, there called %s.\n", code(server), code(text(tool, "rawName")))
	}
	for _, key := range []string{"title", "description"} {
		if content := text(tool, key); content != "" {
			fmt.Fprintf(out, "\n> %s\n", strings.ReplaceAll(content, "\n", "\n> "))
		}
	}
	schema := member(tool, "inputSchema")
	compact := schema.Append(nil)
	pretty, err := indent(compact)
	if err != nil {
		pretty = string(compact)
	}
	fence := strings.Repeat("`", max(3, longestRun(pretty)+1))
	fmt.Fprintf(out, "\n%sjson\n%s\n%s\n", fence, pretty, fence)
}
