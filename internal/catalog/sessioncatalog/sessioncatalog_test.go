package sessioncatalog_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
)

var session = catalog.Ref{Namespace: "agents", Name: "coder"}

const gateway = "http://127.0.0.1:8330"

func ref(name string) catalog.Ref { return catalog.Ref{Namespace: "agents", Name: name} }

func entry(name string, tools ...string) sessioncatalog.ServerEntry {
	raw := make([]json.RawMessage, len(tools))
	for i, tool := range tools {
		raw[i] = json.RawMessage(tool)
	}
	info := sessioncatalog.ServerInfo{Ref: ref(name), UID: "uid-" + name, Source: "mcp:" + name}
	return sessioncatalog.NewServerEntry(info, name, catalog.Parse(raw).Tools)
}

func tool(name string) string { return `{"name":"` + name + `","inputSchema":{"type":"object"}}` }

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\ngot  %#v\nwant %#v", what, got, want)
	}
}

func merge(t *testing.T, all []sessioncatalog.ServerEntry, errs ...sessioncatalog.Error) sessioncatalog.Document {
	t.Helper()
	d, collisions := sessioncatalog.Merge(session, all, errs)
	equal(t, "collisions", collisions, nil)
	return d
}

func publish(t *testing.T, all []sessioncatalog.ServerEntry, errs ...sessioncatalog.Error) sessioncatalog.Publication {
	t.Helper()
	p, err := sessioncatalog.Publish(session, gateway, all, errs)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func decode(t *testing.T, e catalog.Encoded) sessioncatalog.Document {
	t.Helper()
	d, err := sessioncatalog.Decode(e.Data, e.BinaryData)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDocument(t *testing.T) {
	parsed := catalog.Parse([]json.RawMessage{
		[]byte(`{"name":"get.it","inputSchema":{"type":"object","$ref":"#"},"_meta":{"a":1.0},"server":"evil",` +
			`"compat":"evil","digest":1}`),
		[]byte(`{"name":"add","inputSchema":{"type":"object"},"compat":["evil"],"title":"<A>"}`)})
	github := sessioncatalog.NewServerEntry(sessioncatalog.ServerInfo{
		Ref: ref("github"), UID: "u1", Source: "mcp:github via x", Notes: "code\u200b",
	}, "github", parsed.Tools)
	foreign := catalog.Ref{Namespace: "shared", Name: "mail"}
	mail := sessioncatalog.NewServerEntry(sessioncatalog.ServerInfo{Ref: foreign, UID: "u2"},
		catalog.ServerPart(foreign.Namespace, foreign.Name, true),
		catalog.Parse([]json.RawMessage{[]byte(tool("send"))}).Tools)
	d := merge(t, []sessioncatalog.ServerEntry{mail, github},
		sessioncatalog.Error{Server: ref("slow"), Reason: "ConnectTimeout"})
	send := catalog.Parse([]json.RawMessage{[]byte(tool("send"))}).Tools[0].Digest

	body := `"schemaVersion":1,"servers":[` +
		`{"name":"github","namespace":"agents","notes":"code","server":"agents/github","source":"mcp:github via x",` +
		`"uid":"u1"},` +
		`{"name":"mail","namespace":"shared","server":"shared/mail","uid":"u2"}],"session":{"name":"coder","namespace":` +
		`"agents"},"tools":[` +
		`{"digest":"` + string(parsed.Tools[0].Digest) + `","inputSchema":{"type":"object"},"name":"mcp_github_add",` +
		`"rawName":"add",` +
		`"server":"agents/github","title":"<A>"},` +
		`{"_meta":{"a":1.0},"compat":["UsesRef"],"digest":"` + string(parsed.Tools[1].Digest) +
		`","inputSchema":{"$ref":"#","type":"object"},` +
		`"name":"` + catalog.ExposedName("github", "get.it") + `","rawName":"get.it","server":"agents/github"},` +
		`{"digest":"` + string(send) + `","inputSchema":{"type":"object"},"name":"mcp_shared-mail_send","rawName":` +
		`"send","server":"shared/mail"}]}`
	equal(t, "digest", d.Digest, catalog.Sum([]byte("{"+body)))
	equal(t, "document", string(d.JSON()), `{"digest":"`+string(d.Digest)+
		`","errors":[{"reason":"ConnectTimeout","server":"agents/slow"}],"revision":"`+string(d.Digest[7:19])+`",`+body)
	equal(t, "tools", d.ToolCount(), 3)
	equal(t, "routes", d.Routes(), map[string]sessioncatalog.Route{
		"mcp_github_add":                        {Server: ref("github"), UID: "u1", RawName: "add"},
		catalog.ExposedName("github", "get.it"): {Server: ref("github"), UID: "u1", RawName: "get.it"},
		"mcp_shared-mail_send":                  {Server: foreign, UID: "u2", RawName: "send"},
	})
	equal(t, "decoded", decode(t, publish(t, []sessioncatalog.ServerEntry{github, mail}, d.Errors...).Encoded), d)
}

func TestEmptyDocument(t *testing.T) {
	d := merge(t, nil, sessioncatalog.Error{Reason: "DiscoveryFailed"})
	body := `"schemaVersion":1,"servers":[],"session":{"name":"coder","namespace":"agents"},"tools":[]}`
	digest := catalog.Sum([]byte("{" + body))
	equal(t, "document", string(d.JSON()), `{"digest":"`+string(digest)+`","errors":[{"reason":"DiscoveryFailed"}],`+
		`"revision":"`+
		digest.Revision()+`",`+body)
	got := decode(t, publish(t, nil, sessioncatalog.Error{Reason: "DiscoveryFailed"}).Encoded)
	equal(t, "errors", got.Errors, d.Errors)
	equal(t, "digest", got.Digest, d.Digest)
}

func TestErrorsDoNotChangeTheRevision(t *testing.T) {
	all := []sessioncatalog.ServerEntry{entry("a", tool("x"))}
	quiet := merge(t, all)
	loud := merge(t, all, sessioncatalog.Error{Server: ref("b"), Reason: "DNSError"})
	equal(t, "digest", loud.Digest, quiet.Digest)
	if string(loud.JSON()) == string(quiet.JSON()) {
		t.Error("the error is not in the document")
	}
}

func TestServerHasAnEntryOrAnError(t *testing.T) {
	d := merge(t, []sessioncatalog.ServerEntry{entry("a", tool("x"))},
		sessioncatalog.Error{Server: ref("c"), Reason: "Second"},
		sessioncatalog.Error{Server: ref("b"), Reason: "First"}, sessioncatalog.Error{Server: ref("a"), Reason: "Gone"},
		sessioncatalog.Error{Server: ref("b"), Reason: "Again"})
	equal(t, "errors", d.Errors, []sessioncatalog.Error{
		{Server: ref("b"), Reason: "First"}, {Server: ref("c"), Reason: "Second"},
	})
	twice := merge(t, []sessioncatalog.ServerEntry{entry("a", tool("x")), entry("a", tool("y"))})
	equal(t, "slices", twice.Servers, []sessioncatalog.ServerEntry{entry("a", tool("x"))})
	if _, ok := twice.Server(ref("b")); ok {
		t.Error("found a server that is not there")
	}
}

func TestReplacingOneEntryLeavesTheOthersBytes(t *testing.T) {
	var all []sessioncatalog.ServerEntry
	for i := range 8 {
		all = append(all, entry(fmt.Sprintf("s%d", i), tool("x"), `{"name":"y","inputSchema":{"type":"object","n":1.50}}`))
	}
	stored := decode(t, publish(t, all).Encoded)
	next := slices.Clone(stored.Servers) // as a later process finds them
	next[3] = entry("s3", tool("z"))
	changed := publish(t, next).Document
	for i, s := range changed.Servers {
		if i != 3 {
			equal(t, s.Name, s, all[i])
		}
	}
	equal(t, "replaced", changed.Servers[3], entry("s3", tool("z")))
	if changed.Digest == stored.Digest {
		t.Error("the digest did not change")
	}
	next[3] = all[3]
	equal(t, "back again", publish(t, next).Encoded, publish(t, all).Encoded)
}

func TestB32_ExactDuplicatesKeepTheFirst(t *testing.T) {
	own := entry("x-y", tool("t"), tool("u"))
	foreign := sessioncatalog.NewServerEntry(sessioncatalog.ServerInfo{Ref: catalog.Ref{Namespace: "x", Name: "y"}},
		catalog.ServerPart("x", "y", true),
		catalog.Parse([]json.RawMessage{[]byte(tool("t")), []byte(tool("v"))}).Tools)
	for _, order := range [][]sessioncatalog.ServerEntry{{own, foreign}, {foreign, own}} {
		d, collisions := sessioncatalog.Merge(session, order, nil)
		equal(t, "collisions", collisions, []catalog.Ref{{Namespace: "x", Name: "y"}})
		equal(t, "route", d.Routes()["mcp_x-y_t"].Server, ref("x-y"))
		equal(t, "tools", d.ToolCount(), 3)
	}
	equal(t, "given entry", len(foreign.Tools), 2)
}

func TestSelectionIsByExposedNames(t *testing.T) {
	filter, err := catalog.NewFilter([]string{"mcp_a_*"}, []string{"*_y"})
	if err != nil {
		t.Fatal(err)
	}
	allows := func(t *sessioncatalog.Tool) bool { return filter.Allows(t.Name) }
	whole := entry("a", tool("x"), tool("y"))
	equal(t, "a", whole.Select(allows), entry("a", tool("x")))
	equal(t, "b", len(entry("b", tool("x")).Select(allows).Tools), 0)
	equal(t, "whole", len(whole.Tools), 2)
}

func TestEntriesLeaveOutWhatIsNoTool(t *testing.T) {
	s := sessioncatalog.NewServerEntry(sessioncatalog.ServerInfo{Ref: ref("a")}, "a", []catalog.Tool{
		{Name: "x", Definition: []byte("{")},
		{Name: "y", Definition: []byte("[]")}})
	equal(t, "tools", len(s.Tools), 0)
}

// incompressible is a slice of about size bytes that does not get smaller.
func incompressible(name string, size int) sessioncatalog.ServerEntry {
	random := rand.NewChaCha8([32]byte{byte(len(name))})
	var tools []string
	for i := 0; size > 0; i++ {
		part := min(size, 150_000)
		raw := make([]byte, part*3/4)
		_, _ = random.Read(raw)
		tools = append(tools, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"},"description":%q}`, i,
			base64.StdEncoding.EncodeToString(raw)))
		size -= part
	}
	return entry(name, tools...)
}

func TestLargestServersAreDropped(t *testing.T) {
	small := entry("small", tool("x"))
	all := []sessioncatalog.ServerEntry{small, incompressible("b", 500_000),
		incompressible("c", 900_000), incompressible("a", 500_000),
		incompressible("d", 2_000_000)}
	p := publish(t, all, sessioncatalog.Error{Server: ref("down"), Reason: "DNSError"})
	equal(t, "dropped", p.Dropped, []catalog.Ref{ref("c"), ref("d")})
	p = publish(t, append(all, incompressible("e", 400_000)))
	equal(t, "dropped", p.Dropped, []catalog.Ref{ref("a"), ref("c"), ref("d")})
	equal(t, "errors", p.Document.Errors, []sessioncatalog.Error{
		{ref("a"), "CatalogTooLarge"}, {ref("c"), "CatalogTooLarge"},
		{ref("d"), "CatalogTooLarge"}})
	equal(t, "encoding", p.Encoded.Encoding, catalog.EncodingGzip)
	equal(t, "mcp.json", p.Encoded.Data,
		map[string]string{"mcp.json": string(sessioncatalog.MCPConfig(session, gateway))})
	equal(t, "decoded", decode(t, p.Encoded), p.Document)
	equal(t, "again", publish(t, append([]sessioncatalog.ServerEntry{incompressible("e", 400_000)}, all...)), p)
	if _, ok := p.Document.Server(small.Ref); !ok {
		t.Error("the small server lost its tools")
	}
}

func TestOneLargeServerAlone(t *testing.T) {
	p := publish(t, []sessioncatalog.ServerEntry{incompressible("a", 2_000_000)})
	equal(t, "tools", p.Document.ToolCount(), 0)
	equal(t, "dropped", p.Dropped, []catalog.Ref{ref("a")})
}

func TestNothingFits(t *testing.T) {
	errs := []sessioncatalog.Error{}
	random := rand.NewChaCha8([32]byte{9})
	for range 2_000 {
		raw := make([]byte, 600)
		_, _ = random.Read(raw)
		errs = append(errs, sessioncatalog.Error{Server: ref(base64.StdEncoding.EncodeToString(raw)), Reason: "X"})
	}
	for _, all := range [][]sessioncatalog.ServerEntry{nil, {entry("a", tool("x"))}} {
		p, err := sessioncatalog.Publish(session, gateway, all, errs)
		if !errors.Is(err, catalog.ErrTooLarge) || !reflect.DeepEqual(p, sessioncatalog.Publication{}) {
			t.Errorf("%v", err)
		}
	}
}

func TestMCPConfig(t *testing.T) {
	equal(t, "mcp.json", string(sessioncatalog.MCPConfig(session, gateway)),
		`{"mcpServers":{"mooring":{"type":"http","url":"http://127.0.0.1:8330/sessions/agents/coder/mcp"}}}`)
	equal(t, "other endpoint", string(sessioncatalog.MCPConfig(session, "https://gw.test/")),
		`{"mcpServers":{"mooring":{"type":"http","url":"https://gw.test/sessions/agents/coder/mcp"}}}`)
}

// resealed returns a document with from replaced by to and the digest made right again.
func resealed(t *testing.T, document, from, to string) string {
	t.Helper()
	if !strings.Contains(document, from) {
		t.Fatalf("%q is not in %s", from, document)
	}
	document = strings.Replace(document, from, to, 1)
	body := "{" + document[strings.Index(document, `"schemaVersion"`):]
	digest := catalog.Sum([]byte(body))
	return `{"digest":"` + string(digest) + `","errors":[],"revision":"` + digest.Revision() + `",` + body[1:]
}

func TestDecodeRefusesWhatItCannotTrust(t *testing.T) {
	good := publish(t, []sessioncatalog.ServerEntry{entry("a", tool("x"), tool("y")), entry("b", tool("z"))},
		sessioncatalog.Error{Server: ref("c"), Reason: "DNSError"}).Encoded.Data["catalog.json"]
	seal := func(from, to string) string { return resealed(t, good, from, to) }
	for what, c := range map[string]struct {
		stored string
		want   error
	}{
		"not JSON":              {"{", catalog.ErrMalformed},
		"not an object":         {"[]", catalog.ErrMalformed},
		"no version":            {"{}", catalog.ErrMalformed},
		"fractional version":    {`{"schemaVersion":1.0}`, catalog.ErrMalformed},
		"later version":         {`{"schemaVersion":2}`, catalog.ErrUnsupportedVersion},
		"changed tool":          {strings.Replace(good, `"rawName":"x"`, `"rawName":"z"`, 1), catalog.ErrDigestMismatch},
		"changed revision":      {strings.Replace(good, `"revision":"`, `"revision":"0`, 1), catalog.ErrDigestMismatch},
		"no session":            {seal(`"session"`, `"sesame"`), catalog.ErrMalformed},
		"no servers":            {seal(`"servers":[`, `"server2":[`), catalog.ErrMalformed},
		"repeated server":       {seal(`"name":"b"`, `"name":"a"`), catalog.ErrMalformed},
		"server of other type":  {seal(`"source":"mcp:a"`, `"source":1`), catalog.ErrMalformed},
		"tool of no server":     {seal(`"server":"agents/b"}]}`, `"server":"agents/c"}]}`), catalog.ErrMalformed},
		"tool of bad server":    {seal(`"server":"agents/b"}]}`, `"server":"b"}]}`), catalog.ErrMalformed},
		"tool without raw name": {seal(`"rawName":"x"`, `"ranName":"x"`), catalog.ErrMalformed},
		"repeated tool":         {seal(`"name":"mcp_a_y"`, `"name":"mcp_a_x"`), catalog.ErrMalformed},
		"tools of other type":   {seal(`"tools":[`, `"tools2":[`), catalog.ErrMalformed},
		"bad error":             {strings.Replace(good, `"reason":"DNSError"`, `"reason":7`, 1), catalog.ErrMalformed},
		"errors of other type": {strings.Replace(good, `"errors":[{"reason":"DNSError","server":"agents/c"}]`,
			`"errors":{}`, 1), catalog.ErrMalformed},
	} {
		d, err := sessioncatalog.Decode(map[string]string{"catalog.json": c.stored}, nil)
		if !errors.Is(err, c.want) || !reflect.DeepEqual(d, sessioncatalog.Document{}) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	if _, err := sessioncatalog.Decode(nil, nil); !errors.Is(err, catalog.ErrNoDocument) {
		t.Errorf("nothing stored: %v", err)
	}
	later := seal(`"session":{`, `"session":{"added":1,`)
	if _, err := sessioncatalog.Decode(map[string]string{"catalog.json": later}, nil); err != nil {
		t.Errorf("additions of a later release: %v", err)
	}
}

func TestDeepestToolCanBeReadBack(t *testing.T) {
	const levels = 254 // of 256: the tool and its schema are the others
	deep := `{"name":"d","inputSchema":{"type":"object","default":` +
		strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}}`
	d := merge(t, []sessioncatalog.ServerEntry{entry("a", deep)})
	equal(t, "tools", d.ToolCount(), 1)
	equal(t, "decoded", decode(t, publish(t, d.Servers).Encoded).ToolCount(), 1)
}

// TestPropertySameInputSameBytes: whatever the order of servers, tools and errors, the bytes are the same and are
// read back.
func TestPropertySameInputSameBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for run := range 300 {
		var all []sessioncatalog.ServerEntry
		var errs []sessioncatalog.Error
		for i := range random.IntN(6) {
			var tools []string
			for k := range random.IntN(6) {
				tools = append(tools, fmt.Sprintf(`{"name":"t.%d","inputSchema":{"type":"object","n":%d.0}}`, k, random.Int()))
			}
			all = append(all, entry(fmt.Sprintf("s%d", i), tools...))
			errs = append(errs, sessioncatalog.Error{Server: ref(fmt.Sprintf("e%d", i)), Reason: "DNSError"})
		}
		first := publish(t, all, errs...)
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		random.Shuffle(len(errs), func(i, j int) { errs[i], errs[j] = errs[j], errs[i] })
		if second := publish(t, all, errs...); !reflect.DeepEqual(second.Encoded, first.Encoded) {
			t.Fatalf("run %d: other bytes after another order", run)
		}
		got := decode(t, first.Encoded)
		again := publish(t, got.Servers, got.Errors...)
		if !again.Encoded.Same(first.Encoded.Data, first.Encoded.BinaryData) {
			t.Fatalf("run %d: other bytes after reading back", run)
		}
	}
}

func FuzzDecode(f *testing.F) {
	p, err := sessioncatalog.Publish(session, gateway,
		[]sessioncatalog.ServerEntry{entry("a", tool("x"))},
		[]sessioncatalog.Error{{Server: ref("b"), Reason: "X"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.Encoded.Data["catalog.json"])
	f.Add(`{"schemaVersion":1,"servers":[],"session":{"name":"","namespace":""},"tools":[]}`)
	f.Fuzz(func(t *testing.T, stored string) {
		// The digest is made right, so that what lies behind it is reached too.
		if at := strings.Index(stored, `"schemaVersion"`); at >= 0 {
			body := "{" + stored[at:]
			digest := catalog.Sum([]byte(body))
			stored = `{"digest":"` + string(digest) + `","errors":[],"revision":"` + digest.Revision() + `",` + body[1:]
		}
		d, err := sessioncatalog.Decode(map[string]string{"catalog.json": stored}, nil)
		if err != nil {
			for _, typed := range []error{catalog.ErrMalformed, catalog.ErrUnsupportedVersion, catalog.ErrDigestMismatch} {
				if errors.Is(err, typed) {
					return
				}
			}
			t.Fatalf("not a typed error: %v", err)
		}
		merged, collisions := sessioncatalog.Merge(d.Session, d.Servers, d.Errors)
		again, err := sessioncatalog.Decode(map[string]string{"catalog.json": string(merged.JSON())}, nil)
		if err != nil || collisions != nil || again.ToolCount() != d.ToolCount() {
			t.Fatalf("%v, %v: %v is read back as %v", err, collisions, merged, again)
		}
	})
}

func BenchmarkPublish(b *testing.B) {
	var all []sessioncatalog.ServerEntry
	for i := range 8 {
		var tools []string
		for k := range 50 {
			tools = append(tools, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"},"description":%q}`, k,
				strings.Repeat("d", 400)))
		}
		all = append(all, entry(fmt.Sprintf("s%d", i), tools...))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sessioncatalog.Publish(session, gateway, all, nil); err != nil {
			b.Fatal(err)
		}
	}
}
