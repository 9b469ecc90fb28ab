package chart

import (
	"context"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const owner = client.FieldOwner("kubectl")

// The phases of one cluster's life with the chart, in their order.
func TestInstall(t *testing.T) {
	c := newClient(t)
	for _, name := range []string{"elsewhere", "team-a", "team-b", "team-c"} {
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	byHand := sorted(kustomized(t, "default"))
	for _, o := range byHand {
		if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), owner); err != nil {
			t.Fatalf("apply -k config/default: %v", err)
		}
	}
	for _, phase := range []struct {
		name string
		run  func(*testing.T, client.Client)
	}{
		{"renderings are valid without a warning", testValid},
		{"warnings are seen", testWarningsAreSeen},
		{"takes over from kustomize when told to", testTakesOver},
		{"second release is refused", testSecondRelease},
		{"upgrade", testUpgrade},
		{"manager works with what was installed", testManager},
		{"uninstall keeps the servers", testUninstall},
		{"install again", testInstallAgain},
	} {
		if !t.Run(phase.name, func(t *testing.T) { phase.run(t, c) }) {
			t.FailNow() // the next ones build on it
		}
	}
}

// dryApply asks the API server for all that it has to say of the objects, and changes nothing.
func dryApply(t *testing.T, c client.Client, rendered objects) {
	t.Helper()
	strict := client.WithFieldValidation(c, metav1.FieldValidationStrict)
	for _, o := range sorted(rendered) {
		err := strict.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), owner,
			client.DryRunAll, client.ForceOwnership)
		if err != nil {
			t.Errorf("apply %s: %v", key(o), err)
		}
	}
}

func testValid(t *testing.T, c client.Client) {
	warned.take()
	for _, text := range []string{"", everything, "secretReader: {clusterWide: true}\nmetrics: {enabled: false}"} {
		dryApply(t, c, render(t, text))
	}
	if said := warned.take(); len(said) > 0 {
		t.Errorf("the API server warns: %q", said)
	}
}

// Without this, no warning might mean that none can be seen.
func testWarningsAreSeen(t *testing.T, c client.Client) {
	dryApply(t, c, render(t, "podSecurityContext: {runAsNonRoot: false}"))
	said := strings.Join(warned.take(), "\n")
	if !strings.Contains(said, `would violate PodSecurity "restricted:latest"`) {
		t.Errorf("warnings %q", said)
	}
}

func testTakesOver(t *testing.T, c client.Client) {
	err := install(t, namespace, "")
	if err == nil || !strings.Contains(err.Error(), "exists and cannot be imported into the current release") {
		t.Fatalf("error %v", err)
	}
	if err := install(t, namespace, "", func(i *action.Install) { i.TakeOwnership = true }); err != nil {
		t.Fatal(err)
	}
	for name, o := range render(t, "") {
		live := o.DeepCopy()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), live); err != nil {
			t.Fatal(err)
		}
		if live.GetLabels()["helm.sh/chart"] != "mooring-0.1.0" ||
			live.GetAnnotations()["meta.helm.sh/release-name"] != "mooring" {
			t.Errorf("%s is not the release's: labels %v, annotations %v", name, live.GetLabels(), live.GetAnnotations())
		}
	}
}

// CRDs and the names of roles belong to the whole cluster, so one cluster has one release.
func testSecondRelease(t *testing.T, _ client.Client) {
	err := install(t, "elsewhere", "")
	if err == nil || !strings.Contains(err.Error(), `must equal "elsewhere": current value is "mooring-system"`) {
		t.Errorf("error %v", err)
	}
}

func testUpgrade(t *testing.T, c client.Client) {
	// What kubectl has applied stays kubectl's too, until Helm is told to take it.
	err := upgrade(t, everything, false)
	if err == nil || !strings.Contains(err.Error(), `conflict with "kubectl"`) {
		t.Fatalf("error %v", err)
	}
	if err := upgrade(t, everything, true); err != nil {
		t.Fatal(err)
	}
	deployed := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "mooring-manager"}, deployed); err != nil {
		t.Fatal(err)
	}
	want := deployment(t, render(t, everything)).Spec.Template.Spec.Containers[0].Args
	if diff := gocmp.Diff(want, deployed.Spec.Template.Spec.Containers[0].Args); diff != "" {
		t.Errorf("args rendered (-) and deployed (+):\n%s", diff)
	}
	err = c.Get(t.Context(), client.ObjectKey{Name: "mooring-manager"}, &rbacv1.ClusterRoleBinding{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("with watchNamespaces the ClusterRoleBinding is still there: %v", err)
	}
	if said := warned.take(); len(said) > 0 {
		t.Errorf("the API server warns: %q", said)
	}
}

// server is an MCPServer whose token is in the Secret login.
func server(namespace string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"http": map[string]any{
		"url": "https://mcp.invalid/mcp",
		"auth": map[string]any{"bearer": map[string]any{
			"secretKeyRef": map[string]any{"name": "login", "key": "token"},
		}},
	}}}}
	o.SetAPIVersion("mooring.dev/v1alpha1")
	o.SetKind("MCPServer")
	o.SetNamespace(namespace)
	o.SetName("docs")
	return o
}

// accepted is the condition as "status reason: message".
func accepted(ctx context.Context, c client.Client, namespace string) string {
	o := server(namespace)
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err.Error()
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, entry := range conditions {
		if condition, ok := entry.(map[string]any); ok && condition["type"] == "Accepted" {
			return fmt.Sprintf("%s %s: %s", condition["status"], condition["reason"], condition["message"])
		}
	}
	return ""
}

func testManager(t *testing.T, c client.Client) {
	for _, name := range []string{"team-c", "team-b", "team-a"} {
		login := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "login"},
			StringData: map[string]string{"token": "canary"},
		}
		for _, o := range []client.Object{login, server(name)} {
			if err := c.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	manager := startManager(t)
	eventually(t, func(ctx context.Context) (bool, string) {
		state := accepted(ctx, c, "team-a")
		return strings.HasPrefix(state, "True "), "team-a: " + state + "\n" + manager.logs()
	})
	eventually(t, func(ctx context.Context) (bool, string) {
		state := accepted(ctx, c, "team-b")
		return strings.HasPrefix(state, "False SecretAccessDenied: ") &&
			strings.Contains(state, "kubectl create rolebinding mooring-secret-reader "+
				"--clusterrole=mooring-secret-reader --serviceaccount=mooring-system:moor -n team-b"), "team-b: " + state
	})
	if state := accepted(t.Context(), c, "team-c"); state != "" {
		t.Errorf("the manager looked at a namespace that is not watched: %s", state)
	}
	if logs := manager.stop(); strings.Contains(logs, "forbidden") || strings.Contains(logs, "canary") {
		t.Errorf("the manager lacks a right, or tells a secret:\n%s", logs)
	}
}

func testUninstall(t *testing.T, c client.Client) {
	if err := uninstall(t); err != nil {
		t.Fatal(err)
	}
	for name, o := range render(t, everything) {
		live := o.DeepCopy()
		err := c.Get(t.Context(), client.ObjectKeyFromObject(o), live)
		switch kept := o.GetKind() == "CustomResourceDefinition"; {
		case kept && (err != nil || live.GetDeletionTimestamp() != nil):
			t.Errorf("%s is gone: %v", name, err)
		case !kept && !apierrors.IsNotFound(err):
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	docs := server("team-a")
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(docs), docs); err != nil {
		t.Errorf("the MCPServer: %v", err)
	}
}

func testInstallAgain(t *testing.T, _ client.Client) {
	if err := install(t, namespace, ""); err != nil {
		t.Error(err)
	}
	if said := warned.take(); len(said) > 0 {
		t.Errorf("the API server warns: %q", said)
	}
}
