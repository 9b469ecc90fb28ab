package importer

import (
	"strings"

	"github.com/mooring-dev/mooring/internal/importer/credential"
	"github.com/mooring-dev/mooring/internal/secret"
)

// template is a text of a file with its references. Neighbouring parts are never both plain.
type template []part

// part is a piece of plain text, or a reference.
type part struct {
	plain string
	ref   *reference
}

// reference is a value that is known only where the file is used.
type reference struct {
	// Name is the name of what is referred to, from which those of variables and keys are made.
	Name string
	// shown is how notes speak of it.
	shown string
	// fallback is the value that the file gives for want of another, if given.
	fallback string
	given    bool
	// Secret says that the file declares it a secret.
	Secret bool
	// prompt is what a person is asked with, if the file says so.
	prompt string
}

// Sensitive tells whether the value must not be in clear.
func (r *reference) sensitive() bool {
	return r.Secret || credential.Named(r.Name) || !credential.Harmless(r.fallback)
}

// Hidden is the reference's own value as a secret; zero if the file gives none that counts.
func (r *reference) hidden() secret.Value {
	if !r.given || credential.Wanting(r.fallback) {
		return secret.Value{}
	}
	return secret.New(r.fallback)
}

// Inline tells whether the given value may replace the reference, in clear.
func (r *reference) inline() bool {
	return r.given && (!r.sensitive() || r.fallback != "" && credential.Switch(r.fallback))
}

// Literal is plain text.
func fixed(literal string) template {
	if literal == "" {
		return nil
	}
	return template{{plain: literal}}
}

// Join puts texts together.
func join(texts ...template) template {
	var out template
	for _, t := range texts {
		out = out.append(t...)
	}
	return out
}

// Append adds parts to a text that nobody else has.
func (t template) append(parts ...part) template {
	for _, p := range parts {
		if last := len(t) - 1; p.ref == nil && last >= 0 && t[last].ref == nil {
			t[last].plain += p.plain
		} else if p.ref != nil || p.plain != "" {
			t = append(t, p)
		}
	}
	return t
}

// Literal returns the text if it has no references.
func (t template) literal() (string, bool) {
	switch {
	case len(t) == 0:
		return "", true
	case len(t) == 1 && t[0].ref == nil:
		return t[0].plain, true
	default:
		return "", false
	}
}

// Known returns the text if every reference has a value.
func (t template) known() (string, bool) {
	var out strings.Builder
	for _, p := range t {
		switch {
		case p.ref == nil:
			out.WriteString(p.plain)
		case p.ref.given && p.ref.fallback != "":
			out.WriteString(p.ref.fallback)
		default:
			return "", false
		}
	}
	return out.String(), true
}

// Gapped is the text with a credential.Gap for each reference, to judge a text as a whole.
func (t template) gapped() string {
	var out strings.Builder
	for _, p := range t {
		if p.ref != nil {
			out.WriteRune(credential.Gap)
		} else {
			out.WriteString(p.plain)
		}
	}
	return out.String()
}

// Single returns the reference that is the whole text.
func (t template) single() *reference {
	if len(t) == 1 {
		return t[0].ref
	}
	return nil
}

// Dollared tells whether a text ends in $ where a $(NAME) would follow, which would make $$(NAME) of them.
func (t template) dollared() bool {
	for i, p := range t {
		if p.ref == nil && i < len(t)-1 && strings.HasSuffix(p.plain, "$") {
			return true
		}
	}
	return false
}

// References says what the text refers to.
func (t template) references() string {
	var shown []string
	for _, p := range t {
		if p.ref != nil {
			shown = append(shown, p.ref.shown)
		}
	}
	return strings.Join(shown, " and ")
}

// Cut cuts at the first separator in plain text.
func (t template) cut(separator string) (before, after template, found bool) {
	for i, p := range t {
		if p.ref != nil {
			continue
		}
		if head, tail, ok := strings.Cut(p.plain, separator); ok {
			return join(t[:i:i], fixed(head)), join(fixed(tail), t[i+1:]), true
		}
	}
	return t, nil, false
}

// Split cuts at every separator in plain text.
func (t template) split(separator string) []template {
	var out []template
	for {
		before, after, found := t.cut(separator)
		out = append(out, before)
		if !found {
			return out
		}
		t = after
	}
}

// Trim takes blanks off both ends.
func (t template) trim() template {
	const blanks = " \t\r\n"
	out := join(t)
	if n := len(out); n > 0 && out[n-1].ref == nil {
		out[n-1].plain = strings.TrimRight(out[n-1].plain, blanks)
	}
	if len(out) > 0 && out[0].ref == nil {
		out[0].plain = strings.TrimLeft(out[0].plain, blanks)
	}
	return join(out)
}

// Scheme takes a known authentication scheme and its blanks off the front. Another word may be a credential.
func (t template) scheme() (name string, rest template) {
	if len(t) == 0 || t[0].ref != nil {
		return "", t
	}
	match := credential.AuthScheme.FindStringSubmatch(t[0].plain)
	if match == nil {
		return "", t
	}
	return match[1], join(fixed(t[0].plain[len(match[0]):]), t[1:])
}

// IsScheme tells whether a text is a known authentication scheme and the blank behind it.
func isScheme(text string) bool { return text != "" && credential.AuthScheme.FindString(text) == text }
