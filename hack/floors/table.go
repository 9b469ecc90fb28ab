package main

import (
	"fmt"
	"os"
	"strings"
)

// The marks between which the table of floors stands in a Markdown file.
const (
	tableBegin = "<!-- floors: written by make generate from hack/floors/rules.go -->\n"
	tableEnd   = "<!-- end of floors -->\n"
)

// writeTable replaces the table of floors in the file.
func writeTable(path string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, begins := strings.Cut(string(document), tableBegin)
	_, tail, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return fmt.Errorf("%s has no marks %q and %q; put them where the table is to stand", path, tableBegin, tableEnd)
	}
	return os.WriteFile(path, []byte(head+tableBegin+floorsTable(rules)+tableEnd+tail), 0o644)
}

// floorsTable is the rules as a Markdown table.
func floorsTable(rules []rule) string {
	var out strings.Builder
	out.WriteString("\n| floor | packages | may use |\n|---|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&out, "| %d | `%s` | %s |\n", r.floor, strings.Join(r.trees, "` `"), r.mayUse)
	}
	out.WriteString("\n")
	return out.String()
}
