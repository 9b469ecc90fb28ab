package conditions

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/internal/text"
)

// The two conditions that kstatus reads before all others. Both are only present when True.
const (
	// Reconciling: the object is not yet as declared, and waiting may help.
	Reconciling = "Reconciling"
	// Stalled: the object is not as declared, and waiting will not help; someone must act.
	Stalled = "Stalled"
)

// Setter writes conditions of one object, all about one generation.
type Setter struct {
	generation int64
	conditions *[]metav1.Condition
}

// For binds a Setter to the present generation of obj and to its list of conditions, which must not be nil.
func For(obj interface{ GetGeneration() int64 }, conditions *[]metav1.Condition) Setter {
	return Setter{generation: obj.GetGeneration(), conditions: conditions}
}

// True sets a condition to True and reports whether anything changed. The reason must not be empty: the API server
// refuses such a condition.
func (s Setter) True(conditionType, reason, message string) (changed bool) {
	switch conditionType {
	case Reconciling:
		changed = s.Remove(Stalled)
	case Stalled:
		changed = s.Remove(Reconciling)
	}
	return s.set(conditionType, metav1.ConditionTrue, reason, message) || changed
}

// False sets a condition to False and reports whether anything changed. Reconciling and Stalled are removed
// instead, since they are only present when True.
func (s Setter) False(conditionType, reason, message string) (changed bool) {
	return s.setNotTrue(conditionType, metav1.ConditionFalse, reason, message)
}

// Unknown sets a condition to Unknown and reports whether anything changed. Reconciling and Stalled are removed
// instead, since they are only present when True.
func (s Setter) Unknown(conditionType, reason, message string) (changed bool) {
	return s.setNotTrue(conditionType, metav1.ConditionUnknown, reason, message)
}

// Remove takes a condition away and reports whether it was there. It is how a condition that is only present when
// True ceases.
func (s Setter) Remove(conditionType string) (changed bool) {
	return meta.RemoveStatusCondition(s.conditions, conditionType)
}

// Progress says that the object is on its way: Reconciling=True, Stalled gone.
func (s Setter) Progress(reason, message string) (changed bool) {
	return s.True(Reconciling, reason, message)
}

// Stall says that someone must act: Stalled=True, Reconciling gone.
func (s Setter) Stall(reason, message string) (changed bool) { return s.True(Stalled, reason, message) }

// Settle says that there is nothing left to do: neither Reconciling nor Stalled.
func (s Setter) Settle() (changed bool) {
	changed = s.Remove(Reconciling)
	return s.Remove(Stalled) || changed
}

func (s Setter) setNotTrue(conditionType string, status metav1.ConditionStatus, reason, message string) bool {
	if conditionType == Reconciling || conditionType == Stalled {
		return s.Remove(conditionType)
	}
	return s.set(conditionType, status, reason, message)
}

func (s Setter) set(conditionType string, status metav1.ConditionStatus, reason, message string) bool {
	return meta.SetStatusCondition(s.conditions, metav1.Condition{
		Type:               conditionType,
		Status:             status,
		ObservedGeneration: s.generation,
		// Whole seconds are what the API server stores: finer ones would make our copy differ from it.
		LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second)),
		Reason:             reason,
		Message:            Message(message),
	})
}

// MaxMessage is the longest message, in bytes. The API allows 32768 characters; a person reads the first lines, and a
// fleet's status should stay small.
const MaxMessage = 1024

// Message returns s as it will stand in a condition: valid UTF-8, at most MaxMessage bytes, never cut within a
// character. A text that was cut ends in "…".
func Message(s string) string { return text.Fit(s, MaxMessage) }

// Sort puts conditions into the order of their types, others last, so that one state always looks the same, and what
// people see first does not depend on what was set first.
func Sort(all []metav1.Condition, order []string) {
	rank := func(c metav1.Condition) int {
		if at := slices.Index(order, c.Type); at >= 0 {
			return at
		}
		return len(order)
	}
	slices.SortStableFunc(all, func(a, b metav1.Condition) int { return cmp.Compare(rank(a), rank(b)) })
}
