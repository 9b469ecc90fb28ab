package cel

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// manifestFile writes a manifest of an object.
func manifestFile(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	text, err := obj.MarshalJSON()
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

func TestB65_KubectlDiffAfterApplyIsEmpty(t *testing.T) {
	noSpec := agentSession(t, "manifest", `{}`)
	unstructured.RemoveNestedField(noSpec.Object, "spec")
	for _, tc := range []struct {
		name string
		obj  *unstructured.Unstructured
	}{
		{"server", mcpServer(t, "manifest", `{http: {url: "https://mcp.example.com/mcp", `+bearer+`}, disabled: false}`)},
		{"session without a spec", noSpec},
		{"session with an empty spec", agentSession(t, "manifest", `{}`)},
		{"session with empty parts", agentSession(t, "manifest", `{servers: {selector: {}, refs: [], exclude: []}, `+
			`nativeIntegrations: [], tools: {allow: [], deny: []}, allowedServiceAccounts: []}`)},
		{"session with refs", agentSession(t, "manifest", refs(`{name: a, required: false}, {name: a, namespace: b}`))},
	} {
		manifest := manifestFile(t, tc.obj)
		for _, side := range []string{"--server-side=false", "--server-side=true"} {
			t.Run(tc.name+" "+side, func(t *testing.T) {
				g := NewWithT(t)
				t.Cleanup(func() {
					_, exit := kubectl(t, "delete", "-f", manifest)
					g.Expect(exit).To(BeZero())
				})

				output, exit := kubectl(t, "apply", "-f", manifest, side)
				g.Expect(exit).To(BeZero(), output)
				output, exit = kubectl(t, "diff", "-f", manifest, side)
				g.Expect(output).To(BeEmpty())
				g.Expect(exit).To(BeZero())
			})
		}
	}
}

// What a person reads who writes a credential into a URL: the field, what to do, and not the credential.
func TestKubectlApplySaysWhatToDo(t *testing.T) {
	g := NewWithT(t)
	manifest := manifestFile(t, mcpServer(t, "manifest", httpURL("https://alice:canary@mcp.example.com/mcp")))

	output, exit := kubectl(t, "apply", "-f", manifest)

	g.Expect(exit).To(Equal(1))
	g.Expect(output).To(Equal(`The MCPServer "manifest" is invalid: spec.http.url: Invalid value: ` + urlUserInfo + "\n"))
}

// What a person reads who refers to a Secret of another namespace.
func TestKubectlApplyRefusesForeignSecrets(t *testing.T) {
	g := NewWithT(t)
	manifest := manifestFile(t, mcpServer(t, "manifest",
		httpsWith(`auth: {bearer: {secretKeyRef: {name: gh, key: token, namespace: other}}}`)))

	output, exit := kubectl(t, "apply", "-f", manifest)

	g.Expect(exit).To(Equal(1))
	g.Expect(output).To(HaveSuffix(
		"strict decoding error: unknown field \"spec.http.auth.bearer.secretKeyRef.namespace\"\n"))
}
