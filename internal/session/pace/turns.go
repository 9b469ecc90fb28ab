package pace

import "time"

// turnRate bounds the attempts that changes of a declaration bring about. A person who tries this and that is not kept
// waiting; two programs that change a Secret back and forth are.
var turnRate = rate{size: 5, refill: 5 * time.Second}

// Turns is the plan of the attempts that follow from changes of one server's declaration. The zero value is ready.
type Turns struct {
	bucket bucket
	last   time.Time
}

// Take returns when the attempt that a change asks for may begin. It is the one that was planned before where that has
// not begun: it finds the newest declaration.
func (t *Turns) Take(now time.Time) time.Time {
	if t.last.After(now) {
		return t.last
	}
	t.last = t.bucket.next(turnRate, now, now)
	t.bucket.draw(turnRate, t.last)
	return t.last
}
