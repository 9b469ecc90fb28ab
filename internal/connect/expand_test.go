package connect

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestExpandURL(t *testing.T) {
	variables := map[string]string{"ORG": "acme/eu", "KEY": "a&b=c#d", "EMPTY": ""}
	for _, test := range []struct{ name, raw, want string }{
		{"no variables", "https://h.example/mcp?a=b", "https://h.example/mcp?a=b"},
		{"a slash in a path value stays", "https://h.example/$(ORG)/mcp", "https://h.example/acme/eu/mcp"},
		{"a query value cannot add a key", "https://h.example/?k=$(KEY)", "https://h.example/?k=a%26b%3Dc%23d"},
		{"a path value cannot start a query", "https://h.example/$(KEY)", "https://h.example/a&b=c%23d"},
		{"empty is a value", "https://h.example/$(EMPTY)x", "https://h.example/x"},
		{"doubled dollar is literal", "https://h.example/$$(ORG)", "https://h.example/$(ORG)"},
		{"not a name", "https://h.example/$(1A)$()", "https://h.example/$(1A)$()"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := expandURL(test.raw, variables)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(test.want))
		})
	}
}

func TestExpandNamesTheUndefinedVariable(t *testing.T) {
	g := NewWithT(t)
	_, err := expandURL("https://h.example/$(ORG)?k=$(MISSING)", map[string]string{"ORG": "canary-value"})
	g.Expect(err).To(MatchError("variable $(MISSING) is not defined; add it to spec.variables"))
	g.Expect(strings.Contains(err.Error(), "canary-value")).To(BeFalse())
}

func TestExpandIsNotRecursive(t *testing.T) {
	g := NewWithT(t)
	got, err := expand("$(A)", map[string]string{"A": "$(B)", "B": "x"}, verbatim)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal("$(B)"))
}
