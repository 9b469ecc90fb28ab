package importer

import (
	"path"
	"strings"
	"unicode"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// Origin is what is known of a file besides its text.
type Origin struct {
	// Path is the file's absolute path, with / or \. Empty when there is none.
	Path string
	// Home is the home directory of whoever owns the file: what is a project's file elsewhere is a user's there.
	Home string
	// Provider and Level, where set, stand against everything that the path and the text tell.
	Provider string
	Level    v1alpha1.Level
}

// The providers, as spec.provider has them.
const (
	ProviderClaudeCode    = "claude-code"
	ProviderClaudeDesktop = "claude-desktop"
	ProviderCursor        = "cursor"
	ProviderVSCode        = "vscode"
	ProviderRegistry      = "registry"
)

// places are where clients keep their files, by the ends of paths; behind a * by the end of a name. The first that
// fits counts.
var places = []struct {
	end, provider string
	level         v1alpha1.Level
}{
	{".vscode/mcp.json", ProviderVSCode, v1alpha1.LevelProject},
	{".vscode/settings.json", ProviderVSCode, v1alpha1.LevelProject},
	{"*.code-workspace", ProviderVSCode, v1alpha1.LevelProject},
	{"*devcontainer.json", ProviderVSCode, v1alpha1.LevelProject},
	{".cursor/mcp.json", ProviderCursor, v1alpha1.LevelProject},
	{".mcp.json", ProviderClaudeCode, v1alpha1.LevelProject},
	{".claude.json", ProviderClaudeCode, v1alpha1.LevelUser},
	{"claude_desktop_config.json", ProviderClaudeDesktop, v1alpha1.LevelUser},
	{"User/mcp.json", ProviderVSCode, v1alpha1.LevelUser},
	{"User/settings.json", ProviderVSCode, v1alpha1.LevelUser},
	{"windsurf/mcp_config.json", "windsurf", v1alpha1.LevelUser},
	{"cline_mcp_settings.json", "cline", v1alpha1.LevelUser},
	{".roo/mcp.json", "roo-code", v1alpha1.LevelProject},
	{".gemini/settings.json", "gemini-cli", v1alpha1.LevelProject},
}

// locate tells the provider and the level from the path.
func (o Origin) locate() (provider string, level v1alpha1.Level) {
	file, home := slashed(o.Path), slashed(o.Home)
	for _, place := range places {
		var folder string
		var found bool
		if end, anyName := strings.CutPrefix(place.end, "*"); anyName {
			folder, found = path.Dir(file), strings.HasSuffix(file, end)
		} else {
			folder, found = strings.CutSuffix(file, "/"+place.end)
		}
		switch {
		case !found:
		case o.Home != "" && folder == home:
			return place.provider, v1alpha1.LevelUser
		default:
			return place.provider, place.level
		}
	}
	return "", ""
}

// slashed is a path that begins with a slash, has no other separators and does not end in one.
func slashed(file string) string {
	return "/" + strings.Trim(strings.ReplaceAll(file, `\`, "/"), "/")
}

// finder collects the declarations of a file.
type finder struct {
	origin   Origin
	provider string
	level    v1alpha1.Level
	result   *Result
	declared []*declaration
}

// find returns every entry of the file, in its order.
func find(root *object, origin Origin, result *Result) []*declaration {
	f := &finder{origin: origin, result: result}
	f.provider, f.level = origin.locate()
	f.published(root)
	f.clients(root)
	f.editor(root, "")
	f.editor(root.object("mcp"), "mcp")
	f.editor(root.object("settings").object("mcp"), "settings.mcp")
	f.editor(root.object("customizations").object("vscode").object("mcp"), "customizations.vscode.mcp")
	for name, project := range root.object("projects").all() {
		if members, ok := project.(*object); ok {
			f.entries(members.object("mcpServers"), "project "+credential.Show(name), nil, f.provider, v1alpha1.LevelUser)
		}
	}
	if len(f.declared) == 0 {
		f.bare(root)
	}
	return f.declared
}

// clients reads what most clients have.
func (f *finder) clients(root *object) {
	f.entries(root.object("mcpServers"), "", inputs(root), f.provider, f.level)
}

// editor reads VS Code's form. A file of that form elsewhere than in a project is a user's.
func (f *finder) editor(root *object, where string) {
	level := f.level
	if level == "" && f.origin.Path != "" {
		level = v1alpha1.LevelUser
	}
	provider := f.provider
	if provider == "" {
		provider = ProviderVSCode
	}
	f.entries(root.object("servers"), where, inputs(root), provider, level)
	if where != "" {
		f.entries(root.object("mcpServers"), where, inputs(root), provider, level)
	}
}

// bare reads a file that is nothing but a map of entries, or one entry.
func (f *finder) bare(root *object) {
	if isEntry(root) {
		name := root.text("name")
		if name == "" {
			name = "server"
		}
		f.add(&declaration{name: name, fields: root, provider: f.provider, level: f.level})
		return
	}
	for _, member := range root.all() {
		if fields, ok := member.(*object); !ok || !isEntry(fields) {
			return
		}
	}
	f.entries(root, "", nil, f.provider, f.level)
}

func isEntry(fields *object) bool {
	for _, key := range []string{"command", "url", "serverUrl", "httpUrl"} {
		if _, ok := fields.lookup(key); ok {
			return true
		}
	}
	return false
}

func (f *finder) entries(
	servers *object, where string, asked map[string]input, provider string, level v1alpha1.Level,
) {
	for _, key := range servers.duplicates() {
		f.result.Notes = append(f.result.Notes, "server "+credential.Show(key)+" stands twice; the last one counts")
	}
	for name, member := range servers.all() {
		fields, _ := member.(*object)
		f.add(&declaration{name: name, place: where, fields: fields, inputs: asked, provider: provider, level: level})
	}
}

// published reads the registry's form: one server, an answer that has one, or an answer that has many.
func (f *finder) published(root *object) {
	for _, item := range append([]any{root, root.object("server")}, root.array("servers")...) {
		fields, _ := item.(*object)
		if inner := fields.object("server"); inner != nil && item != any(root) {
			fields = inner
		}
		if name := fields.text("name"); name != "" && (fields.array("remotes") != nil || fields.array("packages") != nil) {
			f.add(&declaration{name: name, fields: fields, provider: ProviderRegistry, registry: true})
		}
	}
}

func (f *finder) add(d *declaration) {
	if f.origin.Provider != "" {
		d.provider = f.origin.Provider
	}
	if f.origin.Level != "" {
		d.level = f.origin.Level
	}
	f.declared = append(f.declared, d)
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

// line makes one printable line of a text that a person wrote, of at most so many characters; none of one that may hold
// a credential.
func line(text string, most int) string {
	if credential.InProse(text) {
		return ""
	}
	printable := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	runes := []rune(strings.Join(strings.Fields(printable), " "))
	return string(runes[:min(len(runes), most)])
}

// question is what a person is asked with; nothing if it gives away what is proposed for an answer.
func question(text string, proposed ...string) string {
	lower := strings.ToLower(text)
	for _, answer := range proposed {
		answer = strings.ToLower(strings.TrimSpace(answer))
		if answer != "" && strings.Contains(lower, answer) {
			return ""
		}
	}
	return line(text, mostPrompt)
}

// The most characters of what people wrote for people: a question, and spec.notes.
const (
	mostPrompt = 120
	mostNotes  = 1024
)
