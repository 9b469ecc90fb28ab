package throttle

import "time"

// The bounds.
const (
	Interval = 10 * time.Second
	Window   = time.Minute
	Most     = 6
)

// Edge is what a status write tells.
type Edge int

// The kinds of edge, the quietest first.
const (
	Joined Edge = iota // what servers did
	Flip               // what servers did, and Ready with it
	Own                // what somebody did to the object itself
)

// Writes remembers the writes of one object's status. The zero value is ready.
type Writes struct {
	caused []time.Time // by servers, within the last Window
}

// Delay is how long a write of an edge has to wait; 0 when it is due.
func (w *Writes) Delay(edge Edge, now time.Time) time.Duration {
	w.forget(now)
	if edge == Own || len(w.caused) == 0 {
		return 0
	}
	var due time.Time
	if len(w.caused) >= Most {
		due = w.caused[len(w.caused)-Most].Add(Window)
	}
	if next := w.caused[len(w.caused)-1].Add(Interval); edge == Joined && next.After(due) {
		due = next
	}
	return max(due.Sub(now), 0)
}

// Wrote notes a write.
func (w *Writes) Wrote(edge Edge, now time.Time) {
	if edge != Own {
		w.caused = append(w.caused, now)
	}
}

func (w *Writes) forget(now time.Time) {
	for len(w.caused) > 0 && now.Sub(w.caused[0]) >= Window {
		w.caused = w.caused[1:]
	}
}
