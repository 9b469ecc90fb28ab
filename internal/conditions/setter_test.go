package conditions_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/internal/conditions"
)

func generation(n int64) *metav1.ObjectMeta { return &metav1.ObjectMeta{Generation: n} }

// short writes a condition as "Type=Status/Reason/generation: message".
func short(list []metav1.Condition) []string {
	out := []string{}
	for _, c := range list {
		out = append(out, c.Type+"="+string(c.Status)+"/"+c.Reason+"/"+string(rune('0'+c.ObservedGeneration))+": "+c.Message)
	}
	return out
}

func expect(t *testing.T, list []metav1.Condition, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, short(list)); diff != "" {
		t.Fatalf("conditions (-want +got):\n%s", diff)
	}
}

func expectChanged(t *testing.T, what string, got, want bool) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: changed = %v, want %v", what, got, want)
	}
}

func TestEveryStatusIsWrittenWithTheGenerationItSpeaksOf(t *testing.T) {
	var list []metav1.Condition
	set := conditions.For(generation(3), &list)
	expectChanged(t, "true", set.True("Accepted", "Valid", "spec is valid"), true)
	expectChanged(t, "unknown", set.Unknown("Connected", "Connecting", "connecting to a.example"), true)
	expectChanged(t, "false", set.False("Published", "ListToolsFailed", "tools could not be listed"), true)
	expect(t, list,
		"Accepted=True/Valid/3: spec is valid",
		"Connected=Unknown/Connecting/3: connecting to a.example",
		"Published=False/ListToolsFailed/3: tools could not be listed")
}

func TestTheSameWordsChangeNothing(t *testing.T) {
	var list []metav1.Condition
	set := conditions.For(generation(1), &list)
	set.False("Connected", "ConnectFailed", "refused")
	set.Progress("ProgressingWithRetry", "refused")
	before := append([]metav1.Condition(nil), list...)
	expectChanged(t, "false again", set.False("Connected", "ConnectFailed", "refused"), false)
	expectChanged(t, "progress again", set.Progress("ProgressingWithRetry", "refused"), false)
	if diff := cmp.Diff(before, list); diff != "" {
		t.Fatalf("conditions moved:\n%s", diff)
	}
}

func TestTransitionTimeMovesOnlyWithTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var list []metav1.Condition
		start := time.Now()
		conditions.For(generation(1), &list).False("Connected", "ConnectFailed", "refused")

		time.Sleep(90 * time.Second) // fake time
		set := conditions.For(generation(2), &list)
		expectChanged(t, "other words", set.False("Connected", "DNSError", "no such host"), true)
		if got := list[0].LastTransitionTime; !got.Time.Equal(start) {
			t.Fatalf("transition time moved to %v with the reason alone, want %v", got, start)
		}

		expectChanged(t, "other status", set.True("Connected", "Connected", ""), true)
		if got, want := list[0].LastTransitionTime.Time, start.Add(90*time.Second); !got.Equal(want) {
			t.Fatalf("transition time = %v, want %v", got, want)
		}
	})
}

func TestTransitionTimeIsWhatTheServerStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(1234 * time.Millisecond) // fake time
		var list []metav1.Condition
		conditions.For(generation(1), &list).True("Ready", "Ready", "")
		if got := list[0].LastTransitionTime.Nanosecond(); got != 0 {
			t.Fatalf("transition time has %d ns that the API server would drop", got)
		}
	})
}

func TestNewGenerationAloneIsAChange(t *testing.T) {
	var list []metav1.Condition
	conditions.For(generation(1), &list).True("Accepted", "Valid", "")
	expectChanged(t, "generation", conditions.For(generation(2), &list).True("Accepted", "Valid", ""), true)
	expect(t, list, "Accepted=True/Valid/2: ")
}

func TestRemoveTellsWhetherItWasThere(t *testing.T) {
	var list []metav1.Condition
	set := conditions.For(generation(1), &list)
	set.True("Quarantined", "ConnectFailed", "refused")
	set.True("Accepted", "Valid", "")
	expectChanged(t, "present", set.Remove("Quarantined"), true)
	expectChanged(t, "absent", set.Remove("Quarantined"), false)
	expect(t, list, "Accepted=True/Valid/1: ")
}

func TestReconcilingAndStalledAreNeverBoth(t *testing.T) {
	var list []metav1.Condition
	set := conditions.For(generation(1), &list)

	expectChanged(t, "progress", set.Progress("Progressing", "connecting"), true)
	expect(t, list, "Reconciling=True/Progressing/1: connecting")

	expectChanged(t, "stall", set.Stall("InvalidConfiguration", "undefined variable"), true)
	expect(t, list, "Stalled=True/InvalidConfiguration/1: undefined variable")

	expectChanged(t, "by type", set.True(conditions.Reconciling, "Progressing", "connecting"), true)
	expect(t, list, "Reconciling=True/Progressing/1: connecting")

	expectChanged(t, "by type", set.True(conditions.Stalled, "InvalidConfiguration", "again"), true)
	expect(t, list, "Stalled=True/InvalidConfiguration/1: again")

	expectChanged(t, "settle", set.Settle(), true)
	expectChanged(t, "settle again", set.Settle(), false)
	expect(t, list)
}

// An object of an older version of ours, or touched by hand, may carry both.
func TestSettingOneHealsAnObjectThatCarriesBoth(t *testing.T) {
	list := []metav1.Condition{
		{Type: "Reconciling", Status: metav1.ConditionTrue, Reason: "Progressing", ObservedGeneration: 1},
		{Type: "Stalled", Status: metav1.ConditionTrue, Reason: "InvalidConfiguration", ObservedGeneration: 1},
	}
	expectChanged(t, "stall", conditions.For(generation(1), &list).Stall("InvalidConfiguration", ""), true)
	expect(t, list, "Stalled=True/InvalidConfiguration/1: ")
}

func TestReconcilingAndStalledAreOnlyPresentWhenTrue(t *testing.T) {
	var list []metav1.Condition
	set := conditions.For(generation(1), &list)
	expectChanged(t, "absent", set.False(conditions.Stalled, "Fine", ""), false)
	set.Progress("Progressing", "")
	expectChanged(t, "unknown", set.Unknown(conditions.Reconciling, "Fine", ""), true)
	set.Stall("InvalidConfiguration", "")
	expectChanged(t, "false", set.False(conditions.Stalled, "Fine", ""), true)
	expect(t, list)
}

func TestLongMessageIsCutBetweenCharacters(t *testing.T) {
	for name, text := range map[string]string{
		"one byte each":   strings.Repeat("a", 5000),
		"two bytes each":  strings.Repeat("é", 5000),
		"three, offset 1": "a" + strings.Repeat("€", 5000),
		"four, offset 3":  "abc" + strings.Repeat("🛟", 5000),
		"just too long":   strings.Repeat("a", conditions.MaxMessage+1),
	} {
		t.Run(name, func(t *testing.T) {
			var list []metav1.Condition
			conditions.For(generation(1), &list).False("Connected", "ConnectFailed", text)
			got := list[0].Message
			if !utf8.ValidString(got) || !strings.HasSuffix(got, "…") || !strings.HasPrefix(text, strings.TrimSuffix(got, "…")) {
				t.Fatalf("message of %d bytes is not a marked beginning of the text: %q", len(got), got)
			}
			if len(got) > conditions.MaxMessage || len(got) < conditions.MaxMessage-3 {
				t.Fatalf("message has %d bytes, want at most %d and no fewer than needed", len(got), conditions.MaxMessage)
			}
		})
	}
}

func TestMessageThatFitsIsLeftAlone(t *testing.T) {
	text := strings.Repeat("a", conditions.MaxMessage)
	if got := conditions.Message(text); got != text {
		t.Fatalf("message = %q", got)
	}
	if got, want := conditions.Message("bad \xff byte"), "bad \uFFFD byte"; got != want {
		t.Fatalf("message = %q, want %q", got, want)
	}
}
