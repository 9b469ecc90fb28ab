package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/mooring-dev/mooring/controllers/mcpserver"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/metrics"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream"
	"github.com/mooring-dev/mooring/test/mcpfake"
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

// deaf hears nothing of its connection.
type deaf struct{}

func (deaf) ListChanged() {}
func (deaf) Alive()       {}
func (deaf) Lost(error)   {}

func dialersFor(t *testing.T, settings *Settings) *dialers {
	t.Helper()
	policy, err := settings.egressPolicy(&rest.Config{Host: "https://api.example.com"})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return &dialers{policy: policy, eras: upstream.NewEraMemory()}
}

// Whatever an endpoint holds reaches the server.
func TestDialersUseAllOfAnEndpoint(t *testing.T) {
	g := NewWithT(t)
	server := mcpfake.New(t, mcpfake.WithClientCert(), mcpfake.WithBearer("token-1"))
	certificate, key, err := server.ClientPair()
	g.Expect(err).NotTo(HaveOccurred())
	d := dialersFor(t, &Settings{AllowLoopback: true})
	dialer, err := d.dial(connect.Config{
		Namespace: "agents", URL: secret.New(server.URL() + "?tenant=acme"), Target: server.URL(), Protocol: "Auto",
		EraKey: "uid/hash", Bearer: secret.New("token-1"), CABundle: string(server.CAPEM()), ServerName: "localhost",
		ClientCertificate: secret.New(string(certificate)), ClientKey: secret.New(string(key)),
		Headers:         []connect.Header{{Name: "X-Org", Value: secret.New("acme")}},
		ProtocolVersion: "2025-06-18", Timeouts: session.Timeouts{Connect: 10 * time.Second},
	})
	g.Expect(err).NotTo(HaveOccurred())
	conn, err := dialer.Dial(t.Context(), deaf{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	g.Expect(conn.Info().ProtocolVersion).To(Equal("2025-06-18"))
	request := server.Requests("initialize")[0]
	g.Expect(request.Header.Get("X-Org")).To(Equal("acme"))
	g.Expect(request.Header.Get("User-Agent")).To(Equal("mooring/" + buildVersion()))
	g.Expect(request.Path).To(Equal("/mcp?tenant=acme"))
	g.Expect(server.Credentials()).To(Equal([]string{"Bearer token-1"}))
}

func TestDialersKeepToThePolicy(t *testing.T) {
	g := NewWithT(t)
	server := mcpfake.New(t)
	d := dialersFor(t, &Settings{EgressDeny: []string{"denied.example.com"}})
	g.Expect(d.check("agents", "127.0.0.1:80")).NotTo(Succeed())
	g.Expect(d.check("agents", "denied.example.com")).NotTo(Succeed())
	g.Expect(d.check("agents", "mcp.example.com")).To(Succeed())
	g.Expect(d.check("agents", "mcp.agents.svc")).To(Succeed())
	g.Expect(d.check("agents", "mcp.other.svc")).NotTo(Succeed())
	dialer, err := d.dial(connect.Config{Namespace: "agents", URL: secret.New(server.URL()), Protocol: "Auto"})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = dialer.Dial(t.Context(), deaf{})
	g.Expect(failure.Classify(err).Reason).To(Equal(failure.AddressNotAllowed))
	g.Expect(server.Stats().Accepted).To(BeZero())
}

// A pair that is none was refused before; should it come here, its text is not told.
func TestDialersDoNotQuoteKeys(t *testing.T) {
	const key = "-----BEGIN PRIVATE KEY-----\nCANARY\n-----END PRIVATE KEY-----\n"
	_, err := dialersFor(t, &Settings{}).dial(connect.Config{
		Target: "https://mcp.example.com/mcp", ClientCertificate: secret.New(key), ClientKey: secret.New(key),
	})
	NewWithT(t).Expect(err).To(MatchError("client certificate of https://mcp.example.com/mcp is not a pair"))
}

// What the controller stores and what dialers know is one memory.
func TestErasAreOneMemory(t *testing.T) {
	g := NewWithT(t)
	memory := eras{upstream.NewEraMemory()}
	_, known := memory.Confirmed("uid/hash")
	g.Expect(known).To(BeFalse())
	memory.Confirm("uid/hash", string(upstream.Modern))
	era, known := memory.Confirmed("uid/hash")
	g.Expect(known).To(BeTrue())
	g.Expect(era).To(Equal(string(upstream.Modern)))
	memory.Forget("uid/hash")
	_, known = memory.Confirmed("uid/hash")
	g.Expect(known).To(BeFalse())
}
