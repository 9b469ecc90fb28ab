package catalog_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/catalog"
)

// bulky returns n tools of about size bytes. With noise a tool can hardly be compressed.
func bulky(n, size int, noise bool) catalog.Catalog {
	random := rand.NewChaCha8([32]byte{1})
	tools := make([]string, n)
	for i := range tools {
		text := strings.Repeat("lorem ipsum ", size/12)
		if noise {
			raw := make([]byte, size*3/4)
			_, _ = random.Read(raw)
			text = base64.StdEncoding.EncodeToString(raw)
		}
		tools[i] = fmt.Sprintf(`{"name":"tool_%04d","description":%q,"inputSchema":{"type":"object"}}`, i, text)
	}
	return catalog.Parse(list(tools...))
}

func document(c catalog.Catalog) catalog.ServerDocument {
	return catalog.ServerDocument{
		Server: catalog.Ref{Namespace: "agents", Name: "github"}, ConfigHash: "cafe", Catalog: c,
	}
}

func encode(t *testing.T, d catalog.ServerDocument) catalog.Encoded {
	t.Helper()
	encoded, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func decode(t *testing.T, e catalog.Encoded) catalog.ServerDocument {
	t.Helper()
	d, err := catalog.Decode(e.Data, e.BinaryData)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestServerDocument(t *testing.T) {
	c := catalog.Parse(list(
		`{"name":"b","inputSchema":{"type":"object","$ref":"#"}}`, `{"name":"a","inputSchema":{"type":"object","n":1.0},`+
			`"x":"<&>"}`))
	encoded := encode(t, document(c))
	equal(t, "encoding", encoded.Encoding, catalog.EncodingIdentity)
	equal(t, "data", encoded.Data, map[string]string{"catalog.json": `{"configHash":"cafe","digest":"` + string(c.Digest) +
		`","schemaVersion":1,"server":{"name":"github","namespace":"agents"},"tools":[` +
		`{"definition":{"inputSchema":{"n":1.0,"type":"object"},"name":"a","x":"<&>"},"digest":"` +
		string(c.Tools[0].Digest) +
		`","name":"a"},{"compat":["UsesRef"],"definition":{"inputSchema":{"$ref":"#","type":"object"},"name":"b"},` +
		`"digest":"` +
		string(c.Tools[1].Digest) + `","name":"b"}]}`})
	equal(t, "binary data", len(encoded.BinaryData), 0)
	equal(t, "decoded", decode(t, encoded), document(c))
	if !encoded.Same(encoded.Data, nil) || encoded.Same(map[string]string{"catalog.json": ""}, nil) ||
		encoded.Same(encoded.Data, map[string][]byte{"x": nil}) {
		t.Error("Same is wrong")
	}
}

func TestServerDocumentWithoutTools(t *testing.T) {
	d := document(catalog.Parse(nil))
	equal(t, "decoded", decode(t, encode(t, d)), d)
}

func TestB40_LayoutBySize(t *testing.T) {
	overhead := len(encode(t, document(bulky(1, 0, false))).Data["catalog.json"]) + len("catalog.json")
	fill := func(size int) catalog.Catalog {
		var tools []string
		rest := size - overhead
		for i := 0; rest > 0; i++ {
			// The first tool replaces the one that overhead was measured with.
			extra := 0
			if i > 0 {
				extra = overhead - len(encode(t, document(catalog.Parse(nil))).Data["catalog.json"]) - len("catalog.json") + 1
			}
			text := min(rest-extra, 100_000)
			tools = append(tools, fmt.Sprintf(`{"name":"tool_%04d","description":%q,"inputSchema":{"type":"object"}}`, i,
				strings.Repeat("x", text)))
			rest -= text + extra
		}
		return catalog.Parse(list(tools...))
	}
	at := encode(t, document(fill(catalog.MaxPlainBytes)))
	equal(t, "size", len("catalog.json")+len(at.Data["catalog.json"]), catalog.MaxPlainBytes)
	equal(t, "encoding at the limit", at.Encoding, catalog.EncodingIdentity)
	above := encode(t, document(fill(catalog.MaxPlainBytes+1)))
	equal(t, "encoding above it", above.Encoding, catalog.EncodingGzip)
	equal(t, "plain keys", above.Data, map[string]string{})
	equal(t, "binary keys", len(above.BinaryData), 1)
	equal(t, "header", above.BinaryData["catalog.json.gz"][:10], []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff})
	equal(t, "again", encode(t, document(fill(catalog.MaxPlainBytes+1))), above)
	equal(t, "decoded", decode(t, above), document(fill(catalog.MaxPlainBytes+1)))
}

func TestB40_ManyTools(t *testing.T) {
	c := bulky(1200, 2048, false)
	encoded := encode(t, document(c))
	equal(t, "encoding", encoded.Encoding, catalog.EncodingGzip)
	equal(t, "tools", len(decode(t, encoded).Catalog.Tools), 1200)
}

func TestB40_TooLargeIsRefused(t *testing.T) {
	_, err := document(bulky(1200, 1024, true)).Encode()
	if !errors.Is(err, catalog.ErrTooLarge) || !strings.HasPrefix(err.Error(), "catalog too large: ") ||
		!strings.HasSuffix(err.Error(), " KiB compressed, more than 900") {
		t.Errorf("compressed: %v", err)
	}
	_, err = document(bulky(150, 250_000, false)).Encode()
	if !errors.Is(err, catalog.ErrTooLarge) || err.Error() != "catalog too large: catalog.json has 35 MiB" {
		t.Errorf("uncompressed: %v", err)
	}
}

func TestBaselineIsPartOfTheSize(t *testing.T) {
	c := bulky(100, 5_000, false) // about 500 KB, twice
	baseline := catalog.NewBaseline(c)
	d := document(c)
	equal(t, "alone", encode(t, d).Encoding, catalog.EncodingIdentity)
	d.Approved = &baseline
	encoded := encode(t, d)
	equal(t, "with the baseline", encoded.Encoding, catalog.EncodingGzip)
	equal(t, "keys", len(encoded.BinaryData), 2)
	got, err := catalog.DecodeBaseline(encoded.Data, encoded.BinaryData)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "baseline", got, baseline)
	equal(t, "catalog", decode(t, encoded).Catalog, c)
}

func TestDecodeRefusesWhatItCannotTrust(t *testing.T) {
	good := encode(t, document(catalog.Parse(list(
		`{"name":"a","inputSchema":{"type":"object"},"title":"A"}`,
		`{"name":"b","inputSchema":{"type":"object"}}`)))).Data["catalog.json"]
	replace := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("%q is not in %s", from, good)
		}
		return strings.Replace(good, from, to, 1)
	}
	whole := decode(t, catalog.Encoded{Data: map[string]string{"catalog.json": good}}).Catalog
	for what, c := range map[string]struct {
		stored string
		want   error
	}{
		"not JSON":      {"{", catalog.ErrMalformed},
		"wrong types":   {`{"tools":1}`, catalog.ErrMalformed},
		"no version":    {replace(`"schemaVersion":1`, `"x":1`), catalog.ErrMalformed},
		"no number":     {replace(`"schemaVersion":1`, `"schemaVersion":"1"`), catalog.ErrMalformed},
		"other case":    {replace(`"definition"`, `"Definition"`), catalog.ErrMalformed},
		"no server":     {replace(`"server"`, `"sender"`), catalog.ErrMalformed},
		"no tools":      {replace(`"tools"`, `"tool"`), catalog.ErrMalformed},
		"bad marks":     {replace(`{"definition"`, `{"compat":[1],"definition"`), catalog.ErrMalformed},
		"later version": {replace(`"schemaVersion":1`, `"schemaVersion":2`), catalog.ErrUnsupportedVersion},
		"changed tool":  {replace(`"title":"A"`, `"title":"B"`), catalog.ErrDigestMismatch},
		"changed tool digest": {replace(string(whole.Tools[0].Digest), string(whole.Tools[1].Digest)),
			catalog.ErrDigestMismatch},
		"changed digest": {replace(string(whole.Digest), string(whole.Tools[1].Digest)), catalog.ErrDigestMismatch},
		"other name":     {replace(`"name":"a"`, `"name":"c"`), catalog.ErrMalformed},
		"no definition":  {replace(`"definition"`, `"elsewhere"`), catalog.ErrMalformed},
	} {
		for encoding, content := range map[string]catalog.Encoded{
			"plain": {Data: map[string]string{"catalog.json": c.stored}},
			"gzip":  {BinaryData: map[string][]byte{"catalog.json.gz": zip(t, []byte(c.stored))}},
		} {
			d, err := catalog.Decode(content.Data, content.BinaryData)
			if !errors.Is(err, c.want) || !reflect.DeepEqual(d, catalog.ServerDocument{}) {
				t.Errorf("%s, %s: %v, want %v", what, encoding, err, c.want)
			}
		}
	}
	_, err := catalog.Decode(map[string]string{"other": "x"}, nil)
	if !errors.Is(err, catalog.ErrNoDocument) {
		t.Errorf("nothing stored: %v", err)
	}
}

func TestDecodeKeepsWhatLaterReleasesAdd(t *testing.T) {
	stored := encode(t, document(catalog.Parse(list(`{"name":"a","inputSchema":{"type":"object"}}`)))).Data["catalog.json"]
	stored = strings.NewReplacer(`{"configHash"`, `{"added":[1],"configHash"`, `{"definition":{`,
		`{"added":{},"definition":{"later":1.0,`).Replace(stored)
	d, err := catalog.Decode(map[string]string{"catalog.json": stored}, nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "definition", definition(t, d.Catalog, "a"), `{"inputSchema":{"type":"object"},"later":1.0,"name":"a"}`)
}

func TestDeepestToolCanBeReadBack(t *testing.T) {
	const levels = 254 // of 256: the tool and its schema are the others
	c := catalog.Parse(list(`{"name":"d","inputSchema":{"type":"object","default":` +
		strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}}`))
	equal(t, "tools", len(c.Tools), 1)
	equal(t, "decoded", decode(t, encode(t, document(c))).Catalog, c)
}

func zip(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDecompressionIsBounded(t *testing.T) {
	bomb := zip(t, bytes.Repeat([]byte(" "), catalog.MaxDocumentBytes+1))
	for what, c := range map[string]struct {
		stored []byte
		want   error
	}{
		"bomb":     {bomb, catalog.ErrTooLarge},
		"no gzip":  {[]byte("plain text"), catalog.ErrMalformed},
		"empty":    {nil, catalog.ErrMalformed},
		"cut":      {bomb[:len(bomb)-4], catalog.ErrMalformed},
		"only pad": {zip(t, bytes.Repeat([]byte(" "), catalog.MaxDocumentBytes)), catalog.ErrMalformed},
	} {
		if _, err := catalog.Decode(nil, map[string][]byte{"catalog.json.gz": c.stored}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
}

func TestPropertyDocumentsSurviveStorage(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var tools []json.RawMessage
		for i := range random.IntN(20) {
			raw, _ := randomTool(random, fmt.Sprintf("t%d", i))
			tools = append(tools, json.RawMessage(raw))
		}
		baseline := catalog.NewBaseline(catalog.Parse(tools))
		d := document(catalog.Parse(tools))
		d.Approved = &baseline
		encoded := encode(t, d)
		got := decode(t, encoded)
		equal(t, "catalog", got.Catalog, d.Catalog)
		approved, err := catalog.DecodeBaseline(encoded.Data, encoded.BinaryData)
		if err != nil || approved.Digest() != baseline.Digest() {
			t.Fatalf("baseline: %v", err)
		}
		got.Approved = &approved
		equal(t, "encoded again", encode(t, got), encoded)
		random.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		d.Catalog = catalog.Parse(tools)
		equal(t, "shuffled", encode(t, d), encoded)
		if t.Failed() {
			t.FailNow()
		}
	}
}

func FuzzDecode(f *testing.F) {
	c := catalog.Parse(list(`{"name":"a","inputSchema":{"type":"object","$ref":"#"}}`))
	baseline := catalog.NewBaseline(c)
	d := document(c)
	d.Approved = &baseline
	encoded, err := d.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(encoded.Data["catalog.json"]), false)
	f.Add([]byte(encoded.Data["approved.json"]), false)
	f.Add([]byte(strings.Replace(encoded.Data["catalog.json"], `["UsesRef"]`, "[]", 1)), false)
	f.Add(zip(f, []byte(encoded.Data["catalog.json"])), true)
	f.Fuzz(func(t *testing.T, stored []byte, zipped bool) {
		data, binaryData := map[string]string{}, map[string][]byte{}
		if zipped {
			binaryData["catalog.json.gz"] = stored
		} else {
			data["catalog.json"], data["approved.json"] = string(stored), string(stored)
			_, _ = catalog.DecodeBaseline(data, nil)
		}
		got, err := catalog.Decode(data, binaryData)
		if err != nil {
			for _, typed := range []error{catalog.ErrMalformed, catalog.ErrUnsupportedVersion, catalog.ErrDigestMismatch,
				catalog.ErrTooLarge} {
				if errors.Is(err, typed) {
					return
				}
			}
			t.Fatalf("not a typed error: %v", err)
		}
		encoded, err := got.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := catalog.Decode(encoded.Data, encoded.BinaryData)
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%v: %v is read back as %v", err, got, again)
		}
	})
}
