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
		faults = append(faults, judgeDoc(p, local)...)
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

// ruleOf returns the rule of the package and the tree by which it has it; ok is false when there is none.
func ruleOf(local string) (tree string, found rule, ok bool) {
	for _, r := range rules {
		for _, candidate := range r.trees {
			if within(local, candidate) && len(candidate) > len(tree) {
				tree, found, ok = candidate, r, true
			}
		}
	}
	return tree, found, ok
}

// withinAny tells whether the package stands in one of the trees.
func withinAny(local string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return within(local, tree) })
}

func judgeImports(p pkg, local string) []string {
	tree, own, ok := ruleOf(local)
	if !ok {
		return []string{local + ": has no floor: give it one in hack/floors/rules.go"}
	}
	var faults []string
	for _, path := range p.Imports {
		target, ours := strings.CutPrefix(path, module)
		if !ours || !floored(target) {
			continue
		}
		targetTree, its, _ := ruleOf(target)
		switch {
		case targetTree != tree && its.floor >= own.floor:
			faults = append(faults, fmt.Sprintf("%s (floor %d): imports %s (floor %d): floors import downward only",
				local, own.floor, target, its.floor))
		case withinAny(local, aboveIt) && withinAny(target, speakers) && target != envelope:
			faults = append(faults, fmt.Sprintf("%s: imports %s: servers are reached through %s only", local, target, seam))
		}
	}
	return faults
}

func judgeReach(p pkg, local string, standard func(string) bool) []string {
	tree, own, _ := ruleOf(local)
	reached := slices.DeleteFunc(slices.Clone(p.Deps), func(path string) bool { return !own.broken(tree, path, standard) })
	switch len(reached) {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("%s: reaches %s", local, reached[0])}
	default:
		return []string{fmt.Sprintf("%s: reaches %s and %d more", local, reached[0], len(reached)-1)}
	}
}

// broken tells whether a package of the tree must not reach the path.
func (r rule) broken(tree, path string, standard func(string) bool) bool {
	if slices.ContainsFunc(r.never, func(prefix string) bool { return strings.HasPrefix(path+"/", prefix) }) {
		return true
	}
	return r.pure && !standard(path) && !within(strings.TrimPrefix(path, module), tree) &&
		!slices.ContainsFunc(r.with, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

func judgeDoc(p pkg, local string) []string {
	if within(local, "api/v1alpha1/applyconfiguration") { // generated as a whole
		return nil
	}
	if files := slices.Concat(p.GoFiles, p.CgoFiles); len(files) > 0 && !slices.Contains(files, "doc.go") {
		return []string{local + ": has no doc.go (charter, invariants, trade-offs)"}
	}
	return nil
}

// judgeSleep tells whether a test file's source sleeps outside of a synctest bubble.
func judgeSleep(source string) bool {
	return strings.Contains(source, "time.Sleep(") && !strings.Contains(source, `"testing/synctest"`)
}
