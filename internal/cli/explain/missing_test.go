package explain_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/test/builder"
)

// What is missing is called by its name, with all keys that are referred to, and with a command that creates it.
func TestWhatIsMissingIsNamed(t *testing.T) {
	const url = "https://mcp.example.com/mcp"
	gone := func(kind refs.Kind, name string) string {
		return refs.NotFoundError{Kind: kind, Namespace: "agents", Name: name}.Error() +
			"; create it, or correct the reference"
	}
	lacks := func(kind refs.Kind, name, key string) string {
		return refs.KeyNotFoundError{Kind: kind, Namespace: "agents", Name: name, Key: key}.Error() +
			"; add the key, or correct the reference"
	}
	github := func() *builder.MCPServerBuilder { return builder.MCPServer("github").Namespace("agents").URL(url) }
	for name, test := range map[string]struct {
		server  *builder.MCPServerBuilder
		message string
		want    string
	}{
		"a Secret": {github().Bearer("gh", "token"), gone(refs.Secret, "gh"),
			`create Secret "gh" with key "token", or correct the reference` + "\n" +
				`kubectl create secret generic gh -n agents --from-file=token=PATH`},
		"with several keys": {
			github().Bearer("gh", "token").SecretHeader("X-Org", "gh", "org").SecretVariable("A", "gh", "org"),
			gone(refs.Secret, "gh"), `create Secret "gh" with keys "org" and "token", or correct the reference` + "\n" +
				`kubectl create secret generic gh -n agents --from-file=org=PATH --from-file=token=PATH`},
		"of two the other": {github().Bearer("gh", "token").SecretHeader("X-Org", "org", "name"),
			gone(refs.Secret, "org"), `create Secret "org" with key "name", or correct the reference` + "\n" +
				`kubectl create secret generic org -n agents --from-file=name=PATH`},
		"a client certificate": {github().ClientCertificate("pair"), gone(refs.Secret, "pair"),
			`create Secret "pair" with keys "tls.crt" and "tls.key", or correct the reference` + "\n" +
				`kubectl create secret tls pair -n agents --cert=PATH --key=PATH`},
		"a ConfigMap": {github().Bearer("ca", "token").CABundle(v1alpha1.CABundleConfigMap, "ca", "ca.crt"),
			gone(refs.ConfigMap, "ca"), `create ConfigMap "ca" with key "ca.crt", or correct the reference` + "\n" +
				`kubectl create configmap ca -n agents --from-file=ca.crt=PATH`},
		"a key": {github().Bearer("gh", "token"), lacks(refs.Secret, "gh", "token"),
			`add key "token" to Secret "gh", or correct the reference` + "\n" +
				`kubectl patch secret gh -n agents -p "{\"data\":{\"token\":\"$(base64 < PATH | tr -d '\n')\"}}"`},
		"a key of a ConfigMap": {github().CABundle(v1alpha1.CABundleConfigMap, "ca", "ca.crt"),
			lacks(refs.ConfigMap, "ca", "ca.crt"), `add key "ca.crt" to ConfigMap "ca", or correct the reference` + "\n" +
				`kubectl edit configmap ca -n agents`},
		"no shell gets what is no name": {github().Bearer("gh", "$(id)"), gone(refs.Secret, "gh"),
			`create Secret "gh" with key "$(id)", or correct the reference`},
		"nor as a key": {github().Bearer("gh", "-x"), lacks(refs.Secret, "gh", "-x"),
			`add key "-x" to Secret "gh", or correct the reference`},
		"what is not referred to any more": {github().Bearer("gh", "token"), gone(refs.Secret, "former"),
			`create Secret "former", or correct the reference`},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.server.Obj()
			say(s, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSecretNotFound, test.message)
			_, advice, _ := strings.Cut(explain.Server(s, explain.View{Now: now, Program: "mooring"}), "  You can   ")
			want := strings.ReplaceAll(test.want, "\n", "\n            ") + "\n"
			NewWithT(t).Expect(advice).To(Equal(want))
		})
	}
}
