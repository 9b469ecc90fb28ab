package cel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
)

// accepted is a spec, in YAML as a person writes it, that is stored as it was sent.
type accepted struct {
	name, spec string
}

// refused is a spec, in YAML as a person writes it, and everything that the refusal says: "field: message".
type refused struct {
	name, spec string
	want       []string
}

// maker makes an object of a kind and this name of a spec in YAML.
type maker func(t *testing.T, name, spec string) *unstructured.Unstructured

func mcpServer(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	return object(t, "MCPServer", name, spec)
}

func agentSession(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	return object(t, "AgentSession", name, spec)
}

func object(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict([]byte(spec))
	if err != nil {
		t.Fatalf("the case's spec is not YAML: %v", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(asJSON, &fields); err != nil {
		t.Fatalf("the case's spec is not an object: %v", err)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": fields}}
	obj.SetGroupVersionKind(mooringv1alpha1.GroupVersion.WithKind(kind))
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// runAccepted asserts that each spec passes and comes back unchanged: the CRD adds no default.
func runAccepted(t *testing.T, kind maker, cases []accepted) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			obj := kind(t, "accepted", tc.spec)
			sent := obj.DeepCopy()

			g.Expect(k8s.Create(context.Background(), obj, client.DryRunAll)).To(Succeed())

			g.Expect(obj.Object["spec"]).To(BeComparableTo(sent.Object["spec"]))
		})
	}
}

// runRefused asserts that each spec is refused with exactly these texts, so that one mistake gives one message.
func runRefused(t *testing.T, kind maker, cases []refused) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			err := k8s.Create(context.Background(), kind(t, "refused", tc.spec), client.DryRunAll)

			g := NewWithT(t)
			g.Expect(causes(err)).To(ConsistOf(tc.want))
			g.Expect(err).NotTo(MatchError(ContainSubstring("canary")), "a refusal must not repeat a credential")
		})
	}
}

// causes returns what a refusal says, as kubectl prints it.
func causes(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return []string{fmt.Sprintf("not a refusal: %v", err)}
	}
	details := status.Status().Details
	if details == nil || len(details.Causes) == 0 {
		return []string{status.Status().Message}
	}
	var texts []string
	for _, cause := range details.Causes {
		if strings.Contains(cause.Message, "some validation rules were not checked") {
			continue // the API server's own remark on what it left out
		}
		texts = append(texts, cause.Field+": "+cause.Message)
	}
	return slices.Compact(texts)
}

// invalid is the refusal by a rule that stands beside the field: it does not repeat the value.
func invalid(field, message string) []string {
	return []string{field + ": Invalid value: " + message}
}

// invalidValue is the refusal by a rule on the field itself: it repeats the value.
func invalidValue(field, value, message string) []string {
	return []string{fmt.Sprintf("%s: Invalid value: %q: %s", field, value, message)}
}
