package catalog

import "testing"

func TestReadersAcceptTheVersionBefore(t *testing.T) {
	for _, c := range []struct {
		version, current int
		want             bool
	}{
		{1, 1, true}, {0, 1, false}, {2, 1, false}, {-1, 1, false}, {2, 2, true}, {1, 2, true}, {3, 2, false}, {1, 3, false},
	} {
		if got := readable(c.version, c.current); got != c.want {
			t.Errorf("version %d by a reader of %d: %v", c.version, c.current, got)
		}
	}
}
