package mcpserver

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// conflictDelay is how long a pass whose status write met a newer version of the object waits before it looks again.
// The newer version normally wakes the controller before that.
const conflictDelay = 500 * time.Millisecond

// specOrAnnotationsChanged lets through what a person changed: our own status writes do not wake us.
func specOrAnnotationsChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}
