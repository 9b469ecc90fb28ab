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
		"API_TOKENS ADMIN_PASSWORDS apikeys") {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(credential.Named(name)).To(BeTrue()) })
	}
	for _, name := range strings.Fields("KEYBOARD MONKEY AUTHOR TOKEN_URL KEY_FILE AUTH_TYPE MAX_TOKENS " +
		"maxOutputTokens MONKEYS " +
		"PATH USER - 天気 LOG_LEVEL") {
		t.Run("not "+name, func(t *testing.T) { NewWithT(t).Expect(credential.Named(name)).To(BeFalse()) })
	}
}

func TestLooks(t *testing.T) {
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
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(credential.Looks(text)).To(BeTrue()) })
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
	} {
		t.Run("not "+name, func(t *testing.T) { NewWithT(t).Expect(credential.Looks(text)).To(BeFalse()) })
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

func TestSwitch(t *testing.T) {
	g := NewWithT(t)
	for _, text := range []string{"", "true", "FALSE", "yes", "No", "on", "off", "0", "1"} {
		g.Expect(credential.Switch(text)).To(BeTrue(), text)
	}
	g.Expect(credential.Switch("2")).To(BeFalse())
	g.Expect(credential.Switch("truth")).To(BeFalse())
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
