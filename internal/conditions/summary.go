package conditions

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReasonProgressing is the summary's reason when a root has not been told about this generation yet.
const ReasonProgressing = "Progressing"

// Summary is a condition that follows from others, usually Ready.
type Summary struct {
	// Type is the condition to set.
	Type string
	// Roots are the types that it follows from, the first cause first.
	Roots []string
	// Reason and Message stand on it when every root is True.
	Reason, Message string
}

// Summarize sets the summary from its roots and reports whether anything changed. The first root that is False, in
// declared order, gives status, reason and message. Without one, the first that is not known does: Unknown, missing,
// or of an older generation, whose word is no longer good. Otherwise the summary is True.
func (s Setter) Summarize(summary Summary) (changed bool) {
	var unknown *metav1.Condition
	for _, rootType := range summary.Roots {
		root := s.root(rootType)
		switch {
		case root.Status == metav1.ConditionFalse:
			return s.False(summary.Type, root.Reason, root.Message)
		case root.Status != metav1.ConditionTrue && unknown == nil:
			unknown = &root
		}
	}
	if unknown != nil {
		return s.Unknown(summary.Type, unknown.Reason, unknown.Message)
	}
	return s.True(summary.Type, summary.Reason, summary.Message)
}

// root returns a root as far as it speaks of this generation.
func (s Setter) root(conditionType string) metav1.Condition {
	if root := meta.FindStatusCondition(*s.conditions, conditionType); root != nil &&
		root.ObservedGeneration == s.generation {
		return *root
	}
	return metav1.Condition{
		Type:    conditionType,
		Status:  metav1.ConditionUnknown,
		Reason:  ReasonProgressing,
		Message: fmt.Sprintf("%s is not known yet", conditionType),
	}
}
