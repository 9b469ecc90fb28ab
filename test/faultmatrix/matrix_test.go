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

// atOnce is how many cells run at once: they mostly wait.
const atOnce = "96"

// heavy holds the cells that keep a processor busy: there are only so many.
var heavy = make(chan struct{}, 2)

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
	var ran atomic.Int64
	t.Run("cells", func(t *testing.T) {
		for _, at := range order(cells) {
			t.Run(at.String(), func(t *testing.T) {
				t.Parallel()
				f := faults[slices.IndexFunc(faults, func(f fault) bool { return f.name == at.fault })]
				if f.heavy {
					heavy <- struct{}{}
					defer func() { <-heavy }()
				}
				s := &stage{t: t, at: at, f: f, want: cells[at]}
				if got := s.play(); got != s.want {
					t.Errorf("\n got %v\nwant %v", got, s.want)
				}
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
