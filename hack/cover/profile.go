package main

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// count is the coverage of one package.
type count struct{ statements, covered int }

func (c count) percent() float64 {
	if c.statements == 0 {
		return 100
	}
	return 100 * float64(c.covered) / float64(c.statements)
}

// parse reads a profile of go test and adds it up by package. A block stands in the profile once for each test binary
// that could have run it: it is covered when one of them did.
func parse(profile string) (map[string]count, error) {
	type block struct {
		statements int
		covered    bool
	}
	blocks := map[string]block{}
	for line := range strings.Lines(profile) {
		if strings.HasPrefix(line, "mode:") {
			continue
		}
		// file.go:1.2,3.4 statements runs
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("coverage profile: line %q", line)
		}
		statements, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("coverage profile: line %q: %w", line, err)
		}
		blocks[fields[0]] = block{statements, fields[2] != "0" || blocks[fields[0]].covered}
	}
	counts := map[string]count{}
	for where, b := range blocks {
		file, _, _ := strings.Cut(where, ":")
		c := counts[path.Dir(file)]
		c.statements += b.statements
		if b.covered {
			c.covered += b.statements
		}
		counts[path.Dir(file)] = c
	}
	return counts, nil
}
