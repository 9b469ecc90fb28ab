package pace

import (
	"time"

	"github.com/mooring-dev/mooring/internal/backoff"
)

// Turns is the plan of the attempts that follow from changes of one server's declaration. A person who tries this and
// that is not kept waiting; two programs that change a Secret back and forth are.
type Turns struct {
	bucket backoff.Bucket
	last   time.Time
}

// NewTurns returns the plan of a server that has not changed yet.
func NewTurns() Turns { return Turns{bucket: backoff.Bucket{Size: 5, Refill: 5 * time.Second}} }

// Take returns when the attempt that a change asks for may begin. It is the one that was planned before where that has
// not begun: it finds the newest declaration.
func (t *Turns) Take(now time.Time) time.Time {
	if t.last.After(now) {
		return t.last
	}
	t.last = t.bucket.Next(now)
	t.bucket.Draw(t.last)
	return t.last
}
