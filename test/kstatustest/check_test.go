package kstatustest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/mooring-dev/mooring/internal/conditions"
	"github.com/mooring-dev/mooring/test/kstatustest"
)

// object is a kind with our status, as small as can be.
type object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            objectStatus `json:"status"`
}

type objectStatus struct {
	ObservedGeneration *int64             `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// build returns an object of generation 2 that was observed, after edit.
func build(edit func(o *object, set conditions.Setter)) *object {
	o := &object{
		TypeMeta:   metav1.TypeMeta{APIVersion: "mooring.dev/v1alpha1", Kind: "MCPServer"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "github", Generation: 2},
		Status:     objectStatus{ObservedGeneration: new(int64(2))},
	}
	edit(o, conditions.For(o, &o.Status.Conditions))
	return o
}

func TestVerdictOfAnHonestObject(t *testing.T) {
	tests := map[string]struct {
		edit func(o *object, set conditions.Setter)
		want status.Status
	}{
		"never seen": {
			edit: func(o *object, _ conditions.Setter) { o.Status.ObservedGeneration = new(int64(-1)) },
			want: status.InProgressStatus,
		},
		"ready": {
			edit: func(_ *object, set conditions.Setter) { set.True("Ready", "Ready", "") },
			want: status.CurrentStatus,
		},
		"ready, of an older generation": {
			edit: func(o *object, set conditions.Setter) {
				set.True("Ready", "Ready", "")
				o.Generation = 3
			},
			want: status.InProgressStatus,
		},
		"waiting may help": {
			edit: func(_ *object, set conditions.Setter) {
				set.False("Ready", "ConnectFailed", "refused")
				set.Progress("ProgressingWithRetry", "refused")
			},
			want: status.InProgressStatus,
		},
		"someone must act": {
			edit: func(_ *object, set conditions.Setter) {
				set.False("Ready", "InvalidConfiguration", "undefined variable")
				set.Stall("InvalidConfiguration", "undefined variable")
			},
			want: status.FailedStatus,
		},
		"being deleted": {
			edit: func(o *object, set conditions.Setter) {
				set.True("Ready", "Ready", "")
				o.DeletionTimestamp = new(metav1.Unix(1, 0))
			},
			want: status.TerminatingStatus,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := kstatustest.Check(t, build(test.edit)); got != test.want {
				t.Fatalf("verdict = %s, want %s", got, test.want)
			}
		})
	}
}

func TestEveryBrokenLawIsNamed(t *testing.T) {
	tests := map[string]struct {
		edit func(o *object, set conditions.Setter)
		want string
	}{
		"both": {
			edit: func(o *object, set conditions.Setter) {
				set.False("Ready", "A", "")
				set.Progress("A", "")
				stalled := o.Status.Conditions[1]
				stalled.Type = conditions.Stalled
				o.Status.Conditions = append(o.Status.Conditions, stalled)
			},
			want: "both Reconciling and Stalled are True",
		},
		"abnormal, but not True": {
			edit: func(o *object, set conditions.Setter) {
				set.Stall("A", "")
				o.Status.Conditions[0].Status = metav1.ConditionFalse
			},
			want: "condition Stalled is False, want True or absent",
		},
		"ready and stalled": {
			edit: func(_ *object, set conditions.Setter) {
				set.True("Ready", "A", "")
				set.Stall("A", "")
			},
			want: "condition Ready is True with Reconciling false and Stalled true",
		},
		"not ready, and nothing says why": {
			edit: func(_ *object, set conditions.Setter) { set.False("Ready", "A", "") },
			want: "condition Ready is False with Reconciling false and Stalled false",
		},
		"no condition at all counts as Current": {
			edit: func(*object, conditions.Setter) {},
			want: "kstatus says Current, want InProgress",
		},
		"no observed generation": {
			edit: func(o *object, set conditions.Setter) {
				set.True("Ready", "A", "")
				o.Status.ObservedGeneration = nil
			},
			want: "status.observedGeneration is missing",
		},
		"observed generation from the future": {
			edit: func(o *object, _ conditions.Setter) { o.Status.ObservedGeneration = new(int64(9)) },
			want: "status.observedGeneration is 9 at generation 2",
		},
		"condition from the future": {
			edit: func(o *object, set conditions.Setter) {
				set.True("Ready", "A", "")
				o.Status.Conditions[0].ObservedGeneration = 9
			},
			want: "condition Ready observed generation 9 at generation 2",
		},
		"twice": {
			edit: func(o *object, set conditions.Setter) {
				set.True("Ready", "A", "")
				o.Status.Conditions = append(o.Status.Conditions, o.Status.Conditions[0])
			},
			want: "condition Ready occurs twice",
		},
		"no reason": {
			edit: func(_ *object, set conditions.Setter) { set.True("Ready", "", "") },
			want: "condition Ready has no reason",
		},
		"no transition time": {
			edit: func(o *object, set conditions.Setter) {
				set.True("Ready", "A", "")
				o.Status.Conditions[0].LastTransitionTime = metav1.Time{Time: time.Time{}}
			},
			want: "condition Ready has no transition time",
		},
		"long message": {
			edit: func(o *object, set conditions.Setter) {
				set.True("Ready", "A", "")
				o.Status.Conditions[0].Message = strings.Repeat("a", 1025)
			},
			want: "condition Ready has a message of 1025 bytes, want at most 1024",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := kstatustest.Verdict(build(test.edit))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error = %v, want it to say %q", err, test.want)
			}
		})
	}
}

func TestObjectThatCannotBeReadIsAnError(t *testing.T) {
	object := func(status any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"generation": int64(1)}, "status": status,
		}}
	}
	for name, obj := range map[string]any{
		"not an object": 5,
		"status":        object("x"),
		"deletion time": &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"deletionTimestamp": int64(1)}}},
	} {
		t.Run(name, func(t *testing.T) {
			verdict, err := kstatustest.Verdict(obj)
			if err == nil || verdict != status.UnknownStatus {
				t.Fatalf("verdict = %s, error = %v, want Unknown and an error", verdict, err)
			}
		})
	}
}

// recorder is a testing.TB that only remembers what it was told.
type recorder struct {
	testing.TB
	said []string
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func TestCheckFailsTheTestForABrokenLaw(t *testing.T) {
	r := &recorder{TB: t}
	got := kstatustest.Check(r, build(func(_ *object, set conditions.Setter) { set.False("Ready", "A", "") }))
	if got != status.InProgressStatus {
		t.Errorf("verdict = %s, want InProgress", got)
	}
	if len(r.said) != 1 || !strings.Contains(r.said[0], "condition Ready is False") {
		t.Errorf("said %q, want one complaint about Ready", r.said)
	}
}
