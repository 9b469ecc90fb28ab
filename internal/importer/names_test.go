package importer

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func originals(names ...string) []original {
	var out []original
	for _, name := range names {
		out = append(out, original{name: name})
	}
	return out
}

func TestAssignNames(t *testing.T) {
	for _, test := range []struct {
		name string
		in   []original
		want []string
	}{
		{"valid names stay", originals("github", "a-1", "9"), []string{"github", "a-1", "9"}},
		{
			"case, blanks and signs", originals("GitHub", "my server", "a__b", "-x-"),
			[]string{"github", "my-server", "a-b", "x"},
		},
		{"the one that is called so keeps the name", originals("Git", "git", "GIT"),
			[]string{"git-23b78692", "git", "git-cb7dfb1b"}},
		{"none is called so", originals("a b", "a_b"), []string{"a-b-522207d2", "a-b-c0a7a058"}},
		{"nothing is left", originals("天気"), []string{"server-bc79d84d"}},
		{"40 characters", originals(strings.Repeat("a", 40)), []string{strings.Repeat("a", 40)}},
		{"41 characters", originals(strings.Repeat("a", 41)), []string{strings.Repeat("a", 31) + "-c0f8bd4d"}},
		{"the same name in another place", []original{{name: "n"}, {name: "n", place: "p"}},
			[]string{"n", "n-d2d393f6"}},
		{"the same name in two places of their own", []original{{name: "n", place: "p"}, {name: "n", place: "q"}},
			[]string{"n-d2d393f6", "n-cdba7d36"}},
		{"the same twice", originals("n", "n"), []string{"n-0d84902c", "n-de8f1237"}},
		{"an owner is left out", []original{{name: "com.example/one", owned: true}}, []string{"one"}},
		{"owners tell apart", []original{{name: "com.example/one", owned: true}, {name: "org/one", owned: true}},
			[]string{"com-example-one", "org-one"}},
		{"no owner", []original{{name: "com.example/one"}}, []string{"com-example-one"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(assignNames(test.in)).To(Equal(test.want))
		})
	}
}

var valid = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// Names are valid and distinct, and the order in which servers are declared does not change them.
func FuzzAssignNames(f *testing.F) {
	f.Add("a b", "a_b", "A-B", "")
	f.Add("git-23b78692", "Git", "git", "GIT")
	f.Add(strings.Repeat("x", 60), strings.Repeat("x", 61), "x", "-")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		g := NewWithT(t)
		in := originals(a, b, c, d)
		out := assignNames(in)
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
		reversed := assignNames(in)
		slices.Reverse(reversed)
		g.Expect(reversed).To(Equal(out))
	})
}
