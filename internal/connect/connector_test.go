package connect

import (
	"context"
	"reflect"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/oauth"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/upstream"
	"github.com/mooring-dev/mooring/test/builder"
)

// Every field of what a connection is made of counts in its fingerprint, but for these.
func TestFingerprintForgetsNoField(t *testing.T) {
	for _, test := range []struct {
		config any
		free   []string
	}{
		{upstream.Config{}, []string{"Timeouts", "Egress", "Era", "UserAgent"}},
		{oauth.Config{}, []string{"Egress", "UserAgent"}},
	} {
		kind := reflect.TypeOf(test.config)
		g := NewWithT(t)
		var free []string
		for i := range kind.NumField() {
			field := kind.Field(i)
			if field.Tag.Get("fingerprint") == "-" {
				free = append(free, field.Name)
				continue
			}
			changed := reflect.New(kind).Elem()
			fill(t, changed.Field(i))
			g.Expect(secret.FingerprintOf(changed.Interface())).NotTo(Equal(secret.FingerprintOf(test.config)), field.Name)
		}
		g.Expect(free).To(Equal(test.free))
	}
}

// source is a source of tokens.
type source struct{}

func (source) Token(context.Context) (secret.Value, error) { return secret.Value{}, nil }

func (source) Fingerprint() string { return "x" }

// fill sets a field to something.
func fill(t *testing.T, field reflect.Value) {
	t.Helper()
	switch field.Interface().(type) {
	case nil:
		field.Set(reflect.ValueOf(source{}))
	case secret.Value:
		field.Set(reflect.ValueOf(secret.New("x")))
	case []upstream.Header:
		field.Set(reflect.ValueOf([]upstream.Header{{}}))
	case []string:
		field.Set(reflect.ValueOf([]string{"x"}))
	case []byte, string, upstream.Protocol:
		field.Set(reflect.ValueOf("x").Convert(field.Type()))
	default:
		t.Fatalf("no value for a %s", field.Type())
	}
}

func policy(t *testing.T, options egress.Options) *egress.Policy {
	t.Helper()
	out, err := egress.NewPolicy(options)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out
}

// What can be judged without a reference is judged before any is read, also of a server that is disabled.
func TestCheck(t *testing.T) {
	c := New(Options{Egress: policy(t, egress.Options{Deny: []string{"denied.example.com"}})})
	for name, test := range map[string]struct {
		server *builder.MCPServerBuilder
		reason string // empty: nothing is wrong
	}{
		"a public host":        {declared(), ""},
		"a Service of its own": {declared().URL("http://mcp.agents.svc/mcp"), ""},
		"a Service of another": {declared().URL("http://mcp.other.svc/mcp"), v1alpha1.ReasonAddressNotAllowed},
		"loopback":             {declared().URL("http://127.0.0.1:80/$(ORG)"), v1alpha1.ReasonAddressNotAllowed},
		"a denied host":        {declared().URL("https://denied.example.com/mcp"), v1alpha1.ReasonAddressNotAllowed},
		"a denied host, unused": {
			declared().URL("https://denied.example.com/mcp").Disabled(), v1alpha1.ReasonAddressNotAllowed},
		"no URL": {declared().URL("mcp.example.com"), v1alpha1.ReasonInvalidConfiguration},
		"a denied token server": {
			declared().OAuth("https://denied.example.com/t", "id", "a", "b"), v1alpha1.ReasonAddressNotAllowed},
		"a token URL that is no": {declared().OAuth("login", "id", "a", "b"), v1alpha1.ReasonInvalidConfiguration},
		"stdio":                  {builder.MCPServer("fs").Stdio("example.com/x:1"), v1alpha1.ReasonNotSupportedYet},
		"stdio, unused":          {builder.MCPServer("fs").Stdio("example.com/x:1").Disabled(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := test.server.Namespace("agents").Obj()
			err := c.Check(server)
			if test.reason == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(HaveField("Reason", test.reason))
			g.Expect(err).To(HaveField("Final", true))
			_, err = c.Session(t.Context(), server)
			g.Expect(err).To(HaveField("Reason", test.reason))
		})
	}
}

// What is known of a server's era is one memory for all that connect to it, under one config hash.
func TestEraIsKeptPerServerAndConfigHash(t *testing.T) {
	g := NewWithT(t)
	c := New(Options{})
	era := func(server *builder.MCPServerBuilder) *EraMemory {
		session, err := c.Session(t.Context(), server.Namespace("agents").Obj())
		g.Expect(err).NotTo(HaveOccurred())
		return session.Era
	}
	first := era(declared().UID("a"))
	first.Confirm("modern")
	g.Expect(era(declared().UID("a"))).To(BeIdenticalTo(first))
	g.Expect(era(declared().UID("a").Attempts(1))).To(BeIdenticalTo(first), "the hash is the same")
	g.Expect(era(declared().UID("b"))).NotTo(BeIdenticalTo(first))
	g.Expect(era(declared().UID("a").URL(address + "/v2"))).NotTo(BeIdenticalTo(first))
	g.Expect(era(declared().UID("a"))).NotTo(BeIdenticalTo(first), "an earlier declaration is forgotten")
	again := era(declared().UID("a"))
	c.Forget("a")
	g.Expect(era(declared().UID("a"))).NotTo(BeIdenticalTo(again))
}
