package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// gateway is the least that one needs to carry calls: a Supervisor without discovery sessions, and a Connector that
// makes of MCPServers what it holds. It imports nothing that a gateway may not.
type gateway struct {
	connector *connect.Connector
	sessions  *session.Supervisor
	servers   map[session.Key]*v1alpha1.MCPServer
}

// secrets are values of Secrets, as "name/key".
type secrets map[string]string

func (s secrets) ReadKeys(_ context.Context, object refs.Ref, keys ...string) (out []secret.Value, _ string, _ error) {
	version := ""
	for _, key := range keys {
		value, found := s[object.Name+"/"+key]
		if !found {
			return nil, "", refs.NotFoundError{Kind: object.Kind, Namespace: object.Namespace, Name: object.Name}
		}
		out, version = append(out, secret.New(value)), version+value
	}
	return out, version, nil
}

func newGateway(t *testing.T, known secrets) *gateway {
	t.Helper()
	policy, err := egress.NewPolicy(egress.Options{AllowLoopback: true})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	g := &gateway{servers: map[session.Key]*v1alpha1.MCPServer{}, connector: connect.New(connect.Options{
		Values: known, Egress: policy, UserAgent: "mooring/test",
	})}
	g.sessions = session.New(session.Options{Reread: g.reread})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.sessions.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		NewWithT(t).Expect(<-ended).To(Succeed())
	})
	return g
}

// reread makes the configuration anew, with the credential as it is now.
func (g *gateway) reread(ctx context.Context, key session.Key) (session.Config, error) {
	server := g.servers[key]
	if server == nil {
		return session.Config{}, errors.New("no such server")
	}
	wanted, err := g.connector.Session(ctx, server)
	if err != nil {
		return session.Config{}, err
	}
	return wanted.Config, nil
}

// hold keeps the server ready for calls.
func (g *gateway) hold(t *testing.T, server *v1alpha1.MCPServer) session.Key {
	t.Helper()
	key := session.Key(server.UID)
	g.servers[key] = server
	config, err := g.reread(t.Context(), key)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	g.sessions.Ensure(key, config)
	return key
}

// echo has the server's tool echo a text.
func (g *gateway) echo(t *testing.T, key session.Key, text string) (session.Answer, error) {
	t.Helper()
	params, err := json.Marshal(map[string]any{"name": "echo", "arguments": map[string]string{"message": text}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return g.sessions.Call(t.Context(), key, session.Caller{Name: "agent", Session: "agent"},
		session.Call{Method: "tools/call", Tool: "echo", Params: params})
}

func (g *gateway) expectEcho(t *testing.T, key session.Key, text string) {
	t.Helper()
	o := NewWithT(t)
	var (
		answer session.Answer
		err    error
	)
	o.Eventually(func() bool {
		answer, err = g.echo(t, key, text)
		var refused *session.CallRefused
		return errors.As(err, &refused) && refused.Failure.Class == ""
	}).Should(BeFalse(), "the supervisor is running")
	o.Expect(err).NotTo(HaveOccurred())
	o.Expect(answer.Error).To(BeNil())
	var result struct {
		Content []struct{ Type, Text string }
		IsError bool
	}
	o.Expect(json.Unmarshal(answer.Result, &result)).To(Succeed())
	o.Expect(result.IsError).To(BeFalse())
	o.Expect(result.Content).To(HaveLen(1))
	o.Expect(result.Content[0].Text).To(ContainSubstring(text))
}

func TestGatewayCarriesCalls(t *testing.T) {
	for name, era := range map[string]mcpfake.Era{"legacy": mcpfake.Legacy, "modern": mcpfake.Modern} {
		t.Run(name, func(t *testing.T) {
			o, known := NewWithT(t), secrets{"login/token": "first"}
			server := mcpfake.New(t, mcpfake.WithEra(era), mcpfake.WithBearer("first"))
			g := newGateway(t, known)
			key := g.hold(t, builder.MCPServer("fs").Namespace("agents").UID("uid").URL(server.URL()).
				Bearer("login", "token").Obj())
			o.Expect(server.Stats().Accepted).To(BeZero(), "no session without a call")
			g.expectEcho(t, key, "hello")
			server.SetBearer("second")
			known["login/token"] = "second" // of the same object: the Connector reads it after the 401
			g.expectEcho(t, key, "hello again")
			o.Expect(server.Credentials()).To(ConsistOf("Bearer first", "Bearer second"))
			o.Expect(server.Requests("tools/list")).To(BeEmpty(), "nothing is discovered")
		})
	}
}

// All that a declaration holds reaches the server.
func TestAllOfADeclarationReachesTheServer(t *testing.T) {
	o := NewWithT(t)
	server := mcpfake.New(t, mcpfake.WithClientCert(), mcpfake.WithBearer("token-1"))
	certificate, key, err := server.ClientPair()
	o.Expect(err).NotTo(HaveOccurred())
	g := newGateway(t, secrets{
		"login/token": "token-1", "ca/ca.crt": string(server.CAPEM()), "pair/tls.crt": string(certificate),
		"pair/tls.key": string(key),
	})
	held := g.hold(t, builder.MCPServer("fs").Namespace("agents").UID("uid").URL(server.URL()+"?tenant=$(ORG)").
		Variable("ORG", "acme").Header("X-Org", "$(ORG)").Bearer("login", "token").ServerName("localhost").
		CABundle(v1alpha1.CABundleSecret, "ca", "ca.crt").ClientCertificate("pair").ConnectTimeout(10*time.Second).
		Mutate(func(s *v1alpha1.MCPServer) { s.Spec.ProtocolVersion = "2025-06-18" }).Obj())
	g.expectEcho(t, held, "hello")
	request := server.Requests("initialize")[0]
	o.Expect(request.Header.Get("X-Org")).To(Equal("acme"))
	o.Expect(request.Header.Get("User-Agent")).To(Equal("mooring/test"))
	o.Expect(request.Path).To(Equal("/mcp?tenant=acme"))
	o.Expect(server.Requests("tools/call")[0].Header.Get("Mcp-Protocol-Version")).To(Equal("2025-06-18"))
	o.Expect(server.Credentials()).To(Equal([]string{"Bearer token-1"}))
}

// A literal address is refused before anything is read, any other where it is dialled.
func TestSessionsKeepToThePolicy(t *testing.T) {
	o := NewWithT(t)
	server := mcpfake.New(t)
	connector := connect.New(connect.Options{})
	_, err := connector.Session(t.Context(), builder.MCPServer("fs").Namespace("agents").URL(server.URL()).Obj())
	o.Expect(err).To(HaveField("Reason", v1alpha1.ReasonAddressNotAllowed))
	wanted, err := connector.Session(t.Context(),
		builder.MCPServer("fs").Namespace("agents").URL("http://mcp.agents.svc/mcp").Proxy(server.Origin()).Obj())
	o.Expect(err).NotTo(HaveOccurred())
	_, err = wanted.Dialer.Dial(t.Context(), deaf{})
	o.Expect(failure.Classify(err).Reason).To(Equal(failure.AddressNotAllowed))
	o.Expect(server.Stats().Accepted).To(BeZero())
}

// deaf hears nothing of its connection.
type deaf struct{}

func (deaf) ListChanged() {}
func (deaf) Alive()       {}
func (deaf) Lost(error)   {}
