package template_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/internal/importer/template"
)

func env(name string) *template.Reference {
	return &template.Reference{Name: name, Shown: "${" + name + "}"}
}

func TestParse(t *testing.T) {
	scope := template.Scope{
		Inputs: map[string]template.Input{"k": {Prompt: "Key", Fallback: "f", Given: true, Password: true}},
		Env:    map[string]template.Text{"GIVEN": {{Plain: "a"}, {Ref: env("B")}}},
	}
	for _, test := range []struct {
		name, raw string
		want      template.Text
	}{
		{"empty", "", nil},
		{"plain", "a$b{c}", template.Text{{Plain: "a$b{c}"}}},
		{"variable", "a${X}b", template.Text{{Plain: "a"}, {Ref: env("X")}, {Plain: "b"}}},
		{"variable of an editor's form", "${env:X}", template.Text{{Ref: env("X")}}},
		{"default", "${X:-a:b}", template.Text{{Ref: &template.Reference{
			Name: "X", Shown: "${X}", Fallback: "a:b", Given: true}}}},
		{"empty default", "${X:-}", template.Text{{Ref: &template.Reference{Name: "X", Shown: "${X}", Given: true}}}},
		{"reference in a default", "${X:-${Y}}!", template.Text{
			{Ref: &template.Reference{Name: "X", Shown: "${X}", Fallback: "${Y}"}}, {Plain: "!"}}},
		{"default of a shell", "${X-canary}", template.Text{{Ref: env("X")}}},
		{"form that is not known", "${X:canary}", template.Text{{Ref: env("X")}}},
		{"input", "${input:k}", template.Text{{Ref: &template.Reference{
			Name: "k", Shown: "${input:k}", Prompt: "Key", Fallback: "f", Given: true, Secret: true}}}},
		{"input that is not declared", "${input:z}", template.Text{{Ref: &template.Reference{
			Name: "z", Shown: "${input:z}"}}}},
		{"setting", "${config:a.b}", template.Text{{Ref: &template.Reference{Name: "a.b", Shown: "${config:a.b}"}}}},
		{"place", "${workspaceFolder}/x", template.Text{{Ref: env("workspaceFolder")}, {Plain: "/x"}}},
		{"separator", "a${pathSeparator}b${/}c", template.Text{{Plain: "a/b/c"}}},
		{"given by the entry", "x${GIVEN}", template.Text{{Plain: "xa"}, {Ref: env("B")}}},
		{"without an end", "a${X", template.Text{{Plain: "a${X"}}},
		{"no name", "${}${ }${1}", template.Text{{Plain: "${}${ }${1}"}}},
		{"two in a row", "${X}${X}", template.Text{{Ref: env("X")}, {Ref: env("X")}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(scope.Parse(test.raw)).To(Equal(test.want))
		})
	}
}

func TestCut(t *testing.T) {
	g := NewWithT(t)
	text := template.Scope{}.Parse("a${X:-?}b?c${Y}?d")

	before, after, found := text.Cut("?")
	g.Expect(found).To(BeTrue())
	g.Expect(before.References()).To(Equal("${X}"))
	g.Expect(before[2]).To(Equal(template.Part{Plain: "b"}))
	g.Expect(after[0]).To(Equal(template.Part{Plain: "c"}))
	g.Expect(text.Split("?")).To(HaveLen(3))
	g.Expect(text[2]).To(Equal(template.Part{Plain: "b?c"}), "what is cut stays as it was")

	whole, rest, found := text.Cut("#")
	g.Expect(found).To(BeFalse())
	g.Expect(whole).To(Equal(text))
	g.Expect(rest).To(BeNil())
}

func TestTrim(t *testing.T) {
	g := NewWithT(t)
	text := template.Scope{}.Parse("  ${X} a ")
	g.Expect(text.Trim()).To(Equal(template.Text{{Ref: env("X")}, {Plain: " a"}}))
	g.Expect(text[0]).To(Equal(template.Part{Plain: "  "}), "what is trimmed stays as it was")
	g.Expect(template.Literal("  ").Trim()).To(BeEmpty())
	g.Expect(template.Text(nil).Trim()).To(BeEmpty())
}

func TestScheme(t *testing.T) {
	g := NewWithT(t)
	name, rest := template.Scope{}.Parse("Bearer  ${X}").Scheme()
	g.Expect(name).To(Equal("Bearer"))
	g.Expect(rest.Single()).To(Equal(env("X")))
	for _, raw := range []string{"", "${X} a", "bearer:x", "Bearer", "hunter2 ${X}"} {
		name, rest = template.Scope{}.Parse(raw).Scheme()
		g.Expect(name).To(BeEmpty(), raw)
		g.Expect(rest).To(Equal(template.Scope{}.Parse(raw)), raw)
	}
	g.Expect(template.IsScheme("Basic ")).To(BeTrue())
	g.Expect(template.IsScheme("Basic x")).To(BeFalse())
	g.Expect(template.IsScheme("")).To(BeFalse())
}

func TestKnown(t *testing.T) {
	g := NewWithT(t)
	known, ok := template.Scope{}.Parse("a${X:-b}").Known()
	g.Expect(ok).To(BeTrue())
	g.Expect(known).To(Equal("ab"))
	_, ok = template.Scope{}.Parse("a${X:-}").Known()
	g.Expect(ok).To(BeFalse(), "an empty default is no value")
	_, ok = template.Scope{}.Parse("a${X}").Known()
	g.Expect(ok).To(BeFalse())
	_, ok = template.Scope{}.Parse("a${X:-b}").Literal()
	g.Expect(ok).To(BeFalse())
	g.Expect(template.Scope{}.Parse("a${X}").Single()).To(BeNil())
}

func TestDollared(t *testing.T) {
	g := NewWithT(t)
	g.Expect(template.Scope{}.Parse("US$${X}").Dollared()).To(BeTrue())
	g.Expect(template.Scope{}.Parse("${X}US$").Dollared()).To(BeFalse())
}

func TestGapped(t *testing.T) {
	g := NewWithT(t)
	g.Expect(template.Scope{}.Parse("a${X}b${Y:-c}").Gapped()).To(Equal("a\uFFFCb\uFFFC"))
	g.Expect(template.Text(nil).Gapped()).To(BeEmpty())
}

func TestInline(t *testing.T) {
	for _, test := range []struct {
		name string
		ref  template.Reference
		want bool
	}{
		{"harmless", template.Reference{Name: "ORG", Fallback: "acme", Given: true}, true},
		{"harmless and empty", template.Reference{Name: "ORG", Given: true}, true},
		{"no value", template.Reference{Name: "ORG"}, false},
		{"secret by its name", template.Reference{Name: "TOKEN", Fallback: "a", Given: true}, false},
		{"secret by its name, empty", template.Reference{Name: "TOKEN", Given: true}, false},
		{"secret by its look", template.Reference{Name: "X", Fallback: "ghp_0123456789", Given: true}, false},
		{"declared secret", template.Reference{Name: "X", Fallback: "a", Given: true, Secret: true}, false},
		{"switch", template.Reference{Name: "USE_KEY", Fallback: "true", Given: true}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(test.ref.Inline()).To(Equal(test.want))
		})
	}
}

func TestHidden(t *testing.T) {
	g := NewWithT(t)
	g.Expect((&template.Reference{Fallback: "a", Given: true}).Hidden().Reveal()).To(Equal("a"))
	g.Expect((&template.Reference{Fallback: "<token>", Given: true}).Hidden().IsZero()).To(BeTrue())
	g.Expect((&template.Reference{Fallback: "a"}).Hidden().IsZero()).To(BeTrue())
}
