package conditions_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/internal/conditions"
)

// One state always looks the same, whatever was set first; what has no place comes last, as it was.
func TestSort(t *testing.T) {
	var all []metav1.Condition
	for _, name := range []string{"Other", "Accepted", "Another", "Ready"} {
		all = append(all, metav1.Condition{Type: name})
	}
	conditions.Sort(all, []string{"Ready", "Stalled", "Accepted"})
	var got []string
	for _, condition := range all {
		got = append(got, condition.Type)
	}
	if want := []string{"Ready", "Accepted", "Other", "Another"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
