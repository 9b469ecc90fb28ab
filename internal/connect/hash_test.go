package connect

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/test/builder"
)

func hashOf(server *builder.MCPServerBuilder) string { return Hash(&server.Obj().Spec) }

// A stored catalog stands as long as what decides on the tools is the same.
func TestHashChangesWithWhatDecidesOnTheTools(t *testing.T) {
	base := func() *builder.MCPServerBuilder {
		return declared().URL(address+"?tenant=a&view=b").Header("X-Org", "acme").Variable("ORG", "acme")
	}
	before := hashOf(base())
	NewWithT(t).Expect(before).To(MatchRegexp("^[0-9a-f]{16}$"))
	for name, server := range map[string]*builder.MCPServerBuilder{
		"the host":             base().URL("https://other.example.com/mcp?tenant=a&view=b"),
		"the scheme":           base().URL("http://mcp.example.com/mcp?tenant=a&view=b"),
		"the path":             base().URL(address + "/v2?tenant=a&view=b"),
		"one more query key":   base().URL(address + "?tenant=a&view=b&more=c"),
		"one query key less":   base().URL(address + "?tenant=a"),
		"one more header":      base().Header("X-More", "1"),
		"a literal variable":   declared().URL(address+"?tenant=a&view=b").Header("X-Org", "acme").Variable("ORG", "other"),
		"one more variable":    base().Variable("MORE", "1"),
		"the protocol":         base().Protocol(v1alpha1.ProtocolSSE),
		"the protocol version": base().Mutate(func(s *v1alpha1.MCPServer) { s.Spec.ProtocolVersion = "2025-06-18" }),
		"the transport":        builder.MCPServer("fs").Stdio("example.com/server:1"),
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(hashOf(server)).NotTo(Equal(before)) })
	}
	for name, server := range map[string]*builder.MCPServerBuilder{
		"the same":               base(),
		"a header's value":       declared().URL(address+"?tenant=a&view=b").Header("X-Org", "other").Variable("ORG", "acme"),
		"the case of a header":   declared().URL(address+"?tenant=a&view=b").Header("x-org", "acme").Variable("ORG", "acme"),
		"a query value":          base().URL(address + "?tenant=other&view=b"),
		"the order of the query": base().URL(address + "?view=b&tenant=a"),
		"a credential":           base().Bearer("login", "token"),
		"a variable of a Secret": base().SecretVariable("KEY", "login", "key"),
		"a timeout":              base().ListTimeout(time.Second),
		"a filter":               base().Allow("a*").Deny("b*"),
		"recovery":               base().Attempts(1).Cooldown(time.Second),
		"being disabled":         base().Disabled(),
		"TLS":                    base().CABundle(v1alpha1.CABundleConfigMap, "ca", "ca.crt").ServerName("x"),
		"the default, written":   base().Protocol(v1alpha1.ProtocolAuto),
		"a note":                 base().Mutate(func(s *v1alpha1.MCPServer) { s.Spec.Notes = "for files" }),
		"pinning":                base().Pin(v1alpha1.PinStrict),
	} {
		t.Run("not with "+name, func(t *testing.T) { NewWithT(t).Expect(hashOf(server)).To(Equal(before)) })
	}
}

// The hash outlives the process beside the stored catalog: another value for the same declaration costs every agent
// its deferred tools at an upgrade.
func TestHashIsTheSameInEveryRelease(t *testing.T) {
	g := NewWithT(t)
	g.Expect(hashOf(declared())).To(Equal("fe41d762059ed242"))
	g.Expect(hashOf(declared().URL(address+"/$(ORG)?key=$(KEY)&tenant=a").Header("X-Org", "acme").
		Variable("ORG", "acme").SecretVariable("KEY", "login", "key"))).To(Equal("b7c3867a93d13198"))
}

func TestHeadersInAnotherOrderAreTheSame(t *testing.T) {
	one := declared().Header("A", "1").Header("B", "2")
	two := declared().Header("B", "2").Header("A", "1")
	NewWithT(t).Expect(hashOf(one)).To(Equal(hashOf(two)))
}

func TestTargetAndTransport(t *testing.T) {
	g := NewWithT(t)
	spec := func(b *builder.MCPServerBuilder) *v1alpha1.MCPServerSpec { return &b.Obj().Spec }
	g.Expect(Target(spec(declared().URL(address + "/$(ORG)?key=$(KEY)")))).To(Equal(address + "/$(ORG)"))
	stdio := builder.MCPServer("fs").Stdio("example.com/server:1")
	g.Expect(Target(spec(stdio))).To(BeEmpty())
	g.Expect(Transport(spec(stdio))).To(Equal("stdio"))
	g.Expect(Transport(spec(declared()))).To(Equal("HTTP"))
	g.Expect(Transport(spec(declared().Protocol(v1alpha1.ProtocolStreamableHTTP)))).To(Equal("HTTP"))
	g.Expect(Transport(spec(declared().Protocol(v1alpha1.ProtocolSSE)))).To(Equal("SSE"))
}

func TestWithoutVariables(t *testing.T) {
	g := NewWithT(t)
	g.Expect(withoutVariables("https://h.example/$(A)/b?k=$(B)&l=$$(C)")).To(Equal("https://h.example/x/b?k=x&l=x"))
	g.Expect(withoutVariables("https://h.example/$()")).To(Equal("https://h.example/$()"))
}

func TestVersionsHash(t *testing.T) {
	g := NewWithT(t)
	a := refs.Ref{Kind: refs.Secret, Namespace: "agents", Name: "a"}
	b := refs.Ref{Kind: refs.ConfigMap, Namespace: "agents", Name: "b"}
	g.Expect(versionsHash(nil)).To(BeEmpty())
	one := versionsHash(map[refs.Ref]string{a: "uid/1", b: "uid/1"})
	g.Expect(one).To(MatchRegexp("^[0-9a-f]{16}$"))
	g.Expect(versionsHash(map[refs.Ref]string{b: "uid/1", a: "uid/1"})).To(Equal(one))
	g.Expect(versionsHash(map[refs.Ref]string{a: "uid/2", b: "uid/1"})).NotTo(Equal(one), "written")
	g.Expect(versionsHash(map[refs.Ref]string{a: "new/1", b: "uid/1"})).NotTo(Equal(one), "made anew")
	g.Expect(versionsHash(map[refs.Ref]string{a: "uid/1"})).NotTo(Equal(one), "fewer")
}
