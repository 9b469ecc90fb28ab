package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/catalog"
)

func TestWarningsAreBoundedAndInOrder(t *testing.T) {
	var tools []string
	for i := range 50 {
		tools = append(tools, fmt.Sprintf(`{"name":"t%02d"}`, 49-i))
	}
	w := catalog.Parse(list(tools...)).Warnings
	equal(t, "count", w.Count, 50)
	equal(t, "items", len(w.Items), catalog.MaxWarnings)
	for i, item := range w.Items {
		equal(t, "tool", item.Tool, fmt.Sprintf("t%02d", i))
	}
	more := w.With(catalog.NewWarning(catalog.PaginationLoop, "", "the cursor leads back"))
	equal(t, "count", more.Count, 51)
	equal(t, "items", len(more.Items), catalog.MaxWarnings)
	equal(t, "first", more.Items[0], catalog.Warning{Type: catalog.PaginationLoop, Message: "the cursor leads back"})
	equal(t, "before", w.Items[0].Tool, "t00")
}

func TestWarningsDoNotDependOnTheOrderTheyCameIn(t *testing.T) {
	a := catalog.NewWarning(catalog.TextSanitised, "a", "1")
	b := catalog.NewWarning(catalog.InvalidTool, "a", "2")
	c := catalog.NewWarning(catalog.InvalidTool, "a", "1")
	want := []catalog.Warning{c, b, a}
	equal(t, "at once", catalog.Warnings{}.With(a, b, c).Items, want)
	equal(t, "one by one", catalog.Warnings{}.With(b).With(c).With(a).Items, want)
}

func TestServersTextIsShortenedAndCleanedInWarnings(t *testing.T) {
	w := catalog.NewWarning(catalog.InvalidTool, strings.Repeat("数", 500)+"\u202e",
		"a\n b\u200b\x1b"+strings.Repeat("x", 5000))
	equal(t, "tool", w.Tool, strings.Repeat("数", catalog.MaxWarningTool-1)+"…")
	equal(t, "message", w.Message, "a b"+strings.Repeat("x", catalog.MaxWarningMessage-4)+"…")

	c := catalog.Parse(list(`{"name":"` + strings.Repeat("n", 4000) + `","inputSchema":{"$ref":"http://x.test/` +
		strings.Repeat("p", 4000) + `"}}`))
	at := slices.IndexFunc(c.Warnings.Items, func(w catalog.Warning) bool { return w.Type == catalog.RemoteSchemaRef })
	equal(t, "message", c.Warnings.Items[at].Message,
		`the inputSchema refers to "http://x.test/`+strings.Repeat("p", 45)+`…", which is never fetched`)
}
