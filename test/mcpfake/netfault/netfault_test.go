//go:build unix

package netfault_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/mooring-dev/mooring/test/mcpfake/netfault"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		println(err.Error())
		code = 1
	}
	os.Exit(code)
}

func through(t *testing.T, proxy *netfault.Proxy, user *url.Userinfo) *http.Client {
	t.Helper()
	u, err := url.Parse(proxy.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = user
	transport := &http.Transport{Proxy: http.ProxyURL(u)}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, c *http.Client, target string) (int, error) {
	t.Helper()
	resp, err := c.Get(target)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, nil
}

func TestProxyTellsItsTargets(t *testing.T) {
	proxy, trap := netfault.NewProxy(t), netfault.NewTrap(t)
	u, err := url.Parse(trap.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	proxy.Route("mcp.example.test:80", u.Host)
	client := through(t, proxy, url.UserPassword("u", "p"))
	if code, err := get(t, client, "http://mcp.example.test/a?b=c"); code != 200 || err != nil {
		t.Fatalf("plain: %d %v", code, err)
	}
	proxy.Deny(407)
	if code, err := get(t, client, "http://other.test:81/"); code != 407 || err != nil {
		t.Errorf("denied: %d %v", code, err)
	}
	if _, err := get(t, client, "https://secure.test/"); err == nil {
		t.Error("a denied tunnel carried a request")
	}
	if got := proxy.Targets(); !slices.Equal(got, []string{"mcp.example.test:80", "other.test:81", "secure.test:443"}) {
		t.Errorf("targets %q", got)
	}
	want := netfault.Pass{Method: "CONNECT", Target: "secure.test:443", Authorization: "Basic dTpw"}
	if got := proxy.Passes()[2]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	hits := trap.Hits()
	if len(hits) != 1 || hits[0].Path != "/a?b=c" || hits[0].Host != "mcp.example.test" ||
		hits[0].Header.Get("Proxy-Authorization") != "" {
		t.Errorf("the target saw %+v", hits)
	}
}

func TestProxyTunnels(t *testing.T) {
	proxy, trap := netfault.NewProxy(t), netfault.NewTrap(t)
	u, err := url.Parse(trap.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	proxy.Route("mcp.example.test:443", u.Host)
	c, err := net.Dial("tcp", proxy.Listener().Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "CONNECT mcp.example.test:443 HTTP/1.1\r\nHost: mcp.example.test:443\r\n\r\n")
	const established = "HTTP/1.1 200 Connection established\r\n\r\n"
	buf := make([]byte, len(established))
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != established {
		t.Fatalf("got %q %v", buf, err)
	}
	_, _ = io.WriteString(c, "GET /x HTTP/1.1\r\nHost: inside\r\nConnection: close\r\n\r\n")
	if all, err := io.ReadAll(c); err != nil || len(all) == 0 {
		t.Errorf("got %q %v", all, err)
	}
	if hits := trap.Hits(); len(hits) != 1 || hits[0].Host != "inside" || trap.Conns() != 1 {
		t.Errorf("the target saw %+v", hits)
	}
	other, err := net.Dial("tcp", proxy.Listener().Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, _ = io.WriteString(other, "CONNECT mcp.example.test:443 HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, err := io.ReadFull(other, buf); err != nil {
		t.Fatal(err)
	}
	proxy.Close() // with a tunnel open: goleak is the proof
	if _, err := other.Read(buf); err == nil {
		t.Error("the tunnel outlived the proxy")
	}
}

func TestListenerKeepsItsPortWhileRefusing(t *testing.T) {
	l, err := netfault.Listen("127.0.0.1:0", func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	address := l.Addr().String()
	for range 2 { // idempotent
		if err := l.Refuse(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
	if thief, err := net.Listen("tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the port was taken: %v %v", thief, err)
	}
	if err := l.Restore(); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := l.Accept()
	if err != nil || l.Open() != 1 || l.Accepted() != 1 {
		t.Fatalf("%v, %d open, %d accepted", err, l.Open(), l.Accepted())
	}
	netfault.Drop(got, true)
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) || l.Open() != 0 {
		t.Errorf("got %v, %d open", err, l.Open())
	}
}
