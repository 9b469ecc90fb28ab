package main

import (
	"slices"
	"strings"
	"testing"
)

// standard holds for paths whose first part has no dot, as Go reserves them.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func TestJudge(t *testing.T) {
	documented := []string{"doc.go"}
	cases := map[string]struct {
		pkg  pkg
		want []string
	}{
		"pure package": {
			pkg: pkg{ImportPath: module + "internal/session", GoFiles: documented,
				Imports: []string{"context", module + "internal/failure"},
				Deps:    []string{"context", module + "internal/failure", module + "internal/backoff"}},
		},
		"import upward": {
			pkg: pkg{ImportPath: module + "internal/refs", GoFiles: documented,
				Imports: []string{module + "internal/upstream"}},
			want: []string{"internal/refs (floor 1): imports internal/upstream (floor 2): floors import downward only"},
		},
		"import sideways": {
			pkg: pkg{ImportPath: module + "controllers/mcpserver", GoFiles: documented,
				Imports: []string{module + "controllers/agentsession/status"}},
			want: []string{"controllers/mcpserver (floor 4): imports controllers/agentsession/status (floor 4): " +
				"floors import downward only"},
		},
		"import within the tree": {
			pkg: pkg{ImportPath: module + "internal/session/breaker", GoFiles: documented,
				Imports: []string{module + "internal/session"}},
		},
		"session reaches Kubernetes through another": {
			pkg: pkg{ImportPath: module + "internal/session", GoFiles: documented,
				Deps: []string{"k8s.io/apimachinery/pkg/types", "k8s.io/utils/ptr"}},
			want: []string{"internal/session: reaches k8s.io/apimachinery/pkg/types and 1 more"},
		},
		"controller reaches the SDK through another": {
			pkg: pkg{ImportPath: module + "controllers/mcpserver", GoFiles: documented,
				Deps: []string{"github.com/modelcontextprotocol/go-sdk/mcp"}},
			want: []string{"controllers/mcpserver: reaches github.com/modelcontextprotocol/go-sdk/mcp"},
		},
		"upstream reaches the API types": {
			pkg: pkg{ImportPath: module + "internal/upstream", GoFiles: documented,
				Deps: []string{module + "api/v1alpha1"}},
			want: []string{"internal/upstream: reaches " + module + "api/v1alpha1"},
		},
		"no floor": {
			pkg:  pkg{ImportPath: module + "internal/util", GoFiles: documented},
			want: []string{"internal/util: has no floor: give it one in hack/floors/rules.go"},
		},
		"generated files need no doc.go": {
			pkg: pkg{ImportPath: module + "api/v1alpha1/applyconfiguration/internal", GoFiles: []string{"internal.go"}},
		},
		"controller goes around the seam": {
			pkg: pkg{ImportPath: module + "controllers/mcpserver", GoFiles: documented,
				Imports: []string{module + "internal/connect", module + "internal/upstream/mcphttp"}},
			want: []string{"controllers/mcpserver: imports internal/upstream/mcphttp: " +
				"servers are reached through internal/connect only"},
		},
		"gateway stands on the seam": {
			pkg: pkg{ImportPath: module + "internal/gateway", GoFiles: documented,
				Imports: []string{module + "internal/connect", module + "internal/session"},
				Deps:    []string{module + "internal/upstream", "github.com/modelcontextprotocol/go-sdk/mcp"}},
		},
		"undocumented": {
			pkg:  pkg{ImportPath: module + "internal/wake", GoFiles: []string{"feed.go"}},
			want: []string{"internal/wake: has no doc.go (charter, invariants, trade-offs)"},
		},
		"programs and tests are free": {
			pkg: pkg{ImportPath: module + "test/bench", Imports: []string{module + "internal/cli"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := judge([]pkg{c.pkg}, standard); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestJudgeSleep(t *testing.T) {
	if !judgeSleep(`import "time"; func f() { time.Sleep(1) }`) {
		t.Error("a sleep outside of a bubble passes")
	}
	if judgeSleep(`import ("testing/synctest"; "time"); func f() { time.Sleep(1) }`) {
		t.Error("a sleep inside a bubble is refused")
	}
}

func TestEveryTreeHasOneRule(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rules {
		for _, tree := range r.trees {
			if seen[tree] {
				t.Errorf("%s stands in two rules", tree)
			}
			seen[tree] = true
		}
	}
}

func TestFloorsTable(t *testing.T) {
	got := floorsTable([]rule{{floor: 1, trees: []string{"a", "b"}, mayUse: "x"}})
	if want := "\n| floor | packages | may use |\n|---|---|---|\n| 1 | `a` `b` | x |\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
