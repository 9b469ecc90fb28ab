package credential_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/internal/importer/credential"
)

func TestNamed(t *testing.T) {
	for _, name := range strings.Fields("API_KEY apiKey X-Api-Key GITHUB_TOKEN --token password Authorization " +
		"Cookie PAT githubPAT AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID clientSecret " +
		"db.password SENTRY_DSN accesstoken SIGNATURE PGPASSWORD MYPASSWORD GITHUBTOKEN PASSWORD1 TOKEN2 API_KEYS " +
		"API_TOKENS ADMIN_PASSWORDS apikeys AWSKey MyAPIKey DBPassword APIKEYs AUTH_HEADER --authorization-header " +
		"tavilyApiKey DB_PASSCODE SECRET_ID ENABLE_PASSWORD USE_TOKEN Proxy-Authorization x-honeycomb-team " +
		"OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS --otlp-headers otelHeaders") {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(credential.Named(name)).To(BeTrue()) })
	}
	for _, name := range strings.Fields("KEYBOARD MONKEY AUTHOR TOKEN_URL KEY_FILE AUTH_TYPE MAX_TOKENS " +
		"maxOutputTokens MONKEYS " +
		"PATH USER - 天気 LOG_LEVEL --no-auth skip-password AUTH0_CLIENT_ID AUTH0_DOMAIN SSH_AUTH_SOCK API_KEY_HEADER " +
		"--bearer-token-env-var COMPASS BYPASS X-Access AWSHost OTEL_EXPORTER_OTLP_ENDPOINT EXPOSE_HEADERS X-Team " +
		"OTEL_SERVICE_NAME HONEYCOMB_DATASET") {
		t.Run("not "+name, func(t *testing.T) { NewWithT(t).Expect(credential.Named(name)).To(BeFalse()) })
	}
}

func TestHeader(t *testing.T) {
	for _, name := range strings.Fields("X-Access X-Access-Key Cookie Proxy-Authorization X-Acme-Token X-Acme-Key " +
		"X-Acme-Secret X-Acme-Access X-Acme-Auth X-Acme-Credential X-Acme-Password X-Acme-Session X-Acme-Signature " +
		"X-Session-Id X-SID apikey") {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(credential.Header(name)).To(BeTrue()) })
	}
	for _, name := range strings.Fields("Accept-Language X-Org-Id X-Request-Id CF-Access-Client-Id X-Access-Mode " +
		"X-Accessible User-Agent X-MCP-Toolsets - Id") {
		t.Run("not "+name, func(t *testing.T) { NewWithT(t).Expect(credential.Header(name)).To(BeFalse()) })
	}
}

func TestUserInfo(t *testing.T) {
	for _, text := range []string{
		"postgres://u:pa/ss@h/db", "postgres://u:pa?ss@h/db", "postgres://u:pa#ss@h/db", "postgres://u:pa%2Fss@h/db",
		"postgres://u:pa ss@h/db", "postgres://u:p@ss@h/db", "postgres://u@server:pa/ss@h/db", "postgres://u:@/s@h/db",
		"postgres://u:12/3@h/db", "redis://:pw@h", "https://TOKEN@h.example/x", "https://u:pa/ss@h/x",
		"https://u:12/3@h.example/x", "https://u:12/3@10.0.0.1/x", "https://u:@/s@h.example/x", "git+https://TOKEN@h/x",
		`postgres://u:pa"ss@h/db`, "see http://a.example and amqp://u:pw@h", "postgres://u:65536]x/@h",
		"postgres://u:pw\uFFFC@h/x", "mongodb://u:pw@a:1,b:2/x", "mssql://do\\u:pw@h/x",
	} {
		t.Run(text, func(t *testing.T) { NewWithT(t).Expect(credential.UserInfo(text)).To(BeTrue()) })
	}
	for _, text := range []string{
		"http://host:8080/@scope/pkg", "http://host:8080/pkg@1.2.3", "http://host:8080/pkg@latest/x", "@scope/pkg@1.2",
		"http://[::1]:8080/@scope/pkg", "https://h.example/ada@example.com", "postgres://u@h:5432/db", "ssh://git@h/x@v1",
		"git+https://git@h/x", "postgres://u:@h/db", "postgres://\uFFFC:\uFFFC@h/db", "https://\uFFFC@h/x",
		"http://\uFFFC:\uFFFC/@scope/pkg", "mongodb://a:1,b:2/x", "file:///a:b@c", `{"u": "redis://h:1", "e": "a@b"}`, "://",
	} {
		t.Run("not "+text, func(t *testing.T) { NewWithT(t).Expect(credential.UserInfo(text)).To(BeFalse()) })
	}
}

func TestUnescaped(t *testing.T) {
	for _, text := range []string{
		"https://u:pa/ss@h/x", "https://u:12/3@h.example/x", "https://u:12/3 <@h.example/x", "https://u:p@s/s@h/x",
		"https://u:12/#3@localhost/x",
	} {
		t.Run(text, func(t *testing.T) { NewWithT(t).Expect(credential.Unescaped(text)).To(BeTrue()) })
	}
	for _, text := range []string{
		"https://u:pw@h/x", "https://h:1/@scope/pkg", "https://h.example/a@b.example", "https://h/x?db=postgres://u:p@h",
		"u:pa/ss@h",
	} {
		t.Run("not "+text, func(t *testing.T) { NewWithT(t).Expect(credential.Unescaped(text)).To(BeFalse()) })
	}
}

func TestHarmless(t *testing.T) {
	for name, text := range map[string]string{
		"code host":          "ghp_0123456789abcdef",
		"model":              "sk-proj-0123456789",
		"chat":               "xoxb-0123456789-abc",
		"cloud":              "AKIAIOSFODNN7EXAMPLE",
		"JWT":                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig",
		"behind a flag":      "--token=glpat-0123456789abc",
		"user-info":          "postgresql://ada:pw@db.example.com/x",
		"query":              "https://h.example/?api_key=x",
		"connection string":  "Server=db;Password=x",
		"scheme":             "Basic YTpi",
		"scheme in a text":   `{"a": "Bearer 0123456789"}`,
		"header in a text":   `{"Authorization":"x"}`,
		"key in a text":      `{"X-API-Key":"x"}`,
		"header behind a =":  "--header=X-API-Key: x",
		"PEM":                "-----BEGIN KEY-----\nx",
		"hexadecimal":        "0123456789abcdef0123456789abcdef",
		"dense and mixed":    "AbCdEfGh0123456789AbCdEfGh012345",
		"upper case hex too": "0123456789ABCDEF0123456789ABCDEF",
		"driver's login":     "ada:pw/x@tcp(db:3306)/x",
		"login at a port":    "ada:pw@db:3306/x",
		"login of Oracle":    "ada/pw@//db:1521/x",
		"key of a cloud":     "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"webhook":            "https://hooks.slack.com/services/T0/B0/x",
		"segment of a URL":   "https://h.example/s/AbCdEfGh0123456789AbCdEfGh012345/mcp",
		"word of a text":     "use AbCdEfGh0123456789AbCdEfGh012345 here",
		"flag in a text":     "sh -c 'server --token x'",
		"flag in a list":     `["--api-key","x"]`,
		"name and value":     `[{"name":"X-Api-Key","value":"x"}]`,
		"header in a text 2": "curl -H 'X-Access: x'",
		"JSON in JSON":       `"{\"apiKey\":\"x\"}"`,
		"value of brackets":  `{"apiKey":"]x"}`,
		"spaces":             "Server = db; Password = x",
		"encoded":            "https://h.example/?u=postgres%3A%2F%2Fada%3Apw%40h",
		"encoded twice":      "u=postgres%253A%252F%252Fada%253Apw%2540h",
		"encoded name":       "https://h.example/?api%5Fkey=%26",
		"encoded for ever":   "%2525252525252525252525",
		"Base 64 of JSON":    "eyJhcGlLZXkiOiJ2In0=",
		"Base 64, filled up": "Zm9vL2JhclNlY3JldEtleTEyMzQ1Njc4OTBhYg==",
		"of 16 bytes":        "q83vASNFZ4mrze8BI0VniQ==",
		"thin driver":        "jdbc:oracle:thin:ada/pw@db",
		"thin driver, slash": "url=jdbc:oracle:thin:ada/p/w@//db:1521/x",
		"login of Oracle 2":  "ada/pw@db:1521:x",
		"login of Oracle 3":  "ada/pw@//db/x",
		"login behind none":  "ada/\uFFFC@db:1521/x ada/pw@db:1521/x",
		"flag of curl":       "curl -u ada:pw https://h.example/",
		"flag of curl, both": "curl -sS -uada:pw https://h.example/",
		"flag of a proxy":    "curl --proxy-user='ada:pw' https://h.example/",
		"flag of a list":     `["--basic","ada:pw"]`,
		"headers of OTLP":    "OTEL_EXPORTER_OTLP_HEADERS=x-org=acme",
		"key of Honeycomb":   "x-org=acme,x-honeycomb-team=abc",
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(credential.Harmless(text)).To(BeFalse()) })
	}
	for name, text := range map[string]string{
		"package":         "@modelcontextprotocol/server-sequential-thinking@2025.7.1",
		"address":         "https://mcp.example.com/a/b?team=x&monkey=y",
		"at sign":         "https://mcp.example.com/@acme/mcp",
		"path":            "/Users/ada/Documents/Projects/0123456789/Engine",
		"UUID":            "123e4567-e89b-12d3-a456-426614174000",
		"image by digest": "img@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"long lower case": "a-rather-long-name-of-a-thing-with-a-0",
		"word":            "skeleton-key",
		"empty":           "",
		"host and port":   "http://auth:8080/x",
		"image":           "ghcr.io/acme/auth:1.2",
		"scopes":          "token:read secret:list",
		"scheme":          "token://x",
		"model":           "Meta-Llama-3-1-405B-Instruct-Turbo",
		"extension":       "hf_transfer",
		"mail":            "mailto:ada@example.com",
		"alias":           "npm:lodash@4.17.21",
		"flag that is no": "--no-auth x",
		"not filled up":   "someNameOf2Parts=",
		"lower case":      "aaaabbbbccccddddeeeeffff====",
	} {
		t.Run("not "+name, func(t *testing.T) { NewWithT(t).Expect(credential.Harmless(text)).To(BeTrue()) })
	}
	// In doubt: no credential as it happens, but a person must look to see that.
	for name, text := range map[string]string{
		"no value":        `{"token":"","org":"acme"}`,
		"driver alone":    "jdbc:oracle:thin:@//db:1521/x",
		"ids of a user":   "run --user 1000:1000 --user=0:0",
		"flag and URL":    "fetch -u https://h.example/ -u=ssh://h.example",
		"switched off":    `{"auth": "none"}`,
		"name of a user":  "curl -u ada https://h.example/",
		"value elsewhere": "Authorization: Bearer \uFFFC",
		"thin, elsewhere": "jdbc:oracle:thin:\uFFFC/\uFFFC@db:1521:x",
		"flag and no one": "curl -u ada: -u mailto:ada --user=npm:x",
		"login elsewhere": "ada:\uFFFC@tcp(h)",
		"name of AWS":     "a=arn:aws:secretsmanager:eu:1:secret:x",
	} {
		t.Run("in doubt "+name, func(t *testing.T) { NewWithT(t).Expect(credential.Harmless(text)).To(BeFalse()) })
	}
}

// drawn is a text of n characters of an alphabet, the same at each call.
func drawn(alphabet string, n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteByte(alphabet[(7*i+i*i/3+3)%len(alphabet)])
	}
	return out.String()
}

const (
	hexadecimal = "0123456789abcdef"
	lower       = "abcdefghijklmnopqrstuvwxyz0123456789"
	upper       = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	letters     = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)

// Credentials of the length and the alphabet that their issuers give them, wherever they are.
func TestIssued(t *testing.T) {
	for issuer, text := range map[string]string{
		"NVIDIA":             "nvapi-" + drawn(lower, 64),
		"Browserbase":        "bb_live_" + drawn(lower+"_-", 27),
		"E2B":                "e2b_" + drawn(hexadecimal, 40),
		"Resend":             "re_" + drawn(letters, 8) + "_" + drawn(letters, 24),
		"Neon":               "napi_" + drawn(lower, 64),
		"Render":             "rnd_" + drawn(letters, 28),
		"Fly":                "fm2_" + drawn(lower+"+/", 120) + "==",
		"Fly, OAuth":         "fo1_" + drawn(lower, 43),
		"Bitbucket":          "ATBB" + drawn(lower, 32),
		"Bitbucket, access":  "ATCTT3xFf" + drawn(lower, 64),
		"New Relic":          "NRAK-" + drawn(upper, 27),
		"New Relic, insert":  "NRII-" + drawn(lower, 32),
		"New Relic, license": drawn(hexadecimal, 36) + "NRAL",
		"Alibaba":            "LTAI" + drawn(lower, 20),
		"SonarQube":          "squ_" + drawn(hexadecimal, 40),
		"SonarQube, project": "sqp_" + drawn(hexadecimal, 40),
		"Buildkite":          "bkua_" + drawn(lower, 40),
		"Pulumi":             "pul-" + drawn(hexadecimal, 40),
		"Honeycomb":          "hcaik_" + drawn(lower, 58),
		"Mailgun":            "key-" + drawn(hexadecimal, 32),
		"Mailchimp":          drawn(hexadecimal, 32) + "-us1",
		"Square":             "sq0atp-" + drawn(letters, 22),
		"Typeform":           "tfp_" + drawn(letters, 44) + "_" + drawn(letters, 14),
		"Heroku":             "HRKU-" + drawn(letters+"_-", 60),
		"Context7":           "ctx7sk-123e4567-e89b-12d3-a456-426614174000",
		"Discord":            "M" + drawn(letters, 23) + "." + drawn(letters, 6) + "." + drawn(letters+"_-", 38),
		"Airtable":           "pat" + drawn(letters, 14) + "." + drawn(hexadecimal, 64),
		"Terraform":          drawn(letters, 14) + ".atlasv1." + drawn(letters, 67),
		"Azure":              "abc1Q~" + drawn(letters+"_~.-", 34),
		"Dynatrace":          "dt0c01." + drawn(upper, 24) + "." + drawn(upper, 64),
		"Brevo":              "xkeysib-" + drawn(hexadecimal, 64) + "-" + drawn(letters, 16),
		"Postman":            "PMAK-" + drawn(hexadecimal, 24) + "-" + drawn(hexadecimal, 34),
		"1Password":          "A3-" + drawn(upper, 6) + "-" + drawn(upper, 6) + "-ABCDE-FGHIJ-KLMNO-PQRST",
	} {
		t.Run(issuer, func(t *testing.T) {
			g := NewWithT(t)
			for _, form := range []string{"%", "--x=%", "use % now", `{"x":"%"}`, "https://h.example/%/mcp", "a=%&b=c"} {
				held := strings.ReplaceAll(form, "%", text)
				g.Expect(credential.Harmless(held)).To(BeFalse(), held)
			}
		})
	}
	for _, text := range strings.Fields("nvapi-url bb_live_view e2b_sandbox re_index_all re_2024_archive " +
		"napi_get_value_string_utf8 rnd_seed fm2_radio fo1_x ATBBQ NRAK-1 LTAILOR squ_are bkua_1 pul-request hcaik_1 " +
		"key-value key-vault-name-1 mcp-us-east-1 tfp_1 HRKU-1 M.2.3 MCP.server.v1 " +
		"Node.module.exports patch.1 pattern.0 a.atlasv1.b app.terraform.io A3-paper Q~ rdme_1 sgp_1 jina_v2 " +
		"") {
		t.Run("not "+text, func(t *testing.T) { NewWithT(t).Expect(credential.Harmless(text)).To(BeTrue()) })
	}
	const unmarked = "a1b2-us1 sq0atp-1 ctx7sk-key dt0c01.x my-key-0123456789abcdef 0123456789abcdef-us1"
	for _, text := range strings.Fields(unmarked) {
		t.Run("in doubt "+text, func(t *testing.T) { NewWithT(t).Expect(credential.Harmless(text)).To(BeFalse()) })
	}
}

func TestLogin(t *testing.T) {
	g := NewWithT(t)
	for _, flag := range strings.Fields("-u -U --user --proxy-user --basic --username --http-user --login") {
		for _, value := range []string{"ada:pw", "ada:1", "ada:/x y", "a@b.example:p:w", "1000:pw", "\uFFFC:pw"} {
			g.Expect(credential.Login(flag, value)).To(BeTrue(), flag+" "+value)
		}
		for _, value := range strings.Fields("ada ada: :pw 1000:1000 https://h.example npm:x ada:\uFFFC a/b:c") {
			g.Expect(credential.Login(flag, value)).To(BeFalse(), flag+" "+value)
		}
	}
	for _, flag := range strings.Fields("-v --url --user-agent user - --users") {
		g.Expect(credential.Login(flag, "ada:pw")).To(BeFalse(), flag)
	}
}

func TestInProse(t *testing.T) {
	g := NewWithT(t)
	for _, text := range []string{
		"the password (now kq3v9x2mzt)", "password: x", "such as ghp_0123456789abcdef", "a1b2c3d4", "utf8mb4",
	} {
		g.Expect(credential.InProse(text)).To(BeTrue(), text)
	}
	for _, text := range []string{
		"", "The API key, as on your profile page", "Bucket of S3, in eu-west-3 or us-east-1", "OAuth2 and Base64, v1.2.3",
		"https://h.example/docs/2025-06-18/x86_64", "12345678", "k8s", "UTF8",
	} {
		g.Expect(credential.InProse(text)).To(BeFalse(), text)
	}
}

func TestWanting(t *testing.T) {
	for _, text := range []string{
		"", "  ", "<token>", "Bearer <token>", "[api key]", "{token}", "YOUR_API_KEY", "your-token", "bearer your token",
		"my-api-key", "insert-your-key", "PUT_KEY_HERE", "xxx", "XXXXXX", "...", "***", "changeme", "REPLACE_ME",
		"replace-with-token", "TODO",
	} {
		t.Run(text, func(t *testing.T) { NewWithT(t).Expect(credential.Wanting(text)).To(BeTrue()) })
	}
	for _, text := range []string{
		"password", "changed", "fillmore", "yours", `{"a":"b"}`, `["x"]`, "xx", "0", "Bearer abc", "<a><b>",
	} {
		t.Run("not "+text, func(t *testing.T) { NewWithT(t).Expect(credential.Wanting(text)).To(BeFalse()) })
	}
}

func TestFile(t *testing.T) {
	g := NewWithT(t)
	for _, text := range []string{"/secrets/sa.json", "~/.ssh/id_rsa", "./a b/key.pem", `C:\keys\a.p12`} {
		g.Expect(credential.File(text)).To(BeTrue(), text)
	}
	for _, text := range []string{"", "/pass/word", "sa.json", "/a=b.json", "/a\nb.json"} {
		g.Expect(credential.File(text)).To(BeFalse(), text)
	}
}

func TestWords(t *testing.T) {
	g := NewWithT(t)
	g.Expect(credential.Words("AWSKey")).To(Equal([]string{"aws", "key"}))
	g.Expect(credential.Words("githubPATs_2x")).To(Equal([]string{"github", "pats", "2x"}))
	g.Expect(credential.Words("--X")).To(Equal([]string{"x"}))
	g.Expect(credential.Words("-")).To(BeEmpty())
}

func TestSwitch(t *testing.T) {
	g := NewWithT(t)
	for _, text := range []string{
		"", "true", "FALSE", "yes", "No", "on", "off", "0", "1", "enabled", "Disabled", "none", "NULL",
		"oauth", "OAuth2", "oidc", "iam", "Anonymous",
	} {
		g.Expect(credential.Switch(text)).To(BeTrue(), text)
	}
	for _, text := range []string{"2", "truth", "nonesuch", "oauth3", " none", "basic"} {
		g.Expect(credential.Switch(text)).To(BeFalse(), text)
	}
}

func TestShow(t *testing.T) {
	g := NewWithT(t)
	g.Expect(credential.Show("API_KEY")).To(Equal("API_KEY"))
	g.Expect(credential.Show("größe")).To(Equal("größe"))
	g.Expect(credential.Show("a\nb\u2028c")).To(Equal("a?b?c"))
	g.Expect(credential.Show(strings.Repeat("ä", 65))).To(Equal(strings.Repeat("ä", 64) + "..."))
	g.Expect(credential.Show("")).To(Equal("(not shown)"))
	g.Expect(credential.Show("ghp_0123456789abcdef")).To(Equal("(not shown)"))
}

// Ids that an issuer marks, and that are words and numbers otherwise.
func TestMarkedCredentials(t *testing.T) {
	for _, text := range []string{
		"sk-proj-0123456789", "pk_live_01234567", "AKIAIOSFODNNEXAMPLEK", "ASIAABCDEFGHIJKLMNOP",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(credential.Harmless(text)).To(BeFalse(), "as a value")
			g.Expect(credential.Random(text)).To(BeTrue(), "as a name")
		})
	}
	for _, text := range []string{"desk-2026", "sk-europe-1", "AKIA", "ASIA-PACIFIC", "task_20260101"} {
		t.Run("not "+text, func(t *testing.T) { NewWithT(t).Expect(credential.Random(text)).To(BeFalse()) })
	}
}
