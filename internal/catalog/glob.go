package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrGlob is wrapped by the error for a pattern that cannot be read.
var ErrGlob = errors.New("invalid glob")

// Globs match whole names: * is any run of characters (the slash included), ? any one character, [a-z] and [^a-z] one
// of a class, and \ takes the next character as it is. The zero Globs match nothing. Matching takes time linear in the
// name's length.
type Globs struct{ patterns []*regexp.Regexp }

// CompileGlobs reads patterns. Its error wraps ErrGlob and names the first that cannot be read.
func CompileGlobs(patterns []string) (Globs, error) {
	var globs Globs
	for _, pattern := range patterns {
		expression, err := translate(pattern)
		if err != nil {
			return Globs{}, fmt.Errorf("%w %s: %w", ErrGlob, quoted(pattern), err)
		}
		compiled, err := regexp.Compile(`\A(?s:` + expression + `)\z`)
		if err != nil { // the error's text is about our translation, not about the pattern
			return Globs{}, fmt.Errorf("%w %s: bad character class", ErrGlob, quoted(pattern))
		}
		globs.patterns = append(globs.patterns, compiled)
	}
	return globs, nil
}

// Match reports whether any of the patterns matches name.
func (g Globs) Match(name string) bool {
	for _, pattern := range g.patterns {
		if pattern.MatchString(name) {
			return true
		}
	}
	return false
}

// Filter allows names. The zero Filter allows all.
type Filter struct {
	allow, deny Globs
	limited     bool // whether allow counts
}

// NewFilter allows what matches a pattern of allow, or everything when there is none, and no pattern of deny.
// Its error is CompileGlobs'.
func NewFilter(allow, deny []string) (Filter, error) {
	allowed, err := CompileGlobs(allow)
	if err != nil {
		return Filter{}, err
	}
	denied, err := CompileGlobs(deny)
	if err != nil {
		return Filter{}, err
	}
	return Filter{allow: allowed, deny: denied, limited: len(allow) > 0}, nil
}

// Allows reports whether name passes.
func (f Filter) Allows(name string) bool {
	return (!f.limited || f.allow.Match(name)) && !f.deny.Match(name)
}

// translate turns a glob into a regular expression.
func translate(glob string) (string, error) {
	var out strings.Builder
	for rest := []rune(glob); len(rest) > 0; {
		used := 1
		switch rest[0] {
		case '*':
			out.WriteString(".*")
		case '?':
			out.WriteByte('.')
		case '\\':
			if len(rest) == 1 {
				return "", errors.New("a backslash at the end")
			}
			out.WriteString(regexp.QuoteMeta(string(rest[1])))
			used = 2
		case '[':
			class, length, err := translateClass(rest)
			if err != nil {
				return "", err
			}
			out.WriteString(class)
			used = length
		default:
			out.WriteString(regexp.QuoteMeta(string(rest[0])))
		}
		rest = rest[used:]
	}
	return out.String(), nil
}

// translateClass turns the character class at the start of rest into one of a regular expression, and returns how many
// characters it took.
func translateClass(rest []rune) (class string, length int, err error) {
	at, class := 1, "["
	if len(rest) > at && rest[at] == '^' {
		at, class = at+1, "[^"
	}
	for first := at; at < len(rest); {
		if at > first && rest[at] == ']' {
			return class + "]", at + 1, nil
		}
		if at > first && rest[at] == '-' {
			at, class = at+1, class+"-"
			continue
		}
		member, used, err := classMember(rest[at:])
		if err != nil {
			return "", 0, err
		}
		at, class = at+used, class+fmt.Sprintf(`\x{%X}`, member)
	}
	return "", 0, errors.New("a character class without end")
}

// classMember reads one character of a class.
func classMember(rest []rune) (member rune, length int, err error) {
	switch rest[0] {
	case '-', ']':
		return 0, 0, errors.New("bad character class")
	case '\\':
		if len(rest) == 1 {
			return 0, 0, errors.New("a backslash at the end")
		}
		return rest[1], 2, nil
	default:
		return rest[0], 1, nil
	}
}
