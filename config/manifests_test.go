package config_test

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/mooring-dev/mooring/config"
	"github.com/mooring-dev/mooring/test/pace"
)

// patience bounds the wait for what an idle API server does within milliseconds.
const patience = pace.Patience

const owner = client.FieldOwner("config-test")

// warnings collects what the API server warns of, pod security included.
type warnings struct {
	mu   sync.Mutex
	said []string
}

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

// startControlPlane returns the configuration of an administrator, and of one whose warnings are kept.
func startControlPlane(t *testing.T) (*rest.Config, *warnings) {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		assets = filepath.Join("..", "bin")
	}
	environment := &envtest.Environment{BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: pace.Patience}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Errorf("control plane: %v", err)
		}
	})
	admin, err := environment.Start()
	if err != nil {
		t.Fatalf("control plane (make controlplane puts it into bin/): %v", err)
	}
	kept := &warnings{}
	admin.WarningHandlerWithContext = kept
	return admin, kept
}

// manifests reads the objects of all files below the folders; kustomizations are left out.
func manifests(t *testing.T, dirs ...string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(file) != ".yaml" || entry.Name() == "kustomization.yaml" {
				return err
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			o := &unstructured.Unstructured{}
			all = append(all, o)
			return yaml.UnmarshalStrict(raw, &o.Object)
		})
		if err != nil {
			t.Fatalf("manifests of %s: %v", dir, err)
		}
	}
	return all
}

func apply(t *testing.T, c client.Client, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), owner); err != nil {
			t.Fatalf("apply %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

func TestManifestsApply(t *testing.T) {
	admin, warned := startControlPlane(t)
	direct, err := client.New(admin, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := client.WithFieldValidation(direct, metav1.FieldValidationStrict)

	crds := manifests(t, "crd/bases")
	apply(t, c, crds...)
	established(t, c, crds)
	access, err := config.Access()
	if err != nil {
		t.Fatal(err)
	}
	apply(t, c, access...)
	gateway, err := config.GatewayAccess()
	if err != nil {
		t.Fatal(err)
	}
	apply(t, c, gateway...)
	apply(t, c, manifests(t, "manager", "gateway")...)
	for _, sample := range manifests(t, "samples") {
		sample.SetNamespace("default")
		apply(t, c, sample)
	}
	if len(warned.said) > 0 {
		t.Errorf("the API server warns: %q", warned.said)
	}
	t.Run("rights of the manager", func(t *testing.T) { testRights(t, admin, c) })
	t.Run("rights of the gateway", func(t *testing.T) { testGatewayRights(t, admin) })
	t.Run("rights of an agent", func(t *testing.T) { testAgentRights(t, admin, c) })
}

// established waits until the API server serves the kinds that the CRDs define.
func established(t *testing.T, c client.Client, crds []*unstructured.Unstructured) {
	t.Helper()
	for _, crd := range crds {
		NewWithT(t).Eventually(func(g Gomega) {
			g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(crd), crd)).To(Succeed())
			conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(conditions).To(ContainElement(
				And(HaveKeyWithValue("type", "Established"), HaveKeyWithValue("status", "True"))))
		}, patience).Should(Succeed())
	}
}

// testRights asks the API server what the manager may do: what its work needs, and no Secret before it is bound.
func testRights(t *testing.T, admin *rest.Config, c client.Client) {
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	may := func(namespace, verb, group, resource, subresource string) bool {
		return allowed(t, clients, "system:serviceaccount:"+config.Namespace+":"+config.ManagerServiceAccount,
			&authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource,
			})
	}
	for _, verb := range []string{"get", "list", "watch"} {
		if !may("default", verb, "mooring.dev", "mcpservers", "") {
			t.Errorf("the manager may not %s mcpservers", verb)
		}
		if may("default", verb, "", "secrets", "") {
			t.Errorf("the manager may %s secrets without being bound to", verb)
		}
	}
	if !may("", "watch", "", "namespaces", "") || may("", "patch", "", "namespaces", "") {
		t.Error("the manager may not watch namespaces, or may change them")
	}
	for _, verb := range []string{"create", "update", "delete"} {
		if may("default", verb, "mooring.dev", "mcpservers", "") {
			t.Errorf("the manager may %s mcpservers, which are the user's", verb)
		}
	}
	if !may("default", "patch", "mooring.dev", "mcpservers", "status") {
		t.Error("the manager may not patch the status of mcpservers")
	}
	if !may(config.Namespace, "create", "coordination.k8s.io", "leases", "") {
		t.Error("the manager may not create its lease")
	}
	if may("default", "create", "coordination.k8s.io", "leases", "") {
		t.Error("the manager may create leases outside of its namespace")
	}
	testSecretReader(t, clients, c)
}

// testGatewayRights asks what the gateway may do: look, and ask who may what. It writes nothing and reads no Secret.
func testGatewayRights(t *testing.T, admin *rest.Config) {
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	may := func(verb, group, resource string) bool {
		return allowed(t, clients, "system:serviceaccount:"+config.Namespace+":"+config.GatewayServiceAccount,
			&authorizationv1.ResourceAttributes{Namespace: "default", Verb: verb, Group: group, Resource: resource})
	}
	o := NewWithT(t)
	o.Expect(may("create", "authentication.k8s.io", "tokenreviews")).To(BeTrue())
	o.Expect(may("create", "authorization.k8s.io", "subjectaccessreviews")).To(BeTrue())
	for _, resource := range []string{"mcpservers", "agentsessions"} {
		o.Expect(may("watch", "mooring.dev", resource)).To(BeTrue())
		o.Expect(may("patch", "mooring.dev", resource)).To(BeFalse())
		o.Expect(may("use", "mooring.dev", resource)).To(BeFalse())
	}
	o.Expect(may("update", "", "configmaps")).To(BeFalse())
	o.Expect(may("get", "", "secrets")).To(BeFalse())
}

// testSecretReader binds the role in one namespace, and asks what it gives there and elsewhere.
func testSecretReader(t *testing.T, clients kubernetes.Interface, c client.Client) {
	binding, err := config.SecretReader("default")
	if err != nil {
		t.Fatal(err)
	}
	// The manager may read ConfigMaps anyway, so another account shows what this role alone gives.
	binding.Object["subjects"] = append(binding.Object["subjects"].([]any),
		map[string]any{"kind": "ServiceAccount", "namespace": "default", "name": "reader"})
	apply(t, c, binding)
	may := func(account, namespace, verb, resource string) bool {
		return allowed(t, clients, "system:serviceaccount:"+account,
			&authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: resource})
	}
	manager := config.Namespace + ":" + config.ManagerServiceAccount
	for _, verb := range []string{"get", "list", "watch"} {
		for _, resource := range []string{"configmaps", "secrets"} {
			NewWithT(t).Eventually(func() bool { return may("default:reader", "default", verb, resource) }, patience).
				Should(BeTrue(), "bound, an account may "+verb+" "+resource)
		}
		if !may(manager, "default", verb, "secrets") {
			t.Errorf("bound, the manager may not %s secrets", verb)
		}
		if may(manager, "kube-system", verb, "secrets") {
			t.Errorf("bound in one namespace, the manager may %s secrets of another", verb)
		}
	}
}

// allowed asks the API server whether a user may do something.
func allowed(
	t *testing.T, clients kubernetes.Interface, user string, what *authorizationv1.ResourceAttributes,
) bool {
	t.Helper()
	review, err := clients.AuthorizationV1().SubjectAccessReviews().Create(t.Context(),
		&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: what,
		}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// testAgentRights binds an agent's service account as its role says, and asks what it may do: use, and nothing else.
func testAgentRights(t *testing.T, admin *rest.Config, c client.Client) {
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	binding := &unstructured.Unstructured{}
	binding.SetAPIVersion("rbac.authorization.k8s.io/v1")
	binding.SetKind("RoleBinding")
	binding.SetNamespace("default")
	binding.SetName("coder")
	binding.Object["roleRef"] = map[string]any{
		"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mooring-agent",
	}
	binding.Object["subjects"] = []any{map[string]any{"kind": "ServiceAccount", "namespace": "default", "name": "coder"}}
	apply(t, c, binding)

	may := func(namespace, verb, resource string) bool {
		return allowed(t, clients, "system:serviceaccount:default:coder", &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: "mooring.dev", Resource: resource,
		})
	}
	for _, resource := range []string{"agentsessions", "mcpservers"} {
		NewWithT(t).Eventually(func() bool { return may("default", "use", resource) }, patience).
			Should(BeTrue(), "an agent may use "+resource)
		for _, verb := range []string{"get", "list", "create", "update", "patch", "delete"} {
			if may("default", verb, resource) {
				t.Errorf("an agent may %s %s", verb, resource)
			}
		}
		if may("kube-system", "use", resource) {
			t.Errorf("bound in one namespace, an agent may use %s of another", resource)
		}
	}
}

func TestKustomizationsNameEveryFile(t *testing.T) {
	for dir, sub := range map[string]string{
		"rbac": "", filepath.Join("rbac", "secret-reader"): "", "manager": "", "samples": "", "crd": "bases",
	} {
		raw, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var kustomization struct {
			Resources []string `json:"resources"`
		}
		if err := yaml.Unmarshal(raw, &kustomization); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil {
			t.Fatal(err)
		}
		var named []string
		for _, entry := range entries {
			if strings.HasSuffix(entry.Name(), ".yaml") && entry.Name() != "kustomization.yaml" {
				named = append(named, path.Join(sub, entry.Name()))
			}
		}
		slices.Sort(kustomization.Resources)
		if !slices.Equal(named, kustomization.Resources) {
			t.Errorf("%s: files %q, kustomization names %q", dir, named, kustomization.Resources)
		}
	}
}
