package importer

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer/credential"
	"github.com/mooring-dev/mooring/internal/secret"
)

// binder puts the values of one entry where they belong: into the spec, into variables, into the Secret.
type binder struct {
	entry  *Entry
	spec   *v1alpha1.MCPServerSpec
	secret *Secret
	// variables are the names of variables by the keys of the Secret behind them.
	variables map[string]string
	// marks counts what must be completed before the server can work.
	marks int
}

func (b *binder) say(format string, arguments ...any) { b.entry.say(format, arguments...) }

// notes keeps what people wrote about the server.
func (b *binder) notes(text string) {
	b.spec.Notes = line(text, mostNotes)
	if credential.InProse(text) {
		b.say("description is left out: it may hold a credential")
	}
}

// value is where a value went: into text with $(NAME), or into the Secret.
type value struct {
	clear string
	from  *v1alpha1.ValueSource
}

// spot describes where a value is: how notes call it, and the key that it gets in the Secret.
type spot struct{ shown, key string }

// settle puts values that the file gives, and that are no secret, into the place of their references.
func (b *binder) settle(t template) template {
	var out template
	for _, p := range t {
		if p.ref != nil && p.ref.inline() {
			b.say("%s takes its default", p.ref.shown)
			p = part{plain: p.ref.fallback}
		}
		out = out.append(p)
	}
	return out
}

// bind decides where a value goes. A sensitive one is never in clear.
func (b *binder) bind(t template, at spot, sensitive bool) value {
	if !sensitive {
		t = b.settle(t)
	}
	if literal, ok := t.literal(); ok {
		if credential.Switch(literal) || (!sensitive || credential.File(literal)) && credential.Harmless(literal) {
			return value{clear: escape(literal)}
		}
		return value{from: b.keep(at.key, literal, at.shown)}
	}
	if ref := t.single(); ref != nil {
		return value{from: b.refer(ref)}
	}
	if _, ok := t.known(); ok || t.dollared() {
		return value{from: b.whole(t, at)}
	}
	return value{clear: b.compose(t, at, sensitive)}
}

// inline is bind for places that take nothing but text.
func (b *binder) inline(t template, at spot, sensitive bool) string {
	bound := b.bind(t, at, sensitive)
	if bound.from == nil {
		return bound.clear
	}
	return b.variable(bound.from)
}

// compose makes text of several parts, some of which may be secret. What speaks of a secret and the secret itself may
// be different parts, as in postgres://${USER}:password@host; then none is in clear.
func (b *binder) compose(t template, at spot, sensitive bool) string {
	sensitive = sensitive || !credential.Harmless(t.gapped())
	var out strings.Builder
	for i, p := range t {
		switch {
		case len(b.spec.Variables) > mostVariables: // which finish refuses
			return ""
		case p.ref != nil:
			out.WriteString(b.variable(b.refer(p.ref)))
		case sensitive && !harmlessBetween(p.plain, i == 0):
			out.WriteString(b.variable(b.keep(at.key, p.plain, "a part of "+at.shown)))
		default:
			out.WriteString(escape(p.plain))
		}
	}
	return out.String()
}

// harmlessBetween tells whether text beside the references of a sensitive value is no secret: a scheme, punctuation.
func harmlessBetween(text string, first bool) bool {
	return first && isScheme(text) || len(credential.Words(text)) == 0
}

// whole makes one key of several parts, for places where no text is allowed beside a variable.
func (b *binder) whole(t template, at spot) *v1alpha1.ValueSource {
	if ref := t.single(); ref != nil {
		return b.refer(ref)
	}
	if known, ok := t.known(); ok {
		return b.keep(at.key, known, at.shown)
	}
	return b.add(at.key, secret.Value{}, at.shown+", made with "+t.references())
}

// keep puts a value of the file into the Secret. A placeholder for a credential is left out.
func (b *binder) keep(key, literal, shown string) *v1alpha1.ValueSource {
	if credential.Wanting(literal) {
		return b.add(key, secret.Value{}, shown)
	}
	return b.add(key, secret.New(literal), shown)
}

// refer puts a reference into the Secret.
func (b *binder) refer(ref *reference) *v1alpha1.ValueSource {
	from := ref.shown
	if ref.prompt != "" {
		from += ": " + ref.prompt
	}
	return b.add(ref.Name, ref.hidden(), from)
}

// add returns the key of the Secret that holds the value. The same value from the same place has one key.
func (b *binder) add(name string, content secret.Value, from string) *v1alpha1.ValueSource {
	base := keyName(name)
	key := base
	for n := 2; ; n++ {
		held := b.secret.find(key)
		if held == nil {
			break
		}
		if held.From == from && held.Value == content {
			return b.source(key)
		}
		key = fmt.Sprintf("%s-%d", base, n)
	}
	b.secret.Keys = append(b.secret.Keys, SecretKey{Name: key, Value: content, From: from})
	if content.IsZero() {
		b.say("fill in key %s of Secret %s: %s", key, b.secret.Name, from)
	} else {
		b.say("%s is a credential: it goes into key %s of Secret %s", from, key, b.secret.Name)
	}
	return b.source(key)
}

func (b *binder) source(key string) *v1alpha1.ValueSource {
	return &v1alpha1.ValueSource{SecretKeyRef: v1alpha1.SecretKeyReference{Name: b.secret.Name, Key: key}}
}

func (s *Secret) find(key string) *SecretKey {
	for i := range s.Keys {
		if s.Keys[i].Name == key {
			return &s.Keys[i]
		}
	}
	return nil
}

// variable returns $(NAME) for a key of the Secret.
func (b *binder) variable(source *v1alpha1.ValueSource) string {
	key := source.SecretKeyRef.Key
	if name, ok := b.variables[key]; ok {
		return "$(" + name + ")"
	}
	base := variableName(key)
	name := base
	for n := 2; b.defined(name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	if b.variables == nil {
		b.variables = map[string]string{}
	}
	b.variables[key] = name
	b.spec.Variables = append(b.spec.Variables, v1alpha1.Variable{Name: name, ValueFrom: source})
	return "$(" + name + ")"
}

func (b *binder) defined(name string) bool {
	for _, v := range b.spec.Variables {
		if v.Name == name {
			return true
		}
	}
	return false
}

var (
	notInKey      = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	notInVariable = regexp.MustCompile(`[^A-Za-z0-9_]+`)
	variableStart = regexp.MustCompile(`\$(\([A-Za-z_][A-Za-z0-9_]*\))`)
)

// mostKey keeps keys and variables readable and inside of the API's 63 characters, with room for a number.
const mostKey = 48

// keyName makes a key of a Secret of any name. A name that may be a credential itself is not used.
func keyName(name string) string {
	if credential.Random(name) {
		return "value"
	}
	key := strings.Trim(notInKey.ReplaceAllString(name, "-"), "-.")
	if key = key[:min(len(key), mostKey)]; key == "" {
		return "value"
	}
	return key
}

func variableName(key string) string {
	name := notInVariable.ReplaceAllString(key, "_")
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// escape keeps text that looks like $(NAME) from being replaced.
func escape(literal string) string { return variableStart.ReplaceAllString(literal, "$$$$$1") }

// mostVariables is the most that a spec may have.
const mostVariables = 32

// notSupported is said of every process.
const notSupported = "this version of Mooring runs no processes (spec.stdio): the server is refused with " +
	"NotSupportedYet unless it is disabled; serve the command over HTTP and use spec.http"

// finish checks what only the whole entry shows.
func (b *binder) finish() error {
	if len(b.spec.Variables) > mostVariables {
		return fmt.Errorf("it needs more than %d variables", mostVariables)
	}
	if b.marks > 0 {
		b.spec.Disabled = true
	}
	if b.spec.Stdio != nil {
		b.entry.say("%s", notSupported)
	}
	return nil
}
