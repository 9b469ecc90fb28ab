package importer_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/internal/importer"
)

const file = `{"mcpServers": {
	"a": {"url": "https://a.example/", "headers": {"X-Api-Key": "canary", "X-Token": "${TOKEN}"}},
	"b": {"type": "ws", "url": "wss://b.example/"},
	"c": {"url": "https://c.example/"}
}}`

func imported(t *testing.T) *importer.Result {
	t.Helper()
	result, err := importer.Import([]byte(file), importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

const server = `apiVersion: mooring.dev/v1alpha1
kind: MCPServer
metadata:
  name: a
spec:
  http:
    headers:
    - name: X-Api-Key
      valueFrom:
        secretKeyRef:
          key: X-Api-Key
          name: a-mcp-credentials
    - name: X-Token
      valueFrom:
        secretKeyRef:
          key: TOKEN
          name: a-mcp-credentials
    url: https://a.example/
---
apiVersion: mooring.dev/v1alpha1
kind: MCPServer
metadata:
  name: c
spec:
  http:
    url: https://c.example/
`

func TestYAML(t *testing.T) {
	g := NewWithT(t)
	text, err := imported(t).YAML()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(Equal(`apiVersion: v1
kind: Secret
metadata:
  annotations:
    mooring.dev/fill-in: TOKEN
  name: a-mcp-credentials
stringData:
  X-Api-Key: canary
#   TOKEN: ""  # fill in: ${TOKEN}
---
` + server))
}

func TestYAMLWithoutCredentials(t *testing.T) {
	g := NewWithT(t)
	result := imported(t)
	result.WithoutCredentials()
	text, err := result.YAML()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(Equal(`apiVersion: v1
kind: Secret
metadata:
  annotations:
    mooring.dev/fill-in: X-Api-Key,TOKEN
  name: a-mcp-credentials
# stringData:
#   X-Api-Key: ""  # fill in: header X-Api-Key
#   TOKEN: ""  # fill in: ${TOKEN}
---
` + server))
}

func TestJSON(t *testing.T) {
	g := NewWithT(t)
	text, err := imported(t).JSON()
	g.Expect(err).NotTo(HaveOccurred())
	var list struct {
		APIVersion, Kind string
		Items            []struct {
			Kind       string
			Metadata   struct{ Name string }
			StringData map[string]string
		}
	}
	g.Expect(json.Unmarshal(text, &list)).To(Succeed())
	g.Expect(list.APIVersion + " " + list.Kind).To(Equal("v1 List"))
	var kinds []string
	for _, item := range list.Items {
		kinds = append(kinds, item.Kind+" "+item.Metadata.Name)
	}
	g.Expect(kinds).To(Equal([]string{"Secret a-mcp-credentials", "MCPServer a", "MCPServer c"}))
	g.Expect(list.Items[0].StringData).To(Equal(map[string]string{"X-Api-Key": "canary"}))

	result := imported(t)
	result.WithoutCredentials()
	text, err = result.JSON()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).NotTo(ContainSubstring("canary"))
	g.Expect(strings.HasSuffix(string(text), "}\n")).To(BeTrue())
}
