//go:build unix

package faultmatrix

import (
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/mooring-dev/mooring/internal/failure"
)

var update = flag.Bool("update", false, "write docs/faults.md")

// cellCount is the number of cells that are declared, and that must have run.
const cellCount = 864

// atOnce is how many cells run at once: nearly all of their time they wait, for deadlines, delays and probes.
const atOnce = "48"

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", atOnce) // the flag exists
	net.DefaultResolver = names.resolver()
	before, listed := descriptors()
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		code = 1
	}
	after := 0
	if listed && code == 0 && !soon(patience, func() bool { after, _ = descriptors(); return after <= before }) {
		fmt.Fprintf(os.Stderr, "%d descriptors are open, %d were before\n", after, before)
		code = 1
	}
	os.Exit(code)
}

func TestMatrix(t *testing.T) {
	cells, _, faulty := declared(rows, faults)
	for _, text := range faulty {
		t.Error(text)
	}
	if *update {
		text, err := render()
		if err == nil {
			err = os.WriteFile(document, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var ran atomic.Int64
	t.Run("cells", func(t *testing.T) {
		for _, at := range order(cells) {
			t.Run(at.String(), func(t *testing.T) {
				t.Parallel()
				play(t, at, cells[at])
				ran.Add(1)
			})
		}
	})
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return // somebody wants a part
	}
	if n := int(ran.Load()); n != cellCount || len(cells) != cellCount {
		t.Errorf("%d cells ran to their end, %d have an expectation, %d are declared", n, len(cells), cellCount)
	}
}

// play plays a cell. One that is about a timeout is played again with a longer one while it comes out otherwise: on a
// busy machine a request may not have been sent yet when a short one has passed.
func play(t *testing.T, at place, wanted want) {
	t.Helper()
	for least := shortest; ; least *= 4 {
		s := &stage{t: t, at: at, f: faultNamed(at.fault), want: wanted, least: least}
		got := s.play()
		if got == wanted {
			return
		}
		if wanted.class != failure.Timeout || least >= longest {
			t.Errorf("\n got %v\nwant %v", got, wanted)
			return
		}
		t.Logf("with a timeout of %v:\n got %v\nwant %v", s.brief, got, wanted)
	}
}

// order lists the cells, those that take longest first: they wait for a health probe three times.
func order(cells map[place]want) []place {
	all := slices.Collect(maps.Keys(cells))
	slices.SortFunc(all, func(a, b place) int {
		if x, y := rank(a, cells[a]), rank(b, cells[b]); x != y {
			return x - y
		}
		return strings.Compare(a.String(), b.String())
	})
	return all
}

func rank(at place, w want) int {
	switch {
	case at.phase == probing && w.class == failure.Timeout:
		return 0
	case w.class == failure.Timeout, at.fault == "oversized", at.phase == streaming && w.attempts > 0:
		return 1
	}
	return 2
}

// The matrix tells of cells that nothing is expected of, of two expectations of one cell, and of faults that there are
// not.
func TestFaultyDeclarations(t *testing.T) {
	one := []fault{{name: "one"}}
	var all []row
	for _, p := range phases {
		all = append(all, on(p).fault("one").is(kept))
	}
	complete, _, faulty := declared(all, one)
	if len(faulty) != 0 || len(complete) != len(phases)*len(eras) {
		t.Errorf("of %d cells: %v", len(complete), faulty)
	}
	with := func(r row) []row { return slices.Concat(all, []row{r}) }
	for want, rows := range map[string][]row{
		"connect/one/legacy has no expectation": slices.Concat(
			all[1:], []row{on(connecting, modern, oldSSE).fault("one")}),
		"list/one/modern is declared twice":                with(on(listing, modern).fault("one").never("so")),
		"idle, stream/two/2024-11-05 is of no known fault": with(on(streaming, oldSSE).fault("two")),
	} {
		if _, _, faulty := declared(rows, one); !slices.Equal(faulty, []string{want}) {
			t.Errorf("faulty = %q, want %q alone", faulty, want)
		}
	}
}
