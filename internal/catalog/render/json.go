package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// each reads the tools one by one.
func each(tools []json.RawMessage, visit func(tool *jsontree.Node)) error {
	var parser jsontree.Parser
	for i, raw := range tools {
		tool, _, err := parser.Parse(raw)
		if err != nil {
			return fmt.Errorf("tool %d: %w", i+1, err)
		}
		if tool.Kind != jsontree.Object {
			return fmt.Errorf("tool %d is not an object", i+1)
		}
		visit(&tool)
	}
	return nil
}

func array(tools []json.RawMessage, convert func(tool *jsontree.Node) jsontree.Node) ([]byte, error) {
	out := []byte{'['}
	err := each(tools, func(tool *jsontree.Node) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		entry := convert(tool)
		out = entry.Append(out)
	})
	if err != nil {
		return nil, err
	}
	return append(out, ']'), nil
}

func object() jsontree.Node { return jsontree.Node{Kind: jsontree.Object} }

// describe sets name and description; a tool without a description is described by its title.
func describe(entry, tool *jsontree.Node) {
	entry.Set("name", jsontree.Text(text(tool, "name")))
	for _, key := range []string{"description", "title"} {
		if content := text(tool, key); content != "" {
			entry.Set("description", jsontree.Text(content))
			return
		}
	}
}

// member returns a copy of a member, null when there is none.
func member(tool *jsontree.Node, key string) jsontree.Node {
	if m := tool.Get(key); m != nil {
		return *m
	}
	return jsontree.Node{}
}

// text returns a member's text, empty when there is none.
func text(tool *jsontree.Node, key string) string {
	if m := tool.Get(key); m != nil && m.Kind == jsontree.String {
		return m.Text
	}
	return ""
}

func indent(compact []byte) (string, error) {
	var out bytes.Buffer
	err := json.Indent(&out, compact, "", "  ")
	return out.String(), err
}

// code writes a piece of code on one line, in as many backticks as it needs.
func code(content string) string {
	content = strings.Join(strings.Fields(content), " ")
	run := longestRun(content)
	if run == 0 {
		return "`" + content + "`"
	}
	ticks := strings.Repeat("`", run+1)
	return ticks + " " + content + " " + ticks
}

// longestRun returns the length of the longest run of backticks.
func longestRun(content string) int {
	longest, run := 0, 0
	for i := range len(content) {
		if content[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}
