package naming_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/internal/importer/naming"
)

func named(names ...string) []naming.Original {
	var out []naming.Original
	for _, name := range names {
		out = append(out, naming.Original{Name: name})
	}
	return out
}

func TestAssign(t *testing.T) {
	for _, test := range []struct {
		name string
		in   []naming.Original
		want []string
	}{
		{"valid names stay", named("github", "a-1", "9"), []string{"github", "a-1", "9"}},
		{"case, blanks and signs", named("GitHub", "my server", "a__b", "-x-"), []string{"github", "my-server", "a-b", "x"}},
		{"the one that is called so keeps the name", named("Git", "git", "GIT"),
			[]string{"git-23b78692", "git", "git-cb7dfb1b"}},
		{"none is called so", named("a b", "a_b"), []string{"a-b-522207d2", "a-b-c0a7a058"}},
		{"nothing is left", named("天気"), []string{"server-bc79d84d"}},
		{"40 characters", named(strings.Repeat("a", 40)), []string{strings.Repeat("a", 40)}},
		{"41 characters", named(strings.Repeat("a", 41)), []string{strings.Repeat("a", 31) + "-c0f8bd4d"}},
		{"the same name in another place", []naming.Original{{Name: "n"}, {Name: "n", Place: "p"}},
			[]string{"n", "n-d2d393f6"}},
		{"the same name in two places of their own", []naming.Original{{Name: "n", Place: "p"}, {Name: "n", Place: "q"}},
			[]string{"n-d2d393f6", "n-cdba7d36"}},
		{"the same twice", named("n", "n"), []string{"n-0d84902c", "n-de8f1237"}},
		{"an owner is left out", []naming.Original{{Name: "com.example/one", Owned: true}}, []string{"one"}},
		{"owners tell apart", []naming.Original{{Name: "com.example/one", Owned: true}, {Name: "org/one", Owned: true}},
			[]string{"com-example-one", "org-one"}},
		{"no owner", []naming.Original{{Name: "com.example/one"}}, []string{"com-example-one"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(naming.Assign(test.in)).To(Equal(test.want))
		})
	}
}

var valid = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// Names are valid and distinct, and the order in which servers are declared does not change them.
func FuzzAssign(f *testing.F) {
	f.Add("a b", "a_b", "A-B", "")
	f.Add("git-23b78692", "Git", "git", "GIT")
	f.Add(strings.Repeat("x", 60), strings.Repeat("x", 61), "x", "-")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		g := NewWithT(t)
		in := named(a, b, c, d)
		out := naming.Assign(in)
		seen := map[string]bool{}
		for _, name := range out {
			g.Expect(valid.MatchString(name)).To(BeTrue(), name)
			g.Expect(seen[name]).To(BeFalse(), name)
			seen[name] = true
		}
		if a == b || a == c || a == d || b == c || b == d || c == d {
			return // what is called alike is told apart by its order alone
		}
		slices.Reverse(in)
		reversed := naming.Assign(in)
		slices.Reverse(reversed)
		g.Expect(reversed).To(Equal(out))
	})
}
