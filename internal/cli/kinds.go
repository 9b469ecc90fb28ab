package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// kind is one of the two that Mooring has.
type kind struct {
	// word is what people call one, name what the API does.
	word, name string
	// words are all that people may write: as the API does, in the singular and the plural, and the short name.
	words     []string
	newObject func() client.Object
	newList   func() client.ObjectList
}

var (
	serverKind = &kind{
		word: "server", name: "MCPServer", words: []string{"server", "servers", "mcpserver", "mcpservers", "mcps"},
		newObject: func() client.Object { return &v1alpha1.MCPServer{} },
		newList:   func() client.ObjectList { return &v1alpha1.MCPServerList{} },
	}
	sessionKind = &kind{
		word: "session", name: "AgentSession",
		words:     []string{"session", "sessions", "agentsession", "agentsessions", "asess"},
		newObject: func() client.Object { return &v1alpha1.AgentSession{} },
		newList:   func() client.ObjectList { return &v1alpha1.AgentSessionList{} },
	}
)

// kindOf is the kind of a word; nil for a word that is neither's. A word may have the API's group behind it, and
// capital letters, as `kubectl get -o name` and manifests do.
func kindOf(word string) *kind {
	word = strings.TrimSuffix(strings.ToLower(word), "."+v1alpha1.GroupVersion.Group)
	for _, k := range []*kind{serverKind, sessionKind} {
		if slices.Contains(k.words, word) {
			return k
		}
	}
	return nil
}

// kindArgs are the arguments of a command that takes a kind, or nothing.
func kindArgs(_ *cobra.Command, arguments []string) error {
	if len(arguments) > 0 && kindOf(arguments[0]) == nil {
		return fmt.Errorf("argument %q is not one of servers, sessions", arguments[0])
	}
	return unexpected(arguments[min(1, len(arguments)):])
}

// parseName takes "kind/name" apart, where the kind is one of these, and returns the kinds that are left. A plain name
// may be of any of them.
func parseName(argument string, kinds []*kind) (left []*kind, name string, err error) {
	left, name = kinds, argument
	if word, rest, found := strings.Cut(argument, "/"); found {
		k := kindOf(word)
		if !slices.Contains(kinds, k) {
			known := make([]string, len(kinds))
			for i := range kinds {
				known[i] = kinds[i].word
			}
			return nil, "", fmt.Errorf("no kind %q; use %s", word, strings.Join(known, " or "))
		}
		left, name = []*kind{k}, rest
	}
	if name == "" || strings.Contains(name, "/") { // a client's own error for these is about paths
		return nil, "", fmt.Errorf("no name in %q", argument)
	}
	return left, name, nil
}
