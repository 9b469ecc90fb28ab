package rpc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// nested is a value that nests n levels deep.
func nested(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2) }

func TestShallowLeavesOutWhatNestsTooDeep(t *testing.T) {
	keeps := []string{
		`{"a":[1,"[[{\\\"{",{}], "b" : "}"}`, `[]`, `"["`, `7`, ``, `{"a":`, `]]`, nested(1000),
	}
	for _, text := range keeps {
		if got := string(shallow([]byte(text))); got != text {
			t.Errorf("%.40s became %.40s", text, got)
		}
	}
	tool := `{"name":"deep","x":` + nested(20_000) + `,"y":["}]",` + nested(20_000) + `,2]}`
	if json.Valid([]byte(tool)) {
		t.Fatal("encoding/json reads what nests 20,000 levels deep: nothing need be left out")
	}
	left := shallow([]byte(`[` + tool + `,{"name":"next"}]`))
	var tools []struct {
		Name string `json:"name"`
		Y    []any  `json:"y"`
	}
	if err := json.Unmarshal(left, &tools); err != nil {
		t.Fatal(err)
	}
	if len(tools) != 2 || tools[0].Name != "deep" || tools[1].Name != "next" {
		t.Errorf("tools = %+v", tools)
	}
	if y := tools[0].Y; len(y) != 3 || y[0] != "}]" || y[2] != 2.0 {
		t.Errorf("beside what is left out is %v", y)
	}
	depth, deepest := 0, 0
	for _, b := range left {
		switch b {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		deepest = max(deepest, depth)
	}
	if deepest != maxLevels {
		t.Errorf("what is left nests %d levels deep, want %d", deepest, maxLevels)
	}
}

func TestLeadingID(t *testing.T) {
	for head, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"m-1","result":{"to`: "m-1", `{"id":"m-1"`: "m-1",
		`{"id":7,"result":{`: "", `{"result":{"tools":[`: "", `{"result":{},"id":"m-1"}`: "m-1",
		`{"method":"ping","id":"m-1"}`: "", `[{"id":"m-1"}]`: "", ``: "", `{`: "", `{"id"`: "", `x`: "",
	} {
		if got, ok := LeadingID([]byte(head)); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", head, got, ok, want)
		}
	}
}

func FuzzShallow(f *testing.F) {
	f.Add([]byte(`{"a":["\"[",{}]}`))
	f.Add([]byte(strings.Repeat(`[`, 1001) + strings.Repeat(`]`, 1001)))
	f.Add([]byte(strings.Repeat(`{"a":[1,`, 600) + "2" + strings.Repeat(`]}`, 600)))
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) {
			return
		}
		got := shallow(body)
		levels := levelsOf(body)
		if levels <= maxLevels && string(got) != string(body) {
			t.Fatalf("%q became %q", body, got)
		}
		if levels > maxLevels && (!json.Valid(got) || levelsOf(got) != maxLevels) {
			t.Fatalf("%q became %q, which nests %d levels deep", body, got, levelsOf(got))
		}
	})
}

// levelsOf is how deep valid JSON nests.
func levelsOf(body []byte) int {
	depth, deepest := 0, 0
	for dec := json.NewDecoder(bytes.NewReader(body)); ; {
		token, err := dec.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		deepest = max(deepest, depth)
	}
}
