package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	table := flag.String("table", "", "write the table of floors into this Markdown file instead of judging")
	flag.Parse()
	command := func() error { return run(os.Stdout) }
	if *table != "" {
		command = func() error { return writeTable(*table) }
	}
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "floors:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	packages, err := list("./...")
	if err != nil {
		return err
	}
	everything, err := list("-deps", "./...")
	if err != nil {
		return err
	}
	std := map[string]bool{}
	for _, p := range everything {
		std[p.ImportPath] = p.Standard
	}
	faults := judge(packages, func(path string) bool { return std[path] })
	sleeps, err := sleepers(packages)
	if err != nil {
		return err
	}
	if faults = append(faults, sleeps...); len(faults) > 0 {
		return fmt.Errorf("%d rules broken:\n  %s", len(faults), strings.Join(faults, "\n  "))
	}
	fmt.Fprintf(out, "floors: %d packages keep %d rules\n", len(packages), len(rules))
	return nil
}

// list runs `go list -json` in the current folder.
func list(args ...string) ([]pkg, error) {
	fields := "-json=ImportPath,Dir,Standard,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Imports,Deps"
	cmd := exec.Command("go", append([]string{"list", fields}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var packages []pkg
	for decoder := json.NewDecoder(strings.NewReader(string(stdout))); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("answer of go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// sleepers names the test files that sleep to wait.
func sleepers(packages []pkg) ([]string, error) {
	var faults []string
	for _, p := range packages {
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			if judgeSleep(string(source)) {
				local := strings.TrimPrefix(p.ImportPath, module)
				faults = append(faults, local+"/"+name+": sleeps outside of a synctest bubble")
			}
		}
	}
	return faults, nil
}
