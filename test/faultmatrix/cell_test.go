//go:build unix

package faultmatrix

import (
	"fmt"
	"slices"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// phase is what a session is doing when the fault meets it.
type phase string

// The phases.
const (
	connecting phase = "connect"
	listing    phase = "list"
	refreshing phase = "refresh"
	calling    phase = "call"
	repeating  phase = "repeatable call" // of a tool that recovery may call again: calls.replayTools
	probing    phase = "idle, probe"
	streaming  phase = "idle, stream"
)

var phases = []phase{connecting, listing, refreshing, calling, repeating, probing, streaming}

// era is a way of servers to speak MCP.
type era string

// The eras.
const (
	legacy era = "legacy"
	modern era = "modern"
	oldSSE era = "2024-11-05"
)

var eras = []era{legacy, modern, oldSSE}

func (e era) fake() mcpfake.Era {
	switch e {
	case modern:
		return mcpfake.Modern
	case oldSSE:
		return mcpfake.OldSSE
	case legacy:
	}
	return mcpfake.Legacy
}

// fate is where the session stands after the fault.
type fate string

// The fates.
const (
	kept        fate = "kept"        // the same connection goes on
	reopened    fate = "reopened"    // it was given up, and another was opened without anybody's doing
	quarantined fate = "quarantined" // a strike: left alone for a cooldown
	putOff      fate = "put off"     // left alone for a cooldown without a strike
	refused     fate = "refused"     // retired until something is changed
)

// outcome is what became of a call.
type outcome string

// The outcomes; those of a call that failed are package failure's.
const (
	noCall       outcome = ""
	succeeded    outcome = "succeeded" // the result reached the caller
	passedOn     outcome = "passed on" // the server's own error reached the caller
	abandoned    outcome = "abandoned" // its caller went away
	rejected             = outcome(failure.Answered)
	notProcessed         = outcome(failure.NotProcessed)
	unknown              = outcome(failure.OutcomeUnknown)
)

// want is what is to follow from a fault.
type want struct {
	// class and reason are what status says, or the caller is told; empty where the fault does not show there.
	class  failure.Class
	reason failure.Reason
	// attempts is the number of tries that failed.
	attempts int
	// requests is the number of requests of the kind that met the fault which the server saw, from the first that met
	// it until it was decided what follows.
	requests int
	outcome  outcome
	fate     fate
}

func (w want) String() string {
	return fmt.Sprintf("%s %s, %d attempts, %d requests, call %q, session %s",
		w.class, w.reason, w.attempts, w.requests, w.outcome, w.fate)
}

// place names a cell.
type place struct {
	fault string
	phase phase
	era   era
}

func (p place) String() string { return fmt.Sprintf("%s/%s/%s", p.phase, p.fault, p.era) }

// row declares the same for several cells: what is to follow, or why there is no such cell.
type row struct {
	phase  phase
	eras   []era // nil: all
	want   want
	why    string
	faults []string
}

func on(p phase, of ...era) row { return row{phase: p, eras: of} }

func (r row) fault(names ...string) row {
	r.faults = append(slices.Clone(r.faults), names...)
	return r
}

// fails says what the fault is called.
func (r row) fails(class failure.Class, reason failure.Reason) row {
	r.want.class, r.want.reason = class, reason
	return r
}

// after says how many tries failed, and how many requests each of them took.
func (r row) after(attempts, each int) row {
	r.want.attempts, r.want.requests = attempts, attempts*each
	return r
}

// seen corrects the number of requests where it is not a multiple of the attempts.
func (r row) seen(requests int) row {
	r.want.requests = requests
	return r
}

func (r row) is(f fate) row {
	r.want.fate = f
	return r
}

func (r row) gives(o outcome) row {
	r.want.outcome = o
	return r
}

// never says why there are no such cells.
func (r row) never(why string) row {
	r.why = why
	return r
}

func (r row) places() []place {
	of := r.eras
	if of == nil {
		of = eras
	}
	var all []place
	for _, name := range r.faults {
		for _, e := range of {
			all = append(all, place{name, r.phase, e})
		}
	}
	return all
}

// declared reads the rows. It tells what is declared twice, of no known fault, or not at all.
func declared(rows []row, faults []fault) (cells map[place]want, absent map[place]string, faulty []string) {
	cells, absent = map[place]want{}, map[place]string{}
	known := func(name string) bool {
		return slices.ContainsFunc(faults, func(f fault) bool { return f.name == name })
	}
	for _, r := range rows {
		for _, at := range r.places() {
			_, cell := cells[at]
			_, none := absent[at]
			switch {
			case cell, none:
				faulty = append(faulty, at.String()+" is declared twice")
			case !known(at.fault):
				faulty = append(faulty, at.String()+" is of no known fault")
			case r.why != "":
				absent[at] = r.why
			default:
				cells[at] = r.want
			}
		}
	}
	for _, f := range faults {
		for _, p := range phases {
			for _, e := range eras {
				at := place{f.name, p, e}
				_, cell := cells[at]
				if _, none := absent[at]; !cell && !none {
					faulty = append(faulty, at.String()+" has no expectation")
				}
			}
		}
	}
	return cells, absent, faulty
}
