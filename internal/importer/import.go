package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer/credential"
	"github.com/mooring-dev/mooring/internal/secret"
)

// Options say how a file is read.
type Options struct {
	// Origin is what the file's path tells.
	Origin Origin
	// Namespace is that of the objects; empty leaves it to kubectl.
	Namespace string
	// Names keeps only these entries, by their names in the file or in the result. Empty keeps all.
	Names []string
}

// Result is what a file was translated into, in the file's order.
type Result struct {
	Entries []*Entry
	// Notes are about the file as a whole.
	Notes []string
}

// Entry is one entry of the file.
type Entry struct {
	// Name is the entry's name in the file, and Place where it is, if more than one place has entries.
	Name, Place string
	// Server is the translation, nil when the entry was left out.
	Server *v1alpha1.MCPServer
	// Secret holds its credentials, nil when there are none.
	Secret *Secret
	// Notes say what was decided, assumed or left out. They hold no value of the file.
	Notes []string
}

// Secret is a Secret to be made.
type Secret struct {
	Name string
	Keys []SecretKey
}

// SecretKey is one key of a Secret.
type SecretKey struct {
	Name string
	// Value is the value that the file holds; zero when it is to be filled in.
	Value secret.Value
	// From says where the value comes from, in a person's words.
	From string
}

// Translated counts the entries that have a server.
func (r *Result) Translated() int {
	return r.count(func(server *v1alpha1.MCPServer) bool { return server != nil })
}

// Unsupported counts the entries whose server is refused by a manager of this version.
func (r *Result) Unsupported() int {
	return r.count(func(server *v1alpha1.MCPServer) bool { return server != nil && server.Spec.Stdio != nil })
}

func (r *Result) count(counts func(*v1alpha1.MCPServer) bool) (n int) {
	for _, entry := range r.Entries {
		if counts(entry.Server) {
			n++
		}
	}
	return n
}

var errNotObject = errors.New("no MCP servers: the text is not a JSON object")

// Import translates a file. An error says that the file cannot be read, or declares nothing.
func Import(text []byte, options Options) (*Result, error) {
	f, err := readFile(text, options.Origin)
	if err != nil {
		return nil, err
	}
	result, declared := &Result{Notes: f.notes}, f.declared
	originals := make([]original, len(declared))
	for i, d := range declared {
		originals[i] = original{name: d.name, place: d.place, owned: d.owned}
		if credential.Random(d.name) { // a name made of it would show it, and a hash of it prove who guesses it right
			originals[i].name = ""
		}
	}
	names := assignNames(originals)
	missing := slices.Clone(options.Names)
	for i, d := range declared {
		called := func(name string) bool { return name == d.name || name == names[i] }
		if len(options.Names) == 0 || slices.ContainsFunc(options.Names, called) {
			result.Entries = append(result.Entries, d.translate(names[i], options.Namespace))
		}
		missing = slices.DeleteFunc(missing, called)
	}
	if len(missing) > 0 {
		return nil, unknown(missing[0], declared)
	}
	return result, nil
}

// unknown says that a name is that of no declaration, and which there are.
func unknown(name string, declared []*declaration) error {
	const most = 8
	var there []string
	for _, d := range declared[:min(len(declared), most)] {
		there = append(there, credential.Show(d.name))
	}
	list := strings.Join(there, ", ")
	if more := len(declared) - len(there); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("no MCP server is called %q; there are %s", name, list)
}

// declaration is one entry before its translation.
type declaration struct {
	name, place string
	// owned says that the name begins with an owner and a slash.
	owned bool
	// fields are nil when the entry is not an object.
	fields   *object
	inputs   map[string]input
	provider string
	level    v1alpha1.Level
	// translation fills in the spec from the fields.
	translation func(*declaration, *binder) error
}

// translate never fails: an entry that cannot be translated says so.
func (d *declaration) translate(name, namespace string) *Entry {
	entry := &Entry{Name: d.name, Place: d.place}
	switch {
	case credential.Random(d.name):
		entry.say("is named %s, for its own name looks like a credential, and names are for everybody to see", name)
	case name != d.name:
		entry.say("is named %s: names have at most %d of a-z, 0-9 and '-', and no two are alike", name, maxName)
	}
	server := &v1alpha1.MCPServer{}
	server.APIVersion, server.Kind = v1alpha1.GroupVersion.String(), "MCPServer"
	server.Namespace, server.Name = namespace, name
	server.Spec.Level, server.Spec.Provider = d.level, d.provider
	b := &binder{entry: entry, spec: &server.Spec, secret: &Secret{Name: name + "-mcp-credentials"}}
	if err := d.fill(b); err != nil {
		entry.Notes = []string{fmt.Sprintf("left out: %v", err)}
		return entry
	}
	entry.Server = server
	if len(b.secret.Keys) > 0 {
		entry.Secret = b.secret
	}
	return entry
}

func (d *declaration) fill(b *binder) error {
	if d.fields == nil {
		return errors.New("the entry is not a JSON object")
	}
	for _, key := range d.fields.duplicates() {
		b.entry.say("%s occurs twice; the last one counts", credential.Show(key))
	}
	if err := d.translation(d, b); err != nil {
		return err
	}
	return b.finish()
}

func (e *Entry) say(format string, arguments ...any) {
	note := fmt.Sprintf(format, arguments...)
	if !slices.Contains(e.Notes, note) {
		e.Notes = append(e.Notes, note)
	}
}
