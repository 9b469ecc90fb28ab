package jsontree_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// parse reads one JSON value with a Parser of its own.
func parse(raw []byte) (jsontree.Node, error) {
	var p jsontree.Parser
	root, _, err := p.Parse(raw)
	return root, err
}

func canonical(t *testing.T, raw string) string {
	t.Helper()
	root, err := parse([]byte(raw))
	if err != nil {
		t.Fatalf("Parse(%q): %v", raw, err)
	}
	return string(root.Append(nil))
}

func TestCanonicalForm(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"white space goes": {" { \"a\" :\t[ 1 ,\r\n2 ] } ", `{"a":[1,2]}`},
		"keys are sorted":  {`{"b":1,"a":{"d":1,"c":2}}`, `{"a":{"c":2,"d":1},"b":1}`},
		"numbers keep digits": {`[1.0,1e0,1E+2,-0,9007199254740993,0.1000]`,
			`[1.0,1e0,1E+2,-0,9007199254740993,0.1000]`},
		"last of a key wins":       {`{"a":1,"b":2,"a":{"x":1},"a":3}`, `{"a":3,"b":2}`},
		"html is not escaped":      {`"<a href=\"x\">&\u003c\/"`, `"<a href=\"x\">&<` + `/"`},
		"short and long escapes":   {`"\b\t\n\f\r\u0000\u001F\u007f"`, `"\b\t\n\f\r\u0000\u001f` + "\x7f" + `"`},
		"escaped characters":       {`"\u00e9\ud83d\ude00\u2028"`, "\"é😀\u2028\""},
		"lone surrogates":          {`"\ud83dx\udc00\ud83d\ud83d\ude00"`, "\"\uFFFDx\uFFFD\uFFFD😀\""},
		"high surrogate, then not": {`"\ud83d\u0041"`, "\"\uFFFDA\""},
		"invalid bytes":            {"\"a\xff\xfeb\xed\xa0\x80\"", "\"a\uFFFD\uFFFDb\uFFFD\uFFFD\uFFFD\""},
		"literals":                 {`[true,false,null,{},[],""]`, `[true,false,null,{},[],""]`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := canonical(t, c.in); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestKeysAreInUTF16Order(t *testing.T) {
	// The example of RFC 8785 section 3.2.3.
	in := `{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`
	want := "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"
	if got := canonical(t, in); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestCompareKeysAgreesWithUTF16(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune{'a', 'b', 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF}
	word := func() string {
		runes := make([]rune, random.IntN(4))
		for i := range runes {
			runes[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(runes)
	}
	sign := func(n int) int { return max(-1, min(1, n)) }
	for range 20_000 {
		a, b := word(), word()
		want := compareUnits(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if got := sign(jsontree.CompareKeys(a, b)); got != want {
			t.Fatalf("CompareKeys(%q, %q) = %d, want %d", a, b, got, want)
		}
	}
}

func compareUnits(a, b []uint16) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return map[bool]int{true: -1, false: 1}[a[i] < b[i]]
		}
	}
	return max(-1, min(1, len(a)-len(b)))
}

func TestRepairsAreCounted(t *testing.T) {
	var p jsontree.Parser
	_, repaired, err := p.Parse([]byte("[\"\\ud800\",\"\\udc00\\ud800\",\"\xff\",\"\uFFFD\",\"\\ud83d\\ude00\"]"))
	if err != nil || repaired != 4 {
		t.Errorf("repaired %d, %v; want 4", repaired, err)
	}
}

func TestSyntaxErrorsNameTheByte(t *testing.T) {
	for _, c := range []struct {
		in string
		at int
	}{
		{"", 0}, {"  ", 2}, {"nul", 0}, {"truth", 0}, {"1 2", 2}, {"[1,]", 3}, {"[1 2]", 3}, {"[", 1}, {"{", 1},
		{`{"a"}`, 4}, {`{"a":}`, 5}, {`{a:1}`, 1}, {`{"a":1,}`, 7}, {"01", 1}, {"-", 1}, {"1.", 2}, {"1e", 2}, {"1e+", 3},
		{".5", 0}, {"+1", 0}, {`"a`, 2}, {"\"a\nb\"", 2}, {`"\x"`, 3}, {`"\u12"`, 1}, {`"\u12G4"`, 1}, {`"\`, 1},
		{"\"\\n\n\"", 3}, {`"\n`, 3}, {"{]", 1}, {"NaN", 0},
	} {
		_, err := parse([]byte(c.in))
		want := fmt.Sprintf("invalid JSON at byte %d", c.at)
		if !errors.Is(err, jsontree.ErrSyntax) || err.Error() != want {
			t.Errorf("Parse(%q): %v, want %q", c.in, err, want)
		}
		if json.Valid([]byte(c.in)) {
			t.Errorf("%q is valid JSON", c.in)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	nest := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if _, err := parse(nest(jsontree.MaxDepth)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := parse(nest(jsontree.MaxDepth + 1)); !errors.Is(err, jsontree.ErrDepth) {
		t.Errorf("beyond the limit: %v", err)
	}
	p := jsontree.Parser{Room: 2}
	if _, _, err := p.Parse(nest(jsontree.MaxDepth + 2)); err != nil {
		t.Errorf("with room: %v", err)
	}
	if _, _, err := p.Parse(nest(jsontree.MaxDepth + 3)); !errors.Is(err, jsontree.ErrDepth) {
		t.Errorf("beyond the room: %v", err)
	}
}

func TestParserIsReusable(t *testing.T) {
	var p jsontree.Parser
	first, _, err := p.Parse([]byte(`{"a":[1,2,{"b":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Parse([]byte(`{"unfinished":[[[`)); err == nil {
		t.Fatal("unfinished input was accepted")
	}
	second, _, err := p.Parse([]byte(`[9,8,7,6,5]`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(first.Append(nil)); got != `{"a":[1,2,{"b":"x"}]}` {
		t.Errorf("a later Parse changed the tree to %s", got)
	}
	if got := string(second.Append(nil)); got != `[9,8,7,6,5]` {
		t.Errorf("second tree is %s", got)
	}
}

func TestRecycledMemoryHoldsTheNextTree(t *testing.T) {
	var p jsontree.Parser
	for i := range 100 {
		p.Recycle()
		want := fmt.Sprintf(`{"a":[%s],"b":%d}`, strings.TrimSuffix(strings.Repeat("1,", i), ","), i)
		root, _, err := p.Parse([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(root.Append(nil)); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func TestMembers(t *testing.T) {
	root, err := parse([]byte(`{"b":{"x":1},"d":[1]}`))
	if err != nil {
		t.Fatal(err)
	}
	root.Set("c", jsontree.Text("new"))
	root.Set("a", jsontree.Node{})
	root.Set("d", jsontree.Node{Kind: jsontree.Object})
	root.Get("d").Set("z", jsontree.Text("in"))
	root.Delete("b")
	root.Delete("missing")
	if got, want := string(root.Append(nil)), `{"a":null,"c":"new","d":{"z":"in"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if root.Get("b") != nil || root.Get("a").Get("x") != nil {
		t.Error("found what is not there")
	}
	if !root.Get("c").IsText("new") || root.Get("a").IsText("") || root.Get("nope").IsText("") {
		t.Error("IsText is wrong")
	}
}

func TestSetDoesNotDisturbNeighbours(t *testing.T) {
	root, err := parse([]byte(`[{"a":1},{"b":2}]`))
	if err != nil {
		t.Fatal(err)
	}
	root.Members[0].Set("c", jsontree.Text("x"))
	if got, want := string(root.Append(nil)), `[{"a":1,"c":"x"},{"b":2}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// decode reads JSON with the standard library, numbers kept as digits.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1.0,true,null,"\ud83d\ude00\ud800"],"a":{"a":1,"a":2}}`, `"\u0000\b"`, "[1,2", `-1.5E+10`, "\"\xff\"", `{}`,
		strings.Repeat("[", 300), `{"":{"":[]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		root, err := parse(raw)
		if errors.Is(err, jsontree.ErrDepth) {
			return
		}
		if valid := json.Valid(raw); valid != (err == nil) {
			t.Fatalf("valid JSON: %v, but Parse: %v", valid, err)
		}
		if err != nil {
			return
		}
		out := root.Append(nil)
		want, err := decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(out)
		if err != nil {
			t.Fatalf("output %q: %v", out, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("content changed:\ngot  %#v\nwant %#v", got, want)
		}
		again, err := parse(out)
		if err != nil || !bytes.Equal(again.Append(nil), out) {
			t.Fatalf("canonical form of %q is not stable: %v", out, err)
		}
	})
}

func TestReader(t *testing.T) {
	root, err := parse([]byte(`{"text":"t","n":7,"half":0.5,"list":[1,2],"object":{"in":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var r jsontree.Reader
	if r.Text(&root, "text") != "t" || r.OptionalText(&root, "text") != "t" || r.OptionalText(&root, "none") != "" ||
		r.Int(&root, "n") != 7 || len(r.Items(&root, "list")) != 2 ||
		r.Text(r.Object(&root, "object"), "in") != "x" || r.Bad {
		t.Error("a member was not read")
	}
	for what, read := range map[string]func(r *jsontree.Reader){
		"text":     func(r *jsontree.Reader) { r.Text(&root, "n") },
		"case":     func(r *jsontree.Reader) { r.Text(&root, "Text") },
		"optional": func(r *jsontree.Reader) { r.OptionalText(&root, "n") },
		"int":      func(r *jsontree.Reader) { r.Int(&root, "text") },
		"whole":    func(r *jsontree.Reader) { r.Int(&root, "half") },
		"items":    func(r *jsontree.Reader) { r.Items(&root, "object") },
		"object":   func(r *jsontree.Reader) { r.Object(&root, "list").Set("a", jsontree.Text("b")) },
	} {
		var r jsontree.Reader
		if read(&r); !r.Bad {
			t.Errorf("%s: a member of another kind was taken", what)
		}
	}
}
