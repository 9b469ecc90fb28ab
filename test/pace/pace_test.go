package pace

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestSeeds(t *testing.T) {
	for _, c := range []struct {
		soak, chosen string
		want         [2]uint64
	}{
		{"", "", [2]uint64{0, 29}}, {"1", "", [2]uint64{0, 149}},
		{"", "17", [2]uint64{17, 17}}, {"1", "3-4999", [2]uint64{3, 4999}},
	} {
		t.Setenv(soakVariable, c.soak)
		t.Setenv(Variable, c.chosen)
		if first, last := Seeds(t, 30, 150); first != c.want[0] || last != c.want[1] {
			t.Errorf("%+v: %d to %d", c, first, last)
		}
	}
}

func TestWithinTriesAgainLonger(t *testing.T) {
	var limits []time.Duration
	Within(t, time.Second, func(limit time.Duration) error {
		if limits = append(limits, limit); limit < 10*time.Second {
			return errors.New("too short")
		}
		return nil
	})
	if want := []time.Duration{time.Second, 4 * time.Second, 16 * time.Second}; !slices.Equal(limits, want) {
		t.Errorf("limits = %v, want %v", limits, want)
	}
}
