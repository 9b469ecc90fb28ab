package conditions_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/internal/conditions"
)

var ready = conditions.Summary{
	Type:    "Ready",
	Roots:   []string{"Accepted", "Connected", "CatalogPublished"},
	Reason:  "Ready",
	Message: "3 tools published",
}

func TestSummaryTakesTheFirstFailingRoot(t *testing.T) {
	tests := map[string]struct {
		given func(conditions.Setter)
		want  string
	}{
		"all true": {
			given: func(set conditions.Setter) {
				set.True("CatalogPublished", "Published", "c")
				set.True("Connected", "Connected", "b")
				set.True("Accepted", "Valid", "a")
			},
			want: "Ready=True/Ready/2: 3 tools published",
		},
		"declared order, not list order": {
			given: func(set conditions.Setter) {
				set.False("CatalogPublished", "ListToolsFailed", "c")
				set.False("Connected", "ConnectFailed", "b")
				set.True("Accepted", "Valid", "a")
			},
			want: "Ready=False/ConnectFailed/2: b",
		},
		"false before unknown": {
			given: func(set conditions.Setter) {
				set.True("Accepted", "Valid", "a")
				set.Unknown("Connected", "Connecting", "b")
				set.False("CatalogPublished", "CatalogTooLarge", "c")
			},
			want: "Ready=False/CatalogTooLarge/2: c",
		},
		"first unknown": {
			given: func(set conditions.Setter) {
				set.True("Accepted", "Valid", "a")
				set.Unknown("Connected", "Connecting", "b")
				set.Unknown("CatalogPublished", "AwaitingConnection", "c")
			},
			want: "Ready=Unknown/Connecting/2: b",
		},
		"missing is unknown": {
			given: func(set conditions.Setter) {
				set.True("Accepted", "Valid", "a")
				set.True("CatalogPublished", "Published", "c")
			},
			want: "Ready=Unknown/Progressing/2: Connected is not known yet",
		},
		"missing gives way to a failure": {
			given: func(set conditions.Setter) {
				set.False("CatalogPublished", "ListToolsFailed", "c")
			},
			want: "Ready=False/ListToolsFailed/2: c",
		},
		"nothing known": {
			given: func(conditions.Setter) {},
			want:  "Ready=Unknown/Progressing/2: Accepted is not known yet",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var list []metav1.Condition
			set := conditions.For(generation(2), &list)
			test.given(set)
			expectChanged(t, "summarize", set.Summarize(ready), true)
			expectChanged(t, "summarize again", set.Summarize(ready), false)
			expect(t, list[len(list)-1:], test.want)
		})
	}
}

func TestRootOfAnOlderGenerationIsNotKnown(t *testing.T) {
	for name, older := range map[string]func(conditions.Setter){
		"was true":  func(set conditions.Setter) { set.True("Connected", "Connected", "b") },
		"was false": func(set conditions.Setter) { set.False("Connected", "ConnectFailed", "b") },
	} {
		t.Run(name, func(t *testing.T) {
			var list []metav1.Condition
			older(conditions.For(generation(1), &list))
			set := conditions.For(generation(2), &list)
			set.True("Accepted", "Valid", "a")
			set.True("CatalogPublished", "Published", "c")
			set.Summarize(ready)
			expect(t, list[3:], "Ready=Unknown/Progressing/2: Connected is not known yet")
		})
	}
}
