package histories_test

import (
	"testing"

	"github.com/mooring-dev/mooring/test/histories"
)

func TestSeeds(t *testing.T) {
	all := uint64(149)
	if testing.Short() {
		all = 29
	}
	for chosen, want := range map[string][2]uint64{"": {0, all}, "17": {17, 17}, "3-4999": {3, 4999}} {
		t.Setenv(histories.Variable, chosen)
		if first, last := histories.Seeds(t, 30, 150); first != want[0] || last != want[1] {
			t.Errorf("%q: %d to %d, want %d to %d", chosen, first, last, want[0], want[1])
		}
	}
}
