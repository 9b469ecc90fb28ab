package importer

import (
	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// mcpServers is the format that Claude's programs began: a map of that name. Claude Code's own file has one more for
// each project.
type mcpServers struct{}

func (mcpServers) expected() string { return "mcpServers" }

func (mcpServers) clients() []client {
	const project, user = v1alpha1.LevelProject, v1alpha1.LevelUser
	return []client{
		{provider: "claude-code", places: []place{{end: ".mcp.json", level: project}, {end: ".claude.json", level: user}}},
		{provider: "claude-desktop", places: []place{{end: "claude_desktop_config.json", level: user}}},
		{provider: "cursor", places: []place{{end: ".cursor/mcp.json", level: project}}},
		{provider: "windsurf", places: []place{{end: "windsurf/mcp_config.json", level: user}}},
		{provider: "cline", places: []place{{end: "cline_mcp_settings.json", level: user}}},
		{provider: "roo-code", places: []place{{end: ".roo/mcp.json", level: project}}},
		{provider: "gemini-cli", places: []place{{end: ".gemini/settings.json", level: project}}},
	}
}

func (mcpServers) find(f *file) {
	f.addAll(f.root.object("mcpServers"),
		declaration{inputs: inputs(f.root), provider: f.provider, level: f.level})
	for name, project := range f.root.object("projects").all() {
		members, _ := project.(*object)
		f.addAll(members.object("mcpServers"), declaration{
			place: "project " + credential.Show(name), provider: f.provider, level: v1alpha1.LevelUser,
		})
	}
}
