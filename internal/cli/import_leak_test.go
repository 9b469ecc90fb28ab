package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// mark is in every credential of a generated file, at its beginning, in its middle and at its end.
const mark = "zq9x7"

// generator makes files with credentials in all the places where people put them.
type generator struct {
	*rand.Rand
	// special are characters within a credential.
	special []rune
	// made are credentials in their issuers' forms, most of which have no place for the mark.
	made []string
}

// The alphabets of issuers.
const (
	hexadecimal = "0123456789abcdef"
	upper       = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	lower       = "abcdefghijklmnopqrstuvwxyz0123456789"
	letters     = lower + upper
	base64      = letters + "+/"
)

// drawn is a text of so many characters of an alphabet, which is to be nowhere.
func (g *generator) drawn(alphabet string, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[g.IntN(len(alphabet))]
	}
	g.made = append(g.made, strings.ToLower(string(out)))
	return string(out)
}

// issued is a credential in its issuer's form.
func (g *generator) issued() string {
	switch g.IntN(12) {
	case 0:
		return pick(g, "nvapi-", "napi_", "hcaik_", "tfp_", "HRKU-", "fm2_", "ATCTT3xFf") + g.drawn(lower, 60)
	case 1:
		return pick(g, "e2b_", "squ_", "sqp_", "pul-", "ctx7sk-", "bkua_") + g.drawn(hexadecimal, 40)
	case 2:
		return pick(g, "bb_live_", "rnd_", "sq0atp-", "LTAI", "ghp_") + g.drawn(letters, 28)
	case 3:
		return "re_" + g.drawn(letters, 8) + "_" + g.drawn(letters, 24)
	case 4:
		return "NRAK-" + g.drawn(upper, 27)
	case 5:
		return "ATBB" + g.drawn(letters, 32)
	case 6:
		return "key-" + g.drawn(hexadecimal, 32)
	case 7:
		return g.drawn(hexadecimal, 32) + "-us" + pick(g, "1", "21")
	case 8:
		return pick(g, "M", "N", "O") + g.drawn(letters, 23) + "." + g.drawn(letters, 6) + "." + g.drawn(letters, 38)
	case 9:
		return "pat" + g.drawn(letters, 14) + "." + g.drawn(hexadecimal, 64)
	case 10:
		return g.drawn(letters, 14) + ".atlasv1." + g.drawn(letters, 67)
	default:
		return "eyJ" + g.drawn(letters, 16) + ".eyJ" + g.drawn(letters, 20) + "." + g.drawn(letters, 21) + pick(g, "=", "")
	}
}

// filled is Base 64 that ends in = or ==. That of a few bytes is told by its digits and its letters of both cases.
func (g *generator) filled() string {
	n := 4 * (5 + g.IntN(8))
	if g.IntN(2) == 0 {
		return "aB1" + g.drawn(base64, n) + "="
	}
	return "aB1" + g.drawn(base64, n+3) + "=="
}

// token is a credential by its look alone, without a name; a few have what other words have for a value.
func (g *generator) token() string {
	switch g.IntN(4) {
	case 0:
		return g.filled()
	case 1:
		return g.issued() + "=" + pick(g, "", "1", "x", "true", "${X}")
	default:
		return g.issued()
	}
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// value is a credential without the characters that would end it where it is.
func (g *generator) value(without string) string {
	var out strings.Builder
	for range 2 {
		out.WriteString(mark)
		for range 1 + g.IntN(3) {
			if r := pick(g, g.special...); !strings.ContainsRune(without, r) && unicode.IsPrint(r) {
				out.WriteRune(r)
			}
		}
	}
	// What is a reference to a client is none to a value; only a flag or a name of its own would be shown.
	return strings.ReplaceAll(out.String()+mark, "${", "$")
}

// free is a credential that may begin with anything but what makes a flag of it.
func (g *generator) free() string {
	value := g.value("")
	if g.IntN(3) == 0 {
		value = string(pick(g, []rune(`/?#%@:+=&!;,.~*^|\'"()<>[]-`)...)) + value
	}
	return value
}

func (g *generator) envName() string {
	return pick(g, strings.Fields("API_KEY GITHUB_PERSONAL_ACCESS_TOKEN AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID "+
		"PGPASSWORD DB_PASS SENTRY_DSN ACCESS_TOKEN apiKey MyAPIKey AWSKey githubPAT CLIENT_SECRET PRIVATE_KEY AUTH_HEADER "+
		"SESSION_COOKIE SLACK_MCP_XOXC_TOKEN DB_PASSWORD_2 BASIC_AUTH SIGNATURE JWT OTP PASSCODE GOOGLE_CREDENTIALS")...)
}

func (g *generator) headerName() string {
	return pick(g, strings.Fields("X-Api-Key X-Access X-Access-Key Cookie X-Acme-Token X-Acme-Secret X-Acme-Access "+
		"X-Acme-Auth X-Acme-Credential X-Acme-Password X-Acme-Session X-Acme-Signature X-Session-Id apikey Api-Token "+
		"CF-Access-Client-Secret x-goog-api-key PRIVATE-TOKEN CONTEXT7_API_KEY DD-APPLICATION-KEY")...)
}

func (g *generator) flagName() string {
	return pick(g, strings.Fields("--token --api-key --apiKey --password --access-token --client-secret -token --dsn "+
		"--oauth2Bearer --auth --figma-api-key --private-key --cookie --signature --db-password --auth-header")...)
}

func (g *generator) queryName() string {
	return pick(g, strings.Fields("api_key apiKey exaApiKey token access_token key sig signature password secret "+
		"tavilyApiKey auth client_secret jwt api%5Fkey x-api-key dbPassword")...)
}

// address is a URL with a credential in it, as it is in a text.
func (g *generator) address() string {
	secret := pick(g, "", "", "1", "443", "65536", "/", "?", "#", ":", "@", "80/") + g.value(" \t'\"<>`"+`\`)
	switch g.IntN(6) {
	case 0:
		return pick(g, "https", "http", "git+https") + "://ada:" + secret + "@h.example/x"
	case 1:
		return "https://" + url.QueryEscape(secret) + "@h.example/x"
	case 2:
		return "https://h.example/x?a=b&" + g.queryName() + "=" + g.value(" ")
	case 3:
		return "https://h.example/x?a=b&" + g.queryName() + "=" + url.QueryEscape(g.free())
	case 4:
		return "https://h.example/x?db=" + url.QueryEscape("postgres://ada:"+secret+"@db/x")
	default:
		scheme := pick(g, "postgres", "mysql", "redis", "mongodb+srv", "amqp", "clickhouse", "postgresql+psycopg")
		return scheme + "://" + pick(g, "ada", "", "ada@server", "do.main") + ":" + secret + "@" +
			pick(g, "db", "db:5432", "db.example.com:5432", "a:1,b:2", "[::1]:5432") + "/x"
	}
}

// text is recognised as a credential, whatever its name.
func (g *generator) text() string {
	secret := g.value(" \t'\"<>`;,&(){}[]" + `\`)
	switch g.IntN(20) {
	case 14:
		return pick(g, "", "use ", "x=") + g.issued()
	case 15:
		return "curl " + pick(g, "-u ", "-u", "--user ", "--user=", "--proxy-user '", "--basic ") + "ada:" + secret
	case 16:
		return "jdbc:oracle:thin:ada/" + secret + "@" + pick(g, "db", "db:1521:x", "//db:1521/x", "(DESCRIPTION=x)")
	case 17:
		return "OTEL_EXPORTER_OTLP_HEADERS=x-team=" + secret
	case 18:
		return "x-honeycomb-dataset=a,x-honeycomb-team=" + secret
	case 19:
		return `{"x": "` + g.issued() + `", "y": "` + g.issued() + `"}`
	case 0:
		return "Server=tcp:h,1433;User ID=ada;" + pick(g, "Password", "Pwd", "password") + "=" + secret + ";Encrypt=True"
	case 1:
		return "host=h.example user=ada password=" + pick(g, "'", "") + secret
	case 2:
		return "ada:" + secret + "@" + pick(g, "tcp(db:3306)/x", "unix(/tmp/my.sock)/x", "db.example.com/x", "db:3306")
	case 3:
		return "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + secret + ";EndpointSuffix=core.windows.net"
	case 4:
		return encode(map[string]any{"org": "acme", g.envName(): g.free()})
	case 5:
		return encode(map[string]any{"org": "acme", g.headerName(): g.value("")})
	case 6:
		return encode(encode(map[string]any{"org": "acme", g.envName(): g.value("")}))
	case 7:
		return encode([]any{map[string]any{"name": g.headerName(), "value": g.free()}})
	case 8:
		return pick(g, "Bearer ", "Basic ", "bearer ") + g.value("")
	case 9:
		return "sh -c 'server " + g.flagName() + " " + secret + "'"
	case 10:
		return "export " + g.envName() + "=" + secret + " && server"
	case 11:
		return "curl -H '" + g.headerName() + ": " + secret + "'"
	case 12:
		return "jdbc:sqlserver://h.example:1433;user=ada;password=" + secret
	default:
		return g.address()
	}
}

// reference is a text with references in it, beside which there is a credential.
func (g *generator) reference() string {
	secret := g.value(" \t'\"<>`;,&(){}[]$" + `\`)
	return pick(g,
		"postgres://${DB_USER}:"+secret+"@h.example/x", "postgres://ada:"+secret+"@${DB_HOST}:${DB_PORT}/x",
		"https://${HOST}/?"+g.queryName()+"="+secret, "Server=${HOST};Password="+secret,
		"${DATABASE:-postgres://ada:"+secret+"@h.example/x}", "Bearer "+secret+"${SUFFIX}", "ada:"+secret+"@tcp(${HOST})/x",
	)
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// sensitive is what may be behind the name of a credential.
func (g *generator) sensitive() string {
	switch g.IntN(4) {
	case 0:
		return "${" + pick(g, "NOTHING", g.envName()) + ":-" + g.value("}") + "}"
	case 1:
		return g.value("") + "${" + pick(g, "A", "B") + "}" + g.value("")
	default:
		return g.free()
	}
}

// arguments are a harmless word, one credential, and a harmless word again.
func (g *generator) arguments() []any {
	line := g.headerName() + pick(g, ": ", ":", "=") + g.sensitive()
	header := pick(g, "-H", "--header", "--headers", "--http-header")
	var words []any
	login := pick(g, "-u", "--user", "--basic", "--proxy-user", "-U", "--username")
	switch g.IntN(13) {
	case 7:
		words = []any{g.token()}
	case 8:
		words = []any{pick(g, "--k8s", "-H", "--header", "-x", "--mode"), g.token()}
	case 9:
		words = []any{login, pick(g, "ada:", "${USER}:") + g.value("$")}
	case 10:
		words = []any{login + "=ada:" + g.value("")}
	case 11:
		words = []any{pick(g, "--otlp-headers", "--otel-headers"), "x-team=" + g.sensitive()}
	case 0:
		words = []any{g.flagName(), g.sensitive()}
	case 1:
		words = []any{g.flagName() + "=" + g.sensitive()}
	case 2:
		words = []any{header, line}
	case 3:
		words = []any{header + "=" + line}
	case 4:
		words = []any{header, "Authorization: " + pick(g, "Bearer ", "", "Token ", "Basic ") + g.sensitive()}
	case 5:
		words = []any{g.envName() + "=" + g.sensitive()}
	case 6:
		words = []any{pick(g, "--config", "--url", "--db", "-H", "--set"), pick(g, g.text(), g.reference())}
	default:
		words = []any{pick(g, "", "--config=", "--db=", "URL=") + pick(g, g.text(), g.reference())}
	}
	return append(append([]any{"run"}, words...), "--port", "8080")
}

func (g *generator) headers() map[string]any {
	return map[string]any{
		g.headerName():  g.sensitive(),
		"Authorization": pick(g, "Bearer ", "", "Token ", "Basic ", "Digest ") + g.sensitive(),
		"X-Org":         "acme",
		"X-Database":    pick(g, g.text(), g.reference(), g.issued(), g.filled()),
	}
}

func (g *generator) environment() map[string]any {
	return map[string]any{
		g.envName(): g.sensitive(), "LOG_LEVEL": "debug", "DATABASE_URL": g.address(),
		"CONFIG": pick(g, g.text(), g.reference()), "OTEL_EXPORTER_OTLP_HEADERS": "x-team=" + g.value("$"),
		"OTHER": pick(g, g.filled(), g.issued()),
	}
}

// remoteURL is the URL of a server. What & and # end is their own matter.
func (g *generator) remoteURL() string {
	return pick(g,
		"https://ada:"+pick(g, "", "1", "443", "/", "80/")+g.value("")+"@h.example/mcp",
		"https://ada:"+url.QueryEscape(g.free())+"@h.example/mcp", "https://"+url.QueryEscape(g.free())+"@h.example/mcp",
		"https://h.example/mcp?a=b&"+g.queryName()+"="+g.value("&#"),
		"https://h.example/mcp?"+g.queryName()+"="+url.QueryEscape(g.free())+"&c=d",
		"https://h.example/mcp?db="+url.QueryEscape(g.address()),
		"https://h.example/mcp?"+g.queryName()+"=${X:-"+g.value("&#}")+"}",
		"https://h.example/postgres://ada:"+g.value("/?#@")+"@db/x",
	)
}

// entry is a server of a client's file.
func (g *generator) entry() map[string]any {
	switch g.IntN(7) {
	case 0:
		return map[string]any{"type": "http", "url": "https://h.example/mcp", "headers": g.headers()}
	case 1:
		return map[string]any{"url": g.remoteURL(), "headers": map[string]any{g.headerName(): g.sensitive()}}
	case 2:
		return map[string]any{"command": "npx", "args": append([]any{"-y", "mcp-remote", g.remoteURL(), "--header",
			g.headerName() + ":" + g.sensitive()}, pick(g, []any{}, []any{"--header=Authorization: Bearer ${AUTH}"})...),
			"env": map[string]any{"AUTH": g.free(), "UNUSED_TOKEN": g.free()}}
	case 3:
		return map[string]any{"command": "docker", "args": append([]any{"run", "-i", "-e", "API_KEY", "-e",
			g.envName() + "=" + g.sensitive(), "--env=DB=" + g.address(), "--entrypoint", pick(g, "/bin/server", g.text()),
			"acme/mcp"}, g.arguments()...), "env": map[string]any{"API_KEY": g.free(), "OTHER_TOKEN": g.free()}}
	case 4:
		return map[string]any{"command": "uvx mcp-server --token " + g.value(" \t$"), "description": g.text()}
	case 5:
		return map[string]any{"command": pick(g, "/opt/server", "node", "/opt/server "+g.flagName()+"="+g.value(" ")),
			"args": g.arguments(), "env": g.environment(), "frob": g.free(), "cwd": g.free()}
	default:
		return map[string]any{"command": pick(g, "npx", "uvx", "bunx"), "args": g.arguments(), "env": g.environment()}
	}
}

func (g *generator) entries() map[string]any {
	out := map[string]any{}
	for i := range 1 + g.IntN(4) {
		out[fmt.Sprintf("server %d", i)] = g.entry()
	}
	return out
}

// editor is VS Code's form, in which inputs may have proposals.
func (g *generator) editor() map[string]any {
	servers := g.entries()
	servers["asks"] = map[string]any{
		"command": "npx", "args": []any{"x", "--token", "${input:api-key}", "${input:hidden}"},
		"env": map[string]any{"PLAIN": "${input:hidden}", "API_KEY": "x${input:api-key}"},
	}
	hidden := g.free()
	return map[string]any{"servers": servers, "inputs": []any{
		map[string]any{"id": "api-key", "type": "promptString", "description": g.text(), "default": g.free()},
		map[string]any{"id": "hidden", "type": "promptString", "password": true, "default": hidden,
			"description": "The password, now " + hidden},
	}}
}

// published is the registry's form.
func (g *generator) published() map[string]any {
	secret := func(fields ...string) map[string]any {
		out := map[string]any{"isSecret": true, "isRequired": true}
		for i := 0; i < len(fields); i += 2 {
			out[fields[i]] = fields[i+1]
		}
		return out
	}
	variables := map[string]any{"part": map[string]any{"isSecret": true, pick(g, "default", "value"): g.free()}}
	positional := secret("type", "positional", "value", g.free()+"{part}")
	positional["variables"] = variables
	ways := map[string]any{"remotes": []any{map[string]any{"type": "streamable-http",
		"url": pick(g, g.remoteURL(), "https://h.example/{part}/x"), "variables": variables,
		"headers": []any{secret("name", "X-Plain", pick(g, "value", "default"), g.free()),
			map[string]any{"name": g.headerName(), "value": g.free()}}}}}
	if g.IntN(3) > 0 {
		ways = map[string]any{"packages": []any{map[string]any{
			"registryType": pick(g, "npm", "pypi", "oci"), "identifier": "acme/mcp", "version": "1.2.3",
			"environmentVariables": []any{secret("name", "PLAIN", pick(g, "value", "default"), g.free()),
				map[string]any{"name": g.envName(), "value": g.free()}, map[string]any{"name": "DB", "default": g.address()}},
			"packageArguments": []any{positional, secret("type", "positional", "default", g.free()),
				map[string]any{"type": "named", "name": g.flagName(), "value": g.value("")},
				map[string]any{"type": "named", "name": "--header", "value": g.headerName() + ": " + g.free()}},
			"runtimeArguments": pick(g, []any{}, []any{map[string]any{"type": "named", "name": "-e",
				"value": g.envName() + "=" + g.free()}}),
		}}}
	}
	ways["name"], ways["description"] = "com.example/weather", pick(g, "Tells the weather", g.text())
	return ways
}

// file is a client's file, or a registry's, and the flags with which it is imported.
func (g *generator) file() (text string, flags []string) {
	switch g.IntN(6) {
	case 0:
		return encode(map[string]any{"mcpServers": g.entries()}), []string{"--provider", "claude-code"}
	case 1:
		return encode(map[string]any{"mcpServers": g.entries()}), []string{"--provider", "cursor", "--level", "User"}
	case 2:
		return encode(map[string]any{"mcpServers": g.entries(), "globalShortcut": g.free()}), nil
	case 3:
		return encode(g.editor()), []string{"--provider", "vscode"}
	case 4:
		return encode(map[string]any{"projects": map[string]any{"/src": map[string]any{"mcpServers": g.entries()}}}), nil
	default:
		return encode(g.published()), nil
	}
}

// Whatever the file and wherever a credential is in it: with placeholders it is nowhere in what is printed, and
// without them in the values of Secrets alone.
func FuzzNoCredentialInClear(f *testing.F) {
	for seed := range seeds {
		f.Add(seed, `/?#%@:+=&!;, $(){}[]"'\-_.~^*|<>2Fü`)
	}
	f.Fuzz(func(t *testing.T, seed uint64, special string) {
		generate := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), special: []rune("-" + special)}
		text, flags := generate.file()
		g := NewWithT(t)
		has := func(text string) bool {
			text = strings.ToLower(text)
			return strings.Contains(text, mark) ||
				slices.ContainsFunc(generate.made, func(made string) bool { return strings.Contains(text, made) })
		}
		for _, output := range []string{"yaml", "json"} {
			out, notes, err := runImport(text, append(flags, "-", "-o", output, "--secrets", "placeholder")...)
			g.Expect(err == nil || !has(err.Error())).To(BeTrue(), "%v\n%s", err, text)
			g.Expect(has(out)).To(BeFalse(), "%s\n%s", out, text)
			g.Expect(has(notes)).To(BeFalse(), "%s\n%s", notes, text)
		}
		out, notes, _ := runImport(text, append(flags, "-")...)
		g.Expect(has(notes)).To(BeFalse(), "%s\n%s", notes, text)
		for manifest := range strings.SplitSeq(out, "\n---\n") {
			g.Expect(has(withoutValues(t, manifest))).To(BeFalse(), "%s\n%s", manifest, text)
		}
	})
}

// seeds are how many files are made when nobody fuzzes.
const seeds = uint64(300)

// The generated files are worth it: nearly all of them are translated, with their credentials.
func TestGeneratedFilesAreTranslated(t *testing.T) {
	kept := 0
	for seed := range seeds {
		generate := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), special: []rune("-._~")}
		text, flags := generate.file()
		if out, _, err := runImport(text, append(flags, "-")...); err == nil && strings.Contains(out, mark) {
			kept++
		}
	}
	NewWithT(t).Expect(kept).To(BeNumerically(">", seeds*9/10))
}

// withoutValues is a manifest without the values of a Secret.
func withoutValues(t *testing.T, manifest string) string {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
		t.Fatal(err)
	}
	if object["kind"] != "Secret" {
		return manifest
	}
	values, _ := object["stringData"].(map[string]any)
	var keys []string
	for key := range values {
		keys = append(keys, key)
	}
	delete(object, "stringData")
	return encode(object) + strings.Join(keys, " ")
}
