package cli

import (
	"fmt"
	"io"

	"github.com/mooring-dev/mooring/internal/importer"
	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// printNotes prints the notes of the translation, and a summary in one line.
func printNotes(out io.Writer, result *importer.Result) {
	for _, note := range result.Notes {
		fmt.Fprintf(out, "%s\n", note)
	}
	for _, entry := range result.Entries {
		name := credential.Show(entry.Name)
		if entry.Place != "" {
			name += " (" + entry.Place + ")"
		}
		for _, note := range entry.Notes {
			fmt.Fprintf(out, "%s: %s\n", name, note)
		}
	}
	sum(out, result)
}

// sum says what all of it comes to, in one line.
func sum(out io.Writer, result *importer.Result) {
	stored, wanted := keys(result)
	fmt.Fprintf(out, "%d of %s translated", result.Translated(), count(len(result.Entries), "server"))
	if unsupported := result.Unsupported(); unsupported > 0 {
		fmt.Fprintf(out, ", %d of them not supported yet", unsupported)
	}
	if stored > 0 {
		fmt.Fprintf(out, "; the manifests hold %s (--secrets placeholder leaves them out)", count(stored, "credential"))
	}
	if wanted > 0 {
		fmt.Fprintf(out, "; to be filled in: %s", count(wanted, "value"))
	}
	fmt.Fprintln(out)
}

// keys counts the keys of Secrets that have a value, and those that are to be filled in.
func keys(result *importer.Result) (stored, wanted int) {
	for _, entry := range result.Entries {
		if entry.Secret == nil {
			continue
		}
		for _, key := range entry.Secret.Keys {
			if key.Value.IsZero() {
				wanted++
			} else {
				stored++
			}
		}
	}
	return stored, wanted
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
