package sessiontest

import (
	"math/rand/v2"
	"sync"

	"github.com/mooring-dev/mooring/internal/backoff"
)

// Seeded returns a Rand whose sequence is fixed by seed, safe for concurrent use.
func Seeded(seed uint64) backoff.Rand {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, seed))
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return source.Float64()
	}
}
