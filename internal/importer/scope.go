package importer

import (
	"regexp"
	"strings"

	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// Scope says what references mean in one entry of a file.
type scope struct {
	// inputs are the values that an editor asks a person for, by id.
	inputs map[string]input
	// Env are values that the entry itself gives to the process that expands its texts.
	Env map[string]template
}

// Input is a value that a person is asked for.
type input struct {
	// prompt is the question.
	prompt string
	// fallback is the answer that is proposed, if given.
	fallback string
	given    bool
	// password says that the answer is not shown as it is typed.
	password bool
}

// inputs reads what VS Code asks a person for.
func inputs(root *object) map[string]input {
	out := map[string]input{}
	for _, item := range root.array("inputs") {
		fields, _ := item.(*object)
		id := fields.text("id")
		if id == "" {
			continue
		}
		password, _ := fields.lookup("password")
		fallback, given := fields.lookup("default")
		standard, isText := fallback.(string)
		out[id] = input{
			prompt:   question(fields.text("description"), standard),
			fallback: standard, given: given && isText, password: password == true,
		}
	}
	return out
}

// Parse takes the references out of a text.
func (s scope) parse(raw string) template {
	var out template
	for {
		start := strings.Index(raw, "${")
		if start < 0 {
			return out.append(fixed(raw)...)
		}
		length := closing(raw[start:])
		if length < 0 {
			return out.append(fixed(raw)...)
		}
		out = out.append(fixed(raw[:start])...).append(s.expand(raw[start+2 : start+length-1])...)
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

// expand gives the meaning of what is between ${ and }. Of a form that is not known the name alone is used: what
// follows may be a value.
func (s scope) expand(body string) template {
	kind, name, found := strings.Cut(body, ":")
	switch {
	case body == "pathSeparator", body == "/":
		return fixed("/")
	case found && kind == "input" && name != "":
		return template{{ref: s.input(name)}}
	case found && kind == "env":
		return s.environment(name)
	case found && (kind == "config" || kind == "command") && identifier.MatchString(name):
		return template{{ref: &reference{Name: name, shown: "${" + kind + ":" + credential.Show(name) + "}"}}}
	default:
		return s.environment(body)
	}
}

// Environment is a reference to a variable of an environment: NAME or NAME:-default. A default that follows in another
// form, such as a shell's NAME-default, is not read: clients do not read it either.
func (s scope) environment(body string) template {
	name, rest := body, ""
	if end := strings.IndexAny(body, ":-"); end >= 0 {
		name, rest = body[:end], body[end:]
	}
	fallback, given := strings.CutPrefix(rest, ":-")
	if !given {
		fallback = ""
	}
	if !identifier.MatchString(name) {
		return fixed("${" + body + "}")
	}
	if value, ok := s.Env[name]; ok {
		return value
	}
	return template{{ref: &reference{
		Name: name, shown: "${" + credential.Show(name) + "}",
		fallback: fallback, given: given && !strings.Contains(fallback, "${"),
	}}}
}

func (s scope) input(id string) *reference {
	ref := &reference{Name: id, shown: "${input:" + credential.Show(id) + "}"}
	if declared, ok := s.inputs[id]; ok {
		ref.prompt, ref.fallback, ref.given = declared.prompt, declared.fallback, declared.given
		ref.Secret = declared.password
	}
	return ref
}
