package cel

import (
	"context"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
	mooringac "github.com/mooring-dev/mooring/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
)

const (
	nameLength = "metadata.name must be at most 40 characters long: other objects are named after it"
	nameDots   = "metadata.name must consist of lower case letters, digits and '-', without '.'"
)

func TestNames(t *testing.T) {
	minimal := map[string]*unstructured.Unstructured{
		"MCPServer": mcpServer(t, "", server), "AgentSession": agentSession(t, "", `{}`),
	}
	for _, tc := range []struct {
		name, object string
		want         []string
	}{
		{"40 characters", strings.Repeat("a", 40), nil},
		{"letters, digits and hyphens", "mcp-4-all", nil},
		{"41 characters", strings.Repeat("a", 41), invalid("<nil>", nameLength)},
		{"dots", "mcp.example.com", invalid("<nil>", nameDots)},
	} {
		for kind, obj := range minimal {
			t.Run(kind+" of "+tc.name, func(t *testing.T) {
				g := NewWithT(t)
				named := obj.DeepCopy()
				named.SetName(tc.object)

				err := k8s.Create(context.Background(), named, client.DryRunAll)

				if tc.want == nil {
					g.Expect(err).NotTo(HaveOccurred())
					return
				}
				g.Expect(causes(err)).To(Equal(tc.want))
			})
		}
	}
}

// A Secret of another namespace cannot be expressed: with strict validation, as kubectl asks for, the attempt is
// refused; without, the namespace is dropped and never stored.
func TestB51_ReferencesHaveNoNamespace(t *testing.T) {
	const foreign = `{secretKeyRef: {name: gh, key: token, namespace: kube-system}}`
	for _, tc := range []struct{ name, spec, field string }{
		{"bearer", httpsWith(`auth: {bearer: ` + foreign + `}`), "spec.http.auth.bearer.secretKeyRef.namespace"},
		{"header", headers(`{name: X-Key, valueFrom: ` + foreign + `}`),
			"spec.http.headers[0].valueFrom.secretKeyRef.namespace"},
		{"variable", with(`variables: [{name: K, valueFrom: ` + foreign + `}]`),
			"spec.variables[0].valueFrom.secretKeyRef.namespace"},
		{"env", stdio(`env: [{name: K, valueFrom: ` + foreign + `}]`),
			"spec.stdio.env[0].valueFrom.secretKeyRef.namespace"},
		{"CA bundle", httpsWith(`tls: {caBundleRef: {kind: Secret, name: ca, key: ca.crt, namespace: kube-system}}`),
			"spec.http.tls.caBundleRef.namespace"},
		{"client certificate", httpsWith(`tls: {clientCertificateRef: {name: mtls, namespace: kube-system}}`),
			"spec.http.tls.clientCertificateRef.namespace"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			obj := mcpServer(t, "foreign", tc.spec)

			err := k8s.Create(context.Background(), obj.DeepCopy(), client.DryRunAll)
			g.Expect(err).To(MatchError(apierrors.IsBadRequest, "IsBadRequest"))
			g.Expect(err).To(MatchError(ContainSubstring(`strict decoding error: unknown field "` + tc.field + `"`)))

			lenient := client.FieldValidation(metav1.FieldValidationIgnore)
			g.Expect(k8s.Create(context.Background(), obj, client.DryRunAll, lenient)).To(Succeed())
			stored, err := obj.MarshalJSON()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(stored)).NotTo(ContainSubstring("kube-system"))
		})
	}
}

func TestANewObjectIsMarkedAsNeverActedOn(t *testing.T) {
	for _, obj := range []*unstructured.Unstructured{mcpServer(t, "new", server), agentSession(t, "new", `{}`)} {
		t.Run(obj.GetKind(), func(t *testing.T) {
			g := NewWithT(t)

			g.Expect(k8s.Create(context.Background(), obj, client.DryRunAll)).To(Succeed())

			g.Expect(obj.Object["status"]).To(Equal(map[string]any{"observedGeneration": int64(-1)}))
		})
	}
}

// An apply of what was applied already would change nothing: the API server adds nothing to what it was sent.
func TestApplyingAgainWouldChangeNothing(t *testing.T) {
	expectNoChange(t, mcpServer, slices.Concat(urlAcceptances, httpAcceptances, specAcceptances))
	expectNoChange(t, agentSession, sessionAcceptances)
}

func expectNoChange(t *testing.T, kind maker, cases []accepted) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			ctx := context.Background()
			manifest := kind(t, "applied", tc.spec)
			t.Cleanup(func() { g.Expect(k8s.Delete(ctx, manifest.DeepCopy())).To(Succeed()) })
			live, again := manifest.DeepCopy(), manifest.DeepCopy()

			g.Expect(apply(ctx, manifest.DeepCopy())).To(Succeed())
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
			g.Expect(apply(ctx, again, client.DryRunAll)).To(Succeed())

			again.SetManagedFields(nil)
			live.SetManagedFields(nil)
			g.Expect(again).To(BeComparableTo(live))
			g.Expect(live.Object["spec"]).To(BeComparableTo(manifest.Object["spec"]))
		})
	}
}

func apply(ctx context.Context, obj *unstructured.Unstructured, opts ...client.ApplyOption) error {
	opts = append(opts, client.FieldOwner("person"))
	return k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), opts...)
}

// The Go types say the same as the CRD: an object with every field set survives the way there and back.
func TestTypedObjectSurvivesTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	obj := builder.MCPServer("typed").Namespace(namespace).
		URL("https://mcp.example.com/$(ORG)/mcp?key=$(KEY)").
		Protocol(mooringv1alpha1.ProtocolStreamableHTTP).
		Header("X-Org", "$(ORG)").SecretHeader("X-Key", "gh", "key").
		OAuth("https://id.example.com/token", "me", "gh", "secret").
		CABundle(mooringv1alpha1.CABundleSecret, "ca", "ca.crt").ClientCertificate("mtls").ServerName("a.example").
		Proxy("http://proxy.corp:3128").
		Variable("ORG", "acme").Variable("EMPTY", "").SecretVariable("KEY", "gh", "key").
		Disabled().
		ConnectTimeout(mooringv1alpha1.DefaultConnectTimeout).ListTimeout(mooringv1alpha1.DefaultListTimeout).
		CallTimeout(mooringv1alpha1.DefaultCallTimeout).CallMax(mooringv1alpha1.DefaultCallMax).
		Attempts(2).Cooldown(mooringv1alpha1.DefaultCooldown).Strikes(2).ProbeInterval(0).
		HealthInterval(mooringv1alpha1.DefaultHealthInterval).
		RefreshInterval(mooringv1alpha1.DefaultRefreshInterval).Allow("a", "b*").Deny("c").
		Pin(mooringv1alpha1.PinStrict).
		Mutate(func(s *mooringv1alpha1.MCPServer) {
			s.Spec.AllowedNamespaces = &mooringv1alpha1.AllowedNamespaces{From: mooringv1alpha1.NamespacesAll}
			s.Spec.Level = mooringv1alpha1.LevelUser
			s.Spec.Sessions = &mooringv1alpha1.Sessions{Sharing: mooringv1alpha1.SharingShared}
			s.Spec.Calls = &mooringv1alpha1.Calls{MaxConcurrent: 8, ReplayTools: []string{"*"}}
		}).Obj()
	sent := obj.Spec.DeepCopy()

	g.Expect(k8s.Create(ctx, obj, client.DryRunAll)).To(Succeed())

	g.Expect(obj.Spec).To(BeComparableTo(*sent))
}

// Status is written by server-side apply on its subresource: every field is accepted, counts of zero included, the
// spec and its generation stay as they are, and writing the same again changes nothing.
func TestStatusIsAppliedWhole(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	obj := builder.MCPServer("status").Namespace(namespace).URL("https://mcp.example.com/mcp").Obj()
	g.Expect(k8s.Create(ctx, obj)).To(Succeed())
	t.Cleanup(func() { g.Expect(k8s.Delete(ctx, obj)).To(Succeed()) })
	want := fullStatus()

	g.Expect(applyStatus(ctx, want)).To(Succeed())
	g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
	written := obj.ResourceVersion
	g.Expect(applyStatus(ctx, want)).To(Succeed())
	g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())

	g.Expect(obj.ResourceVersion).To(Equal(written), "the same status again is no write")
	g.Expect(obj.Generation).To(Equal(int64(1)))
	g.Expect(obj.Status.Session.Strikes).To(HaveValue(Equal(int32(0))))
	g.Expect(obj.Status.Catalog.ToolCount).To(HaveValue(Equal(int32(0))))
	g.Expect(obj.Status.Warnings).To(HaveLen(20))

	extracted, err := mooringac.ExtractMCPServerStatus(obj, "manager")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(extracted.Status).To(BeComparableTo(want))
}
