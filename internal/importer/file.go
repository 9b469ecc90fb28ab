package importer

import (
	"path"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// Origin is what is known of a file besides its text.
type Origin struct {
	// Path is the file's absolute path, with / or \. Empty when there is none.
	Path string
	// Home is the home directory of the file's owner: what is a project's file elsewhere is a user's there.
	Home string
	// Provider and Level, where set, override everything that the path and the text tell.
	Provider string
	Level    v1alpha1.Level
}

// locate tells the client and the place that the path is one of.
func (o Origin) locate() (provider string, at place) {
	file, home := slashed(o.Path), slashed(o.Home)
	for _, f := range formats {
		for _, c := range f.clients() {
			for _, at := range c.places {
				folder, found := at.folder(file)
				if found && o.Home != "" && folder == home {
					at.level = v1alpha1.LevelUser
				}
				if found {
					return c.provider, at
				}
			}
		}
	}
	return "", place{}
}

// folder is that below which the client keeps the file, if its path fits.
func (p place) folder(file string) (string, bool) {
	if end, anyName := strings.CutPrefix(p.end, "*"); anyName {
		return path.Dir(file), strings.HasSuffix(file, end)
	}
	return strings.CutSuffix(file, "/"+p.end)
}

// slashed is a path that begins with a slash, has no other separators and does not end in one.
func slashed(file string) string {
	return "/" + strings.Trim(strings.ReplaceAll(file, `\`, "/"), "/")
}

// file is one that is read.
type file struct {
	root   *object
	origin Origin
	// provider and level are what its path tells.
	provider string
	level    v1alpha1.Level
	notes    []string
	declared []*declaration
}

// readFile finds every entry of the text.
func readFile(text []byte, origin Origin) (*file, error) {
	provider, at := origin.locate()
	syntax := at.syntax
	if syntax == nil {
		syntax = decode
	}
	value, err := syntax(text)
	if err != nil {
		return nil, err
	}
	root, ok := value.(*object)
	if !ok {
		return nil, errNotObject
	}
	f := &file{root: root, origin: origin, provider: provider, level: at.level}
	for _, format := range formats {
		format.find(f)
	}
	if len(f.declared) == 0 {
		f.findBare()
	}
	if len(f.declared) == 0 {
		return nil, noServers()
	}
	return f, nil
}

// addAll adds a map of entries, each like the declaration that is given. They are a client's unless it says otherwise.
func (f *file) addAll(servers *object, like declaration) {
	for _, key := range servers.duplicates() {
		f.notes = append(f.notes, "server "+credential.Show(key)+" occurs twice; the last one counts")
	}
	for name, member := range servers.all() {
		d := like
		d.name = name
		d.fields, _ = member.(*object)
		f.add(d)
	}
}

func (f *file) add(d declaration) {
	if f.origin.Provider != "" {
		d.provider = f.origin.Provider
	}
	if f.origin.Level != "" {
		d.level = f.origin.Level
	}
	if d.translation == nil {
		d.translation = (*declaration).client
	}
	f.declared = append(f.declared, &d)
}

// findBare adds the entries of a file that is nothing but a map of them, or one entry.
func (f *file) findBare() {
	like := declaration{provider: f.provider, level: f.level}
	if isEntry(f.root) {
		like.name, like.fields = f.root.text("name"), f.root
		if like.name == "" {
			like.name = "server"
		}
		f.add(like)
		return
	}
	for _, member := range f.root.all() {
		if fields, ok := member.(*object); !ok || !isEntry(fields) {
			return
		}
	}
	f.addAll(f.root, like)
}

// isEntry tells whether an object says how a client reaches a server.
func isEntry(fields *object) bool {
	for _, key := range append([]string{commandField}, urlFields...) {
		if _, ok := fields.lookup(key); ok {
			return true
		}
	}
	return false
}
