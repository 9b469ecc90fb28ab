package cel

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
	mooringac "github.com/mooring-dev/mooring/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// applyStatus writes the status of the object "status" as the manager does.
func applyStatus(ctx context.Context, status *mooringac.MCPServerStatusApplyConfiguration) error {
	obj := mooringac.MCPServer("status", namespace).WithStatus(status)
	return k8s.Status().Apply(ctx, obj, client.FieldOwner("manager"), client.ForceOwnership)
}

// fullStatus has every field of a status set, as many list entries as are allowed, and counts of zero.
func fullStatus() *mooringac.MCPServerStatusApplyConfiguration {
	at := metav1.NewTime(time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC))
	status := mooringac.MCPServerStatus().
		WithObservedGeneration(1).
		WithTransport(mooringv1alpha1.TransportHTTP).
		WithServer(mooringac.ServerStatus().
			WithName("files").WithTitle("Files").WithVersion("1.2.3").WithProtocolVersion("2025-11-25")).
		WithSession(mooringac.SessionStatus().
			WithState(mooringv1alpha1.SessionRetired).
			WithStrikes(0).
			WithQuarantinedUntil(at).
			WithRetiredAt(at).
			WithRetirement(mooringv1alpha1.RetirementRefused).
			WithLastFailure(mooringac.FailureStatus().
				WithClass("auth").WithPhase("connect").WithReason(mooringv1alpha1.ReasonAuthenticationFailed).
				WithHTTPStatus(401).WithMessage("the server answered 401").WithSince(at))).
		WithCalls(mooringac.CallsStatus().
			WithState(mooringv1alpha1.CallsDegraded).WithClass("timeout").WithSince(at)).
		WithCatalog(mooringac.CatalogStatus().
			WithConfigMap("status-mcp-tools").WithEncoding(mooringv1alpha1.EncodingIdentity).
			WithDigest("sha256:" + digest).WithPinnedDigest("sha256:" + digest).
			WithToolCount(0).WithBytes(0).WithEstimatedTokens(0).WithConfigHash(digest)).
		WithWarningCount(21).
		WithLastHandledReconnectAt("2026-07-28T12:00:00Z")
	for i := range 20 {
		status.WithWarnings(mooringac.Warning().
			WithType("ToolTooLarge").WithTool(fmt.Sprintf("tool-%d", i)).WithMessage("larger than 256 KiB"))
	}
	for _, condition := range []string{
		mooringv1alpha1.ConditionReady, mooringv1alpha1.ConditionAccepted, mooringv1alpha1.ConditionConnected,
		mooringv1alpha1.ConditionCatalogPublished, mooringv1alpha1.ConditionToolsDrifted,
		mooringv1alpha1.ConditionQuarantined, mooringv1alpha1.ConditionRetired, mooringv1alpha1.ConditionStalled,
	} {
		status.WithConditions(metav1ac.Condition().
			WithType(condition).WithStatus(metav1.ConditionFalse).WithReason(mooringv1alpha1.ReasonAuthenticationFailed).
			WithMessage("the server answered 401").WithObservedGeneration(1).WithLastTransitionTime(at))
	}
	return status
}
