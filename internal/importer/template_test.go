package importer

import (
	"testing"

	. "github.com/onsi/gomega"
)

func env(name string) *reference {
	return &reference{Name: name, shown: "${" + name + "}"}
}

func TestParse(t *testing.T) {
	scope := scope{
		inputs: map[string]input{"k": {prompt: "Key", fallback: "f", given: true, password: true}},
		Env:    map[string]template{"GIVEN": {{plain: "a"}, {ref: env("B")}}},
	}
	for _, test := range []struct {
		name, raw string
		want      template
	}{
		{"empty", "", nil},
		{"plain", "a$b{c}", template{{plain: "a$b{c}"}}},
		{"variable", "a${X}b", template{{plain: "a"}, {ref: env("X")}, {plain: "b"}}},
		{"variable of an editor's form", "${env:X}", template{{ref: env("X")}}},
		{"default", "${X:-a:b}", template{{ref: &reference{
			Name: "X", shown: "${X}", fallback: "a:b", given: true}}}},
		{"empty default", "${X:-}", template{{ref: &reference{Name: "X", shown: "${X}", given: true}}}},
		{"reference in a default", "${X:-${Y}}!", template{
			{ref: &reference{Name: "X", shown: "${X}", fallback: "${Y}"}}, {plain: "!"}}},
		{"default of a shell", "${X-canary}", template{{ref: env("X")}}},
		{"form that is not known", "${X:canary}", template{{ref: env("X")}}},
		{"input", "${input:k}", template{{ref: &reference{
			Name: "k", shown: "${input:k}", prompt: "Key", fallback: "f", given: true, Secret: true}}}},
		{"input that is not declared", "${input:z}", template{{ref: &reference{
			Name: "z", shown: "${input:z}"}}}},
		{"setting", "${config:a.b}", template{{ref: &reference{Name: "a.b", shown: "${config:a.b}"}}}},
		{"place", "${workspaceFolder}/x", template{{ref: env("workspaceFolder")}, {plain: "/x"}}},
		{"separator", "a${pathSeparator}b${/}c", template{{plain: "a/b/c"}}},
		{"given by the entry", "x${GIVEN}", template{{plain: "xa"}, {ref: env("B")}}},
		{"without an end", "a${X", template{{plain: "a${X"}}},
		{"no name", "${}${ }${1}", template{{plain: "${}${ }${1}"}}},
		{"two in a row", "${X}${X}", template{{ref: env("X")}, {ref: env("X")}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(scope.parse(test.raw)).To(Equal(test.want))
		})
	}
}

func TestCut(t *testing.T) {
	g := NewWithT(t)
	text := scope{}.parse("a${X:-?}b?c${Y}?d")

	before, after, found := text.cut("?")
	g.Expect(found).To(BeTrue())
	g.Expect(before.references()).To(Equal("${X}"))
	g.Expect(before[2]).To(Equal(part{plain: "b"}))
	g.Expect(after[0]).To(Equal(part{plain: "c"}))
	g.Expect(text.split("?")).To(HaveLen(3))
	g.Expect(text[2]).To(Equal(part{plain: "b?c"}), "what is cut stays as it was")

	whole, rest, found := text.cut("#")
	g.Expect(found).To(BeFalse())
	g.Expect(whole).To(Equal(text))
	g.Expect(rest).To(BeNil())
}

func TestTrim(t *testing.T) {
	g := NewWithT(t)
	text := scope{}.parse("  ${X} a ")
	g.Expect(text.trim()).To(Equal(template{{ref: env("X")}, {plain: " a"}}))
	g.Expect(text[0]).To(Equal(part{plain: "  "}), "what is trimmed stays as it was")
	g.Expect(fixed("  ").trim()).To(BeEmpty())
	g.Expect(template(nil).trim()).To(BeEmpty())
}

func TestScheme(t *testing.T) {
	g := NewWithT(t)
	name, rest := scope{}.parse("Bearer  ${X}").scheme()
	g.Expect(name).To(Equal("Bearer"))
	g.Expect(rest.single()).To(Equal(env("X")))
	for _, raw := range []string{"", "${X} a", "bearer:x", "Bearer", "hunter2 ${X}"} {
		name, rest = scope{}.parse(raw).scheme()
		g.Expect(name).To(BeEmpty(), raw)
		g.Expect(rest).To(Equal(scope{}.parse(raw)), raw)
	}
	g.Expect(isScheme("Basic ")).To(BeTrue())
	g.Expect(isScheme("Basic x")).To(BeFalse())
	g.Expect(isScheme("")).To(BeFalse())
}

func TestKnown(t *testing.T) {
	g := NewWithT(t)
	known, ok := scope{}.parse("a${X:-b}").known()
	g.Expect(ok).To(BeTrue())
	g.Expect(known).To(Equal("ab"))
	_, ok = scope{}.parse("a${X:-}").known()
	g.Expect(ok).To(BeFalse(), "an empty default is no value")
	_, ok = scope{}.parse("a${X}").known()
	g.Expect(ok).To(BeFalse())
	_, ok = scope{}.parse("a${X:-b}").literal()
	g.Expect(ok).To(BeFalse())
	g.Expect(scope{}.parse("a${X}").single()).To(BeNil())
}

func TestDollared(t *testing.T) {
	g := NewWithT(t)
	g.Expect(scope{}.parse("US$${X}").dollared()).To(BeTrue())
	g.Expect(scope{}.parse("${X}US$").dollared()).To(BeFalse())
}

func TestGapped(t *testing.T) {
	g := NewWithT(t)
	g.Expect(scope{}.parse("a${X}b${Y:-c}").gapped()).To(Equal("a\uFFFCb\uFFFC"))
	g.Expect(template(nil).gapped()).To(BeEmpty())
}

func TestInline(t *testing.T) {
	for _, test := range []struct {
		name string
		ref  reference
		want bool
	}{
		{"harmless", reference{Name: "ORG", fallback: "acme", given: true}, true},
		{"harmless and empty", reference{Name: "ORG", given: true}, true},
		{"no value", reference{Name: "ORG"}, false},
		{"secret by its name", reference{Name: "TOKEN", fallback: "a", given: true}, false},
		{"secret by its name, empty", reference{Name: "TOKEN", given: true}, false},
		{"secret by its look", reference{Name: "X", fallback: "ghp_0123456789", given: true}, false},
		{"declared secret", reference{Name: "X", fallback: "a", given: true, Secret: true}, false},
		{"switch", reference{Name: "USE_KEY", fallback: "true", given: true}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(test.ref.inline()).To(Equal(test.want))
		})
	}
}

func TestHidden(t *testing.T) {
	g := NewWithT(t)
	g.Expect((&reference{fallback: "a", given: true}).hidden().Reveal()).To(Equal("a"))
	g.Expect((&reference{fallback: "<token>", given: true}).hidden().IsZero()).To(BeTrue())
	g.Expect((&reference{fallback: "a"}).hidden().IsZero()).To(BeTrue())
}
