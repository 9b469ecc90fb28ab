package template

import (
	"regexp"
	"strings"

	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// Scope says what references mean in one entry of a file.
type Scope struct {
	// Inputs are the values that an editor asks a person for, by id.
	Inputs map[string]Input
	// Env are values that the entry itself gives to the process that expands its texts.
	Env map[string]Text
}

// Input is a value that a person is asked for.
type Input struct {
	// Prompt is the question.
	Prompt string
	// Fallback is the answer that is proposed, if Given.
	Fallback string
	Given    bool
	// Password says that the answer is not shown as it is typed.
	Password bool
}

// Parse takes the references out of a text.
func (s Scope) Parse(raw string) Text {
	var out Text
	for {
		start := strings.Index(raw, "${")
		if start < 0 {
			return out.Append(Literal(raw)...)
		}
		length := closing(raw[start:])
		if length < 0 {
			return out.Append(Literal(raw)...)
		}
		out = out.Append(Literal(raw[:start])...).Append(s.expand(raw[start+2 : start+length-1])...)
		raw = raw[start+length:]
	}
}

// closing returns the length of the reference at the beginning, -1 if it does not end.
func closing(raw string) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch {
		case strings.HasPrefix(raw[i:], "${"):
			depth++
			i++
		case raw[i] == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// expand gives the meaning of what stands between ${ and }. Of a form that is not known the name alone is used: what
// follows may be a value.
func (s Scope) expand(body string) Text {
	kind, name, found := strings.Cut(body, ":")
	switch {
	case body == "pathSeparator", body == "/":
		return Literal("/")
	case found && kind == "input" && name != "":
		return Text{{Ref: s.input(name)}}
	case found && kind == "env":
		return s.Environment(name)
	case found && (kind == "config" || kind == "command") && identifier.MatchString(name):
		return Text{{Ref: &Reference{Name: name, Shown: "${" + kind + ":" + credential.Show(name) + "}"}}}
	default:
		return s.Environment(body)
	}
}

// Environment is a reference to a variable of an environment: NAME or NAME:-default. A default that follows in another
// form, such as a shell's NAME-default, is not read: clients do not read it either.
func (s Scope) Environment(body string) Text {
	name, rest := body, ""
	if end := strings.IndexAny(body, ":-"); end >= 0 {
		name, rest = body[:end], body[end:]
	}
	fallback, given := strings.CutPrefix(rest, ":-")
	if !given {
		fallback = ""
	}
	if !identifier.MatchString(name) {
		return Literal("${" + body + "}")
	}
	if value, ok := s.Env[name]; ok {
		return value
	}
	return Text{{Ref: &Reference{
		Name: name, Shown: "${" + credential.Show(name) + "}",
		Fallback: fallback, Given: given && !strings.Contains(fallback, "${"),
	}}}
}

func (s Scope) input(id string) *Reference {
	ref := &Reference{Name: id, Shown: "${input:" + credential.Show(id) + "}"}
	if declared, ok := s.Inputs[id]; ok {
		ref.Prompt, ref.Fallback, ref.Given = declared.Prompt, declared.Fallback, declared.Given
		ref.Secret = declared.Password
	}
	return ref
}
