package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/mooring-dev/mooring/controllers/mcpserver"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/metrics"
	"github.com/mooring-dev/mooring/internal/session"
)

// Every event is counted where people look for it, and logged at the level that it is worth.
func TestObserver(t *testing.T) {
	refused := failure.Failure{
		Class: failure.Auth, Phase: failure.Connect, Reason: failure.AuthenticationFailed, HTTPStatus: 401,
	}
	lost := failure.Failure{Class: failure.Transport, Phase: failure.Stream, Reason: failure.ConnectionLost}
	for _, test := range []struct {
		event         session.Event
		metric, label string // one more of it is counted; empty: nothing is
		line          string // begins so; lines of level 1 show with -v only
	}{
		{session.Event{Kind: session.EventConnected, Duration: time.Second}, "mooring_connect_duration_seconds", "",
			`"level"=1 "msg"="session connected"`},
		{session.Event{Kind: session.EventListed, Duration: time.Second}, "mooring_list_duration_seconds", "", ""},
		{session.Event{Kind: session.EventFailed, Failure: lost}, "mooring_session_failures_total", "transport stream",
			`"level"=1 "msg"="session failure" "session"="uid" "class"="transport" "phase"="stream"`},
		{session.Event{Kind: session.EventQuarantined, Failure: lost}, "mooring_quarantines_total", "",
			`"level"=0 "msg"="server quarantined"`},
		{session.Event{Kind: session.EventRetired, Failure: refused, Retirement: session.Exhausted},
			"mooring_retirements_total", "exhausted", `"level"=0 "msg"="server retired"`},
		{session.Event{Kind: session.EventRetired, Failure: refused, Retirement: session.Refused},
			"mooring_retirements_total", "refused", `"level"=0 "msg"="server retired"`},
		{session.Event{Kind: session.EventRebuilt}, "mooring_rebuilds_total", "", `"level"=1 "msg"="session rebuilt"`},
		{session.Event{Kind: session.EventPanicked, Stack: "goroutine 1"}, "", "", `"msg"="session panicked; it is rebuilt"`},
		{session.Event{Kind: session.EventCloseTimedOut}, "", "", `"level"=0 "msg"="sessions did not end in time"`},
		{session.Event{Kind: session.EventClosed}, "", "", `"level"=1 "msg"="session closed"`},
	} {
		t.Run(string(test.event.Kind)+test.label, func(t *testing.T) {
			g := NewWithT(t)
			registry := prometheus.NewRegistry()
			series, err := metrics.New(registry)
			g.Expect(err).NotTo(HaveOccurred())
			var lines []string
			log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{Verbosity: 1})
			test.event.Key = "uid"
			observer(log, (&mcpserver.Keys{}).Name, series)(test.event)
			want := map[string]float64{}
			if test.metric != "" {
				want[strings.TrimSpace(test.metric+" "+test.label)] = 1
			}
			g.Expect(counted(t, registry)).To(Equal(want))
			if test.line == "" {
				g.Expect(lines).To(BeEmpty())
				return
			}
			g.Expect(lines).To(ConsistOf(And(ContainSubstring(test.line), ContainSubstring(`"session"="uid"`))))
		})
	}
}

// A line names the server, as people know it.
func TestObserverNamesTheServer(t *testing.T) {
	g := NewWithT(t)
	series, err := metrics.New(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	var line string
	log := funcr.New(func(_, text string) { line = text }, funcr.Options{})
	named := func(key session.Key) (types.NamespacedName, bool) {
		return types.NamespacedName{Namespace: "agents", Name: "fs"}, key == "uid"
	}
	observer(log, named, series)(session.Event{Kind: session.EventCloseTimedOut, Key: "uid"})
	g.Expect(line).To(Equal(
		`"level"=0 "msg"="sessions did not end in time" "session"="uid" "namespace"="agents" "name"="fs"`))
	observer(log, named, series)(session.Event{Kind: session.EventCloseTimedOut, Key: "gone"})
	g.Expect(line).To(Equal(`"level"=0 "msg"="sessions did not end in time" "session"="gone"`))
}

// counted are the counters and histograms that are not zero, by name and label values.
func counted(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	out := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			if n := metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount()); n != 0 {
				out[name] = n
			}
		}
	}
	return out
}

// What the flags say of addresses is the policy for all servers.
func TestEgressPolicyFollowsTheFlags(t *testing.T) {
	g := NewWithT(t)
	settings := &Settings{EgressDeny: []string{"denied.example.com"}}
	policy, err := settings.egressPolicy(&rest.Config{Host: "https://api.example.com"})
	g.Expect(err).NotTo(HaveOccurred())
	policy = policy.ForNamespace("agents")
	g.Expect(policy.CheckLiteral("127.0.0.1:80")).NotTo(Succeed())
	g.Expect(policy.CheckLiteral("denied.example.com")).NotTo(Succeed())
	g.Expect(policy.CheckLiteral("mcp.example.com")).To(Succeed())
	g.Expect(policy.CheckLiteral("mcp.agents.svc")).To(Succeed())
	g.Expect(policy.CheckLiteral("mcp.other.svc")).NotTo(Succeed())
	settings.AllowLoopback = true
	policy, err = settings.egressPolicy(&rest.Config{Host: "https://api.example.com"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(policy.CheckLiteral("127.0.0.1:80")).To(Succeed())
}
