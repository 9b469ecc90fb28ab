package catalog_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/catalog"
)

// list turns JSON texts into what a server lists.
func list(tools ...string) []json.RawMessage {
	raw := make([]json.RawMessage, len(tools))
	for i, tool := range tools {
		raw[i] = json.RawMessage(tool)
	}
	return raw
}

func names(c catalog.Catalog) []string {
	all := make([]string, len(c.Tools))
	for i, tool := range c.Tools {
		all[i] = tool.Name
	}
	return all
}

// remarks returns the warnings as "Type tool".
func remarks(c catalog.Catalog) []string {
	var all []string
	for _, w := range c.Warnings.Items {
		all = append(all, strings.TrimSpace(string(w.Type)+" "+w.Tool))
	}
	return all
}

func definition(t *testing.T, c catalog.Catalog, name string) string {
	t.Helper()
	tool, ok := c.Find(name)
	if !ok {
		t.Fatalf("tool %q is not on offer; there are %q", name, names(c))
	}
	return string(tool.Definition)
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\ngot  %#v\nwant %#v", what, got, want)
	}
}

func TestToolIsPublishedInCanonicalForm(t *testing.T) {
	c := catalog.Parse(list(`{"name":"sum", "x-vendor":{"keep":[1.0]}, "inputSchema":{"type":"object","properties":
		{"b":{"type":"number","maximum":9007199254740993},"a":{"multipleOf":0.10}}}, "description":"a < b & c"}`))
	equal(t, "definition", definition(t, c, "sum"), `{"description":"a < b & c","inputSchema":{"properties":{`+
		`"a":{"multipleOf":0.10},"b":{"maximum":9007199254740993,"type":"number"}},"type":"object"},`+
		`"name":"sum","x-vendor":{"keep":[1.0]}}`)
	equal(t, "warnings", c.Warnings, catalog.Warnings{})
	if c.Tools[0].Compat != nil {
		t.Errorf("marks %v on a plain tool", c.Tools[0].Compat)
	}
}

func TestOrderOfListDoesNotMatter(t *testing.T) {
	tools := list(`{"name":"c"}`, `{"name":"a","title":"A\u200b"}`, `{"name":"b","outputSchema":{}}`, `[]`)
	want := catalog.Parse(tools[:3])
	slices.Reverse(tools[:3])
	got := catalog.Parse(tools[:3])
	equal(t, "catalog", got, want)
	equal(t, "names", names(got), []string{"a", "b", "c"})
}

func TestB35_OneBadOutputSchemaDoesNotVoidTheList(t *testing.T) {
	bad := []string{`{"type":["null","array"]}`, `{"properties":{}}`, `"text"`}
	var tools []string
	for i := range 11 {
		output := `{"type":"object","properties":{"n":{"type":"integer"}}}`
		if i < len(bad) {
			output = bad[i]
		}
		tools = append(tools, fmt.Sprintf(`{"name":"t%02d","inputSchema":{"type":"object"},"outputSchema":%s}`, i, output))
	}
	c := catalog.Parse(list(tools...))
	equal(t, "tools", len(c.Tools), 11)
	equal(t, "count", c.Warnings.Count, 3)
	equal(t, "warnings", c.Warnings.Items, []catalog.Warning{
		{Type: catalog.OutputSchemaDropped, Tool: "t00", Message: "the outputSchema's type is not object"},
		{Type: catalog.OutputSchemaDropped, Tool: "t01", Message: "the outputSchema has no type"},
		{Type: catalog.OutputSchemaDropped, Tool: "t02", Message: "the outputSchema is not an object"},
	})
	equal(t, "dropped", definition(t, c, "t00"), `{"inputSchema":{"type":"object"},"name":"t00"}`)
	equal(t, "kept", definition(t, c, "t03"), `{"inputSchema":{"type":"object"},"name":"t03",`+
		`"outputSchema":{"properties":{"n":{"type":"integer"}},"type":"object"}}`)
}

func TestB35_OtherUnusableOutputSchemas(t *testing.T) {
	c := catalog.Parse(list(
		`{"name":"null","outputSchema":null}`,
		`{"name":"properties","outputSchema":{"type":"object","properties":[]}}`,
		`{"name":"remote","outputSchema":{"type":"object","properties":{"a":{"$ref":"https://u:p@x.test/s?k=1#/a"}}}}`,
		`{"name":"hides","outputSchema":{"type":"object","required":["a\u200b"]}}`,
	))
	equal(t, "tools", len(c.Tools), 4)
	for _, tool := range c.Tools {
		if strings.Contains(string(tool.Definition), "outputSchema") {
			t.Errorf("outputSchema was kept: %s", tool.Definition)
		}
	}
	var dropped []catalog.Warning
	for _, w := range c.Warnings.Items {
		if w.Type == catalog.OutputSchemaDropped {
			dropped = append(dropped, w)
		}
	}
	equal(t, "warnings", dropped, []catalog.Warning{
		{catalog.OutputSchemaDropped, "hides", `a name or value of the outputSchema hides characters: "a"`},
		{catalog.OutputSchemaDropped, "properties", "the outputSchema's properties are not an object"},
		{catalog.OutputSchemaDropped, "remote", `the outputSchema refers to "https://x.test/s", which is never fetched`},
	})
}

func TestB36_SchemasAreKeptAndMarked(t *testing.T) {
	c := catalog.Parse(list(
		`{"name":"any","inputSchema":{"anyOf":[{"required":["a"]},{"required":["b"]}],"type":"object"}}`,
		`{"name":"defs","inputSchema":{"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}}}},`+
			`"properties":{"root":{"$ref":"#/$defs/n"}},"type":"object"}}`,
		`{"name":"remote","inputSchema":{"properties":{"a":{"items":{"$ref":"http://169.254.169.254/x"}}},"type":"object"}}`,
		`{"name":"cond","inputSchema":{"properties":{"p":{"if":{"const":1},"then":{"$ref":"#"}}},"not":{},"type":"object"}}`,
		`{"name":"plain","inputSchema":{"properties":{"$ref":{"type":"string"},"if":{"type":"string"},`+
			`"q":{"anyOf":[true]}},"type":"object"}}`,
	))
	equal(t, "names", names(c), []string{"any", "cond", "defs", "plain"})
	equal(t, "warnings", c.Warnings.Items, []catalog.Warning{{catalog.RemoteSchemaRef, "remote",
		`the inputSchema refers to "http://169.254.169.254/x", which is never fetched`}})
	marks := map[string][]catalog.Compat{}
	for _, tool := range c.Tools {
		marks[tool.Name] = tool.Compat
	}
	equal(t, "marks", marks, map[string][]catalog.Compat{
		"any":   {catalog.TopLevelCombinator},
		"cond":  {catalog.Conditional, catalog.TopLevelCombinator, catalog.UsesRef},
		"defs":  {catalog.UsesRef},
		"plain": nil,
	})
	equal(t, "any", definition(t, c, "any"),
		`{"inputSchema":{"anyOf":[{"required":["a"]},{"required":["b"]}],"type":"object"},"name":"any"}`)
	equal(t, "defs", definition(t, c, "defs"),
		`{"inputSchema":{"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}}}},`+
			`"properties":{"root":{"$ref":"#/$defs/n"}},"type":"object"},"name":"defs"}`)
}

func TestB36_ReferencesAreFoundEverywhere(t *testing.T) {
	for _, schema := range []string{
		`{"$ref":"other.json"}`, `{"$ref":""}`, `{"$dynamicRef":"http://x.test#a"}`, `{"properties":{"$ref":"x"}}`,
		`{"default":{"$ref":"file:///etc/passwd"}}`,
		`{"x-ext":[{"$ref":"//x.test"}]}`, `{"dependencies":{"a":{"$ref":"x"}}}`, `{"$ref":"%zz"}`,
		`{"allOf":[{"prefixItems":[{"additionalProperties":{"$recursiveRef":"x"}}]}]}`,
	} {
		c := catalog.Parse(list(`{"name":"t","inputSchema":` + schema + `}`))
		equal(t, schema, remarks(c), []string{"RemoteSchemaRef t"})
	}
	c := catalog.Parse(list(`{"name":"t","inputSchema":{"type":"object","examples":[{"$ref":7}]}}`))
	equal(t, "warnings for a reference that is none", remarks(c), nil)
}

func TestB38_InputSchemasAreCompleted(t *testing.T) {
	c := catalog.Parse(list(
		`{"name":"1 empty","inputSchema":{}}`,
		`{"name":"2 missing"}`,
		`{"name":"3 null","inputSchema":null}`,
		`{"name":"4 properties null","inputSchema":{"type":"object","properties":null}}`,
		`{"name":"5 string","inputSchema":{"type":"string"}}`,
		`{"name":"6 draft 4","inputSchema":{"type":"object","properties":{"a":{"type":"string","required":true}}}}`,
		`{"name":"7 good","inputSchema":{"type":"object"}}`,
	))
	equal(t, "names", names(c),
		[]string{"1 empty", "2 missing", "3 null", "4 properties null", "6 draft 4", "7 good"})
	equal(t, "warnings", remarks(c), []string{
		"InputSchemaNormalised 1 empty", "InputSchemaNormalised 2 missing", "InputSchemaNormalised 3 null",
		"InputSchemaNormalised 4 properties null", "InvalidInputSchema 5 string", "NonStandardSchema 6 draft 4",
	})
	for _, name := range names(c)[:3] {
		equal(t, name, definition(t, c, name), `{"inputSchema":{"type":"object"},"name":"`+name+`"}`)
	}
	equal(t, "4", definition(t, c, "4 properties null"),
		`{"inputSchema":{"properties":{},"type":"object"},"name":"4 properties null"}`)
	equal(t, "6", definition(t, c, "6 draft 4"),
		`{"inputSchema":{"properties":{"a":{"required":true,"type":"string"}},"type":"object"},"name":"6 draft 4"}`)
}

func TestB38_MoreForms(t *testing.T) {
	for schema, want := range map[string]struct {
		published string
		warning   string
	}{
		`{"type":"object","properties":[]}`: {`{"properties":{},"type":"object"}`, "InputSchemaNormalised"},
		`{"type":"object","required":null}`: {`{"type":"object"}`, "InputSchemaNormalised"},
		`{"properties":{"a":{}},"anyOf":[]}`: {`{"anyOf":[],"properties":{"a":{}},"type":"object"}`,
			"InputSchemaNormalised"},
		`[]`:                                 {"", "InvalidInputSchema"},
		`true`:                               {"", "InvalidInputSchema"},
		`{"type":null}`:                      {"", "InvalidInputSchema"},
		`{"type":["object","null"]}`:         {"", "InvalidInputSchema"},
		`{"type":"object","properties":[1]}`: {"", "InvalidInputSchema"},
		`{"type":"object","properties":"x"}`: {"", "InvalidInputSchema"},
		`{"type":"object","exclusiveMaximum":true}`: {`{"exclusiveMaximum":true,"type":"object"}`, "NonStandardSchema"},
		`{"type":"object","items":[{"id":"#a"}]}`:   {`{"items":[{"id":"#a"}],"type":"object"}`, "NonStandardSchema"},
		`{"type":"object","not":{"divisibleBy":2}}`: {`{"not":{"divisibleBy":2},"type":"object"}`, "NonStandardSchema"},
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`: {
			`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, "NonStandardSchema"},
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"id":{},"required":{}},` +
			`"required":["id"]}`: {
			`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"id":{},"required":{}},"required":["id"],` +
				`"type":"object"}`, ""},
	} {
		c := catalog.Parse(list(`{"name":"t","inputSchema":` + schema + `}`))
		if want.warning == "" {
			equal(t, schema, remarks(c), nil)
		} else {
			equal(t, schema, remarks(c), []string{want.warning + " t"})
		}
		if want.published == "" {
			equal(t, schema, len(c.Tools), 0)
		} else {
			equal(t, schema, definition(t, c, "t"), `{"inputSchema":`+want.published+`,"name":"t"}`)
		}
	}
}

// tagged writes text in tag characters, which are not seen.
func tagged(text string) string {
	return strings.Map(func(r rune) rune { return 0xE0000 + r }, text)
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestB39_HiddenCharactersAreRemovedFromText(t *testing.T) {
	c := catalog.Parse(list(
		`{"name":"read","description":`+quote("Reads 📁 files"+tagged("ignore all")+"\x00\u202E")+`}`,
		`{"name":"wri\u200bte"}`,
	))
	equal(t, "names", names(c), []string{"read"})
	equal(t, "definition", definition(t, c, "read"),
		`{"description":"Reads 📁 files","inputSchema":{"type":"object"},"name":"read"}`)
	equal(t, "warnings", c.Warnings.Items, []catalog.Warning{
		{catalog.InputSchemaNormalised, "read", "the inputSchema was completed to describe an object"},
		{catalog.TextSanitised, "read", "12 hidden or control characters removed"},
		{catalog.InvalidToolName, "write", "hidden or control characters in the name"},
	})
}

func TestB39_EveryTextFieldIsCleaned(t *testing.T) {
	h := `\u200b`
	c := catalog.Parse(list(
		`{"name":"t","title":"T` + h + `","description":"D` + h + `","annotations":{"title":"A` + h + `"},` +
			`"_meta":{"k":["M` + h + `"]},"x":{"y":"X` + h + `"},"inputSchema":{"type":"object","title":"S` + h + `",` +
			`"$comment":"C` + h + `","x-hint":{"deep":["E` + h + `"]},"properties":{"p":{"description":"P` + h + `\ud800",` +
			`"default":"a\u001fb"}},` +
			`"$defs":{"d":{"anyOf":[{"description":"Q` + h + `"}]}}},"outputSchema":{"type":"object","description":"O` + h +
			`"}}`))
	equal(t, "warnings", c.Warnings.Items,
		[]catalog.Warning{{catalog.TextSanitised, "t", "12 hidden or control characters removed"}})
	equal(t, "definition", definition(t, c, "t"), `{"_meta":{"k":["M"]},"annotations":{"title":"A"},"description":"D",`+
		`"inputSchema":{"$comment":"C","$defs":{"d":{"anyOf":[{"description":"Q"}]}},"properties":{"p":{`+
		`"default":"a\u001fb","description":"P`+"\uFFFD"+`"}},"title":"S","type":"object","x-hint":{"deep":["E"]}},`+
		`"name":"t",`+
		`"outputSchema":{"description":"O","type":"object"},"title":"T","x":{"y":"X"}}`)
}

func TestB39_ToolsThatHideCharactersInValuesAreWithheld(t *testing.T) {
	for what, tool := range map[string]string{
		"InvalidInputSchema property": `{"name":"t","inputSchema":{"type":"object","properties":{"a\u202e":{}}}}`,
		"InvalidInputSchema enum": `{"name":"t","inputSchema":{"type":"object","properties":{"a":{"enum":["x` +
			tagged("hi") + `"]}}}}`,
		"InvalidInputSchema default": `{"name":"t","inputSchema":{"type":"object","default":{"a":["\u2066"]}}}`,
		"InvalidInputSchema key":     `{"name":"t","inputSchema":{"type":"object","x\u0007":1}}`,
		"InvalidTool meta":           `{"name":"t","_meta":{"a\u200b":1}}`,
	} {
		c := catalog.Parse(list(tool))
		equal(t, what+": tools", len(c.Tools), 0)
		kind, _, _ := strings.Cut(what, " ")
		if got := remarks(c); !slices.Contains(got, kind+" t") {
			t.Errorf("%s: warnings %q", what, got)
		}
	}
	kept := `{"enum":["\u001f","नि\u200dध","👩‍💻","❤️"],"pattern":"^[\u0000-\u001f]*$"}`
	c := catalog.Parse(list(`{"name":"t","inputSchema":{"properties":{"a":` + kept + `},"type":"object"}}`))
	equal(t, "warnings", remarks(c), nil)
	equal(t, "tools", len(c.Tools), 1)
}

func TestNamesThatCannotBeOffered(t *testing.T) {
	for name, kind := range map[string]catalog.WarningType{
		`"a\nb"`: catalog.InvalidToolName, `"\u0000"`: catalog.InvalidToolName, `"a\ud800"`: catalog.InvalidToolName,
		`"\ufeffa"`: catalog.InvalidToolName, `"` + tagged("a") + `"`: catalog.InvalidToolName,
		`""`: catalog.InvalidTool, `7`: catalog.InvalidTool, `null`: catalog.InvalidTool,
	} {
		c := catalog.Parse(list(`{"name":`+name+`}`, `{"name":"good","inputSchema":{"type":"object"}}`))
		equal(t, name, names(c), []string{"good"})
		equal(t, name, c.Warnings.Items[0].Type, kind)
	}
	c := catalog.Parse(list(`{"name":"数据库 👩‍💻","inputSchema":{"type":"object"}}`))
	equal(t, "warnings", remarks(c), nil)
}

func TestOneBadToolNeverVoidsTheList(t *testing.T) {
	good := `{"name":"good","inputSchema":{"type":"object"}}`
	for raw, message := range map[string]string{
		``:            "entry 1 of the list: invalid JSON at byte 0",
		`{"name":"x`:  "entry 1 of the list: invalid JSON at byte 10",
		`{} {}`:       "entry 1 of the list: invalid JSON at byte 3",
		`[]`:          "entry 1 of the list is not an object",
		`null`:        "entry 1 of the list is not an object",
		`{"title":1}`: "entry 1 of the list has no name",
		strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300): "entry 1 of the list nests deeper than 256 levels",
	} {
		c := catalog.Parse(list(raw, good))
		equal(t, raw, names(c), []string{"good"})
		equal(t, raw, c.Warnings, catalog.Warnings{Count: 1,
			Items: []catalog.Warning{{catalog.InvalidTool, "", message}}})
	}
	equal(t, "nothing", catalog.Parse(nil).Digest,
		catalog.Digest("sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"))
}

// A tool that nests too deep to be read is withheld by its name, wherever that stands.
func TestToolThatNestsTooDeepIsNamed(t *testing.T) {
	deep := `"inputSchema":` + strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300)
	good := `{"name":"good","inputSchema":{"type":"object"}}`
	for raw, name := range map[string]string{
		`{"name":"deep",` + deep + `}`: "deep", `{` + deep + `,"name":"deep"}`: "deep",
		`{` + deep + `,"Name":"deep"}`: "", `{` + deep + `,"name":7}`: "",
		`{"name":"a\nb",` + deep + `}`: "a b",
	} {
		c := catalog.Parse(list(good, raw))
		equal(t, raw, names(c), []string{"good"})
		equal(t, raw, c.Warnings, catalog.Warnings{Count: 1, Items: []catalog.Warning{
			{catalog.InvalidTool, name, "entry 2 of the list nests deeper than 256 levels"},
		}})
	}
}

func TestToolAboveTheLimitIsWithheldAndNamed(t *testing.T) {
	sized := func(name string, size int) string {
		const frame = `{"name":"n","inputSchema":{"type":"object"},"description":""}`
		return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"},"description":%q}`, name,
			strings.Repeat("x", size-len(frame)))
	}
	c := catalog.Parse(list(sized("a", catalog.MaxToolBytes), sized("b", catalog.MaxToolBytes+1), sized("c", 300<<10)))
	equal(t, "names", names(c), []string{"a"})
	equal(t, "warnings", c.Warnings.Items, []catalog.Warning{
		{catalog.ToolTooLarge, "b", "257 KiB, more than 256"}, {catalog.ToolTooLarge, "c", "300 KiB, more than 256"},
	})
}

func TestFirstOfDuplicatesIsKept(t *testing.T) {
	c := catalog.Parse(list(
		`{"name":"a","inputSchema":{"type":"string"}}`,
		`{"name":"a","inputSchema":{"type":"object"},"title":"first on offer"}`,
		`{"name":"a","inputSchema":{"type":"object"},"title":"second"}`,
	))
	equal(t, "definition", definition(t, c, "a"), `{"inputSchema":{"type":"object"},"name":"a","title":"first on offer"}`)
	equal(t, "warnings", remarks(c), []string{"DuplicateTool a", "InvalidInputSchema a"})
}

func TestFieldsOfAWrongTypeAreDropped(t *testing.T) {
	c := catalog.Parse(list(
		`{"name":"bad","inputSchema":{"type":"object"},"title":1,"description":{},"annotations":{"readOnlyHint":"true",`+
			`"destructiveHint":false,"title":null,"x":1},"icons":{},"_meta":"m","execution":[1]}`,
		`{"name":"php","inputSchema":{"type":"object"},"title":null,"annotations":[],"_meta":[],"execution":null}`,
	))
	equal(t, "bad", definition(t, c, "bad"),
		`{"annotations":{"destructiveHint":false,"x":1},"inputSchema":{"type":"object"},"name":"bad"}`)
	equal(t, "php", definition(t, c, "php"), `{"inputSchema":{"type":"object"},"name":"php"}`)
	var messages []string
	for _, w := range c.Warnings.Items {
		equal(t, "type", w.Type, catalog.FieldDropped)
		messages = append(messages, w.Message)
	}
	equal(t, "messages", messages, []string{
		"_meta is of the wrong type and was left out", "annotations.readOnlyHint is of the wrong type and was left out",
		"description is of the wrong type and was left out", "execution is of the wrong type and was left out",
		"icons is of the wrong type and was left out", "title is of the wrong type and was left out",
	})
}

func TestDigestCoversWhatAModelActsOn(t *testing.T) {
	base := `{"name":"a","title":"t","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},` +
		`"annotations":{"readOnlyHint":true}`
	digest := func(rest string) catalog.Digest { return catalog.Parse(list(base + rest + `}`)).Tools[0].Digest }
	want := digest("")
	equal(t, "digest", want, catalog.Digest("sha256:83bf17eb091c68b23b4a3c5c24f69f16b5edcc7d9f01b28b2da4e9bd6b321249"))
	equal(t, "with metadata", digest(`,"_meta":{"v":2},"icons":[],"x":1`), want)
	for _, change := range []string{`,"title":"u"`, `,"description":""`, `,"inputSchema":{"type":"object","x":1}`,
		`,"outputSchema":null`, `,"annotations":{}`} {
		if digest(change) == want {
			t.Errorf("%s does not change the digest", change)
		}
	}
}

func TestB42_Size(t *testing.T) {
	var tools []string
	for i := range 157 {
		tools = append(tools, fmt.Sprintf(`{"description":%q,"inputSchema":{"type":"object"},"name":"%s_%03d"}`,
			strings.Repeat("x", 2125), []string{"get", "set"}[i%2], i))
	}
	c := catalog.Parse(list(tools...))
	equal(t, "bytes", c.Bytes, len(strings.Join(tools, "")))
	equal(t, "tokens", c.EstimatedTokens(), 86_036)
	filter, err := catalog.NewFilter([]string{"get_*"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	part := c.Filter(filter)
	equal(t, "tools", len(part.Tools), 79)
	if part.EstimatedTokens() >= c.EstimatedTokens() || part.Digest == c.Digest {
		t.Errorf("filtered: %d tokens, digest %s", part.EstimatedTokens(), part.Digest)
	}
}

// randomTool writes a tool whose schema has random content and random formatting.
func randomTool(random *rand.Rand, name string) (raw string, schema map[string]any) {
	var value func(depth int) any
	value = func(depth int) any {
		switch n := random.IntN(7); {
		case n == 0 && depth > 0:
			m := map[string]any{}
			for range random.IntN(4) {
				m[string(rune('a'+random.IntN(26)))] = value(depth - 1)
			}
			return m
		case n == 1 && depth > 0:
			items := make([]any, random.IntN(3))
			for i := range items {
				items[i] = value(depth - 1)
			}
			return items
		case n < 4:
			return json.Number(fmt.Sprintf("%d.%d0", random.Int64(), random.IntN(1000)))
		case n < 6:
			return []string{"<b>&", "é😀", `"\`, "a\nb"}[random.IntN(4)]
		default:
			return random.IntN(2) == 0
		}
	}
	schema = map[string]any{"type": "object"}
	for range random.IntN(5) {
		schema["x"+string(rune('a'+random.IntN(26)))] = value(4)
	}
	tool := map[string]any{"name": name, "inputSchema": schema}
	body, err := json.MarshalIndent(tool, "", strings.Repeat(" ", random.IntN(3)))
	if err != nil {
		panic(err)
	}
	return string(body), schema
}

func TestPropertySchemasKeepTheirContent(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	for i := range 2_000 {
		raw, schema := randomTool(random, "t")
		c := catalog.Parse(list(raw))
		if len(c.Tools) != 1 || c.Warnings.Count != 0 {
			t.Fatalf("run %d: %d tools, warnings %v for %s", i, len(c.Tools), c.Warnings, raw)
		}
		d := json.NewDecoder(strings.NewReader(string(c.Tools[0].Definition)))
		d.UseNumber()
		var got struct{ InputSchema map[string]any }
		if err := d.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.InputSchema, schema) {
			t.Fatalf("run %d: schema changed:\ngot  %v\nwant %v", i, got.InputSchema, schema)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/x","description":"\u200b"}}}}`,
		`{"name":"a","title":null,"annotations":[],"outputSchema":{"type":[]}}`, `[]`,
		`{"name":"\ud800"}`, "{\"name\":\"\xff\"}",
	} {
		f.Add([]byte(seed), []byte(`{"name":"good","inputSchema":{"type":"object"}}`))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		c := catalog.Parse([]json.RawMessage{a, b})
		if len(c.Tools)+c.Warnings.Count < 2 {
			t.Fatalf("a tool is missing without a warning: %q", names(c))
		}
		published := make([]json.RawMessage, len(c.Tools))
		for i, tool := range c.Tools {
			published[i] = tool.Definition
			if !utf8.Valid(tool.Definition) || !json.Valid(tool.Definition) {
				t.Fatalf("not valid: %q", tool.Definition)
			}
		}
		again := catalog.Parse(published)
		if again.Digest != c.Digest || !reflect.DeepEqual(again.Tools, c.Tools) {
			t.Fatalf("what was published is read as something else:\n%v\n%v", again, c)
		}
		for _, w := range c.Warnings.Items {
			if utf8.RuneCountInString(w.Tool) > catalog.MaxWarningTool || !utf8.ValidString(w.Tool) ||
				utf8.RuneCountInString(w.Message) > catalog.MaxWarningMessage || !utf8.ValidString(w.Message) {
				t.Fatalf("warning beyond its bounds: %q", w)
			}
		}
	})
}
