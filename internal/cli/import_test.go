package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// runImport runs the command and returns what it printed.
func runImport(stdin string, arguments ...string) (out, notes string, err error) {
	cmd := newImport()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	var stdout, stderr bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(arguments)
	err = cmd.Execute()
	return stdout.String(), stderr.String(), err
}

const two = `{"mcpServers": {
	"a": {"url": "https://a.example/mcp", "headers": {"Authorization": "Bearer canary", "X-Token": "${TOKEN}"}},
	"b": {"type": "ws", "url": "wss://b.example/"}
}}`

const manifests = `apiVersion: v1
kind: Secret
metadata:
  annotations:
    mooring.dev/fill-in: TOKEN
  name: a-mcp-credentials
  namespace: agents
stringData:
  token: canary
#   TOKEN: ""  # fill in: ${TOKEN}
---
apiVersion: mooring.dev/v1alpha1
kind: MCPServer
metadata:
  name: a
  namespace: agents
spec:
  http:
    auth:
      bearer:
        secretKeyRef:
          key: token
          name: a-mcp-credentials
    headers:
    - name: X-Token
      valueFrom:
        secretKeyRef:
          key: TOKEN
          name: a-mcp-credentials
    url: https://a.example/mcp
  level: User
  provider: cursor
`

func TestImportWritesManifestsAndNotes(t *testing.T) {
	g := NewWithT(t)
	out, notes, err := runImport(two, "-", "-n", "agents", "--level", "User", "--provider", "cursor")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(Equal(manifests))
	g.Expect(notes).To(Equal(`a: header Authorization is a credential: it goes into key token of Secret a-mcp-credentials
a: fill in key TOKEN of Secret a-mcp-credentials: ${TOKEN}
b: left out: its type ws is no transport of Mooring; those are stdio, http and sse
1 of 2 servers translated; the manifests hold 1 credential (--secrets placeholder leaves them out); ` +
		"to be filled in: 1 value\n"))
}

func TestImportWithPlaceholders(t *testing.T) {
	g := NewWithT(t)
	for _, format := range []string{"yaml", "json"} {
		out, notes, err := runImport(two, "-", "--secrets", "placeholder", "-o", format, "--name", "a")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out + notes).NotTo(ContainSubstring("canary"))
		g.Expect(out).To(ContainSubstring("token,TOKEN"))
		g.Expect(notes).To(HaveSuffix("1 of 1 server translated; to be filled in: 2 values\n"))
	}
}

// Who reads the sum alone learns of it, too.
func TestProcessesAreCountedApart(t *testing.T) {
	g := NewWithT(t)
	_, notes, err := runImport(`{"mcpServers": {"a": {"command": "npx"}, "b": {"url": "https://b.example"}}}`, "-")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(notes).To(ContainSubstring("\na: this version of Mooring runs no processes (spec.stdio): "))
	g.Expect(notes).To(HaveSuffix("\n2 of 2 servers translated, 1 of them not supported yet\n"))
}

func TestTheFilesPlaceTellsLevelAndProvider(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	file := filepath.Join(folder, ".mcp.json")
	g.Expect(os.WriteFile(file, []byte(`{"mcpServers": {"c": {"url": "https://c.example"}}}`), 0o600)).To(Succeed())

	t.Setenv("HOME", filepath.Join(folder, "elsewhere"))
	out, notes, err := runImport("", file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(HaveSuffix("  level: Project\n  provider: claude-code\n"))
	g.Expect(notes).To(Equal("1 of 1 server translated\n"))

	t.Setenv("HOME", folder)
	out, _, err = runImport("", file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(HaveSuffix("  level: User\n  provider: claude-code\n"))

	t.Chdir(folder)
	out, _, err = runImport("", ".mcp.json")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(HaveSuffix("  level: User\n  provider: claude-code\n"))
}

func TestTwoPlacesOfOneFileAreToldApart(t *testing.T) {
	g := NewWithT(t)
	_, notes, err := runImport(`{"mcpServers": {"c": {"url": "https://c.example"}, "c": {"url": "https://d.example"}},
		"projects": {"/p": {"mcpServers": {"d": {"url": "https://d.example", "cwd": "x"}}}}}`, "-")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(notes).To(Equal("server c occurs twice; the last one counts\n" +
		"d (project /p): cwd is not carried over: a pod has its image's working directory\n" +
		"2 of 2 servers translated\n"))
}

func TestImportFailures(t *testing.T) {
	folder := t.TempDir()
	large := filepath.Join(folder, "large.json")
	if err := os.WriteFile(large, bytes.Repeat([]byte(" "), 4<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(folder, "missing.json")
	for _, test := range []struct {
		name, stdin string
		arguments   []string
		want, notes string
	}{
		{"no file", "", []string{missing}, missing + ": no such file or directory", ""},
		{"folder", "", []string{folder}, folder + ": is a directory", ""},
		{"too large", "", []string{large}, large + ": more than 4 MiB", ""},
		{"not JSON", "canary", []string{"-"}, "standard input: no JSON: unexpected character at line 1, column 1", ""},
		{"no such server", two, []string{"-", "--name", "z"},
			`standard input: no MCP server is called "z"; there are a, b`, ""},
		{"nothing translated", two, []string{"-", "--name", "b"},
			"standard input: none of its servers could be translated",
			"b: left out: its type ws is no transport of Mooring; those are stdio, http and sse\n" +
				"0 of 1 server translated\n"},
		{"secrets", two, []string{"-", "--secrets", "x"}, `--secrets "x": not one of literal, placeholder`, ""},
		{"output", two, []string{"-", "-o", "x"}, `--output "x": not one of yaml, json`, ""},
		{"level", two, []string{"-", "--level", "x"}, `--level "x": not one of Project, User`, ""},
		{"namespace", two, []string{"-", "-n", "Bad_NS"}, `--namespace "Bad_NS": at most 63 of a-z, 0-9 and '-', with a ` +
			"letter or digit in front and at the end", ""},
		{"provider", two, []string{"-", "--provider", "a\nb"},
			"--provider: at most 64 letters, digits, spaces and . _ / @ -, with a letter or digit in front", ""},
		{"no argument", "", nil, "missing argument: FILE|-", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			out, notes, err := runImport(test.stdin, test.arguments...)
			g.Expect(err).To(MatchError(test.want))
			g.Expect(out).To(BeEmpty())
			g.Expect(notes).To(Equal(test.notes))
		})
	}
}
