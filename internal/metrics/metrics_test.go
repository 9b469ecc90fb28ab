package metrics_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/metrics"
)

func build(t *testing.T) (*metrics.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(registry, "Connecting", "Connected", "Retired")
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return m, registry
}

func expect(t *testing.T, registry *prometheus.Registry, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Fatal(err)
	}
}

func TestServerStateIsOneHot(t *testing.T) {
	m, registry := build(t)
	m.ServerState("agents", "github", "Connecting")
	m.ServerState("agents", "github", "Connected")
	m.ServerState("agents", "exa", "Retired")
	m.ServerState("agents", "odd", "Unheard")
	expect(t, registry, `
		# HELP mooring_server_state 1 for the state that the server's discovery session is in, 0 for others.
		# TYPE mooring_server_state gauge
		mooring_server_state{name="exa",namespace="agents",state="Connected"} 0
		mooring_server_state{name="exa",namespace="agents",state="Connecting"} 0
		mooring_server_state{name="exa",namespace="agents",state="Retired"} 1
		mooring_server_state{name="github",namespace="agents",state="Connected"} 1
		mooring_server_state{name="github",namespace="agents",state="Connecting"} 0
		mooring_server_state{name="github",namespace="agents",state="Retired"} 0
		mooring_server_state{name="odd",namespace="agents",state="Connected"} 0
		mooring_server_state{name="odd",namespace="agents",state="Connecting"} 0
		mooring_server_state{name="odd",namespace="agents",state="Retired"} 0
	`, "mooring_server_state")
}

func TestReadyAndToolsAreSetInPlace(t *testing.T) {
	m, registry := build(t)
	m.ServerReady("agents", "github", true)
	m.ServerReady("agents", "exa", true)
	m.ServerReady("agents", "exa", false)
	m.ServerTools("agents", "github", 12)
	m.ServerTools("agents", "github", 13)
	expect(t, registry, `
		# HELP mooring_server_ready 1 while the server's condition Ready is True, else 0.
		# TYPE mooring_server_ready gauge
		mooring_server_ready{name="exa",namespace="agents"} 0
		mooring_server_ready{name="github",namespace="agents"} 1
		# HELP mooring_server_tools Tools in the server's published catalog.
		# TYPE mooring_server_tools gauge
		mooring_server_tools{name="github",namespace="agents"} 13
	`, "mooring_server_ready", "mooring_server_tools")
}

func TestSeriesDieWithTheirServerAlone(t *testing.T) {
	m, registry := build(t)
	for _, namespace := range []string{"agents", "others"} {
		for _, name := range []string{"github", "exa"} {
			m.ServerState(namespace, name, "Connected")
			m.ServerReady(namespace, name, true)
			m.ServerTools(namespace, name, 1)
		}
	}
	m.Forget("agents", "github")
	m.Forget("agents", "never-seen")
	for name, want := range map[string]int{
		"mooring_server_state": 9, "mooring_server_ready": 3, "mooring_server_tools": 3,
	} {
		got, err := testutil.GatherAndCount(registry, name)
		if err != nil || got != want {
			t.Errorf("%s: %d series, %v, want %d", name, got, err, want)
		}
	}
	expect(t, registry, `
		# HELP mooring_server_ready 1 while the server's condition Ready is True, else 0.
		# TYPE mooring_server_ready gauge
		mooring_server_ready{name="exa",namespace="agents"} 1
		mooring_server_ready{name="exa",namespace="others"} 1
		mooring_server_ready{name="github",namespace="others"} 1
	`, "mooring_server_ready")
}

func TestSessionsAreCounted(t *testing.T) {
	m, registry := build(t)
	m.Failed(failure.Transport, failure.Connect)
	m.Failed(failure.Transport, failure.Connect)
	m.Failed(failure.Auth, failure.Call)
	m.Quarantined()
	m.Retired("refused")
	m.Retired("exhausted")
	m.Retired("exhausted")
	m.Rebuilt()
	m.Rebuilt()
	expect(t, registry, `
		# HELP mooring_quarantines_total Breakers that opened for a cooldown.
		# TYPE mooring_quarantines_total counter
		mooring_quarantines_total 1
		# HELP mooring_rebuilds_total Sessions that took the place of a lost one.
		# TYPE mooring_rebuilds_total counter
		mooring_rebuilds_total 2
		# HELP mooring_retirements_total Servers that are no longer tried but for a slow probe, by kind: refused or exhausted.
		# TYPE mooring_retirements_total counter
		mooring_retirements_total{kind="exhausted"} 2
		mooring_retirements_total{kind="refused"} 1
		# HELP mooring_session_failures_total Failures of sessions, by failure class and by what was being done.
		# TYPE mooring_session_failures_total counter
		mooring_session_failures_total{class="auth",phase="call"} 1
		mooring_session_failures_total{class="transport",phase="connect"} 2
	`, "mooring_quarantines_total", "mooring_rebuilds_total", "mooring_retirements_total",
		"mooring_session_failures_total")
}

func TestDurationsAreInSeconds(t *testing.T) {
	m, registry := build(t)
	m.Connected(1500 * time.Millisecond)
	m.Listed(70 * time.Second)
	m.Listed(3 * time.Millisecond)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		count uint64
		sum   float64
		// under is how many fell under 5.12 s.
		under uint64
	}
	got := map[string]seen{}
	for _, family := range families {
		if histogram := family.GetMetric()[0].GetHistogram(); histogram != nil {
			s := seen{count: histogram.GetSampleCount(), sum: histogram.GetSampleSum()}
			for _, bucket := range histogram.GetBucket() {
				if bucket.GetUpperBound() == 5.12 {
					s.under = bucket.GetCumulativeCount()
				}
			}
			got[family.GetName()] = s
		}
	}
	for name, want := range map[string]seen{
		"mooring_connect_duration_seconds": {1, 1.5, 1},
		"mooring_list_duration_seconds":    {2, 70.003, 1},
	} {
		if got[name] != want {
			t.Errorf("%s = %+v, want %+v", name, got[name], want)
		}
	}
}

// The counters that have no labels are there from the start, so that a rate sees their first step.
func TestNamesKeepToTheConventions(t *testing.T) {
	m, registry := build(t)
	m.ServerState("agents", "github", "Connected")
	m.ServerReady("agents", "github", true)
	m.ServerTools("agents", "github", 1)
	m.Failed(failure.Auth, failure.Connect)
	m.Retired("refused")
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Fatalf("lint: %v, %v", problems, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, family := range families {
		names = append(names, family.GetName())
	}
	want := []string{
		"mooring_connect_duration_seconds", "mooring_list_duration_seconds", "mooring_quarantines_total",
		"mooring_rebuilds_total", "mooring_retirements_total", "mooring_server_ready", "mooring_server_state",
		"mooring_server_tools", "mooring_session_failures_total",
	}
	if !slices.Equal(names, want) {
		t.Fatalf("metrics = %v, want %v", names, want)
	}
}

func TestRegistryThatRefusesIsAnError(t *testing.T) {
	_, registry := build(t)
	_, err := metrics.New(registry, "Connected")
	if _, ok := err.(interface{ Unwrap() []error }); !ok || !strings.Contains(err.Error(), "duplicate metrics collector") {
		t.Fatalf("error = %v, want one per metric that is there already", err)
	}
}
