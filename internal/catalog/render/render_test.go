package render_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/catalog/render"
)

func tools() []json.RawMessage {
	return []json.RawMessage{
		[]byte(`{"name":"mcp_a_sum","rawName":"sum","server":"agents/a","title":"Sum","description":"Adds < & >` +
			`\n# not a heading",` +
			`"inputSchema":{"type":"object","properties":{"n":{"type":"number","maximum":9007199254740993,"default":1.0}}}}`),
		[]byte("{\"name\":\"odd`name\",\"title\":\"Only a title\",\"inputSchema\":" +
			"{\"type\":\"object\",\"default\":\"```\"}}"),
	}
}

func TestOpenAI(t *testing.T) {
	got, err := render.OpenAI(tools())
	want := `[{"function":{"description":"Adds < & >\n# not a heading","name":"mcp_a_sum","parameters":{"properties":` +
		`{"n":` +
		`{"default":1.0,"maximum":9007199254740993,"type":"number"}},"type":"object"}},"type":"function"},` +
		`{"function":{"description":"Only a title","name":"odd` + "`" + `name","parameters":{"default":"` + "```" +
		`","properties":{},` +
		`"type":"object"}},"type":"function"}]`
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
}

func TestAnthropic(t *testing.T) {
	got, err := render.Anthropic(tools())
	want := `[{"description":"Adds < & >\n# not a heading","input_schema":{"properties":{"n":{"default":1.0,` +
		`"maximum":9007199254740993,"type":"number"}},"type":"object"},"name":"mcp_a_sum"},` +
		`{"description":"Only a title","input_schema":{"default":"` + "```" + `","type":"object"},"name":"odd` + "`" +
		`name"}]`
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
}

func TestMarkdown(t *testing.T) {
	got, err := render.Markdown(tools())
	want := strings.Join([]string{
		"## `mcp_a_sum`", "", "Server `agents/a`, there called `sum`.", "", "> Sum", "",
		"> Adds < & >", "> # not a heading", "",
		"```json", "{", `  "properties": {`, `    "n": {`, `      "default": 1.0,`, `      "maximum": 9007199254740993,`,
		`      "type": "number"`, "    }", "  },", `  "type": "object"`, "}", "```", "",
		"## `` odd`name ``", "", "> Only a title", "", "````json", "{", "  \"default\": \"```\",", `  "type": "object"`,
		"}", "````", "",
	}, "\n")
	if err != nil || got != want {
		t.Errorf("%v\ngot:\n%s\nwant:\n%s", err, got, want)
	}
}

func TestNothingToRender(t *testing.T) {
	openAI, err1 := render.OpenAI(nil)
	anthropic, err2 := render.Anthropic(nil)
	markdown, err3 := render.Markdown(nil)
	if string(openAI) != "[]" || string(anthropic) != "[]" || markdown != "" || err1 != nil || err2 != nil || err3 != nil {
		t.Errorf("%s %v, %s %v, %s %v", openAI, err1, anthropic, err2, markdown, err3)
	}
}

func TestToolWithoutSchema(t *testing.T) {
	got, err := render.Anthropic([]json.RawMessage{[]byte(`{"name":"x"}`)})
	if want := `[{"input_schema":null,"name":"x"}]`; err != nil || string(got) != want {
		t.Errorf("%v, got %s, want %s", err, got, want)
	}
}

func TestWhatIsNoToolIsAnError(t *testing.T) {
	for bad, want := range map[string]string{`[]`: "tool 2 is not an object", `{`: "tool 2: invalid JSON at byte 1"} {
		list := []json.RawMessage{[]byte(`{"name":"x"}`), []byte(bad)}
		_, err1 := render.OpenAI(list)
		_, err2 := render.Anthropic(list)
		_, err3 := render.Markdown(list)
		for _, err := range []error{err1, err2, err3} {
			if err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
}

func FuzzMarkdownKeepsTextInItsPlace(f *testing.F) {
	f.Add("a\n## b", "```\n## c")
	f.Add("`", "````")
	f.Fuzz(func(t *testing.T, description, value string) {
		raw, err := json.Marshal(map[string]any{
			"name": "t", "description": description, "inputSchema": map[string]any{"type": "object", "default": value},
		})
		if err != nil {
			t.Fatal(err)
		}
		text, err := render.Markdown([]json.RawMessage{raw})
		if err != nil {
			t.Fatal(err)
		}
		fence := ""
		for i, line := range strings.Split(text, "\n") {
			switch {
			case fence != "":
				if line == fence {
					fence = ""
				}
			case strings.HasPrefix(line, "```"):
				fence = strings.TrimSuffix(line, "json")
			case line == "" || strings.HasPrefix(line, "> ") || i == 0 && line == "## `t`":
			default:
				t.Fatalf("line %d stands on its own: %q", i, line)
			}
		}
		if fence != "" {
			t.Fatal("the fence is open at the end")
		}
	})
}
