package importer

import (
	"fmt"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// format is one form in which files declare servers. A new one is a file of this package that implements it, its line
// in formats, and a folder of testdata with a file as its client writes it.
type format interface {
	// clients are the programs whose files have this format.
	clients() []client
	// expected names what find looks for, for the error about a file that has none of any format.
	expected() string
	// find adds the entries that the file has in this format, in their order. Entries with fields of other names than
	// those of clientEntry get these names here, or a translation of their own.
	find(f *file)
}

// formats are all that are known. Each looks at every file, whatever its path: people copy and rename files.
var formats = []format{mcpServers{}, vsCode{}, registry{}}

// client is a program that keeps servers in files.
type client struct {
	// provider is its name, as spec.provider has it.
	provider string
	places   []place
	// httpOrSSE says that what it calls http falls back to SSE, as Auto does.
	httpOrSSE bool
}

// place is where a client keeps a file.
type place struct {
	// end is the end of the path, or behind a * that of the name. No two fit the same path.
	end   string
	level v1alpha1.Level
	// syntax reads the text into what decode does; nil is decode itself, JSON.
	syntax func(text []byte) (any, error)
}

// clientOf returns the client with a name; one that is not known has nothing special.
func clientOf(provider string) client {
	for _, f := range formats {
		for _, c := range f.clients() {
			if c.provider == provider {
				return c
			}
		}
	}
	return client{}
}

// noServers says what was expected of a file.
func noServers() error {
	var all []string
	for _, f := range formats {
		all = append(all, f.expected())
	}
	last := len(all) - 1
	return fmt.Errorf("no MCP servers: expected %s, or %s", strings.Join(all[:last], ", "), all[last])
}
