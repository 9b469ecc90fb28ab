package importer_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/internal/importer"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Each folder of testdata has one file as a client keeps it, at the place where it keeps it; below home/ that is the
// home directory. Every credential in it has the word canary.
func TestGolden(t *testing.T) {
	folders, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, folder := range folders {
		if !folder.IsDir() || folder.Name() == "fuzz" {
			continue
		}
		cases++
		t.Run(folder.Name(), func(t *testing.T) { golden(t, filepath.Join("testdata", folder.Name())) })
	}
	NewWithT(t).Expect(cases).To(BeNumerically(">=", 20))
}

func golden(t *testing.T, folder string) {
	g := NewWithT(t)
	text, origin := input(t, folder)
	result, err := importer.Import(text, importer.Options{Origin: origin, Namespace: "agents"})
	g.Expect(err).NotTo(HaveOccurred())
	notes := notesOf(result)
	g.Expect(strings.ToLower(notes)).NotTo(ContainSubstring("canary"))
	manifests, err := result.YAML()
	g.Expect(err).NotTo(HaveOccurred())
	for _, document := range strings.Split(string(manifests), "\n---\n") {
		if strings.Contains(document, "kind: MCPServer") {
			g.Expect(strings.ToLower(document)).NotTo(ContainSubstring("canary"))
		}
	}
	result.WithoutCredentials()
	placeholders, err := result.YAML()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.ToLower(string(placeholders))).NotTo(ContainSubstring("canary"))
	for name, got := range map[string]string{"want.yaml": string(manifests), "want.txt": notes} {
		file := filepath.Join(folder, name)
		if *update {
			g.Expect(os.WriteFile(file, []byte(got), 0o600)).To(Succeed())
		}
		want, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(string(want)), file)
	}
}

// input finds the one file of a folder that is no golden one.
func input(t *testing.T, folder string) ([]byte, importer.Origin) {
	t.Helper()
	var found string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.HasPrefix(entry.Name(), "want.") {
			found = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(found)
	if err != nil {
		t.Fatal(err)
	}
	place, err := filepath.Rel(folder, found)
	if err != nil {
		t.Fatal(err)
	}
	origin := importer.Origin{Path: "/home/ada/engine/" + place, Home: "/home/ada"}
	if below, ok := strings.CutPrefix(place, "home/"); ok {
		origin.Path = "/home/ada/" + below
	}
	return text, origin
}

func notesOf(result *importer.Result) string {
	var out strings.Builder
	for _, note := range result.Notes {
		fmt.Fprintf(&out, "%s\n", note)
	}
	for _, entry := range result.Entries {
		what := "translated"
		if entry.Server == nil {
			what = "left out"
		}
		fmt.Fprintf(&out, "%q %s: %s\n", entry.Name, entry.Place, what)
		for _, note := range entry.Notes {
			fmt.Fprintf(&out, "  %s\n", note)
		}
	}
	return out.String()
}
