package cel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/mooring-dev/mooring/internal/importer"
)

// goldens are the manifests of the importer's files.
const goldens = "../../internal/importer/testdata/*/want.yaml"

// createAll sends each document of a stream to the API server, which judges it and stores nothing.
func createAll(t *testing.T, stream []byte) (kinds map[string]int) {
	t.Helper()
	kinds = map[string]int{}
	for _, document := range bytes.Split(stream, []byte("\n---\n")) {
		obj := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &obj.Object); err != nil {
			t.Fatalf("a document is not YAML: %v", err)
		}
		obj.SetNamespace(namespace)
		err := k8s.Create(context.Background(), obj, client.DryRunAll)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), obj.GetKind()+" "+obj.GetName())
		kinds[obj.GetKind()]++
	}
	return kinds
}

func TestImportedManifestsAreAccepted(t *testing.T) {
	files, err := filepath.Glob(goldens)
	if err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Expect(len(files)).To(BeNumerically(">=", 20))
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			stream, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			NewWithT(t).Expect(createAll(t, stream)["MCPServer"]).To(BeNumerically(">=", 1))
		})
	}
}

// Values that the API refuses in one place or another, in every place where a file may have them.
func TestImportedOddValuesAreAccepted(t *testing.T) {
	values := []string{
		"", " ", "a b", "grün", "a\nb", "a\tb", "$(A)", "$$(A)", "$", "%zz", "%41", "#a", "?a=b", "a&b", "a/b", "a;b", `a\b`,
		`"`, "<>", "{x}", "${A}", "${A}${B}", "x$${A}", "${A:-}", "${A:-b c}", "${input:a b}", "token=x", "key", "Bearer x",
		"Bearer ${A}", "Basic ${A}x", "0", "true", "-x", strings.Repeat("z", 300), strings.Repeat("z ", 3000),
		"sk-0123456789ab",
	}
	for i, value := range values {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			g := NewWithT(t)
			servers := map[string]any{"stdio": map[string]any{"command": "npx",
				"args": []any{value, "--key", value, "a=" + value, "-H", "A: " + value},
				"env":  map[string]any{"A": value, "TOKEN": value, "a" + value: "x"}, "description": value}}
			for n, url := range []string{
				"https://h.example/" + value, "https://h.example/a" + value + "/b", "https://h.example/?a=" + value,
				"https://h.example/?key=" + value, "https://h.example/?token=x" + value + "&b", "https://h.example" + value,
				"https://h.example/?" + value, "https://" + value + "@h.example/", value, "http://h.example/" + value,
			} {
				servers[fmt.Sprintf("url%d", n)] = map[string]any{"url": url}
			}
			for n, name := range []string{"Authorization", "X-Key", "X-Other", "X" + value, "accept"} {
				servers[fmt.Sprintf("header%d", n)] = map[string]any{"url": "https://h.example/", "tools": []any{value},
					"headers": map[string]any{name: value}}
				servers[fmt.Sprintf("plain%d", n)] = map[string]any{"url": "http://h.example/",
					"headers": map[string]any{name: value}}
			}
			servers["name"+value] = map[string]any{"url": "https://h.example/"}
			text, err := json.Marshal(map[string]any{"mcpServers": servers})
			g.Expect(err).NotTo(HaveOccurred())
			result, err := importer.Import(text, importer.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			stream, err := result.YAML()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(createAll(t, stream)["MCPServer"]).To(BeNumerically(">=", 5))
		})
	}
}

// What `mooring import FILE | kubectl apply -f -` does, and again after somebody filled in what was missing.
func TestKubectlAppliesWhatWasImported(t *testing.T) {
	result, err := importer.Import([]byte(`{"mcpServers": {"imported": {"url": "https://h.example/mcp",
		"headers": {"Authorization": "Bearer ${TOKEN}", "X-Api-Key": "0123"}}}}`), importer.Options{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	for format, write := range map[string]func() ([]byte, error){"yaml": result.YAML, "json": result.JSON} {
		t.Run(format, func(t *testing.T) {
			g := NewWithT(t)
			text, err := write()
			g.Expect(err).NotTo(HaveOccurred())
			file := writeFile(t, "manifests."+format, text)
			t.Cleanup(func() {
				_, exit := kubectl(t, "delete", "-f", file)
				g.Expect(exit).To(BeZero())
			})
			output, exit := kubectl(t, "apply", "-f", file)
			g.Expect(exit).To(BeZero(), output)
			output, exit = kubectl(t, "patch", "secret", "imported-mcp-credentials", "--type", "merge",
				"-p", `{"stringData": {"TOKEN": "filled"}}`)
			g.Expect(exit).To(BeZero(), output)

			output, exit = kubectl(t, "apply", "-f", file)

			g.Expect(exit).To(BeZero(), output)
			output, exit = kubectl(t, "get", "secret", "imported-mcp-credentials", "-o", "jsonpath={.data}")
			g.Expect(exit).To(BeZero())
			g.Expect(output).To(Equal(`{"TOKEN":"ZmlsbGVk","X-Api-Key":"MDEyMw=="}`))
		})
	}
}
