package subject

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is what an object is, by the word that people have for it.
type Kind string

// The kinds.
const (
	Any     Kind = ""
	Server  Kind = "server"
	Session Kind = "session"
)

// kindOf are the kinds by what may stand before a name: our words, and what `kubectl get -o name` prints.
var kindOf = map[string]Kind{
	"server": Server, "mcpserver": Server, "mcpserver.mooring.dev": Server,
	"session": Session, "agentsession": Session, "agentsession.mooring.dev": Session,
}

// parse takes "kind/name" apart, where the kind is one of these. A plain name may be of any of them.
func parse(argument string, kinds []Kind) (kind Kind, name string, err error) {
	word, name, found := strings.Cut(argument, "/")
	switch {
	case !found && len(kinds) == 1:
		return kinds[0], argument, nil
	case !found:
		return Any, argument, nil
	case !slices.Contains(kinds, kindOf[word]):
		words := make([]string, len(kinds))
		for i := range kinds {
			words[i] = string(kinds[i])
		}
		return Any, "", fmt.Errorf("no kind %q; use %s", word, strings.Join(words, " or "))
	default:
		return kindOf[word], name, nil
	}
}
