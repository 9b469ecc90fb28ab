//go:build unix

package faultmatrix

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/mooring-dev/mooring/internal/failure"
)

// document is where the expectations are written down for users.
const document = "../../docs/faults.md"

func TestDocumentSaysWhatIsExpected(t *testing.T) {
	written, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	text, err := render()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(text, "\n")
	for i, line := range strings.Split(string(written), "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("docs/faults.md is not what is expected, from line %d on; write it anew with\n\n"+
				"\tgo test ./test/faultmatrix -run TestMatrix -update\n", i+1)
		}
	}
}

// TestEveryDecisionHasWords demands that the document leaves nothing unsaid.
func TestEveryDecisionHasWords(t *testing.T) {
	cells, _, _ := declared(rows, faults)
	for at, w := range cells {
		f := faultNamed(at.fault)
		if does(at.phase, f, w) == "" || gets(at.phase, w) == "" {
			t.Errorf("%s: no words for %v", at, w)
		}
	}
}

func faultNamed(name string) fault {
	return faults[slices.IndexFunc(faults, func(f fault) bool { return f.name == name })]
}

// line is cells of which the same is to be said.
type line struct {
	status, does, gets string
	faults             []string // by name, in the order of the rows
	eras               map[string][]era
}

func render() (string, error) {
	cells, _, _ := declared(rows, faults)
	frame := template.New("faults.md.tmpl").Funcs(template.FuncMap{
		"table": func(p phase) string { return table(p, cells) },
	})
	frame, err := frame.ParseFiles("testdata/faults.md.tmpl")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = frame.Execute(&b, nil)
	return b.String(), err
}

// table is one table for each thing that Mooring does about faults of a phase, with a row for each fault.
func table(p phase, cells map[place]want) string {
	var b strings.Builder
	all := lines(p, cells)
	for i, l := range all {
		done := func(other *line) bool { return other.does == l.does && other.gets == l.gets }
		if slices.ContainsFunc(all[:i], done) {
			continue
		}
		fmt.Fprintf(&b, "**Mooring %s.** The agent gets %s.\n\n| Fault | Reason (class) |\n|---|---|\n", l.does, l.gets)
		for _, other := range all[i:] {
			if done(other) {
				other.rows(&b, cells, p)
			}
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lines gathers what is to be said of a phase, in the order of the expectations.
func lines(p phase, cells map[place]want) (all []*line) {
	for _, r := range rows {
		for _, at := range r.places() {
			w, ok := cells[at]
			calledAlike := p == repeating && cells[place{at.fault, calling, at.era}] == w
			if at.phase != p || !ok || calledAlike {
				continue
			}
			all = sayOf(all, at, w)
		}
	}
	return all
}

func sayOf(all []*line, at place, w want) []*line {
	next := &line{status: status(w), does: does(at.phase, faultNamed(at.fault), w), gets: gets(at.phase, w)}
	i := slices.IndexFunc(all, func(l *line) bool {
		return l.status == next.status && l.does == next.does && l.gets == next.gets
	})
	if i < 0 {
		next.eras = map[string][]era{}
		all, i = append(all, next), len(all)
	}
	if l := all[i]; len(l.eras[at.fault]) == 0 {
		l.faults = append(l.faults, at.fault)
	}
	all[i].eras[at.fault] = append(all[i].eras[at.fault], at.era)
	return all
}

// rows writes a row for each fault of a line, with the eras where those are not all in which the fault can happen.
func (l *line) rows(b *strings.Builder, cells map[place]want, p phase) {
	for _, name := range l.faults {
		title, of := faultNamed(name).title, l.eras[name]
		var missing bool
		var words []string
		for _, e := range eras {
			_, ok := cells[place{name, p, e}]
			meant := slices.Contains(of, e)
			missing = missing || ok && !meant
			if meant {
				words = append(words, string(e))
			}
		}
		if missing {
			title += " (" + strings.Join(words, ", ") + ")"
		}
		fmt.Fprintf(b, "| %s | %s |\n", title, l.status)
	}
}

func status(w want) string {
	if w.class == "" {
		return "–"
	}
	return fmt.Sprintf("`%s` (%s)", w.reason, w.class)
}

// does says what Mooring does.
func does(p phase, f fault, w want) string {
	switch p {
	case calling, repeating:
		return doesCall(f, w)
	case probing:
		return doesProbe(f, w)
	case streaming:
		return doesStream(f, w)
	case refreshing:
		return doesRefresh(f, w)
	case connecting, listing:
	}
	return doesRound(f, w)
}

const follows = "follows it"

func doesRound(f fault, w want) string {
	switch {
	case w.fate == kept && f.followed && w.class == "":
		return follows
	case w.fate == kept && w.class == "":
		return "resumes the stream, and has its answer"
	case w.fate == kept:
		return "keeps the session, and lists again after 5, 10, 20 … s"
	case w.fate == reopened && w.class == failure.SessionLost:
		return "opens a new session at once"
	case w.fate == reopened:
		return "tries again as told"
	case w.fate == putOff && w.class == failure.SessionLost:
		return "opens a new session at once; at the third loss within a minute it is put off"
	}
	tries := map[int]string{1: "does not try again: ", 3: "tries 3 times; then it is "}[w.attempts]
	if tries == "" {
		return ""
	}
	return tries + string(w.fate)
}

// suspicious are the failures of a list after which it is asked at once whether the session is lost.
var suspicious = map[failure.Class]bool{
	failure.Auth: true, failure.Permission: true, failure.Server: true, failure.Transport: true,
}

func doesRefresh(f fault, w want) string {
	switch {
	case w.fate == kept && f.followed && w.class == "":
		return follows
	case w.fate == kept && w.class == "":
		return "resumes the stream, and has its answer"
	case w.fate == kept && suspicious[w.class]:
		return "probes the session at once, and keeps it if that is answered; lists again after 5, 10, 20 … s"
	case w.fate == kept:
		return "keeps the session, and lists again after 5, 10, 20 … s"
	case w.fate == reopened:
		return "opens a new session at once, and lists"
	case w.fate == quarantined:
		return "probes the session, which fails too; tries 2 connects; then it is quarantined"
	}
	return ""
}

func doesProbe(f fault, w want) string {
	switch {
	case w.fate == kept && f.followed:
		return follows
	case w.fate == kept && w.attempts > 0:
		return "takes it for a sign of life, and probes again no earlier than told"
	case w.fate == kept:
		return "takes any answer for a sign of life"
	case w.fate == reopened && w.attempts == 3:
		return "gives the session up after 3 probes without an answer within 10 s, and opens a new one"
	case w.fate == reopened:
		return "gives the session up, and opens a new one"
	case w.attempts == 1:
		return "gives the session up: " + string(w.fate)
	}
	return "gives the session up; tries 2 connects; then it is " + string(w.fate)
}

func doesStream(f fault, w want) string {
	switch {
	case f.drops && w.fate == kept:
		return "opens it again after 1, 2, 4 … s, at most 60 s; one list covers what was missed"
	case w.fate == kept && f.followed:
		return follows
	case w.fate == kept && w.requests > 1:
		return "asks for it again after 1, 2, 4 … s, at most 60 s, or as told"
	case w.fate == kept:
		return "does without it: tools are listed as often as declared"
	case w.fate == reopened:
		return "opens a new session"
	}
	return "gives the session up when the stream cannot be opened again; tries 3 connects; then it is " + string(w.fate)
}

func doesCall(f fault, w want) string {
	switch w.outcome {
	case succeeded:
		return doesAnswered(f, w)
	case passedOn:
		return "passes the server's own error on"
	case abandoned:
		return "has told the server that nobody waits, and keeps the session"
	case rejected:
		if w.attempts == 2 {
			return "opens a new session and sends it again, once: a second 404 is an answer"
		}
		return "fails the call, and keeps the session"
	case notProcessed:
		return doesUnprocessed(w)
	case unknown:
		return doesUnknown(w)
	case noCall:
	}
	return ""
}

func doesAnswered(f fault, w want) string {
	switch {
	case f.followed:
		return follows
	case w.attempts == 0:
		return "resumes the stream, and has its answer"
	case w.fate == kept:
		return "waits as told and sends it again, once"
	}
	return "opens a new session and sends it again, once"
}

func doesUnprocessed(w want) string {
	switch {
	case w.class == failure.Auth:
		return "reads the Secret again; if it is unchanged, fails the call and connects anew: only a 401 to that retires"
	case w.class == failure.RateLimit:
		return "waits as told, if that is 30 s at most, and sends it again, once"
	case w.attempts == 1:
		return "fails the call"
	}
	return "tries 3 connects; then it is " + string(w.fate)
}

func doesUnknown(w want) string {
	switch {
	case w.attempts == 3 && w.fate == kept:
		return "sends it 3 times, as told"
	case w.attempts == 3:
		return "sends it 3 times; then it is " + string(w.fate)
	case w.fate == kept:
		return "fails the call, and keeps the session"
	}
	return "fails the call; the next one opens a new session"
}

// gets says what an agent notices.
func gets(p phase, w want) string {
	if w.outcome == noCall {
		return getsTools(p, w)
	}
	switch w.outcome {
	case succeeded:
		return "the result"
	case passedOn:
		return "the server's error, unchanged"
	case abandoned:
		return "nothing: it went away"
	case rejected:
		return "a failed output: rejected, and still available"
	case unknown:
		return "a failed output: it may have run"
	case notProcessed, noCall:
	}
	switch w.class {
	case failure.Auth, failure.Protocol:
		return "a failed output: it did not run"
	case failure.RateLimit:
		return "a failed output: it did not run, and when to try again"
	default:
	}
	return "a refusal, with the time that is left"
}

func getsTools(p phase, w want) string {
	first := p == connecting || p == listing
	switch {
	case w.fate == refused && first:
		return "an error in the place of the tools"
	case w.fate == refused:
		return "its tools for 5 min more; calls are refused"
	case w.fate == kept && p == listing && w.class != "":
		return "the tools last stored, if any"
	case w.fate == kept:
		return "nothing of it"
	case w.fate == reopened && first:
		return "the tools, a moment later"
	case w.fate == reopened:
		return "nothing of it: calls have sessions of their own"
	case first:
		return "the tools last stored, if any; calls wait or are refused, with the time that is left"
	}
	return "its tools; calls are refused, with the time that is left"
}
