package subject

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/internal/cli/words"
)

// Kind is what an object is, by the word that people have for it.
type Kind string

// The kinds.
const (
	Any     Kind = ""
	Server  Kind = words.Server
	Session Kind = words.Session
)

// parse takes "kind/name" apart, where the kind is one of these. A plain name may be of any of them.
func parse(argument string, kinds []Kind) (kind Kind, name string, err error) {
	word, name, found := strings.Cut(argument, "/")
	switch {
	case !found && len(kinds) == 1:
		return kinds[0], argument, nil
	case !found:
		return Any, argument, nil
	case !slices.Contains(kinds, Kind(words.Kind(word))):
		known := make([]string, len(kinds))
		for i := range kinds {
			known[i] = string(kinds[i])
		}
		return Any, "", fmt.Errorf("no kind %q; use %s", word, strings.Join(known, " or "))
	default:
		return Kind(words.Kind(word)), name, nil
	}
}
