package template

import (
	"strings"

	"github.com/mooring-dev/mooring/internal/importer/credential"
	"github.com/mooring-dev/mooring/internal/secret"
)

// Text is a text of a file with its references. Neighbouring parts are never both plain.
type Text []Part

// Part is a piece of plain text, or a reference.
type Part struct {
	Plain string
	Ref   *Reference
}

// Reference stands for a value that is known only where the file is used.
type Reference struct {
	// Name is the name of what is referred to, from which those of variables and keys are made.
	Name string
	// Shown is how notes speak of it.
	Shown string
	// Fallback is the value that the file gives for want of another, if Given.
	Fallback string
	Given    bool
	// Secret says that the file declares it a secret.
	Secret bool
	// Prompt is what a person is asked with, if the file says so.
	Prompt string
}

// Sensitive tells whether the value must not stand in clear.
func (r *Reference) Sensitive() bool {
	return r.Secret || credential.Named(r.Name) || credential.Looks(r.Fallback)
}

// Hidden is the reference's own value as a secret; zero if the file gives none that counts.
func (r *Reference) Hidden() secret.Value {
	if !r.Given || credential.Wanting(r.Fallback) {
		return secret.Value{}
	}
	return secret.New(r.Fallback)
}

// Inline tells whether the given value may stand in the reference's place, in clear.
func (r *Reference) Inline() bool {
	return r.Given && (!r.Sensitive() || r.Fallback != "" && credential.Switch(r.Fallback))
}

// Literal is plain text.
func Literal(literal string) Text {
	if literal == "" {
		return nil
	}
	return Text{{Plain: literal}}
}

// Join puts texts together.
func Join(texts ...Text) Text {
	var out Text
	for _, t := range texts {
		out = out.Append(t...)
	}
	return out
}

// Append adds parts to a text that nobody else has.
func (t Text) Append(parts ...Part) Text {
	for _, p := range parts {
		if last := len(t) - 1; p.Ref == nil && last >= 0 && t[last].Ref == nil {
			t[last].Plain += p.Plain
		} else if p.Ref != nil || p.Plain != "" {
			t = append(t, p)
		}
	}
	return t
}

// Literal returns the text if it has no references.
func (t Text) Literal() (string, bool) {
	switch {
	case len(t) == 0:
		return "", true
	case len(t) == 1 && t[0].Ref == nil:
		return t[0].Plain, true
	default:
		return "", false
	}
}

// Known returns the text if every reference has a value.
func (t Text) Known() (string, bool) {
	var out strings.Builder
	for _, p := range t {
		switch {
		case p.Ref == nil:
			out.WriteString(p.Plain)
		case p.Ref.Given && p.Ref.Fallback != "":
			out.WriteString(p.Ref.Fallback)
		default:
			return "", false
		}
	}
	return out.String(), true
}

// Gapped is the text with a credential.Gap for each reference, for whoever looks at a text as a whole.
func (t Text) Gapped() string {
	var out strings.Builder
	for _, p := range t {
		if p.Ref != nil {
			out.WriteRune(credential.Gap)
		} else {
			out.WriteString(p.Plain)
		}
	}
	return out.String()
}

// Single returns the reference that is the whole text.
func (t Text) Single() *Reference {
	if len(t) == 1 {
		return t[0].Ref
	}
	return nil
}

// Dollared tells whether a text ends in $ where a $(NAME) would follow, which would make $$(NAME) of them.
func (t Text) Dollared() bool {
	for i, p := range t {
		if p.Ref == nil && i < len(t)-1 && strings.HasSuffix(p.Plain, "$") {
			return true
		}
	}
	return false
}

// References says what the text refers to.
func (t Text) References() string {
	var shown []string
	for _, p := range t {
		if p.Ref != nil {
			shown = append(shown, p.Ref.Shown)
		}
	}
	return strings.Join(shown, " and ")
}

// Cut cuts at the first separator that stands in text.
func (t Text) Cut(separator string) (before, after Text, found bool) {
	for i, p := range t {
		if p.Ref != nil {
			continue
		}
		if head, tail, ok := strings.Cut(p.Plain, separator); ok {
			return Join(t[:i:i], Literal(head)), Join(Literal(tail), t[i+1:]), true
		}
	}
	return t, nil, false
}

// Split cuts at every separator that stands in text.
func (t Text) Split(separator string) []Text {
	var out []Text
	for {
		before, after, found := t.Cut(separator)
		out = append(out, before)
		if !found {
			return out
		}
		t = after
	}
}

// Trim takes blanks off both ends.
func (t Text) Trim() Text {
	const blanks = " \t\r\n"
	out := Join(t)
	if n := len(out); n > 0 && out[n-1].Ref == nil {
		out[n-1].Plain = strings.TrimRight(out[n-1].Plain, blanks)
	}
	if len(out) > 0 && out[0].Ref == nil {
		out[0].Plain = strings.TrimLeft(out[0].Plain, blanks)
	}
	return Join(out)
}

// Scheme takes a known authentication scheme and its blanks off the front. Another word may be a credential.
func (t Text) Scheme() (name string, rest Text) {
	if len(t) == 0 || t[0].Ref != nil {
		return "", t
	}
	match := credential.AuthScheme.FindStringSubmatch(t[0].Plain)
	if match == nil {
		return "", t
	}
	return match[1], Join(Literal(t[0].Plain[len(match[0]):]), t[1:])
}

// IsScheme tells whether a text is a known authentication scheme and the blank behind it.
func IsScheme(text string) bool { return text != "" && credential.AuthScheme.FindString(text) == text }
