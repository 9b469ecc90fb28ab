package importer

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// native gives a decoded value as encoding/json would.
func native(value any) any {
	switch v := value.(type) {
	case *object:
		out := map[string]any{}
		for key, member := range v.all() {
			out[key] = native(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = native(item)
		}
		return out
	default:
		return value
	}
}

func TestDecode(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       any
	}{
		{"plain", `{"a": [1, true, null, "x"]}`, map[string]any{"a": []any{json.Number("1"), true, nil, "x"}}},
		{"scalar", ` "x" `, "x"},
		{"byte order mark", "\xef\xbb\xbf{}", map[string]any{}},
		{"line comments", "// a\n{ // b\n\"a\": 1 // c", nil},
		{"comments", "// a\n{ // b\r\n\"a\": /* c */ 1\n} // d", map[string]any{"a": json.Number("1")}},
		{"comment over lines", "{/* a\n * b */\"a\":1}", map[string]any{"a": json.Number("1")}},
		{"trailing commas", `{"a": [1, 2, ], "b": {"c": 1,},}`, map[string]any{
			"a": []any{json.Number("1"), json.Number("2")}, "b": map[string]any{"c": json.Number("1")}}},
		{"comma, comment, end", "[1, // one\n]", []any{json.Number("1")}},
		{"comment signs in a string", `{"u": "https://h/*x*/,"}`, map[string]any{"u": "https://h/*x*/,"}},
		{"escaped quote before a comment sign", `["\"//", "\\"]`, []any{`"//`, `\`}},
		{"comma in a string before an end", `["a,"]`, []any{"a,"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := decode([]byte(test.text))
			if test.want == nil {
				g.Expect(err).To(HaveOccurred())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(native(got)).To(Equal(test.want))
		})
	}
}

func TestDecodeSaysWhereAndNotWhat(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", " \n", "no JSON: the text is empty"},
		{"comments alone", "// nothing\n", "no JSON: the text is empty"},
		{"unclosed object", "{\n  \"a\": 1\n", "no JSON: unexpected end at line 2, column 9"},
		{"unclosed string", `{"a": "canary`, "no JSON: unexpected end at line 1, column 14"},
		{"unclosed comment", "{\n /* canary }", "no JSON: a comment that does not end at line 2, column 2"},
		{"missing comma", "{\n  \"a\": \"canary\"\n  \"b\": 1\n}",
			"no JSON: unexpected character at line 3, column 3"},
		{"single quotes", `{'canary': 1}`, "no JSON: unexpected character at line 1, column 2"},
		{"two commas", `[1,,2]`, "no JSON: unexpected character at line 1, column 4"},
		{"two values", `{} {"a": "canary"}`, "no single JSON value: text follows the first one"},
		{"YAML", "mcpServers:\n  a: canary", "no JSON: unexpected character at line 1, column 1"},
		{"as deep as a stack", strings.Repeat("[", 4<<20), "no JSON that can be read: it has too many brackets"},
		{"literal", `{"a": canary}`, "no JSON: unexpected character at line 1, column 7"},
		{"escape", `{"a": "canary\q"}`, "no JSON: unexpected character at line 1, column 7"},
		{"UTF-16", "\xff\xfe{\x00", "no JSON in UTF-8: the text looks like UTF-16, save it as UTF-8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := decode([]byte(test.text))
			g.Expect(err).To(MatchError(test.want))
		})
	}
}

func TestObjectKeepsTheOrderOfTheText(t *testing.T) {
	g := NewWithT(t)
	value, err := decode([]byte(`{"z": 1, "a": "x", "m": {"k": []}, "z": 2}`))
	g.Expect(err).NotTo(HaveOccurred())
	o := value.(*object)

	var keys []string
	for key := range o.all() {
		keys = append(keys, key)
	}
	g.Expect(keys).To(Equal([]string{"z", "a", "m"}))
	g.Expect(o.len()).To(Equal(3))
	g.Expect(o.duplicates()).To(Equal([]string{"z"}))
	last, ok := o.lookup("z")
	g.Expect(ok).To(BeTrue())
	g.Expect(last).To(Equal(json.Number("2")))
	g.Expect(o.text("a")).To(Equal("x"))
	g.Expect(o.text("z")).To(BeEmpty())
	g.Expect(o.object("m").array("k")).To(Equal([]any{}))
	for key := range o.all() {
		g.Expect(key).To(Equal("z"))
		break
	}
}

func TestNilObjectIsEmpty(t *testing.T) {
	g := NewWithT(t)
	var o *object
	for range o.all() {
		t.Fatal("a nil object has no members")
	}
	_, ok := o.lookup("a")
	g.Expect(ok).To(BeFalse())
	g.Expect(o.object("a").object("b").len()).To(BeZero())
	g.Expect(o.duplicates()).To(BeNil())
}

// What encoding/json reads is read alike; whatever else is read does not panic.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,{"b":null}]}`, "null ", "// c\n{,}", `"\"//"`, "/*", "{\"a\":1,/**/}", "\xef\xbb\xbf[]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := decode(text)
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.UseNumber()
		var want any
		if !json.Valid(text) || decoder.Decode(&want) != nil {
			return
		}
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(reflect.DeepEqual(native(got), want)).To(BeTrue(), "%#v is not %#v", native(got), want)
	})
}
