package main

import (
	"fmt"
	"slices"
	"strings"
)

// pkg is what `go list -json` tells of one package.
type pkg struct {
	ImportPath   string
	Dir          string
	Standard     bool
	GoFiles      []string
	CgoFiles     []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	Deps         []string
}

// judge returns one line for each rule that a package breaks, in the order of the packages.
// standard tells of an import path whether it belongs to the standard library.
func judge(packages []pkg, standard func(path string) bool) []string {
	var faults []string
	for _, p := range packages {
		local, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || !floored(local) {
			continue
		}
		faults = append(faults, judgeImports(p, local)...)
		faults = append(faults, judgeReach(p, local, standard)...)
		faults = append(faults, judgeFiles(p, local)...)
	}
	return faults
}

// floored tells whether a package must have a floor.
func floored(local string) bool {
	return within(local, "api") || within(local, "internal") || within(local, "controllers")
}

// within tells whether the package is the tree's root or below it.
func within(local, tree string) bool {
	return local == tree || strings.HasPrefix(local, tree+"/")
}

// treeOf returns the package's tree and its floor.
func treeOf(local string) (tree string, floor int, ok bool) {
	for candidate, f := range floors {
		if within(local, candidate) && len(candidate) > len(tree) {
			tree, floor, ok = candidate, f, true
		}
	}
	return tree, floor, ok
}

func judgeImports(p pkg, local string) []string {
	tree, floor, ok := treeOf(local)
	if !ok {
		return []string{local + ": has no floor: give it one in hack/floors/rules.go"}
	}
	var faults []string
	for _, path := range p.Imports {
		target, ours := strings.CutPrefix(path, module)
		if !ours || !floored(target) {
			continue
		}
		targetTree, targetFloor, _ := treeOf(target)
		if targetTree != tree && targetFloor >= floor {
			faults = append(faults, fmt.Sprintf("%s (floor %d): imports %s (floor %d): floors import downward only",
				local, floor, target, targetFloor))
		}
	}
	return faults
}

func judgeReach(p pkg, local string, standard func(string) bool) []string {
	var faults []string
	for _, promise := range promises {
		if !within(local, promise.tree) {
			continue
		}
		reached := slices.DeleteFunc(slices.Clone(p.Deps), func(path string) bool { return !promise.broken(path, standard) })
		switch len(reached) {
		case 0:
		case 1:
			faults = append(faults, fmt.Sprintf("%s: reaches %s", local, reached[0]))
		default:
			faults = append(faults, fmt.Sprintf("%s: reaches %s and %d more", local, reached[0], len(reached)-1))
		}
	}
	return faults
}

// broken tells whether reaching the path breaks the promise.
func (p promise) broken(path string, standard func(string) bool) bool {
	if slices.ContainsFunc(p.never, func(prefix string) bool { return strings.HasPrefix(path+"/", prefix) }) {
		return true
	}
	if !p.stdlib || standard(path) {
		return false
	}
	local := strings.TrimPrefix(path, module)
	return !within(local, p.tree) && !slices.ContainsFunc(p.with, func(tree string) bool { return within(local, tree) })
}

func judgeFiles(p pkg, local string) []string {
	var files []string
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		if !strings.HasPrefix(name, "zz_generated") {
			files = append(files, name)
		}
	}
	if within(local, "api/v1alpha1/applyconfiguration") {
		return nil // generated as a whole
	}
	var faults []string
	if len(files) > mostFiles {
		faults = append(faults, fmt.Sprintf("%s: has %d files, at most %d are allowed", local, len(files), mostFiles))
	}
	if !slices.Contains(files, "doc.go") && len(files) > 0 {
		faults = append(faults, local+": has no doc.go (charter, invariants, trade-offs)")
	}
	return faults
}

// judgeSleep tells whether a test file's source sleeps outside of a synctest bubble.
func judgeSleep(source string) bool {
	return strings.Contains(source, "time.Sleep(") && !strings.Contains(source, `"testing/synctest"`)
}
