package pace

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Patience is how long what must happen may take on a busy machine. It is no measurement: a test fails after it.
const Patience = 3 * time.Minute

const (
	// soakVariable names the environment variable that `make soak` sets.
	soakVariable = "MOORING_SOAK"
	// Variable names the environment variable that chooses histories by their seeds: 17, or 0-4999.
	Variable = "MOORING_HISTORY"
)

// Soak reports whether tests are to take their time.
func Soak() bool { return os.Getenv(soakVariable) != "" }

// Pick is the first value in `make test` and the second in `make soak`.
func Pick[T any](quick, whole T) T {
	if Soak() {
		return whole
	}
	return quick
}

// Within tries something that must come out before a deadline. A machine may be too slow for a short one, so it is
// tried again with four times as long, until it comes out or has had Patience: then the test fails with its last
// error.
func Within(tb testing.TB, first time.Duration, try func(limit time.Duration) error) {
	tb.Helper()
	for limit := first; ; limit = min(4*limit, Patience) {
		err := try(limit)
		if err == nil {
			return
		}
		if limit >= Patience {
			tb.Fatalf("within %v: %v", limit, err)
		}
		tb.Logf("within %v: %v", limit, err)
	}
}

// Seeds are the first and the last seed: those that Variable names, else the first few, and all in `make soak`.
func Seeds(t *testing.T, few, all uint64) (first, last uint64) {
	t.Helper()
	chosen := os.Getenv(Variable)
	if chosen == "" {
		return 0, Pick(few, all) - 1
	}
	from, to, isRange := strings.Cut(chosen, "-")
	if !isRange {
		to = from
	}
	return seed(t, from), seed(t, to)
}

func seed(t *testing.T, text string) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v; it is a seed, such as 17, or a range of them, such as 0-4999", Variable, err)
	}
	return seed
}
