package integration

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// forbidCatalogs has an admission policy refuse the ConfigMaps with our label in the namespace.
func (w *world) forbidCatalogs() {
	w.t.Helper()
	here := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-catalogs-" + w.namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: here,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
						Rule: admissionv1.Rule{
							APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
						},
					},
				}},
			},
			Validations: []admissionv1.Validation{{
				Expression: `!("` + v1alpha1.LabelManagedBy + `" in object.metadata.labels)`,
				Message:    "no catalogs here",
				Reason:     ptr.To(metav1.StatusReasonForbidden),
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: policy.ObjectMeta,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	for _, object := range []client.Object{policy, binding} {
		w.Expect(admin.Create(w.ctx, object)).To(Succeed())
		w.t.Cleanup(func() { _ = admin.Delete(context.WithoutCancel(w.ctx), object) })
	}
	w.Eventually(func() bool { // the API server acts on a policy some time after it was stored
		return apierrors.IsForbidden(admin.Create(w.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "probe-" + rand.String(8),
			Labels: map[string]string{v1alpha1.LabelManagedBy: "x"},
		}}, client.DryRunAll))
	}).Should(BeTrue())
}

// What a policy of the cluster refuses to store is told on both objects in the policy's words; the session is told as
// it is, and what is not stored is not offered.
func TestCatalogsThatAPolicyRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.forbidCatalogs()
	fake := mcpfake.New(t, mcpfake.WithTools(tools("t", 1)...))
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj(), builder.AgentSession("coder").Obj())
	server := w.await("fs", v1alpha1.ConditionCatalogPublished, "False PublishFailed")
	w.Expect(message(server, v1alpha1.ConditionCatalogPublished)).To(ContainSubstring("no catalogs here"))
	session := w.awaitAgent("coder", "False PublishFailed")
	w.Expect(describeAgent(session)).To(ContainSubstring("no catalogs here"))
	w.Expect(w.verdict("coder")).To(Equal(status.InProgressStatus))
	w.Expect(sessionSays(session, v1alpha1.ConditionReconciling)).To(Equal("True ProgressingWithRetry"))
	_, published := w.offered("coder")
	w.Expect(published).To(BeFalse())
}
