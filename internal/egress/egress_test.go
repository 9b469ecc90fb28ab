package egress

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mooring-dev/mooring/internal/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func policy(t *testing.T, o Options) *Policy {
	t.Helper()
	p, err := NewPolicy(o)
	if err != nil {
		t.Fatal(err)
	}
	return p.ForNamespace("agents")
}

// verdict is "" for allowed, else the detail of the refusal.
func verdict(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var f *failure.Error
	if !errors.As(err, &f) || f.Reason != failure.AddressNotAllowed || f.Class != failure.Protocol || f.Sent {
		t.Fatalf("error = %#v, want AddressNotAllowed", err)
	}
	return f.Detail
}

func TestLiterals(t *testing.T) {
	servers := Options{APIServers: []string{"10.96.0.1:443", "api.example.com:6443", "[fd00::1]:443"}}
	loopback, crossing := Options{AllowLoopback: true}, Options{AllowCrossNamespaceServices: true}
	cases := []struct {
		o    Options
		host string
		want string
	}{
		{Options{}, "example.com", ""},
		{Options{}, "example.com.:8443", ""},
		{Options{}, "10.1.2.3:8080", ""},
		{Options{}, "[2001:db8::1]:443", ""},
		{Options{}, "2001:db8::1", ""},
		{Options{}, "0.0.0.0", "0.0.0.0: unspecified address"},
		{Options{}, "0.1.2.3", "0.1.2.3: unspecified address"},
		{Options{}, "[::]:80", ":::"},
		{Options{}, "224.0.0.1", "224.0.0.1: multicast address"},
		{Options{}, "255.255.255.255", "255.255.255.255: multicast address"},
		{Options{}, "ff02::1", "ff02::1: multicast address"},
		{loopback, "169.254.169.254:80", "169.254.169.254: link-local address"},
		{loopback, "[fe80::1%eth0]:80", "fe80::1: link-local address"},
		{loopback, "[::ffff:169.254.169.254]:80", "169.254.169.254: link-local address"},
		{loopback, "[64:ff9b::a9fe:a9fe]:80", "64:ff9b::a9fe:a9fe: link-local address"},
		{loopback, "[64:ff9b:1::a9fe:a9fe]:80", "64:ff9b:1::a9fe:a9fe: link-local address"},
		{loopback, "[64:ff9b:1:a9fe:a9:fe00::]:80", "64:ff9b:1:a9fe:a9:fe00::: link-local address"},
		{loopback, "[64:ff9b:1:a9:fe:a9fe::]:80", "64:ff9b:1:a9:fe:a9fe::: link-local address"},
		{loopback, "[64:ff9b:1:0:a9:fea9:fe00::]:80", "64:ff9b:1:0:a9:fea9:fe00:0: link-local address"},
		{Options{}, "[64:ff9b:1::a01:203]:80", ""},
		{loopback, "[::169.254.169.254]:80", "::a9fe:a9fe: link-local address"},
		{Options{}, "[::127.0.0.1]:80", "::7f00:1: loopback"},
		{servers, "[64:ff9b::10.96.0.1]:443", "64:ff9b::a60:1: API server"},
		{loopback, "[2002:a9fe:a9fe::]:80", "2002:a9fe:a9fe::: link-local address"},
		{loopback, "[fd00:ec2::254]:80", "fd00:ec2::254: metadata service"},
		{loopback, "100.100.100.200", "100.100.100.200: metadata service"},
		{loopback, "168.63.129.16", "168.63.129.16: metadata service"},
		{loopback, "metadata.google.internal", "metadata.google.internal: metadata service"},
		{Options{}, "127.0.0.1:80", "127.0.0.1: loopback"},
		{Options{}, "[::1]:80", "::1: loopback"},
		{Options{}, "LOCALHOST:80", "localhost: loopback"},
		{Options{}, "a.localhost", "a.localhost: loopback"},
		{loopback, "127.9.9.9:80", ""},
		{loopback, "[::1]:80", ""},
		{loopback, "localhost:80", ""},
		{servers, "10.96.0.1:443", "10.96.0.1: API server"},
		{servers, "[::ffff:10.96.0.1]:443", "10.96.0.1: API server"},
		{servers, "[fd00::1]:443", "fd00::1: API server"},
		{servers, "10.96.0.1:8080", ""},
		{servers, "API.example.com:6443", "api.example.com: API server"},
		{servers, "api.example.com:443", ""},
		{crossing, "kubernetes.default.svc:443", "kubernetes.default.svc: API server"},
		{crossing, "kubernetes.default.svc.cluster.local", "kubernetes.default.svc.cluster.local: API server"},
		{crossing, "kubernetes", "kubernetes: API server"},
	}
	for _, c := range cases {
		got := verdict(t, policy(t, c.o).CheckLiteral(c.host))
		if got != c.want && (c.want != ":::" || !strings.HasPrefix(got, ":::")) {
			t.Errorf("%s: %q, want %q", c.host, got, c.want)
		}
	}
	var none *Policy
	if got := verdict(t, none.CheckLiteral("127.0.0.1")); got != "127.0.0.1: loopback" {
		t.Errorf("nil policy: %q", got)
	}
}

func TestServicesOfOtherNamespaces(t *testing.T) {
	refused := "service of another namespace"
	cases := map[string]string{
		"mcp.agents.svc": "", "mcp.agents.svc.cluster.local": "", "pod-0.mcp.agents.svc": "", "mcp.agents": "",
		"mcp.other.svc": refused, "mcp.other.svc.cluster.local": refused, "MCP.Other.SVC.": refused,
		"pod-0.mcp.other.svc.k8s.corp": refused, "10-0-0-1.other.pod.cluster.local": refused,
		"mcp": "name without a namespace", "svc.example.com": "", "a.svc": "",
	}
	strict, open := policy(t, Options{}), policy(t, Options{AllowCrossNamespaceServices: true})
	for host, rule := range cases {
		want := ""
		if rule != "" {
			want = canonical(host) + ": " + rule
		}
		if got := verdict(t, strict.CheckLiteral(host)); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
		if got := verdict(t, open.CheckLiteral(host)); got != "" {
			t.Errorf("%s: %q with the flag", host, got)
		}
	}
}

// The resolver's search path must not turn a name that was judged into another one.
func TestNamesAreDialledAsTheyWereJudged(t *testing.T) {
	strict, open := policy(t, Options{}), policy(t, Options{AllowCrossNamespaceServices: true})
	for host, want := range map[string]string{
		"example.com": "example.com.", "mcp.other": "mcp.other.", "a.b.other": "a.b.other.", "mcp.agents": "mcp.agents",
		"mcp.agents.svc": "mcp.agents.svc", "mcp.agents.svc.cluster.local": "mcp.agents.svc.cluster.local.",
		"10.1.2.3": "10.1.2.3", "2001:db8::1": "2001:db8::1", "localhost": "localhost", "example.com.": "example.com.",
	} {
		if got := strict.absolute(host); got != want {
			t.Errorf("%s is dialled as %s, want %s", host, got, want)
		}
		if got := open.absolute(host); got != host {
			t.Errorf("%s is dialled as %s with the flag", host, got)
		}
	}
}

func TestAllowAndDeny(t *testing.T) {
	o := Options{
		Allow: []string{"*.example.com", "10.0.0.0/8", "2001:db8::/32"},
		Deny:  []string{"bad.example.com", "10.6.6.6"},
	}
	hosts := Options{Allow: []string{"example.com"}}
	denied, translator := Options{Deny: []string{"10.0.0.0/8"}}, Options{Deny: []string{"64:ff9b::/96"}}
	cases := []struct {
		o          Options
		host, want string
	}{
		{o, "example.com", ""}, {o, "a.example.com", ""}, {o, "10.1.2.3", ""}, {o, "[2001:db8::7]:1", ""},
		{o, "bad.example.com", "bad.example.com: denied host"}, {o, "x.bad.example.com", "x.bad.example.com: denied host"},
		{o, "10.6.6.6", "10.6.6.6: denied address"},
		{o, "192.0.2.1", "192.0.2.1: not in the allowed addresses"},
		{o, "unknown.test", ""}, // its address may be in 10.0.0.0/8
		{hosts, "notexample.com", "notexample.com: not in the allowed hosts"},
		{hosts, "192.0.2.1", "192.0.2.1: not in the allowed addresses"},
		{Options{Allow: []string{"169.254.0.0/16"}}, "169.254.169.254", "169.254.169.254: link-local address"},

		// An IPv4 address in each of its forms.
		{denied, "[::ffff:10.0.0.1]:80", "10.0.0.1: denied address"},
		{denied, "[::10.0.0.1]:80", "::a00:1: denied address"},
		{denied, "[64:ff9b::10.0.0.1]:80", "64:ff9b::a00:1: denied address"},
		{denied, "[64:ff9b:1::10.0.0.1]:80", "64:ff9b:1::a00:1: denied address"},
		{denied, "[64:ff9b:1:a00:0:100::]:80", "64:ff9b:1:a00:0:100::: denied address"},
		{denied, "[2002:a00:1::]:80", "2002:a00:1::: denied address"},
		{denied, "[64:ff9b::192.0.2.1]:80", ""},
		{translator, "[64:ff9b::192.0.2.1]:80", "64:ff9b::c000:201: denied address"},
		{translator, "192.0.2.1", ""},
		{o, "[64:ff9b::10.1.2.3]:80", ""}, {o, "[64:ff9b:1::10.1.2.3]:80", ""},
		{o, "[64:ff9b::10.6.6.6]:80", "64:ff9b::a06:606: denied address"},
		{o, "[64:ff9b::192.0.2.1]:80", "64:ff9b::c000:201: not in the allowed addresses"},
		// Allowed in one form and something else in another, so it is not allowed.
		{o, "[64:ff9b:1:c000:2:100:10.1.2.3]:80", "64:ff9b:1:c000:2:100:a01:203: not in the allowed addresses"},
	}
	for _, c := range cases {
		if got := verdict(t, policy(t, c.o).CheckLiteral(c.host)); got != c.want {
			t.Errorf("%s: %q, want %q", c.host, got, c.want)
		}
	}
	for _, o := range []Options{
		{Allow: []string{"10.0.0.0/99"}}, {Deny: []string{"a b"}}, {Deny: []string{""}}, {APIServers: []string{"10.0.0.1"}},
		{Allow: []string{"https://x"}},
	} {
		if _, err := NewPolicy(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestTheAddressDialledIsJudged(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	dial := func(p *Policy, host string) string {
		conn, err := p.DialContext(context.Background(), "tcp", net.JoinHostPort(host, port))
		if conn != nil {
			_ = conn.Close()
		}
		return verdict(t, err)
	}
	if got := dial(policy(t, Options{AllowLoopback: true}), "localhost"); got != "" {
		t.Errorf("loopback with the flag: %q", got)
	}
	if got := dial(nil, "127.0.0.1"); got != "127.0.0.1: loopback" {
		t.Errorf("loopback without it: %q", got)
	}
	// A name that is not in the list of hosts is judged by the address that it has.
	for allow, want := range map[string]string{
		"127.0.0.0/8": "", "10.0.0.0/8": "127.0.0.1: not in the allowed addresses", "localhost": "",
	} {
		if got := dial(policy(t, Options{AllowLoopback: true, Allow: []string{allow}}), "localhost"); got != want {
			t.Errorf("allow %s: %q, want %q", allow, got, want)
		}
	}
	api := policy(t, Options{AllowLoopback: true, APIServers: []string{ln.Addr().String()}})
	if got := dial(api, "localhost"); got != "127.0.0.1: API server" {
		t.Errorf("API server by name: %q", got)
	}
	if err := api.SetAPIServers([]string{"no-port"}); err == nil || dial(api, "localhost") == "" {
		t.Errorf("a list that was refused took effect: %v", err)
	}
	err = api.ForNamespace("other").SetAPIServers([]string{"192.0.2.1:443"})
	if err != nil || dial(api, "localhost") != "" {
		t.Errorf("the API server's former address is still refused: %v", err)
	}
	if _, err := api.DialContext(context.Background(), "tcp", "no-port"); err == nil {
		t.Error("an address without a port was dialled")
	}
}

// net/http writes to a transport's TLS settings at the first request: two transports share none.
func TestTransportsShareNoTLSSettings(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	trust, err := Trust(bundle)
	if err != nil {
		t.Fatal(err)
	}
	route := NewRoute(policy(t, Options{AllowLoopback: true}), nil)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			transport := route.Transport(trust)
			transport.ForceAttemptHTTP2 = true
			defer transport.CloseIdleConnections()
			resp, err := (&http.Client{Transport: transport}).Get(server.URL)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
		})
	}
	both.Wait()
	if trust.NextProtos != nil {
		t.Errorf("the settings passed to two transports now have the protocols %q", trust.NextProtos)
	}
}
