package catalog_test

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/catalog"
)

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"*", "", true}, {"*", "a/b.c\nd", true}, {"get_*", "get_", true}, {"get_*", "get_a/b", true},
		{"get_*", "forget_a", false}, {"*_b", "a_b", true}, {"*_b", "a_bc", false},
		{"a*c*e", "abcde", true}, {"a*c*e", "abde", false}, {"?", "é", true}, {"?", "", false},
		{"?", "ab", false}, {"", "", true}, {"", "a", false}, {"a.c", "abc", false}, {"a.c", "a.c", true},
		{"[a-c]x", "bx", true}, {"[a-c]x", "dx", false}, {"[^a-c]x", "dx", true}, {"[^a-c]x", "ax", false},
		{"[^a]", "/", true}, {`\*`, "*", true}, {`\*`, "a", false}, {`[\]\-]`, "-", true},
		{`[\]\-]`, "]", true}, {`[\]\-]`, `\`, false}, {"[数-数]", "数", true}, {"(a|b)+$", "(a|b)+$", true},
		{"[[:alpha:]", "[", true}, {"[d]", "1", false}, {"a", "A", false}, {"a-]", "a-]", true},
	} {
		globs, err := catalog.CompileGlobs([]string{c.glob})
		if err != nil {
			t.Errorf("%q: %v", c.glob, err)
			continue
		}
		if got := globs.Match(c.name); got != c.want {
			t.Errorf("%q on %q: %v", c.glob, c.name, got)
		}
	}
}

func TestInvalidGlobs(t *testing.T) {
	for glob, want := range map[string]string{
		`a\`:      `invalid glob "a\\": a backslash at the end`,
		`[`:       `invalid glob "[": a character class without end`,
		`x[a`:     `invalid glob "x[a": a character class without end`,
		`[]`:      `invalid glob "[]": bad character class`,
		`[^]`:     `invalid glob "[^]": bad character class`,
		`[-a]`:    `invalid glob "[-a]": bad character class`,
		`[b-a]`:   `invalid glob "[b-a]": bad character class`,
		`[a\`:     `invalid glob "[a\\": a backslash at the end`,
		"[\u200b": `invalid glob "[": a character class without end`,
	} {
		_, err := catalog.CompileGlobs([]string{"fine", glob})
		if !errors.Is(err, catalog.ErrGlob) || err.Error() != want {
			t.Errorf("%q: %v, want %s", glob, err, want)
		}
		if _, err := catalog.NewFilter([]string{glob}, nil); !errors.Is(err, catalog.ErrGlob) {
			t.Errorf("allow %q: %v", glob, err)
		}
		if _, err := catalog.NewFilter(nil, []string{glob}); !errors.Is(err, catalog.ErrGlob) {
			t.Errorf("deny %q: %v", glob, err)
		}
	}
}

func TestFilter(t *testing.T) {
	for what, c := range map[string]struct {
		allow, deny []string
		want        string
	}{
		"nothing said":   {nil, nil, "a_1 a_2 b_1"},
		"allow":          {[]string{"a_*", "zzz"}, nil, "a_1 a_2"},
		"deny":           {nil, []string{"*_1"}, "a_2"},
		"deny wins":      {[]string{"a_1", "b_*"}, []string{"a*"}, "b_1"},
		"nothing passes": {[]string{"c"}, nil, ""},
	} {
		filter, err := catalog.NewFilter(c.allow, c.deny)
		if err != nil {
			t.Fatal(err)
		}
		all := catalog.Parse(list(`{"name":"b_1"}`, `{"name":"a_2"}`, `{"name":"a_1"}`))
		part := all.Filter(filter)
		if got := strings.Join(names(part), " "); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
		equal(t, what+": warnings", part.Warnings, all.Warnings)
		var again []string
		for _, tool := range part.Tools {
			again = append(again, string(tool.Definition))
		}
		equal(t, what+": digest", part.Digest, catalog.Parse(list(again...)).Digest)
		equal(t, what+": bytes", part.Bytes, len(strings.Join(again, "")))
	}
	if !(catalog.Filter{}).Allows("x") || (catalog.Globs{}).Match("x") {
		t.Error("the zero Filter allows all, the zero Globs match nothing")
	}
}

func FuzzGlobs(f *testing.F) {
	for _, seed := range [][2]string{{"a*[b-d]?", "axxcy"}, {`[^\]]`, "a"}, {"***", "数"}, {"[a-]", "-"}, {"[\xff]",
		"\xff"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		glob, name = strings.ToValidUTF8(glob, "x"), strings.ToValidUTF8(name, "x")
		globs, err := catalog.CompileGlobs([]string{glob})
		if err != nil {
			if !errors.Is(err, catalog.ErrGlob) {
				t.Fatal(err)
			}
			return
		}
		// Where no slash is about, path.Match means the same.
		want, err := path.Match(glob, name)
		if err == nil && !strings.Contains(glob+name, "/") && globs.Match(name) != want {
			t.Fatalf("%q on %q: %v, path.Match says %v", glob, name, globs.Match(name), want)
		}
	})
}
