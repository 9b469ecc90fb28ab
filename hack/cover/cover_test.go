package main

import (
	"slices"
	"strings"
	"testing"
)

const profile = `mode: set
github.com/mooring-dev/mooring/internal/wake/feed.go:1.1,2.2 9 1
github.com/mooring-dev/mooring/internal/wake/feed.go:3.1,4.2 1 0
github.com/mooring-dev/mooring/internal/refs/watch.go:1.1,2.2 4 0
github.com/mooring-dev/mooring/internal/refs/watch.go:1.1,2.2 4 1
github.com/mooring-dev/mooring/internal/refs/watch.go:3.1,4.2 4 0
`

func TestParseAddsUpByPackageAndOverTestBinaries(t *testing.T) {
	counts, err := parse(profile)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := counts[module+"internal/wake"], (count{10, 9}); got != want {
		t.Errorf("wake %+v, want %+v", got, want)
	}
	if got, want := counts[module+"internal/refs"], (count{8, 4}); got != want {
		t.Errorf("refs %+v, want %+v", got, want)
	}
}

func TestParseRefusesWhatIsNoProfile(t *testing.T) {
	for _, text := range []string{"one two\n", "a.go:1.1,2.2 many 1\n"} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestReportNamesWhatIsBelow(t *testing.T) {
	counts := map[string]count{module + "internal/wake": {10, 9}, module + "internal/refs": {1000, 899}}
	var out strings.Builder
	err := report(&out, []string{module + "internal/wake", module + "internal/refs", module + "internal/secret"}, counts)
	if err == nil || err.Error() != "less than 90 %: internal/refs" {
		t.Errorf("error %v", err)
	}
	want := "PACKAGE        STATEMENTS  COVERED  PERCENT  \n" +
		"internal/wake  10          9        90.0     \n" +
		"internal/refs  1000        899      89.9     below 90\n" +
		"all            1010        908      89.9     \n"
	if out.String() != want {
		t.Errorf("table\n%s\nwant\n%s", out.String(), want)
	}
}

func TestMeasuredLeavesOutTestSupport(t *testing.T) {
	got := measured([]string{"a/session", "a/session/sessiontest", "a/latest/x"})
	if want := []string{"a/session", "a/latest/x"}; !slices.Equal(got, want) {
		t.Errorf("measured %q, want %q", got, want)
	}
}
