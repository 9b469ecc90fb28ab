package catalog_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/catalog"
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,50}$`)

func hash8(server, tool string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	return hex.EncodeToString(sum[:])[:8]
}

func TestExposedNames(t *testing.T) {
	long := strings.Repeat("a", 40)
	for _, c := range []struct{ server, tool, want string }{
		{"github", "create_issue", "mcp_github_create_issue"},
		{"github", "x_", "mcp_github_x_"},
		{"a", strings.Repeat("b", 44), "mcp_a_" + strings.Repeat("b", 44)},
		{"a", strings.Repeat("b", 45), "mcp_a_" + strings.Repeat("b", 35) + "_" + hash8("a", strings.Repeat("b", 45))},
		{"fs", "files.read", "mcp_fs_files_read_" + hash8("fs", "files.read")},
		{"db", "数据库", "mcp_db_____" + hash8("db", "数据库")},
		{"s", "", "mcp_s__" + hash8("s", "")},
		{"", "t", "mcp__t_" + hash8("", "t")},
		{"a_b", "c", "mcp_a_b_c_" + hash8("a_b", "c")},
		{long, "x_", "mcp_" + long + "_x_"},
		{long, strings.Repeat("a", 60), "mcp_" + long[:37] + "_" + hash8(long, strings.Repeat("a", 60))},
		{"s", "a\xffb", "mcp_s_a_b_" + hash8("s", "a\xffb")},
	} {
		if got := catalog.ExposedName(c.server, c.tool); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.server, c.tool, got, c.want)
		}
	}
}

func TestB34_NamesAreValidAndDistinct(t *testing.T) {
	for _, server := range []string{strings.Repeat("p", 40), "a", "a-b",
		strings.Repeat("p", 63) + "-" + strings.Repeat("q", 40)} {
		seen := map[string]string{}
		for _, tool := range []string{
			strings.Repeat("a", 60), strings.Repeat("a", 59) + "b",
			"files.read", "files_read", "files-read", "files/read", "数据库", "数据裤",
			"x_", "x", "_x", "_", "__", ".", "",
		} {
			name := catalog.ExposedName(server, tool)
			if !validName.MatchString(name) {
				t.Errorf("%q, %q: %q is not valid", server, tool, name)
			}
			if other, taken := seen[name]; taken {
				t.Errorf("%q and %q are both %q", other, tool, name)
			}
			seen[name] = tool
		}
	}
}

func TestB32_OneToolNameOnTwoServers(t *testing.T) {
	for what, pair := range map[string][2]string{
		"two names": {catalog.ExposedName("a", "send_email"), catalog.ExposedName("b", "send_email")},
		"two namespaces": {catalog.ExposedName(catalog.ServerPart("x", "a", false), "t"),
			catalog.ExposedName(catalog.ServerPart("y", "a", true), "t")},
		"moved border": {catalog.ExposedName("a", "b_c"), catalog.ExposedName("a_b", "c")},
		"long servers": {catalog.ExposedName(strings.Repeat("a", 40)+"1", "t"),
			catalog.ExposedName(strings.Repeat("a", 40)+"2", "t")},
	} {
		if pair[0] == pair[1] {
			t.Errorf("%s: both are %q", what, pair[0])
		}
	}
}

func TestServerPart(t *testing.T) {
	equal(t, "own", catalog.ServerPart("agents", "github", false), "github")
	equal(t, "foreign", catalog.ServerPart("shared", "github", true), "shared-github")
}

// TestPropertyExposedNames: names of many servers and tools are valid, distinct, and the same in any order.
func TestPropertyExposedNames(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	word := func(alphabet string, least, most int) string {
		runes := []rune(alphabet)
		out := make([]rune, least+random.IntN(most-least+1))
		for i := range out {
			out[i] = runes[random.IntN(len(runes))]
		}
		return string(out)
	}
	type key struct{ server, tool string }
	names := map[string]key{}
	inputs := map[key]string{}
	for range 30_000 {
		k := key{word("ab-", 1, 40), word("ab_-.é数", 1, 60)}
		name := catalog.ExposedName(k.server, k.tool)
		if !validName.MatchString(name) {
			t.Fatalf("%q: %q is not valid", k, name)
		}
		if other, taken := names[name]; taken && other != k {
			t.Fatalf("%q and %q are both %q", other, k, name)
		}
		names[name], inputs[k] = k, name
	}
	for k, name := range inputs { // in another order, after all others exist
		if again := catalog.ExposedName(k.server, k.tool); again != name {
			t.Fatalf("%q: %q, then %q", k, name, again)
		}
	}
}

func FuzzExposedName(f *testing.F) {
	f.Add("github", "create_issue", "github", "create.issue")
	f.Add(strings.Repeat("a", 40), "x", strings.Repeat("a", 39), "x")
	f.Add("a", "数据库", "a", "\xff")
	f.Fuzz(func(t *testing.T, serverA, toolA, serverB, toolB string) {
		a, b := catalog.ExposedName(serverA, toolA), catalog.ExposedName(serverB, toolB)
		if !validName.MatchString(a) {
			t.Fatalf("%q, %q: %q is not valid", serverA, toolA, a)
		}
		if catalog.ExposedName(serverA, toolA) != a {
			t.Fatal("not a function of its arguments")
		}
		plain := func(server, tool, name string) bool { return name == "mcp_"+server+"_"+tool }
		same := serverA == serverB && toolA == toolB
		if a == b && !same && plain(serverA, toolA, a) && plain(serverB, toolB, b) {
			t.Fatalf("(%q, %q) and (%q, %q) are both %q", serverA, toolA, serverB, toolB, a)
		}
	})
}
