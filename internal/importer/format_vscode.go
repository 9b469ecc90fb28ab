package importer

import (
	"cmp"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// vsCode is VS Code's format: servers and the inputs that a person is asked for, in a file of their own or in settings.
type vsCode struct{}

const providerVSCode = "vscode"

func (vsCode) expected() string { return "servers (VS Code), mcp.servers (settings)" }

func (vsCode) clients() []client {
	const project, user = v1alpha1.LevelProject, v1alpha1.LevelUser
	return []client{{provider: providerVSCode, httpOrSSE: true, places: []place{
		{end: ".vscode/mcp.json", level: project},
		{end: ".vscode/settings.json", level: project},
		{end: "*.code-workspace", level: project},
		{end: "*devcontainer.json", level: project},
		{end: "User/mcp.json", level: user},
		{end: "User/settings.json", level: user},
	}}}
}

func (vsCode) find(f *file) {
	findServers(f, f.root, "")
	findServers(f, f.root.object("mcp"), "mcp")
	findServers(f, f.root.object("settings").object("mcp"), "settings.mcp")
	findServers(f, f.root.object("customizations").object("vscode").object("mcp"), "customizations.vscode.mcp")
}

// findServers adds the entries at one place. A file elsewhere than in a project is a user's.
func findServers(f *file, settings *object, where string) {
	d := declaration{
		place: where, inputs: inputs(settings), provider: cmp.Or(f.provider, providerVSCode), level: f.level,
	}
	if d.level == "" && f.origin.Path != "" {
		d.level = v1alpha1.LevelUser
	}
	f.addAll(settings.object("servers"), d)
	if where != "" {
		f.addAll(settings.object("mcpServers"), d)
	}
}
