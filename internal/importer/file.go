package importer

import (
	"path"
	"strings"
	"unicode"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer/credential"
	"github.com/mooring-dev/mooring/internal/importer/jsonc"
	"github.com/mooring-dev/mooring/internal/importer/template"
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
func find(root *jsonc.Object, origin Origin, result *Result) []*declaration {
	f := &finder{origin: origin, result: result}
	f.provider, f.level = origin.locate()
	f.published(root)
	f.clients(root)
	f.editor(root, "")
	f.editor(root.Object("mcp"), "mcp")
	f.editor(root.Object("settings").Object("mcp"), "settings.mcp")
	f.editor(root.Object("customizations").Object("vscode").Object("mcp"), "customizations.vscode.mcp")
	for name, project := range root.Object("projects").All() {
		if members, ok := project.(*jsonc.Object); ok {
			f.entries(members.Object("mcpServers"), "project "+credential.Show(name), nil, f.provider, v1alpha1.LevelUser)
		}
	}
	if len(f.declared) == 0 {
		f.bare(root)
	}
	return f.declared
}

// clients reads what most clients have.
func (f *finder) clients(root *jsonc.Object) {
	f.entries(root.Object("mcpServers"), "", inputs(root), f.provider, f.level)
}

// editor reads VS Code's form. A file of that form elsewhere than in a project is a user's.
func (f *finder) editor(root *jsonc.Object, where string) {
	level := f.level
	if level == "" && f.origin.Path != "" {
		level = v1alpha1.LevelUser
	}
	provider := f.provider
	if provider == "" {
		provider = ProviderVSCode
	}
	f.entries(root.Object("servers"), where, inputs(root), provider, level)
	if where != "" {
		f.entries(root.Object("mcpServers"), where, inputs(root), provider, level)
	}
}

// bare reads a file that is nothing but a map of entries, or one entry.
func (f *finder) bare(root *jsonc.Object) {
	if isEntry(root) {
		name := root.Text("name")
		if name == "" {
			name = "server"
		}
		f.add(&declaration{name: name, fields: root, provider: f.provider, level: f.level})
		return
	}
	for _, member := range root.All() {
		if fields, ok := member.(*jsonc.Object); !ok || !isEntry(fields) {
			return
		}
	}
	f.entries(root, "", nil, f.provider, f.level)
}

func isEntry(fields *jsonc.Object) bool {
	for _, key := range []string{"command", "url", "serverUrl", "httpUrl"} {
		if _, ok := fields.Lookup(key); ok {
			return true
		}
	}
	return false
}

func (f *finder) entries(
	servers *jsonc.Object, where string, asked map[string]template.Input, provider string, level v1alpha1.Level,
) {
	for _, key := range servers.Twice() {
		f.result.Notes = append(f.result.Notes, "server "+credential.Show(key)+" stands twice; the last one counts")
	}
	for name, member := range servers.All() {
		fields, _ := member.(*jsonc.Object)
		f.add(&declaration{name: name, place: where, fields: fields, inputs: asked, provider: provider, level: level})
	}
}

// published reads the registry's form: one server, an answer that has one, or an answer that has many.
func (f *finder) published(root *jsonc.Object) {
	for _, item := range append([]any{root, root.Object("server")}, root.Array("servers")...) {
		fields, _ := item.(*jsonc.Object)
		if inner := fields.Object("server"); inner != nil && item != any(root) {
			fields = inner
		}
		if name := fields.Text("name"); name != "" && (fields.Array("remotes") != nil || fields.Array("packages") != nil) {
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
func inputs(root *jsonc.Object) map[string]template.Input {
	out := map[string]template.Input{}
	for _, item := range root.Array("inputs") {
		fields, _ := item.(*jsonc.Object)
		id := fields.Text("id")
		if id == "" {
			continue
		}
		password, _ := fields.Lookup("password")
		fallback, given := fields.Lookup("default")
		standard, isText := fallback.(string)
		out[id] = template.Input{
			Prompt:   question(fields.Text("description"), standard),
			Fallback: standard, Given: given && isText, Password: password == true,
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
