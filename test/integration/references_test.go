package integration

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// A credential that changes replaces the session: the new one is opened with the new value, the old one is closed with
// DELETE, and the old value is never sent on the new session. Ready does not flap meanwhile.
func TestB48_RotatedSecretReplacesTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithBearer("first", "second"))
	secret := builder.Secret(w.namespace, "login").Key("token", "first").Obj()
	w.apply(secret, builder.MCPServer("fs").URL(fake.URL()).Bearer("login", "token").Obj())
	before := w.ready("fs")
	w.replace(secret, "token", "second")
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Opened == 2 && s.Sessions == 1 && s.Count("GET") == 2 })
	w.Eventually(func() []string { return fake.Credentials() }).Should(ContainElement("Bearer second"))
	w.Expect(fake.Count("DELETE")).To(Equal(1))
	fake.SetBearer("second") // whoever still sends the first one is refused
	fake.NotifyListChanged()
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Count("tools/list") >= 3 })
	w.Expect(fake.Stats().Unauthorized).To(BeZero())
	after := w.ready("fs")
	w.Expect(readySince(after)).To(Equal(readySince(before)), "Ready never left True")
}

// What is referred to may come later: the watch brings the server back, nobody edits it.
func TestB50_MissingReferenceComesLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithBearer("token-1"), mcpfake.WithTLS())
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Bearer("login", "token").
		CABundle(v1alpha1.CABundleConfigMap, "ca", "ca.crt").Obj())
	w.await("fs", v1alpha1.ConditionReady, "False SecretNotFound")
	secret := builder.Secret(w.namespace, "login").Key("other", "x").Obj()
	w.apply(secret)
	w.await("fs", v1alpha1.ConditionReady, "False SecretKeyNotFound")
	w.replace(secret, "token", "token-1")
	w.await("fs", v1alpha1.ConditionReady, "False ConfigMapNotFound")
	w.apply(builder.ConfigMap(w.namespace, "ca").Key("ca.crt", string(fake.CAPEM())).Obj())
	w.ready("fs")
}

// A private authority is trusted besides the system's, read again when it changes, and told when it is missing.
func TestB54_PrivateAuthority(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithTLS())
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Attempts(1).Obj())
	w.await("fs", v1alpha1.ConditionReady, "False TLSVerificationFailed")
	bundle := builder.ConfigMap(w.namespace, "ca").Key("ca.crt", string(fake.CAPEM())).Obj()
	w.apply(bundle)
	w.change("fs", func(s *v1alpha1.MCPServer) {
		s.Spec.HTTP.TLS = &v1alpha1.TLS{CABundleRef: &v1alpha1.CABundleReference{
			Kind: v1alpha1.CABundleConfigMap, Name: "ca", Key: "ca.crt",
		}}
	})
	w.ready("fs")
	w.Expect(fake.RotateCA()).To(Succeed())
	before := bundle.DeepCopy()
	bundle.Data["ca.crt"] = string(fake.CAPEM())
	opened := fake.Stats().Opened
	w.Expect(admin.Patch(w.ctx, bundle, client.MergeFrom(before))).To(Succeed())
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Opened == opened+1 && s.Sessions == 1 })
	w.ready("fs")
}

// Reading Secrets is the installer's choice. Without it the condition holds the very command that grants it, and once
// that was run the server becomes Ready without a restart.
func TestSecretAccessDeniedUntilGranted(t *testing.T) {
	t.Parallel()
	w := newNamespace(t)
	w.startManager()
	fake := mcpfake.New(t, mcpfake.WithBearer("token-1"))
	w.apply(builder.Secret(w.namespace, "login").Key("token", "token-1").Obj(),
		builder.MCPServer("fs").URL(fake.URL()).Bearer("login", "token").Obj())
	denied := w.await("fs", v1alpha1.ConditionReady, "False SecretAccessDenied")
	w.Expect(says(denied, v1alpha1.ConditionReconciling)).To(Equal("True Progressing"))
	w.kubectlFrom(message(denied, v1alpha1.ConditionAccepted))
	w.ready("fs")
}

// kubectlFrom runs the kubectl command that a message holds, as its reader would.
func (w *world) kubectlFrom(text string) {
	w.t.Helper()
	found := regexp.MustCompile(`kubectl create rolebinding [^;]*`).FindString(text)
	w.Expect(found).NotTo(BeEmpty(), text)
	words := strings.Fields(found)
	command := exec.CommandContext(w.ctx, kubectlPath(), append([]string{"--kubeconfig", kubeconfigFile}, words[1:]...)...)
	out, err := command.CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), string(out))
}

// A Secret of another namespace cannot even be written down.
func TestB51_SecretOfAnotherNamespaceIsNotExpressible(t *testing.T) {
	t.Parallel()
	w := newNamespace(t)
	manifest := fmt.Sprintf(`
apiVersion: mooring.dev/v1alpha1
kind: MCPServer
metadata: {name: fs, namespace: %s}
spec:
  http:
    url: https://h.example/mcp
    auth: {bearer: {secretKeyRef: {name: a, key: b, namespace: kube-system}}}
`, w.namespace)
	command := exec.CommandContext(w.ctx, kubectlPath(), "--kubeconfig", kubeconfigFile, "apply", "-f", "-")
	command.Stdin = strings.NewReader(manifest)
	out, err := command.CombinedOutput()
	w.Expect(err).To(HaveOccurred())
	w.Expect(string(out)).To(ContainSubstring(`unknown field "spec.http.auth.bearer.secretKeyRef.namespace"`))
}

// replace puts a value under a key of a Secret.
func (w *world) replace(secret *corev1.Secret, key, value string) {
	w.t.Helper()
	before := secret.DeepCopy()
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[key] = []byte(value)
	secret.StringData = nil
	w.Expect(admin.Patch(w.ctx, secret, client.MergeFrom(before))).To(Succeed())
}

// A credential that is mended while no manager runs is tried as soon as one does: nobody is left to wake the server.
func TestSecretMendedWhileNoManagerRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithBearer("token-2"))
	secret := builder.Secret(w.namespace, "login").Key("token", "token-1").Obj()
	w.apply(secret, builder.MCPServer("fs").URL(fake.URL()).Bearer("login", "token").Obj())
	w.await("fs", v1alpha1.ConditionStalled, "True AuthenticationFailed")
	w.manager.stop()
	live := &corev1.Secret{}
	w.Expect(admin.Get(w.ctx, client.ObjectKeyFromObject(secret), live)).To(Succeed())
	live.Data["token"] = []byte("token-2")
	w.Expect(admin.Update(w.ctx, live)).To(Succeed())
	w.startManager()
	w.ready("fs")
}
