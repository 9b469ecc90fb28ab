package builder_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
)

func TestObjSharesNothingWithItsBuilder(t *testing.T) {
	g := NewWithT(t)
	b := builder.MCPServer("fs").Namespace("team").URL("https://mcp.example.com/mcp").Header("X-Org", "acme")
	first := b.Obj()
	second := b.Header("X-Env", "prod").Cooldown(time.Minute).Strikes(2).Obj()

	g.Expect(first.Spec.HTTP.Headers).To(Equal([]mooringv1alpha1.Header{{Name: "X-Org", Value: "acme"}}))
	g.Expect(first.Spec.Recovery).To(BeNil())
	g.Expect(second.Spec.HTTP.Headers).To(HaveLen(2))
	g.Expect(second.Spec.Cooldown()).To(Equal(time.Minute))
	g.Expect(second.Spec.Strikes()).To(Equal(2))
}

func TestSettersOfOneStructKeepWhatStoodThere(t *testing.T) {
	g := NewWithT(t)
	obj := builder.MCPServer("fs").
		CABundle(mooringv1alpha1.CABundleConfigMap, "ca", "ca.crt").
		ClientCertificate("mtls").
		ServerName("inner.example.com").
		Bearer("gh", "token").
		URL("https://mcp.example.com/mcp").
		Obj()

	g.Expect(*obj.Spec.HTTP).To(Equal(mooringv1alpha1.HTTPTransport{
		URL:  "https://mcp.example.com/mcp",
		Auth: &mooringv1alpha1.Auth{Bearer: builder.FromSecret("gh", "token")},
		TLS: &mooringv1alpha1.TLS{
			CABundleRef:          &mooringv1alpha1.CABundleReference{Kind: "ConfigMap", Name: "ca", Key: "ca.crt"},
			ClientCertificateRef: &mooringv1alpha1.SecretReference{Name: "mtls"},
			ServerName:           "inner.example.com",
		},
	}))
}

func TestSelectionsAddUp(t *testing.T) {
	g := NewWithT(t)
	b := builder.AgentSession("coder").Select("team", "a").Ref("github").RequiredRef("docs").Exclude("old")
	first := b.Obj()
	second := b.Select("tier", "gold").ForeignRef("shared", "tickets").Exclude("older").Obj()

	g.Expect(*first.Spec.Servers).To(Equal(mooringv1alpha1.ServerSelection{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
		Refs:     []mooringv1alpha1.ServerReference{{Name: "github"}, {Name: "docs", Required: true}},
		Exclude:  []mooringv1alpha1.ServerExclusion{{Name: "old"}},
	}))
	g.Expect(*second.Spec.Servers).To(Equal(mooringv1alpha1.ServerSelection{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a", "tier": "gold"}},
		Refs: []mooringv1alpha1.ServerReference{
			{Name: "github"}, {Name: "docs", Required: true}, {Namespace: "shared", Name: "tickets"},
		},
		Exclude: []mooringv1alpha1.ServerExclusion{{Name: "old"}, {Name: "older"}},
	}))
}
