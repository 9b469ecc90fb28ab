// Command cover measures the statement coverage of the packages of floors 0 and 1 by the tests of those packages,
// prints a table, and fails below the least that is allowed. Test support (packages named *test) is not measured.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

const module = "github.com/mooring-dev/mooring/"

// least is the least coverage of a package, in percent.
const least = 90.0

// trees are the package trees that are measured.
var trees = []string{
	"failure", "backoff", "catalog", "secret",
	"session", "egress", "conditions", "refs", "wake", "events", "metrics",
}

func main() {
	out := flag.String("profile", "coverage/floors.out", "file that receives the profile, for go tool cover -html")
	flag.Parse()
	if err := run(os.Stdout, *out); err != nil {
		fmt.Fprintln(os.Stderr, "cover:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, profile string) error {
	packages, err := list()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(profile), 0o755); err != nil {
		return err
	}
	test := exec.Command("go", append([]string{
		"test", "-timeout", "15m", "-coverprofile", profile, "-coverpkg", strings.Join(measured(packages), ","),
	}, packages...)...)
	var tests bytes.Buffer
	test.Stdout, test.Stderr = &tests, &tests
	if err := test.Run(); err != nil {
		return fmt.Errorf("tests: %w\n%s", err, tests.String())
	}
	raw, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	counts, err := parse(string(raw))
	if err != nil {
		return err
	}
	return report(out, measured(packages), counts)
}

// list names the packages of the trees. A tree without packages is an error: a renamed one would go unmeasured.
func list() ([]string, error) {
	var all []string
	for _, tree := range trees {
		found, err := exec.Command("go", "list", "./internal/"+tree+"/...").Output()
		packages := strings.Fields(string(found))
		if err != nil || len(packages) == 0 {
			return nil, errors.Join(fmt.Errorf("no packages in internal/%s", tree), err)
		}
		all = append(all, packages...)
	}
	return all, nil
}

// measured leaves out test support.
func measured(packages []string) []string {
	return slices.DeleteFunc(slices.Clone(packages), func(p string) bool {
		return strings.HasSuffix(path.Base(p), "test")
	})
}

// report prints the table and returns an error that names what is below the least.
func report(out io.Writer, packages []string, counts map[string]count) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PACKAGE\tSTATEMENTS\tCOVERED\tPERCENT\t")
	var low []string
	var total count
	for _, p := range packages {
		c, ok := counts[p]
		if !ok {
			continue // declarations alone: there is nothing to run
		}
		total.statements += c.statements
		total.covered += c.covered
		mark := ""
		if c.percent() < least {
			mark = fmt.Sprintf("below %.0f", least)
			low = append(low, strings.TrimPrefix(p, module))
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%.1f\t%s\n",
			strings.TrimPrefix(p, module), c.statements, c.covered, c.percent(), mark)
	}
	fmt.Fprintf(table, "all\t%d\t%d\t%.1f\t\n", total.statements, total.covered, total.percent())
	if err := table.Flush(); err != nil {
		return err
	}
	if len(low) > 0 {
		return fmt.Errorf("less than %.0f %%: %s", least, strings.Join(low, ", "))
	}
	return nil
}
