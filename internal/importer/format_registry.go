package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// registry is the MCP registry's format: one server, an answer that has one, or an answer that has many.
type registry struct{}

func (registry) expected() string {
	return "the name and remotes or packages of a registry's server.json"
}

// clients are none: a server.json is an answer, or lies anywhere.
func (registry) clients() []client { return nil }

func (registry) find(f *file) {
	for _, item := range append([]any{f.root, f.root.object("server")}, f.root.array("servers")...) {
		fields, _ := item.(*object)
		if inner := fields.object("server"); inner != nil && item != any(f.root) {
			fields = inner
		}
		if name := fields.text("name"); name != "" && (fields.array("remotes") != nil || fields.array("packages") != nil) {
			f.add(declaration{
				name: name, owned: true, fields: fields, provider: "registry", translation: (*declaration).published,
			})
		}
	}
}

// published translates a registry's server.json. Its remotes and packages are ways to the same server: the first that
// can be translated is taken, remotes before packages and streamable HTTP before SSE.
func (d *declaration) published(b *binder) error {
	b.notes(d.fields.text("description"))
	if status := d.fields.text("status"); status != "" && status != "active" {
		b.say("its status is %s", credential.Show(status))
	}
	ways := waysTo(d.fields)
	start := len(b.entry.Notes)
	spec, failures := *b.spec, []string{}
	for i, way := range ways {
		err := way.translate(b)
		if err == nil {
			for _, failure := range failures {
				b.say("%s", failure)
			}
			for _, other := range ways[i+1:] {
				b.say("%s is another way to it, and left aside", other.shown)
			}
			return nil
		}
		failures = append(failures, fmt.Sprintf("%s is left aside: %v", way.shown, err))
		*b.spec, b.secret.Keys, b.variables, b.marks = spec, nil, nil, 0
		b.entry.Notes = b.entry.Notes[:start]
	}
	if len(failures) == 0 {
		return errors.New("it has no remotes and no packages")
	}
	return errors.New(strings.Join(failures, "; "))
}

// way is one way to a server.
type way struct {
	shown     string
	rank      int
	translate func(b *binder) error
}

func waysTo(fields *object) []way {
	var out []way
	for i, item := range fields.array("remotes") {
		remote, _ := item.(*object)
		kind := word(remote, "type", "transport_type")
		w := way{shown: fmt.Sprintf("remotes[%d] (%s)", i, credential.Show(kind)), rank: 1}
		if kinds[plainKind(kind)] == kindHTTP {
			w.rank = 0
		}
		w.translate = func(b *binder) error { return remotely(b, remote, kind) }
		out = append(out, w)
	}
	for i, item := range fields.array("packages") {
		pack, _ := item.(*object)
		kind := word(pack, "registryType", "registry_type", "registry_name")
		out = append(out, way{
			shown: fmt.Sprintf("packages[%d] (%s)", i, credential.Show(kind)), rank: 2,
			translate: func(b *binder) error { return packaged(b, pack, kind) },
		})
	}
	slices.SortStableFunc(out, func(a, b way) int { return a.rank - b.rank })
	return out
}

// word returns the first of these fields that is a text: the registry's names had underscores once.
func word(fields *object, names ...string) string {
	for _, name := range names {
		if text := fields.text(name); text != "" {
			return text
		}
	}
	return ""
}

func remotely(b *binder, fields *object, kind string) error {
	r := &remote{binder: b}
	switch kinds[plainKind(kind)] {
	case kindHTTP:
		r.protocol = v1alpha1.ProtocolStreamableHTTP
	case kindSSE:
		if kind != "" {
			r.protocol = v1alpha1.ProtocolSSE
		}
	default:
		return errors.New("its type is no transport of Mooring")
	}
	r.url = curly(fields.text("url"), fields.object("variables"))
	for _, item := range fields.array("headers") {
		header := asked{binder: b, fields: item}
		if name, value, ok := header.named("header"); ok {
			r.headers = append(r.headers, pair{name, value, header.secret()})
		}
	}
	return r.translate()
}

// asked is an input of the registry: a value, or what to ask a person for.
type asked struct {
	*binder
	fields any
}

func (a asked) object() *object {
	fields, _ := a.fields.(*object)
	return fields
}

func (a asked) flag(names ...string) bool {
	for _, name := range names {
		if set, _ := a.object().lookup(name); set == true {
			return true
		}
	}
	return false
}

func (a asked) secret() bool   { return a.flag("isSecret", "is_secret") }
func (a asked) required() bool { return a.flag("isRequired", "is_required") }

// named returns a header or a variable. One that is optional and has no value is left out.
func (a asked) named(what string) (name string, value template, ok bool) {
	name = a.object().text("name")
	if name == "" {
		return "", nil, false
	}
	value, ok = a.value(name, what+" "+credential.Show(name))
	return name, value, ok
}

// value returns what is given, or a reference that asks for it.
func (a asked) value(name, shown string) (template, bool) {
	if given, ok := scalarOf(a.object(), "value"); ok {
		return a.sealed(curly(given, a.object().object("variables")), name, shown), true
	}
	if standard, ok := scalarOf(a.object(), "default"); ok {
		return a.sealed(fixed(standard), name, shown), true
	}
	if !a.required() {
		a.say("%s is optional and left out", shown)
		return nil, false
	}
	return template{{ref: a.reference(name, shown)}}, true
}

// sealed makes a secret of a literal that is declared one.
func (a asked) sealed(t template, name, shown string) template {
	literal, ok := t.literal()
	if !ok || !a.secret() || literal == "" {
		return t
	}
	ref := a.reference(name, shown)
	ref.fallback, ref.given = literal, true
	return template{{ref: ref}}
}

// sealedParts makes secrets of what is beside the references of a text that is declared one, of an assignment
// behind the =. The words of a command line have no place for what is declared of them.
func (a asked) sealedParts(t template, name, shown string, assignment bool) template {
	var out template
	before, after, found := t.cut("=")
	if literal, ok := before.literal(); assignment && found && ok {
		out, t = fixed(literal+"="), after
	}
	for _, p := range t {
		if p.ref == nil {
			ref := a.reference(name, "a part of "+shown)
			ref.fallback, ref.given = p.plain, true
			p = part{ref: ref}
		}
		out = out.append(p)
	}
	return out
}

func (a asked) reference(name, shown string) *reference {
	given, _ := scalarOf(a.object(), "value")
	standard, _ := scalarOf(a.object(), "default")
	return &reference{
		Name: name, shown: shown, Secret: a.secret(), prompt: question(a.object().text("description"), given, standard),
	}
}

func scalarOf(fields *object, name string) (string, bool) {
	member, _ := fields.lookup(name)
	return scalar(member)
}

// curly takes {name} out of a text where variables declares the name; anything else in braces stays.
func curly(raw string, variables *object) template {
	var out template
	for {
		start := strings.IndexByte(raw, '{')
		length := strings.IndexByte(raw[max(start, 0):], '}')
		if start < 0 || length < 0 {
			return out.append(fixed(raw)...)
		}
		name := raw[start+1 : start+length]
		fields, declared := variables.lookup(name)
		if !declared {
			out, raw = out.append(fixed(raw[:start+1])...), raw[start+1:]
			continue
		}
		variable := asked{fields: fields}
		ref := variable.reference(name, "{"+credential.Show(name)+"}")
		for _, field := range []string{"value", "default"} {
			if standard, ok := scalarOf(variable.object(), field); ok && !ref.given {
				ref.fallback, ref.given = standard, true
			}
		}
		out = out.append(fixed(raw[:start])...).append(part{ref: ref})
		raw = raw[start+length+1:]
	}
}
