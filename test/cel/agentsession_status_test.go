package cel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
	mooringac "github.com/mooring-dev/mooring/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
)

// applySessionStatus writes the status of the session "status" as the manager does.
func applySessionStatus(ctx context.Context, status *mooringac.AgentSessionStatusApplyConfiguration) error {
	obj := mooringac.AgentSession("status", namespace).WithStatus(status)
	return k8s.Status().Apply(ctx, obj, client.FieldOwner("manager"), client.ForceOwnership)
}

// fullSessionStatus has every field of a status set, as many servers as are allowed, each as long as it may be, and
// counts of zero.
func fullSessionStatus() *mooringac.AgentSessionStatusApplyConfiguration {
	at := metav1.NewTime(time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC))
	status := mooringac.AgentSessionStatus().
		WithObservedGeneration(1).
		WithSummary("0/1000").
		WithNativeKeys(mooringac.NativeKey().
			WithEnv("EXA_API_KEY").WithSecretKeyRef(mooringac.NativeKeySource().WithName("exa").WithKey("key"))).
		WithCatalog(mooringac.SessionCatalogStatus().
			WithConfigMap("status-mcp-catalog").WithEncoding(mooringv1alpha1.EncodingGzip).
			WithDigest("sha256:" + digest).WithRevision(digest[:12]).WithToolCount(0)).
		WithStartup(mooringac.StartupStatus().WithOutcome(mooringv1alpha1.StartupWaited)).
		WithEndpoint("https://mooring-gateway.mooring-system.svc/sessions/cel/status/mcp").
		WithLastHandledReloadAt("2026-07-28T12:00:00Z")
	for i := range 1000 {
		status.WithServers(mooringac.SessionServerStatus().
			WithName(fmt.Sprintf("%s%03d", strings.Repeat("a", 37), i)).
			WithNamespace(strings.Repeat("b", 63)).
			WithState(mooringv1alpha1.ServerDisconnected).
			WithTools(0).
			WithSource(strings.Repeat("c", 128)).
			WithClass("transport").
			WithMessage(strings.Repeat("d", 512)).
			WithCalls(mooringac.CallsStatus().
				WithState(mooringv1alpha1.CallsFailing).WithClass("transport").WithSince(at)))
	}
	for _, condition := range []string{
		mooringv1alpha1.ConditionReady, mooringv1alpha1.ConditionServersResolved,
		mooringv1alpha1.ConditionCatalogPublished, mooringv1alpha1.ConditionReconciling,
	} {
		status.WithConditions(metav1ac.Condition().
			WithType(condition).WithStatus(metav1.ConditionFalse).WithReason(mooringv1alpha1.ReasonNoServersAvailable).
			WithMessage("none of 1000 servers can be used").WithObservedGeneration(1).WithLastTransitionTime(at))
	}
	return status
}

// createdSession stores the session "status" for the length of a test.
func createdSession(ctx context.Context, t *testing.T) *mooringv1alpha1.AgentSession {
	t.Helper()
	obj := builder.AgentSession("status").Namespace(namespace).Obj()
	if err := k8s.Create(ctx, obj); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k8s.Delete(ctx, obj); err != nil {
			t.Error(err)
		}
	})
	return obj
}

// Status is written by server-side apply on its subresource: every field is accepted, counts of zero and as many
// servers as there may be included, the spec and its generation stay as they are, and writing the same again changes
// nothing.
func TestSessionStatusIsAppliedWhole(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	obj := createdSession(ctx, t)
	want := fullSessionStatus()

	g.Expect(applySessionStatus(ctx, want)).To(Succeed())
	g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
	written := obj.ResourceVersion
	g.Expect(applySessionStatus(ctx, want)).To(Succeed())
	g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())

	g.Expect(obj.ResourceVersion).To(Equal(written), "the same status again is no write")
	g.Expect(obj.Generation).To(Equal(int64(1)))
	g.Expect(obj.Status.Servers).To(HaveLen(1000))
	g.Expect(obj.Status.Servers[0].Tools).To(HaveValue(Equal(int32(0))))
	g.Expect(obj.Status.Catalog.ToolCount).To(HaveValue(Equal(int32(0))))

	extracted, err := mooringac.ExtractAgentSessionStatus(obj, "manager")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(extracted.Status).To(BeComparableTo(want))
}

func TestSessionStatusOfMoreServersIsRefused(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	createdSession(ctx, t)

	err := applySessionStatus(ctx, fullSessionStatus().WithServers(mooringac.SessionServerStatus().WithName("more")))

	g.Expect(causes(err)).To(ConsistOf("status.servers: Too many: 1001: must have at most 1000 items"))
}

// The columns of `kubectl get agentsessions`, as the API server fills them.
func TestSessionPrinterColumns(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	createdSession(ctx, t)
	g.Expect(applySessionStatus(ctx, fullSessionStatus())).To(Succeed())

	table := tableOf(t, "agentsessions", "status")

	narrow, wide := columns(table)
	g.Expect(narrow).To(Equal([]string{"Name", "Servers", "Tools", "Ready", "Reason", "Age"}))
	g.Expect(wide).To(Equal(append(slices.Clone(narrow), "Message")))
	g.Expect(table.Rows).To(HaveLen(1))
	g.Expect(table.Rows[0].Cells).To(HaveExactElements("status", "0/1000", BeEquivalentTo(0), "False",
		"NoServersAvailable", Not(BeEmpty()), "none of 1000 servers can be used"))
}
