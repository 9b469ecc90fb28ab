package histories

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Variable names the environment variable that chooses histories by their seeds: 17, or 0-4999.
const Variable = "MOORING_HISTORY"

// Seeds are the first and the last seed: those that Variable names, else the first few in a short run, and all else.
func Seeds(t *testing.T, few, all uint64) (first, last uint64) {
	t.Helper()
	chosen := os.Getenv(Variable)
	switch {
	case chosen == "" && testing.Short():
		return 0, few - 1
	case chosen == "":
		return 0, all - 1
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
