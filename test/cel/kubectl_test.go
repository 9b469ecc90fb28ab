package cel

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// kubectl runs the command as a person does and returns what it prints and its exit status.
func kubectl(t *testing.T, args ...string) (output string, exit int) {
	t.Helper()
	command := exec.Command(kubectlPath, append(args, "--kubeconfig", kubeconfig(t), "--namespace", namespace)...)
	out, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatalf("run kubectl: %v", err)
	}
	return string(out), command.ProcessState.ExitCode()
}

func kubeconfig(t *testing.T) string {
	t.Helper()
	return writeFile(t, "kubeconfig", kubeconfigText)
}

// manifestFile writes a manifest of an MCPServer "manifest" with this spec.
func manifestFile(t *testing.T, spec string) string {
	t.Helper()
	text, err := mcpServer(t, "manifest", spec).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "manifest.json", text)
}

func writeFile(t *testing.T, name string, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestKubectlDiffAfterApplyIsEmpty(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
	}{
		{"client-side", nil},
		{"server-side", []string{"--server-side"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			manifest := manifestFile(t, `{http: {url: "https://mcp.example.com/mcp", `+bearer+`}, disabled: false}`)
			t.Cleanup(func() {
				_, exit := kubectl(t, "delete", "mcps", "manifest")
				g.Expect(exit).To(BeZero())
			})

			output, exit := kubectl(t, append([]string{"apply", "-f", manifest}, tc.args...)...)
			g.Expect(exit).To(BeZero(), output)
			output, exit = kubectl(t, append([]string{"diff", "-f", manifest}, tc.args...)...)
			g.Expect(output).To(BeEmpty())
			g.Expect(exit).To(BeZero())
		})
	}
}

// What a person reads who writes a credential into a URL: the field, what to do, and not the credential.
func TestKubectlApplySaysWhatToDo(t *testing.T) {
	g := NewWithT(t)

	output, exit := kubectl(t, "apply", "-f", manifestFile(t, httpURL("https://alice:canary@mcp.example.com/mcp")))

	g.Expect(exit).To(Equal(1))
	g.Expect(output).To(Equal(`The MCPServer "manifest" is invalid: spec.http.url: Invalid value: ` + urlUserInfo + "\n"))
}

// What a person reads who refers to a Secret of another namespace.
func TestKubectlApplyRefusesForeignSecrets(t *testing.T) {
	g := NewWithT(t)
	manifest := manifestFile(t, httpsWith(`auth: {bearer: {secretKeyRef: {name: gh, key: token, namespace: other}}}`))

	output, exit := kubectl(t, "apply", "-f", manifest)

	g.Expect(exit).To(Equal(1))
	g.Expect(output).To(HaveSuffix(
		"strict decoding error: unknown field \"spec.http.auth.bearer.secretKeyRef.namespace\"\n"))
}
