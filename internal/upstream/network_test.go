package upstream_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/upstream"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/mcpfake/netfault"
)

func TestB54_APrivateCA(t *testing.T) {
	s := mcpfake.New(t, mcpfake.WithTLS())
	cfg := config(t, s.URL())
	f := fail(t, cfg)
	want{failure.Protocol, failure.TLSVerificationFailed, 0, false, "issuer \""}.check(t, f)
	if !strings.Contains(f.Detail, "is not trusted") {
		t.Errorf("detail = %q", f.Detail)
	}
	cfg.CABundle = s.CAPEM()
	c, _ := dial(t, cfg)
	if _, err := c.List(t.Context()); err != nil {
		t.Errorf("List: %v", err)
	}
	other := cfg
	other.ServerName = "elsewhere.test"
	want{failure.Protocol, failure.TLSVerificationFailed, 0, false, "another host name"}.check(t, fail(t, other))
	other.ServerName = "mcpfake.test"
	dial(t, other)

	if err := s.RotateCA(); err != nil {
		t.Fatal(err)
	}
	want{failure.Protocol, failure.TLSVerificationFailed, 0, false, "is not trusted"}.check(t, fail(t, cfg))
	cfg.CABundle = append(cfg.CABundle, s.CAPEM()...)
	dial(t, cfg)
}

func TestAClientCertificate(t *testing.T) {
	s := mcpfake.New(t, mcpfake.WithClientCert())
	cfg := config(t, s.URL())
	cfg.CABundle = s.CAPEM()
	f := fail(t, cfg)
	if f.Class != failure.Protocol || f.Reason != failure.TLSVerificationFailed ||
		!strings.Contains(f.Detail, "client certificate") {
		t.Errorf("failure = %+v", f)
	}
	cert, key, err := s.ClientPair()
	if err != nil {
		t.Fatal(err)
	}
	cfg.ClientCertificate, cfg.ClientKey = secret.New(string(cert)), secret.New(string(key))
	dial(t, cfg)
}

func TestTLSAndPlainMixedUp(t *testing.T) {
	plain, secured := mcpfake.New(t), mcpfake.New(t, mcpfake.WithTLS())
	f := fail(t, config(t, strings.Replace(plain.URL(), "http:", "https:", 1)))
	want{failure.Protocol, failure.NotMCP, 0, false, "plain HTTP"}.check(t, f)
	f = fail(t, config(t, strings.Replace(secured.URL(), "https:", "http:", 1)))
	want{failure.Protocol, failure.ProtocolError, 400, true, "expects HTTPS"}.check(t, f)
	secured.CutOnAccept()
	f = fail(t, config(t, secured.URL()))
	if f.Class != failure.Transport || f.Sent {
		t.Errorf("failure = %+v", f)
	}
}

func TestB56_IPv6(t *testing.T) {
	if ln, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Fatalf("this machine has no IPv6 loopback: %v", err)
	} else {
		_ = ln.Close()
	}
	s := mcpfake.New(t, mcpfake.WithAddress("[::1]:0"))
	if !strings.HasPrefix(s.URL(), "http://[::1]:") {
		t.Fatalf("url = %s", s.URL())
	}
	c, _ := dial(t, config(t, s.URL()))
	if _, err := c.List(t.Context()); err != nil {
		t.Errorf("List: %v", err)
	}
}

func TestB55_Proxies(t *testing.T) {
	// The suffix "localhost" would never be sent through a proxy of the environment; this name is routed by it.
	s := mcpfake.New(t, mcpfake.WithTLS())
	p := netfault.NewProxy(t)
	_, port, _ := net.SplitHostPort(s.HostPort())
	target := "mcpfake.test:" + port
	p.Route(target, s.HostPort())
	cfg := config(t, "https://"+target+"/mcp")
	cfg.CABundle = s.CAPEM()

	t.Run("environment", func(t *testing.T) {
		t.Setenv("HTTPS_PROXY", p.URL())
		t.Setenv("NO_PROXY", "")
		cfg := cfg
		// The address of the environment's proxy is not judged: the one who runs Mooring chose it.
		cfg.Egress = (*egress.Policy)(nil).ForNamespace("agents")
		dial(t, cfg)
		if got := p.Targets(); len(got) != 1 || got[0] != target {
			t.Errorf("the proxy saw %v", got)
		}
	})
	t.Run("NO_PROXY", func(t *testing.T) {
		t.Setenv("HTTPS_PROXY", p.URL())
		t.Setenv("NO_PROXY", ".test")
		before := len(p.Passes())
		want{failure.Transport, failure.DNSError, 0, false, ""}.check(t, fail(t, cfg))
		if n := len(p.Passes()) - before; n != 0 {
			t.Errorf("%d requests went through the proxy", n)
		}
	})
	t.Run("declared", func(t *testing.T) {
		t.Setenv("NO_PROXY", ".test")
		cfg := cfg
		cfg.ProxyURL = secret.New(p.URL())
		before := len(p.Passes())
		dial(t, cfg)
		if len(p.Passes()) == before {
			t.Error("the proxy was not used")
		}
		cfg.Egress = (*egress.Policy)(nil).ForNamespace("agents")
		want{failure.Protocol, failure.AddressNotAllowed, 0, false, "127.0.0.1: loopback"}.check(t, fail(t, cfg))
	})
	t.Run("the target is judged", func(t *testing.T) {
		cfg := cfg
		cfg.ProxyURL = secret.New(p.URL())
		before := len(p.Passes())
		for host, rule := range map[string]string{
			"169.254.169.254": "link-local", "metadata.google.internal": "metadata",
			"db.other.svc": "service of another namespace",
		} {
			cfg.URL = secret.New("https://" + host + "/mcp")
			want{failure.Protocol, failure.AddressNotAllowed, 0, false, host + ": " + rule}.check(t, fail(t, cfg))
		}
		if n := len(p.Passes()) - before; n != 0 {
			t.Errorf("%d requests went through the proxy", n)
		}
	})
	t.Run("refusals", func(t *testing.T) {
		cfg := cfg
		cfg.ProxyURL = secret.New(p.URL())
		p.Deny(403)
		want{failure.Transport, failure.ConnectFailed, 0, false, "the proxy answered 403 Forbidden"}.check(t, fail(t, cfg))
		p.Close()
		want{failure.Transport, failure.ConnectFailed, 0, false, "the proxy could not be reached"}.check(t, fail(t, cfg))
	})
}

func TestAddressesAreJudgedAtTheDial(t *testing.T) {
	s := mcpfake.New(t)
	cfg := config(t, s.URL())
	cfg.Egress = (*egress.Policy)(nil).ForNamespace("agents")
	want{failure.Protocol, failure.AddressNotAllowed, 0, false, "127.0.0.1: loopback"}.check(t, fail(t, cfg))
	cfg.Egress = nil
	want{failure.Protocol, failure.AddressNotAllowed, 0, false, "127.0.0.1: loopback"}.check(t, fail(t, cfg))
	if n := s.Stats().Accepted; n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestB47_WhiteSpaceAroundSecrets(t *testing.T) {
	s := mcpfake.New(t, mcpfake.WithBearer("tok-1"))
	cfg := config(t, s.URL())
	cfg.Bearer = secret.New("tok-1\n")
	cfg.Headers = []upstream.Header{header("X-Key", " k \r\n"), header("Host", "mcp.example.com")}
	dial(t, cfg)
	last := s.Requests("initialize")[0]
	if last.Header.Get("X-Key") != "k" || last.Host != "mcp.example.com" ||
		last.Header.Get("User-Agent") != "mooring/1.2.3" {
		t.Errorf("headers = %v, host %s", last.Header, last.Host)
	}
	for _, broken := range []upstream.Config{
		{URL: secret.New(s.URL()), Bearer: secret.New("to\n" + canary)},
		{URL: secret.New(s.URL()), Headers: []upstream.Header{header("X-Key", "a\x00"+canary)}},
		{URL: secret.New(s.URL()), Headers: []upstream.Header{header("X Key", canary)}},
		{URL: secret.New(s.URL()), Headers: []upstream.Header{header("mcp-session-id", canary)}},
	} {
		if _, err := upstream.NewDialer(broken); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("error = %v", err)
		}
	}
}

func TestB45_BadConfigurationsAreNamedWithoutTheirValues(t *testing.T) {
	for _, cfg := range []upstream.Config{
		{URL: secret.New("https://u:" + canary + "@h/mcp")}, {URL: secret.New("ftp://h/" + canary)},
		{URL: secret.New("https:///" + canary)}, {URL: secret.New("http://h:port/" + canary)}, {URL: secret.New("")},
		{URL: secret.New("http://h/"), ProxyURL: secret.New("ftp://" + canary)},
		{URL: secret.New("http://h/"), ProxyURL: secret.New("http://" + canary + ":x")},
		{URL: secret.New("http://h/"), CABundle: []byte(canary)},
		{URL: secret.New("http://h/"), ClientCertificate: secret.New(canary), ClientKey: secret.New(canary)},
		{URL: secret.New("http://h/"), ProtocolVersion: "2024-06-18"},
		{URL: secret.New("http://h/"), ProtocolVersion: "2026-07-28", Protocol: upstream.SSE},
	} {
		if _, err := upstream.NewDialer(cfg); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("error = %v", err)
		}
	}
}

// Nothing of the URL's query, the credentials, the session id or what a server says is in any error text.
func TestB45_NoErrorRepeatsASecret(t *testing.T) {
	s := mcpfake.New(t)
	cfg := config(t, s.URL()+"?api_key="+canary)
	cfg.Bearer = secret.New(canary)
	cfg.Headers = []upstream.Header{header("X-Key", canary)}
	d := dialer(t, cfg)
	c, _ := dial(t, cfg)
	if sent := s.Requests("initialize")[0]; !strings.Contains(sent.Path, "api_key="+canary) {
		t.Errorf("path = %s", sent.Path)
	}
	var session string
	s.Fault(mcpfake.Call, mcpfake.Forever, func(x *mcpfake.Exchange) bool {
		session = x.Request.Session
		return mcpfake.Status(500, mcpfake.Headers{"X-Leak": canary}, canary)(x)
	})
	_, err := c.Call(t.Context(), call("echo", `{}`))
	texts := []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%+v", cfg)}
	if err := s.Refuse(); err != nil {
		t.Fatal(err)
	}
	s.CutConnections(true)
	_, err = d.Dial(t.Context(), newObserver())
	texts = append(texts, err.Error())
	for _, text := range texts {
		if strings.Contains(text, canary) || session == "" || strings.Contains(text, session) {
			t.Errorf("text = %s", text)
		}
	}
}
