package words

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mooring-dev/mooring/internal/cli/usage"
)

// Our words for the kinds.
const (
	Server  = "server"
	Session = "session"
)

// kinds are what else they are called: as the API does, in the singular and the plural, and by the short names.
var kinds = map[string]string{
	"server": Server, "servers": Server, "mcpserver": Server, "mcpservers": Server, "mcps": Server,
	"session": Session, "sessions": Session, "agentsession": Session, "agentsessions": Session, "asess": Session,
}

// Kind is Server or Session, and empty for a word that is neither's. A word may have the API's group behind it, and
// capital letters, as `kubectl get -o name` and manifests do.
func Kind(word string) string {
	return kinds[strings.TrimSuffix(strings.ToLower(word), ".mooring.dev")]
}

// Kinds are the arguments of a command that takes a word for many of a kind, or nothing.
func Kinds(cmd *cobra.Command, arguments []string) error {
	plain := slices.Clone(arguments)
	if len(plain) > 0 && Kind(plain[0]) != "" {
		plain[0] = Kind(plain[0]) + "s"
	}
	return usage.Choice(Server+"s", Session+"s")(cmd, plain)
}
