package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/mooring-dev/mooring/internal/text"
)

// MaxExposedName is the length of an exposed name: clients put "mcp__mooring__" before it, and model providers stop
// at 64.
const MaxExposedName = 50

const hashLength = 8

// ServerPart returns what stands for a server in exposed names: its name, with its namespace before it when it is a
// foreign one, that is of another namespace than the agent session. It does not depend on what else is selected.
func ServerPart(namespace, name string, foreign bool) string {
	if foreign {
		return namespace + "-" + name
	}
	return name
}

// ExposedName returns the name under which agents see a tool: mcp_<server>_<tool>, always of 1 to 50 characters of
// A-Z, a-z, 0-9, _ and -. Where that form would be ambiguous, too long or hold other characters, the end is replaced by
// "_" and 8 hexadecimal digits of SHA-256(server, NUL, raw name). The name depends on nothing but the two arguments,
// and
// nothing ever parses it: who needs to know the server looks the name up.
func ExposedName(serverPart, rawTool string) string {
	server, serverMapped := mapName(serverPart)
	tool, toolMapped := mapName(rawTool)
	name := "mcp_" + server + "_" + tool
	// A server's name has no underscore; if one had, the border between server and tool would be in doubt.
	plain := !serverMapped && !toolMapped && !strings.Contains(server, "_") && server != "" && tool != ""
	if plain && len(name) <= MaxExposedName {
		return name
	}
	sum := sha256.Sum256([]byte(serverPart + "\x00" + rawTool))
	const keep = MaxExposedName - hashLength - 1
	return name[:min(keep, len(name))] + "_" + hex.EncodeToString(sum[:])[:hashLength]
}

// mapName replaces each character that exposed names cannot hold by an underscore, and reports whether there was one.
func mapName(name string) (mapped string, changed bool) {
	mapped = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return mapped, mapped != name
}

// cleanName reports whether a name shows all that it is.
func cleanName(name string) bool {
	cleaned, _ := text.Sanitise(name)
	return cleaned == name && !strings.ContainsAny(name, "\n\t\uFFFD")
}

// cleanValue reports whether a text that must be kept as it is hides nothing. C0 controls are written as escapes in
// JSON and have their use in patterns and separators; joiners are part of the spelling of several languages.
func cleanValue(value string) bool {
	visible := strings.Map(func(r rune) rune {
		if r < ' ' || r == '\u200C' || r == '\u200D' {
			return -1
		}
		return r
	}, value)
	_, removed := text.Sanitise(visible)
	return removed == 0
}
