package kstatustest

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/mooring-dev/mooring/internal/conditions"
)

const readyType = "Ready"

// Check returns what kstatus makes of obj (Current, InProgress or Failed; Terminating while it is being deleted) and
// fails the test, without ending it, for every law that obj breaks. obj is a pointer to an API object, typed or
// unstructured, as it was read from the API server.
func Check(t testing.TB, obj any) status.Status {
	t.Helper()
	verdict, err := Verdict(obj)
	if err != nil {
		t.Errorf("status breaks the contract: %v", err)
	}
	return verdict
}

// Verdict returns what kstatus makes of obj, and one error that joins every law that obj breaks.
func Verdict(obj any) (status.Status, error) {
	view, err := newView(obj)
	if err != nil {
		return status.UnknownStatus, err
	}
	result, err := status.Compute(view.object)
	if err != nil {
		return status.UnknownStatus, fmt.Errorf("kstatus: %w", err)
	}
	return result.Status, errors.Join(
		view.wellFormed(),
		view.generations(),
		view.exclusive(),
		view.honest(result.Status),
	)
}

// view is the part of an object that the laws speak of.
type view struct {
	object             *unstructured.Unstructured
	observedGeneration *int64
	conditions         []metav1.Condition
}

func newView(obj any) (view, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return view{}, fmt.Errorf("object as unstructured: %w", err)
	}
	var typed struct {
		Status struct {
			ObservedGeneration *int64             `json:"observedGeneration"`
			Conditions         []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &typed); err != nil {
		return view{}, fmt.Errorf("status of object: %w", err)
	}
	return view{
		object:             &unstructured.Unstructured{Object: content},
		observedGeneration: typed.Status.ObservedGeneration,
		conditions:         typed.Status.Conditions,
	}, nil
}

func (v view) wellFormed() error {
	var broken []error
	seen := map[string]bool{}
	for _, c := range v.conditions {
		if seen[c.Type] {
			broken = append(broken, fmt.Errorf("condition %s occurs twice", c.Type))
		}
		seen[c.Type] = true
		if c.Reason == "" {
			broken = append(broken, fmt.Errorf("condition %s has no reason", c.Type))
		}
		if c.LastTransitionTime.IsZero() {
			broken = append(broken, fmt.Errorf("condition %s has no transition time", c.Type))
		}
		if conditions.Message(c.Message) != c.Message {
			broken = append(broken, fmt.Errorf("condition %s has a message of %d bytes, want at most %d",
				c.Type, len(c.Message), conditions.MaxMessage))
		}
	}
	return errors.Join(broken...)
}

// generations: kstatus takes an object without status.observedGeneration as observed, and so as Current at birth.
func (v view) generations() error {
	generation := v.object.GetGeneration()
	if v.observedGeneration == nil {
		return errors.New("status.observedGeneration is missing")
	}
	var broken []error
	if observed := *v.observedGeneration; observed > generation {
		broken = append(broken, fmt.Errorf("status.observedGeneration is %d at generation %d", observed, generation))
	}
	for _, c := range v.conditions {
		if c.ObservedGeneration > generation {
			broken = append(broken, fmt.Errorf("condition %s observed generation %d at generation %d",
				c.Type, c.ObservedGeneration, generation))
		}
	}
	return errors.Join(broken...)
}

func (v view) exclusive() error {
	var broken []error
	for _, abnormal := range []string{conditions.Reconciling, conditions.Stalled} {
		if got := v.status(abnormal); got != "" && got != metav1.ConditionTrue {
			broken = append(broken, fmt.Errorf("condition %s is %s, want True or absent", abnormal, got))
		}
	}
	if v.isTrue(conditions.Reconciling) && v.isTrue(conditions.Stalled) {
		broken = append(broken, errors.New("both Reconciling and Stalled are True"))
	}
	return errors.Join(broken...)
}

// honest: what kstatus tells is what the conditions mean.
func (v view) honest(verdict status.Status) error {
	var broken []error
	abnormal := v.isTrue(conditions.Reconciling) || v.isTrue(conditions.Stalled)
	if ready := v.status(readyType); ready != "" && (ready == metav1.ConditionTrue) == abnormal {
		broken = append(broken, fmt.Errorf("condition Ready is %s with Reconciling %t and Stalled %t", ready,
			v.isTrue(conditions.Reconciling), v.isTrue(conditions.Stalled)))
	}
	if want := v.want(); verdict != want {
		broken = append(broken, fmt.Errorf("kstatus says %s, want %s", verdict, want))
	}
	return errors.Join(broken...)
}

func (v view) want() status.Status {
	switch {
	case v.object.GetDeletionTimestamp() != nil:
		return status.TerminatingStatus
	case v.observedGeneration == nil || *v.observedGeneration != v.object.GetGeneration():
		return status.InProgressStatus
	case v.isTrue(conditions.Stalled):
		return status.FailedStatus
	case v.isTrue(readyType):
		return status.CurrentStatus
	default:
		return status.InProgressStatus
	}
}

func (v view) isTrue(conditionType string) bool {
	return v.status(conditionType) == metav1.ConditionTrue
}

// status returns "" for a condition that is not there.
func (v view) status(conditionType string) metav1.ConditionStatus {
	for _, c := range v.conditions {
		if c.Type == conditionType {
			return c.Status
		}
	}
	return ""
}
