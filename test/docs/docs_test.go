// Package docs compares the documents with what they speak of.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// casePattern finds the numbers of cases in the name of a test: TestB01_…, TestB32_B34_…, TestSeedRule3_….
var (
	testPattern = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	rowPattern  = regexp.MustCompile(`(?m)^\| ([BC]\d+|SeedRule \d+) \|`)
	casePattern = regexp.MustCompile(`(?:Test|_)((?:B|C|SeedRule)\d+)_`)
)

// TestCasesAreThoseOfTheTests: each case in a test's name has its line in CASES.md, and no line is left without a test.
func TestCasesAreThoseOfTheTests(t *testing.T) {
	tested := map[string]bool{}
	for name, source := range sources(t, "_test.go") {
		if filepath.Base(filepath.Dir(name)) == "docs" {
			continue
		}
		for _, function := range testPattern.FindAllStringSubmatch(source, -1) {
			for rest := function[1]; ; {
				found := casePattern.FindStringSubmatchIndex(rest)
				if found == nil {
					break
				}
				tested[rest[found[2]:found[3]]] = true
				rest = rest[found[1]-1:]
			}
		}
	}
	described := map[string]bool{}
	for _, row := range rowPattern.FindAllStringSubmatch(read(t, "test/CASES.md"), -1) {
		described[strings.ReplaceAll(row[1], " ", "")] = true
	}
	if len(tested) < 50 {
		t.Fatalf("found %d cases in the names of tests: the pattern is out of date", len(tested))
	}
	for _, name := range missing(tested, described) {
		t.Errorf("test/CASES.md has no line for %s", name)
	}
	for _, name := range missing(described, tested) {
		t.Errorf("test/CASES.md has a line for %s, and no test has it in its name", name)
	}
}

// TestNamedFilesExist: a path in backquotes in one of the guides is there.
func TestNamedFilesExist(t *testing.T) {
	for _, page := range []string{"docs/architecture.md", "README.md"} {
		named := pathPattern.FindAllStringSubmatch(read(t, page), -1)
		if page == "docs/architecture.md" && len(named) < 20 {
			t.Errorf("%s names %d files: the pattern is out of date", page, len(named))
		}
		for _, match := range named {
			if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
				t.Errorf("%s names %s, which is not there", page, match[1])
			}
		}
	}
}

// pathPattern finds files and folders of the repository.
var pathPattern = regexp.MustCompile(
	"`((?:api|internal|controllers|config|charts|hack|test|docs|\\.ci)/[A-Za-z0-9_./-]+|main\\.go)`")

// missing are the members of all that others does not have, in order.
func missing(all, others map[string]bool) []string {
	var out []string
	for name := range all {
		if !others[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// sources are the files of the repository with the suffix, by name.
func sources(t *testing.T, suffix string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, suffix):
			return nil
		}
		content, err := os.ReadFile(name)
		out[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
