package v1alpha1_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
)

// effective is every value that a spec amounts to.
type effective struct {
	connect, list, call, callMax           time.Duration
	cooldown, probe, idle, health, refresh time.Duration
	maxConcurrent, attempts, strikes       int
	sharing                                mooringv1alpha1.SessionSharing
	pin                                    mooringv1alpha1.PinPolicy
	level                                  mooringv1alpha1.Level
	from                                   mooringv1alpha1.NamespacesFrom
}

func effectiveOf(s *mooringv1alpha1.MCPServerSpec) effective {
	return effective{
		connect: s.ConnectTimeout(), list: s.ListTimeout(), call: s.CallTimeout(), callMax: s.CallMax(),
		cooldown: s.Cooldown(), probe: s.ProbeInterval(), idle: s.IdleTimeout(), health: s.HealthInterval(),
		refresh: s.RefreshInterval(), maxConcurrent: s.MaxConcurrent(), attempts: s.Attempts(), strikes: s.Strikes(),
		sharing: s.Sharing(), pin: s.PinPolicy(), level: s.ConfigLevel(), from: s.NamespacesFrom(),
	}
}

var documentedDefaults = effective{
	connect: 30 * time.Second, list: 60 * time.Second, call: 60 * time.Second, callMax: 15 * time.Minute,
	cooldown: 30 * time.Second, probe: 5 * time.Minute, idle: 10 * time.Minute, health: 60 * time.Second,
	refresh: 10 * time.Minute, maxConcurrent: 4, attempts: 3, strikes: 3,
	sharing: mooringv1alpha1.SharingPerCaller, pin: mooringv1alpha1.PinNone, level: mooringv1alpha1.LevelProject,
	from: mooringv1alpha1.NamespacesSame,
}

func TestAbsentFieldsMeanTheDocumentedDefaults(t *testing.T) {
	for name, spec := range map[string]*mooringv1alpha1.MCPServerSpec{
		"absent structs": {},
		"empty structs": {
			Timeouts: &mooringv1alpha1.Timeouts{},
			Calls:    &mooringv1alpha1.Calls{},
			Recovery: &mooringv1alpha1.Recovery{},
			Sessions: &mooringv1alpha1.Sessions{},
			Health:   &mooringv1alpha1.Health{},
			Tools:    &mooringv1alpha1.Tools{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(effectiveOf(spec)).To(Equal(documentedDefaults))
		})
	}
}

func TestGivenFieldsStand(t *testing.T) {
	obj := builder.MCPServer("given").
		ConnectTimeout(1 * time.Second).ListTimeout(2 * time.Second).CallTimeout(3 * time.Second).CallMax(4 * time.Second).
		Cooldown(5 * time.Second).ProbeInterval(6 * time.Second).HealthInterval(8 * time.Second).
		RefreshInterval(9 * time.Second).Attempts(2).Strikes(5).Pin(mooringv1alpha1.PinStrict).
		Mutate(func(s *mooringv1alpha1.MCPServer) {
			s.Spec.Sessions = &mooringv1alpha1.Sessions{Sharing: mooringv1alpha1.SharingShared}
			s.Spec.Calls = &mooringv1alpha1.Calls{MaxConcurrent: 7}
			s.Spec.Level = mooringv1alpha1.LevelUser
			s.Spec.AllowedNamespaces = &mooringv1alpha1.AllowedNamespaces{From: mooringv1alpha1.NamespacesAll}
		}).Obj()

	NewWithT(t).Expect(effectiveOf(&obj.Spec)).To(Equal(effective{
		connect: 1 * time.Second, list: 2 * time.Second, call: 3 * time.Second, callMax: 4 * time.Second,
		cooldown: 5 * time.Second, probe: 6 * time.Second, idle: 10 * time.Minute, health: 8 * time.Second,
		refresh: 9 * time.Second, maxConcurrent: 7, attempts: 2, strikes: 5,
		sharing: mooringv1alpha1.SharingShared, pin: mooringv1alpha1.PinStrict, level: mooringv1alpha1.LevelUser,
		from: mooringv1alpha1.NamespacesAll,
	}))
}

// A probe interval of zero is not an absent one: nothing that is retired is probed by time.
func TestProbeIntervalOfZeroStands(t *testing.T) {
	obj := builder.MCPServer("given").ProbeInterval(0).Obj()

	NewWithT(t).Expect(obj.Spec.ProbeInterval()).To(BeZero())
}

// Where only one of call and callMax is given, the other gives way, so that callMax is never below call.
func TestCallAndCallMaxGiveWayToEachOther(t *testing.T) {
	g := NewWithT(t)

	long := builder.MCPServer("long").CallTimeout(30 * time.Minute).Obj()
	g.Expect(long.Spec.CallTimeout()).To(Equal(30 * time.Minute))
	g.Expect(long.Spec.CallMax()).To(Equal(30 * time.Minute))

	short := builder.MCPServer("short").CallMax(10 * time.Second).Obj()
	g.Expect(short.Spec.CallTimeout()).To(Equal(10 * time.Second))
	g.Expect(short.Spec.CallMax()).To(Equal(10 * time.Second))
}

func TestTransportProtocol(t *testing.T) {
	g := NewWithT(t)

	g.Expect(builder.MCPServer("a").URL("https://a").Obj().Spec.HTTP.TransportProtocol()).
		To(Equal(mooringv1alpha1.ProtocolAuto))
	g.Expect(builder.MCPServer("a").Protocol(mooringv1alpha1.ProtocolSSE).Obj().Spec.HTTP.TransportProtocol()).
		To(Equal(mooringv1alpha1.ProtocolSSE))
}

// effectiveSession is every value that the spec of an AgentSession amounts to.
type effectiveSession struct {
	enabled, projectConfig bool
	gate                   time.Duration
	exposure               mooringv1alpha1.Exposure
}

func effectiveOfSession(s *mooringv1alpha1.AgentSessionSpec) effectiveSession {
	return effectiveSession{
		enabled: s.Enabled(), projectConfig: s.WithProjectConfig(), gate: s.Gate(), exposure: s.ExposureMode(),
	}
}

func TestWhatTheFieldsOfASessionAmountTo(t *testing.T) {
	documented := effectiveSession{true, true, 250 * time.Millisecond, mooringv1alpha1.ExposureTools}
	said := builder.AgentSession("said").Mutate(func(s *mooringv1alpha1.AgentSession) {
		s.Spec.MCP, s.Spec.ProjectConfig = mooringv1alpha1.ToggleEnabled, mooringv1alpha1.ToggleEnabled
		s.Spec.Exposure = mooringv1alpha1.ExposureTools
	}).StartupTimeout(250 * time.Millisecond)
	for name, tc := range map[string]struct {
		session *builder.AgentSessionBuilder
		want    effectiveSession
	}{
		"absent": {builder.AgentSession("absent"), documented},
		"said":   {said, documented},
		"given": {
			builder.AgentSession("given").MCPDisabled().WithoutProjectConfig().StartupTimeout(time.Second).Dispatch(),
			effectiveSession{false, false, time.Second, mooringv1alpha1.ExposureDispatch},
		},
		"no gate": {
			builder.AgentSession("given").StartupTimeout(0),
			effectiveSession{true, true, 0, mooringv1alpha1.ExposureTools},
		},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(effectiveOfSession(&tc.session.Obj().Spec)).To(Equal(tc.want))
		})
	}
}

func TestReferencesWithoutANamespaceStayAtHome(t *testing.T) {
	g := NewWithT(t)
	spec := builder.AgentSession("a").Ref("github").ForeignRef("shared", "github").
		ServiceAccount("", "coder").ServiceAccount("ci", "coder").Obj().Spec

	g.Expect(spec.Servers.Refs[0].NamespaceIn("agents")).To(Equal("agents"))
	g.Expect(spec.Servers.Refs[1].NamespaceIn("agents")).To(Equal("shared"))
	g.Expect(spec.AllowedServiceAccounts[0].NamespaceIn("agents")).To(Equal("agents"))
	g.Expect(spec.AllowedServiceAccounts[1].NamespaceIn("agents")).To(Equal("ci"))
}

func TestSchemeKnowsTheKinds(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()

	g.Expect(mooringv1alpha1.AddToScheme(scheme)).To(Succeed())

	kinds, _, err := scheme.ObjectKinds(&mooringv1alpha1.MCPServer{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kinds).To(HaveLen(1))
	g.Expect(kinds[0].String()).To(Equal("mooring.dev/v1alpha1, Kind=MCPServer"))
	for _, kind := range []string{"MCPServerList", "AgentSession", "AgentSessionList"} {
		g.Expect(scheme.Recognizes(mooringv1alpha1.GroupVersion.WithKind(kind))).To(BeTrue(), kind)
	}
}
