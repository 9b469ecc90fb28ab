package explain_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/test/builder"
)

// What is missing is created by a command that names it, with all keys that are referred to.
func TestCommandsThatCreateWhatIsMissing(t *testing.T) {
	const (
		url   = "https://mcp.example.com/mcp"
		gone  = v1alpha1.ReasonSecretNotFound
		noKey = v1alpha1.ReasonSecretKeyNotFound
		noMap = v1alpha1.ReasonConfigMapNotFound
		apply = " --dry-run=client -o yaml | kubectl apply --server-side -f -"
	)
	github := func() *builder.MCPServerBuilder { return builder.MCPServer("github").Namespace("agents").URL(url) }
	for name, test := range map[string]struct {
		server *builder.MCPServerBuilder
		reason string
		want   []string
	}{
		"a Secret": {github().Bearer("gh", "token"), gone,
			[]string{"kubectl create secret generic gh -n agents --from-file=token=PATH"}},
		"with several keys": {
			github().Bearer("gh", "token").SecretHeader("X-Org", "gh", "org").SecretVariable("A", "gh", "org"), gone,
			[]string{"kubectl create secret generic gh -n agents --from-file=org=PATH --from-file=token=PATH"}},
		"one of two": {github().Bearer("gh", "token").SecretHeader("X-Org", "org", "name"), gone,
			[]string{"kubectl create secret generic gh -n agents --from-file=token=PATH",
				"kubectl create secret generic org -n agents --from-file=name=PATH"}},
		"a client certificate": {github().ClientCertificate("pair"), gone,
			[]string{"kubectl create secret tls pair -n agents --cert=PATH --key=PATH"}},
		"a ConfigMap, or a key of it": {github().Bearer("ca", "token").CABundle(v1alpha1.CABundleConfigMap, "ca", "ca.crt"),
			noMap, []string{"kubectl create configmap ca -n agents --from-file=ca.crt=PATH" + apply}},
		"a key": {github().Bearer("gh", "token"), noKey,
			[]string{"kubectl create secret generic gh -n agents --from-file=token=PATH" + apply}},
		"no shell runs what is no name": {github().Bearer("gh", "$(id)"), gone,
			[]string{`kubectl create secret generic gh -n agents --from-file='$(id)=PATH'`}},
		"nor a key": {github().Bearer("gh", "it's"), noKey,
			[]string{`kubectl create secret generic gh -n agents --from-file='it'\''s=PATH'` + apply}},
		"what is not referred to any more": {github(), gone, nil},
		"what is not missing":              {github().Bearer("gh", "token"), v1alpha1.ReasonInvalidSecretValue, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.server.Obj()
			say(s, v1alpha1.ConditionReady, metav1.ConditionFalse, test.reason, "it is missing")
			_, advice, _ := strings.Cut(explain.Server(s, explain.View{Now: now, Program: "mooring"}), "  You can   ")
			want := strings.Join(test.want, "\n            ")
			NewWithT(t).Expect(strings.TrimSuffix(advice, "\n")).To(Equal(want))
		})
	}
}
