package importer_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer"
)

// entry imports one entry of mcpServers.
func entry(t *testing.T, fields string) *importer.Entry {
	t.Helper()
	result, err := importer.Import([]byte(`{"mcpServers": {"s": `+fields+`}}`), importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result.Entries[0]
}

func TestLeftOutSaysWhyAndNothingElse(t *testing.T) {
	many := func(n int) string { return strings.Repeat(`"x",`, n-1) + `"x"` }
	var references []string
	for i := range 33 {
		references = append(references, fmt.Sprintf("${V%d}", i))
	}
	for _, test := range []struct{ name, fields, want string }{
		{"no object", `[]`, "the entry is not a JSON object"},
		{"nothing", `{}`, "it has neither url nor command"},
		{"empty command", `{"command": " "}`, "it has neither url nor command"},
		{"stdio without a command", `{"type": "stdio", "url": "https://h.example"}`, "it has no command"},
		{"another type", `{"type": "ws", "url": "wss://h.example"}`,
			"its type ws is no transport of Mooring; those are stdio, http and sse"},
		{"another scheme", `{"url": "ws://h.example"}`,
			"its url begins with ws://; Mooring reaches servers by https and http"},
		{"65 arguments", `{"command": "npx", "args": [` + many(65) + `]}`, "it has more than 64 arguments"},
		{"long argument", `{"command": "npx", "args": ["` + strings.Repeat("a ", 2049) + `"]}`,
			"args[0] has more than 4096 characters"},
		{"long url", `{"url": "https://h.example/` + strings.Repeat("z/", 1020) + `"}`,
			"its url is not valid, or has more than 2048 characters"},
		{"33 variables", `{"url": "https://h.example/` + strings.Join(references, "/") + `"}`,
			"it needs more than 32 variables"},
		{"mcp-remote alone", `{"command": "npx", "args": ["mcp-remote", "--debug"]}`,
			"it runs mcp-remote without a url"},
		{"mcp-remote with another scheme", `{"command": "mcp-remote", "args": ["ftp://h.example"]}`,
			"its url begins with ftp://; Mooring reaches servers by https and http"},
		{"container flag without its value", `{"command": "docker", "args": ["run", "-e"]}`,
			"its container has no image"},
		{"container flag of a reference", `{"command": "docker", "args": ["run", "--x${Y}", "img"]}`,
			"its container has a flag that is not known, so its image cannot be told"},
		{"port too high", `{"url": "https://h.example:65536/"}`, "the host of its url is not valid"},
		{"slash in a password", `{"url": "https://u:canary/x@h.example/"}`,
			"its url may have a password with / ? or # in it, or an @ behind its host: percent-encode them"},
		{"credential for a key", `{"url": "https://h.example/?ghp_0123456789abcdef"}`,
			"a key of its url's query may be a credential; it would be in clear text"},
		{"credential for a key, filled up", `{"url": "https://h.example/?a=b&q83vASNFZ4mrze8BI0VniQ=="}`,
			"a key of its url's query may be a credential; it would be in clear text"},
		{"image that may be a secret", `{"command": "docker", "args": ["run", "ghp_0123456789abcdef"]}`,
			"the image of its container cannot be told"},
		{"header by a variable over http", `{"url": "http://h.example/", "headers": {"X-Org": "a ${ORG}"}}`,
			"it would send a credential over plain http: give it an https url, or one that ends in .svc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			got := entry(t, test.fields)
			g.Expect(got.Server).To(BeNil())
			g.Expect(got.Secret).To(BeNil())
			g.Expect(got.Notes).To(Equal([]string{"left out: " + test.want}))
		})
	}
}

func TestNotes(t *testing.T) {
	headers := func(list string) string { return `{"url": "https://h.example/", "headers": {` + list + `}}` }
	var numbered, variables []string
	for i := range 33 {
		numbered = append(numbered, fmt.Sprintf(`"X-%d": "v"`, i))
	}
	for i := range 65 {
		variables = append(variables, fmt.Sprintf(`"V%d": "v"`, i))
	}
	for _, test := range []struct{ name, fields, want string }{
		{"33 headers", headers(strings.Join(numbered, ", ")), "header X-32 is left out: there may be 32"},
		{"65 variables", `{"command": "npx", "env": {` + strings.Join(variables, ", ") + `}}`,
			"env V64 is left out: there may be 64"},
		{"empty Authorization", headers(`"Authorization": " "`), "header Authorization is left out: it is empty"},
		{"user-info beside 32 headers", `{"url": "https://a:b@h.example/", "headers": {` +
			strings.Join(numbered[:32], ", ") + `}}`, "the user-info of url is left out: there may be 32 headers"},
		{"command beside a remote type", `{"type": "sse", "url": "https://h.example", "command": "npx"}`,
			"command is ignored: the entry's type is remote"},
		{"header without a name", `{"command": "npx", "args": ["mcp-remote", "https://h.example", "--header", "canary"]}`,
			"a header is left out: it has no name"},
		{"sign in", `{"command": "npx", "args": ["mcp-remote", "https://h.example", "--resource", "x"]}`,
			"--resource is not carried over: nobody is there to sign in; see spec.http.auth"},
		{"description with a credential", `{"command": "npx", "description": "its password: canary"}`,
			"description is left out: it may hold a credential"},
		{"description with a word that nobody writes", `{"command": "npx", "description": "it lets kq3v9x2mzt in"}`,
			"description is left out: it may hold a credential"},
		{"name of a variable that may be a secret", `{"command": "npx", "env": {"ghp_0123456789abcdef": "1"}}`,
			"an env is left out: its name is not valid"},
		{"field that is not known", `{"url": "https://h.example", "frob": 1}`,
			"frob is not carried over: the field is not known"},
		{"program that may be a secret", `{"command": "${BIN}/x"}`, "fill in spec.stdio.image and spec.stdio.command, " +
			"and take spec.disabled away: the program is on the machine of the author of the file"},
		{"name of a variable by reference", `{"command": "docker", "args": ["run", "-e", "${N}=1", "img"]}`,
			"a variable of the container is left out: its name has ${N}"},
		{"machine of its own", `{"url": "http://127.0.0.1:8080/mcp"}`,
			"url leads to the machine itself: in a cluster that is the manager's own pod, which is refused unless the manager " +
				"has --allow-loopback"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			got := entry(t, test.fields)
			g.Expect(got.Server).NotTo(BeNil())
			g.Expect(got.Notes).To(ContainElement(test.want))
		})
	}
}

// What a person is asked with is quoted, unless it gives a credential away.
func TestQuestions(t *testing.T) {
	for _, test := range []struct{ name, description, standard, want string }{
		{"harmless", "The password of the database", "", "fill in key pw of Secret s-mcp-credentials: ${input:pw}: " +
			"The password of the database"},
		{"with an answer", "The password", "canary", "${input:pw}: The password is a credential: it goes into key pw of " +
			"Secret s-mcp-credentials"},
		{"that holds the answer", "The password, Canary as ever", "canary ", "${input:pw} is a credential: it goes into " +
			"key pw of Secret s-mcp-credentials"},
		{"that holds another", "The password (now kq3v9x2mzt)", "",
			"fill in key pw of Secret s-mcp-credentials: ${input:pw}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			text := fmt.Sprintf(`{"servers": {"s": {"command": "npx", "args": ["x", "${input:pw}"]}}, "inputs": [{"id": "pw",
				"type": "promptString", "description": %q, "password": true, "default": %q}]}`, test.description, test.standard)
			result, err := importer.Import([]byte(text), importer.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.Entries[0].Notes).To(ContainElement(test.want))
		})
	}
	g := NewWithT(t)
	result, err := importer.Import([]byte(`{"name": "a/b", "packages": [{"registryType": "npm", "identifier": "b",
		"environmentVariables": [{"name": "C", "value": "x{t}", "variables": {"t": {"isSecret": true, "default": "canary",
			"description": "the token, such as canary"}}},
			{"name": "D", "isSecret": true, "default": "canary", "description": "once canary"}]}]}`), importer.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Entries[0].Notes).NotTo(ContainElement(ContainSubstring("canary")))
	g.Expect(shown(result.Entries[0])).To(Equal("npx -y b C=*C D=*D"))
}

func TestEmptyFieldsAreNotWorthANote(t *testing.T) {
	g := NewWithT(t)
	got := entry(t, `{"url": "https://h.example", "a": null, "b": "", "c": false, "d": [], "e": {}, "name": "x"}`)
	g.Expect(got.Notes).To(BeEmpty())
}

func TestLongValuesOfAnEnvironmentGoIntoTheSecret(t *testing.T) {
	g := NewWithT(t)
	got := entry(t, `{"command": "npx", "env": {"PROMPT": "`+strings.Repeat("a ", 2049)+`"}}`)
	g.Expect(got.Server.Spec.Stdio.Env[0].ValueFrom.SecretKeyRef.Key).To(Equal("PROMPT"))
	g.Expect(got.Secret.Keys[0].Value.Reveal()).To(HaveLen(4098))
}

func TestTheSameReferenceHasOneKeyAndOneVariable(t *testing.T) {
	g := NewWithT(t)
	got := entry(t, `{"command": "npx", "args": ["${A}", "x${A}", "--api-key", "1secret", "--api_key", "2secret"],
		"env": {"B": "${A}", "API_KEY": "3"}}`)
	var keys []string
	for _, key := range got.Secret.Keys {
		keys = append(keys, key.Name)
	}
	g.Expect(keys).To(Equal([]string{"A", "api-key", "api_key", "API_KEY"}))
	g.Expect(got.Server.Spec.Stdio.Args).To(Equal(
		[]string{"$(A)", "x$(A)", "--api-key", "$(api_key)", "--api_key", "$(api_key_2)"}))
	g.Expect(got.Server.Spec.Variables).To(HaveLen(3))
}

func TestKeysAreValidWhateverTheyAreCalled(t *testing.T) {
	g := NewWithT(t)
	got := entry(t, `{"command": "npx", "args": ["--1-key", "abc", "${input:???}", "${input:`+strings.Repeat("k", 60)+`}",
		"${input:ghp_0123456789abcdef}"]}`)
	var keys, variables []string
	for i, key := range got.Secret.Keys {
		keys = append(keys, key.Name)
		variables = append(variables, got.Server.Spec.Variables[i].Name)
	}
	g.Expect(keys).To(Equal([]string{"1-key", "value", strings.Repeat("k", 48), "value-2"}))
	g.Expect(variables).To(Equal([]string{"_1_key", "value", strings.Repeat("k", 48), "value_2"}))
}

func TestWhereCredentialsAreInArguments(t *testing.T) {
	for _, test := range []struct{ name, arguments, want string }{
		{"header", `"-H", "X-Access:  canary"`, "-H X-Access:  *X-Access"},
		{"header behind =", `"--header=Authorization: Bearer canary"`, "--header=Authorization: *Authorization"},
		{"header behind = of one letter", `"-H=X-Api-Key:canary"`, "-H=X-Api-Key:*X-Api-Key"},
		{"header with =", `"--header", "X-Access=a:canary"`, "--header X-Access=*X-Access"},
		{"header by reference", `"--header=Authorization: Bearer ${T}"`, "--header=Authorization: Bearer *T"},
		{"name by reference", `"-H", "${NAME}: canary"`, "-H *NAME*argument"},
		{"headers in JSON", `"--headers", "{\"X-Org\":\"acme\",\"X-Access\":\"canary\"}"`, "--headers *argument"},
		{"no header", `"-H", "tcp://ada:canary@h", "--header", "acme"`, "-H tcp:*tcp --header acme"},
		{"name of a header", `"--api-key-header", "X-Api-Key"`, "--api-key-header X-Api-Key"},
		{"value like a flag", `"--token", "-canary", "--password", "-v"`, "--token *token --password -v"},
		{"beside a reference", `"postgres://${USER}:canary@h/x"`, "*argument*USER*argument-2"},
		{"references alone", `"postgres://ada:${PASSWORD}@${HOST}/x"`, "postgres://ada:*PASSWORD@*HOST/x"},
		{"file", `"--private-key", "/keys/id.pem"`, "--private-key /keys/id.pem"},
		{"Base 64 that is filled up", `"Zm9vYmFyU2VjcmV0S2V5MTIzNDU2Nzg5MGFiY2RlZg=="`, "*argument"},
		{"short Base 64 that is filled up", `"q83vASNFZ4mrze8BI0VniQ==", "x2"`, "*argument x2"},
		{"token that is filled up", `"--k8s", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln="`, "--k8s *argument"},
		{"credential for a name", `"ghp_0123456789abcdef=1", "--ghp_0123456789abcdef=on"`, "*argument *argument-2"},
		{"credential for a header", `"-H", "ghp_0123456789abcdef=1", "--header=q83vASNFZ4mrze8BI0VniQ=="`,
			"-H *argument --header=*argument-2"},
		{"credential for a name of a reference", `"ghp_0123456789abcdef=${X}"`, "*argument*X"},
		{"JSON that is filled up", `"eyJhcGlLZXkiOiJkq3v9x2mztIn0="`, "*argument"},
		{"flag of a name and a password", `"-u", "ada:canary", "--user", "ada:canary"`, "-u *u --user *user"},
		{"in one word", `"--user=ada:canary", "-uada:canary", "--proxy-user=ada:canary"`,
			"--user=*user *argument --proxy-user=*proxy-user"},
		{"by references", `"--basic", "${USER}:canary", "--user", "ada:${PASSWORD}"`,
			"--basic *USER*basic --user ada:*PASSWORD"},
		{"no password", `"--user", "1000:1000", "-u", "ada", "-u", "https://h.example/x", "--user=ada"`,
			"--user 1000:1000 -u ada -u https://h.example/x --user=ada"},
		{"driver of Oracle", `"--db", "jdbc:oracle:thin:ada/canary@db"`, "--db *argument"},
		{"headers of OTLP", `"--otlp-headers", "x-team=canary", "OTEL_EXPORTER_OTLP_HEADERS=x-team=canary"`,
			"--otlp-headers *otlp-headers OTEL_EXPORTER_OTLP_HEADERS=*OTEL_EXPORTER_OTLP_HEADERS"},
		{"header of Honeycomb", `"-H", "x-honeycomb-team: canary"`, "-H x-honeycomb-team: *x-honeycomb-team"},
		{"nothing behind =", `"--flag=", "C=", "a==b", "someNameOf2Parts="`, "--flag= C= a==b someNameOf2Parts="},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(shown(entry(t, `{"command": "npx", "args": [`+test.arguments+`]}`))).To(Equal("npx " + test.want))
		})
	}
}

func TestServersThatAreCalledLikeCredentials(t *testing.T) {
	g := NewWithT(t)
	text := []byte(`{"mcpServers": {"ghp_0123456789abcdef": {"command": "npx"}}}`)
	result, err := importer.Import(text, importer.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Entries[0].Server.Name).To(Equal("server-e3b0c442"))
	g.Expect(result.Entries[0].Notes).To(ContainElement("is named server-e3b0c442, for its own name looks like a " +
		"credential, and names are for everybody to see"))
	g.Expect(result.Entries[0].Notes).NotTo(ContainElement(ContainSubstring("ghp_")))
}

func TestProtocol(t *testing.T) {
	for _, test := range []struct {
		fields   string
		provider string
		want     v1alpha1.HTTPProtocol
	}{
		{`"type": "http"`, "", v1alpha1.ProtocolStreamableHTTP},
		{`"type": "streamable-http"`, "", v1alpha1.ProtocolStreamableHTTP},
		{`"type": "streamableHttp"`, "", v1alpha1.ProtocolStreamableHTTP},
		{`"transport": "streamable_http"`, "", v1alpha1.ProtocolStreamableHTTP},
		{`"transportType": "sse"`, "", v1alpha1.ProtocolSSE},
		{`"type": "SSE"`, "vscode", v1alpha1.ProtocolSSE},
		{`"type": "http"`, "vscode", ""},
		{`"type": "remote"`, "", ""},
		{`"disabled": false`, "", ""},
	} {
		t.Run(test.fields+" "+test.provider, func(t *testing.T) {
			g := NewWithT(t)
			result, err := importer.Import([]byte(`{"mcpServers": {"s": {"url": "https://h.example", `+test.fields+`}}}`),
				importer.Options{Origin: importer.Origin{Provider: test.provider, Level: v1alpha1.LevelUser}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.Entries[0].Server.Spec.HTTP.Protocol).To(Equal(test.want))
			g.Expect(result.Entries[0].Server.Spec.Provider).To(Equal(test.provider))
			g.Expect(result.Entries[0].Server.Spec.Level).To(Equal(v1alpha1.LevelUser))
		})
	}
}

func TestLiteralDollarsStayLiteral(t *testing.T) {
	g := NewWithT(t)
	got := entry(t, `{"command": "npx", "args": ["$(A)", "$$(A)", "$A", "$()"], "env": {"B": "$(A)"}}`)
	g.Expect(got.Server.Spec.Stdio.Args).To(Equal([]string{"$$(A)", "$$$(A)", "$A", "$()"}))
	g.Expect(*got.Server.Spec.Stdio.Env[0].Value).To(Equal("$$(A)"))
}

func TestNames(t *testing.T) {
	text := []byte(`{"mcpServers": {"A b": {"url": "https://a.example"}, "c": {"url": "https://c.example"}}}`)
	for _, names := range [][]string{{"A b"}, {"a-b"}} {
		g := NewWithT(t)
		result, err := importer.Import(text, importer.Options{Names: names})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.Entries).To(HaveLen(1))
		g.Expect(result.Entries[0].Server.Name).To(Equal("a-b"))
		g.Expect(result.Translated()).To(Equal(1))
	}
	for _, names := range [][]string{{"d"}, {"c", "d"}} { // one that is there does not hide one that is not
		_, err := importer.Import(text, importer.Options{Names: names})
		NewWithT(t).Expect(err).To(MatchError(`no MCP server is called "d"; there are A b, c`))
	}
}

// Of many, the first few are named; none that looks like a credential is.
func TestNamesThatThereAre(t *testing.T) {
	entries := []string{`"ghp_0123456789abcdef": {"url": "https://h.example"}`}
	for i := range 9 {
		entries = append(entries, fmt.Sprintf(`"s%d": {"url": "https://h.example"}`, i))
	}
	text := []byte(`{"mcpServers": {` + strings.Join(entries, ", ") + `}}`)
	_, err := importer.Import(text, importer.Options{Names: []string{"d"}})
	NewWithT(t).Expect(err).To(MatchError(
		`no MCP server is called "d"; there are (not shown), s0, s1, s2, s3, s4, s5, s6 and 2 more`))
}

// A process is translated, and it is said that nothing comes of it yet.
func TestProcessesAreNotSupportedYet(t *testing.T) {
	g := NewWithT(t)
	result, err := importer.Import([]byte(`{"mcpServers": {"a": {"command": "npx"}, "b": {"command": "./b"},
		"c": {"url": "https://c.example"}, "d": {"type": "ws"}}}`), importer.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Translated()).To(Equal(3))
	g.Expect(result.Unsupported()).To(Equal(2))
	const note = "this version of Mooring runs no processes (spec.stdio): the server is refused with NotSupportedYet " +
		"unless it is disabled; serve the command over HTTP and use spec.http"
	for i, want := range []bool{true, true, false, false} {
		g.Expect(slices.Contains(result.Entries[i].Notes, note)).To(Equal(want), result.Entries[i].Name)
	}
}

func TestErrors(t *testing.T) {
	const nothing = "no MCP servers: expected mcpServers, servers (VS Code), mcp.servers (settings), " +
		"or the name and remotes or packages of a registry's server.json"
	for _, test := range []struct{ text, want string }{
		{``, "no JSON: the text is empty"},
		{`{"mcpServers": {`, "no JSON: unexpected end at line 1, column 17"},
		{`[]`, "no MCP servers: the text is not a JSON object"},
		{`{}`, nothing},
		{`{"mcpServers": {}}`, nothing},
		{`{"mcpServers": "canary"}`, nothing},
		{`{"a": {"url": "https://a.example"}, "b": 1}`, nothing},
		{`{"name": "a", "version": "1"}`, nothing},
	} {
		t.Run(test.text, func(t *testing.T) {
			_, err := importer.Import([]byte(test.text), importer.Options{})
			NewWithT(t).Expect(err).To(MatchError(test.want))
		})
	}
}

func TestOneEntryAlone(t *testing.T) {
	g := NewWithT(t)
	for text, want := range map[string]string{
		`{"type": "http", "url": "https://a.example"}`: "server",
		`{"name": "x", "command": "npx"}`:              "x",
	} {
		result, err := importer.Import([]byte(text), importer.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.Entries[0].Server.Name).To(Equal(want))
		g.Expect(result.Entries[0].Notes).NotTo(ContainElement(ContainSubstring("is named")))
	}
}

func TestOrigin(t *testing.T) {
	const home = "/home/ada"
	for _, test := range []struct {
		path, provider string
		level          v1alpha1.Level
	}{
		{"/src/.mcp.json", "claude-code", v1alpha1.LevelProject},
		{"/home/ada/.mcp.json", "claude-code", v1alpha1.LevelUser},
		{"/src/my.mcp.json", "", ""},
		{"/src/.cursor/mcp.json", "cursor", v1alpha1.LevelProject},
		{"/home/ada/.cursor/mcp.json", "cursor", v1alpha1.LevelUser},
		{`C:\src\.vscode\mcp.json`, "vscode", v1alpha1.LevelProject},
		{`C:\Users\ada\AppData\Roaming\Claude\claude_desktop_config.json`, "claude-desktop",
			v1alpha1.LevelUser},
		{"/home/ada/.config/Code/User/profiles/x/mcp.json", "", ""},
		{"", "", ""},
	} {
		t.Run(test.path, func(t *testing.T) {
			g := NewWithT(t)
			result, err := importer.Import([]byte(`{"mcpServers": {"s": {"url": "https://h.example"}}}`),
				importer.Options{Origin: importer.Origin{Path: test.path, Home: home}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.Entries[0].Server.Spec.Provider).To(Equal(test.provider))
			g.Expect(result.Entries[0].Server.Spec.Level).To(Equal(test.level))
		})
	}
}

// Whatever is read, the importer does not panic, its objects have valid names, and each reference has its key.
func FuzzImport(f *testing.F) {
	for _, seed := range []string{
		`{"mcpServers": {"a": {"command": "npx", "args": ["mcp-remote", "https://h.example/${A}", "--header", "A:${B}"]}}}`,
		`{"servers": {"a": {"url": "https://u:p@h.example/?key=${input:k}&b"}}, "inputs": [{"id": "k"}]} // c`,
		`{"mcpServers": {"a": {"command": "docker", "args": ["run", "-e", "A", "img", "${B:-c}"], "env": {"A": 1}}}}`,
		`{"name": "a/b", "packages": [{"registryType": "npm", "identifier": "x", "packageArguments": [{"value": "{a}"}]}]}`,
		`{"name": "a/b", "remotes": [{"type": "sse", "url": "https://{h}/", "variables": {"h": {"default": "x"}}}]}`,
	} {
		f.Add([]byte(seed))
	}
	name := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)
	f.Fuzz(func(t *testing.T, text []byte) {
		g := NewWithT(t)
		result, err := importer.Import(text, importer.Options{})
		if err != nil {
			return
		}
		for _, got := range result.Entries {
			if got.Server == nil {
				g.Expect(got.Notes).To(HaveLen(1))
				continue
			}
			g.Expect(name.MatchString(got.Server.Name)).To(BeTrue())
			g.Expect((got.Server.Spec.HTTP == nil)).NotTo(Equal(got.Server.Spec.Stdio == nil))
			keys := map[string]bool{}
			if got.Secret != nil {
				for _, key := range got.Secret.Keys {
					keys[key.Name] = true
				}
			}
			spec, err := json.Marshal(got.Server.Spec)
			g.Expect(err).NotTo(HaveOccurred())
			for _, reference := range regexp.MustCompile(`"secretKeyRef":\{"name":"[^"]*","key":"([^"]*)"`).
				FindAllStringSubmatch(string(spec), -1) {
				g.Expect(keys[reference[1]]).To(BeTrue(), reference[0])
			}
		}
		_, err = result.YAML()
		g.Expect(err).NotTo(HaveOccurred())
	})
}

// A credential goes into the Secret and nowhere else, wherever it is.
func FuzzCredentialsStayHidden(f *testing.F) {
	f.Add("secret", "x")
	f.Add("=", "0")
	f.Add("${A:-b} $(C) %41", "a b")
	f.Add("Bearer x", "#?&=/")
	f.Fuzz(func(t *testing.T, value, other string) {
		const mark = "zq9x7"
		text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
			"http": map[string]any{"url": "https://h.example/?token=" + mark + value, "headers": map[string]any{
				"Authorization": mark + value, "X-Api-Key": value + mark, "X-Other": other}},
			"stdio": map[string]any{"command": "npx", "args": []any{"--token", mark + value, "--password=" + mark + value},
				"env": map[string]any{"API_KEY": mark + value, "OTHER": other}},
		}})
		if err != nil || strings.Contains(other, mark) {
			return
		}
		g := NewWithT(t)
		result, err := importer.Import(text, importer.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		for _, got := range result.Entries {
			g.Expect(strings.Join(got.Notes, "\n")).NotTo(ContainSubstring(mark))
			if got.Server != nil {
				spec, err := json.Marshal(got.Server)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(spec)).NotTo(ContainSubstring(mark))
			}
		}
	})
}
