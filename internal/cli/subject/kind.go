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
	if name = argument; len(kinds) == 1 {
		kind = kinds[0]
	}
	if word, rest, found := strings.Cut(argument, "/"); found {
		if kind, name = Kind(words.Kind(word)), rest; !slices.Contains(kinds, kind) {
			return Any, "", unknown(word, kinds)
		}
	}
	if name == "" || strings.Contains(name, "/") { // a client's own error for these is about paths
		return Any, "", fmt.Errorf("no name in %q", argument)
	}
	return kind, name, nil
}

func unknown(word string, kinds []Kind) error {
	known := make([]string, len(kinds))
	for i := range kinds {
		known[i] = string(kinds[i])
	}
	return fmt.Errorf("no kind %q; use %s", word, strings.Join(known, " or "))
}
