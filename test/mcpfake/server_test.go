package mcpfake_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/test/mcpfake"
)

func TestRefuseAndRestoreKeepThePort(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		srv := mcpfake.New(t, mcpfake.WithAddress(address))
		url := srv.URL()
		for range 3 {
			client := newWire(t, srv).initialize()
			if err := srv.Refuse(); err != nil {
				t.Fatal(err)
			}
			if got := client.post(echoBody); got.body != echoText {
				t.Errorf("an open connection died of Refuse: %+v", got)
			}
			srv.CutConnections(false)
			srv.Await(t, func(st mcpfake.Stats) bool { return st.Conns == 0 })
			if got := newWire(t, srv).post(listBody); !errors.Is(got.err, syscall.ECONNREFUSED) {
				t.Errorf("got %+v, want connection refused", got)
			}
			if err := srv.Restore(); err != nil {
				t.Fatal(err)
			}
		}
		if srv.URL() != url {
			t.Errorf("url became %s", srv.URL())
		}
		newWire(t, srv).initialize()
	}
}

func TestFreezeIsSilentAndThaws(t *testing.T) {
	srv := mcpfake.New(t)
	open := newWire(t, srv).initialize()
	srv.Freeze()
	got := make(chan reply, 2)
	go func() { got <- open.post(echoBody) }()            // on the open connection
	go func() { got <- newWire(t, srv).post(initBody) }() // on a new one
	srv.Await(t, func(st mcpfake.Stats) bool { return st.Accepted == 2 })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := newWire(t, srv).do(ctx, http.MethodPost, initBody); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want silence", err)
	}
	if n := srv.Stats().Requests; n != 2 {
		t.Errorf("%d requests read while frozen, want the first 2", n)
	}
	if err := srv.Restore(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r := <-got; r.err != nil || r.status != 200 {
			t.Errorf("after thaw: %+v", r)
		}
	}
}

func TestCloseWhileFrozenOrRefusing(t *testing.T) {
	frozen, refusing := mcpfake.New(t), mcpfake.New(t)
	client := newWire(t, frozen).initialize()
	frozen.Freeze()
	got := make(chan reply, 1)
	go func() { got <- client.post(echoBody) }()
	frozen.Close()
	if r := <-got; r.err == nil {
		t.Errorf("answered: %+v", r)
	}
	if err := refusing.Refuse(); err != nil {
		t.Fatal(err)
	}
	refusing.Close()
	refusing.Close()
	if got := newWire(t, refusing).post(listBody); !errors.Is(got.err, syscall.ECONNREFUSED) {
		t.Errorf("got %+v", got)
	}
}

func TestCutOnAccept(t *testing.T) {
	srv := mcpfake.New(t)
	srv.CutOnAccept()
	if got := newWire(t, srv).post(initBody); !errors.Is(got.err, io.EOF) && !errors.Is(got.err, syscall.ECONNRESET) {
		t.Errorf("got %+v, want a cut", got)
	}
	if n := srv.Stats().Requests; n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestDropStreamsTellsEOFFromReset(t *testing.T) {
	for reset, want := range map[bool]error{false: io.ErrUnexpectedEOF, true: syscall.ECONNRESET} {
		srv := mcpfake.New(t)
		client := newWire(t, srv).initialize()
		resp, err := client.do(t.Context(), http.MethodGet, "")
		if err != nil {
			t.Fatal(err)
		}
		srv.Await(t, func(st mcpfake.Stats) bool { return st.Streams == 1 })
		srv.DropStreams(reset)
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, want) {
			t.Errorf("reset %v: got %v, want %v", reset, err, want)
		}
		resp.Body.Close()
		srv.Await(t, func(st mcpfake.Stats) bool { return st.Streams == 0 && st.Sessions == 1 })
	}
}

func trust(t *testing.T, client *wire, ca []byte, pair ...tls.Certificate) {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		t.Fatal("no certificate in the CA PEM")
	}
	client.http.CloseIdleConnections()
	client.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool, Certificates: pair}
}

func TestTLS(t *testing.T) {
	srv, other := mcpfake.New(t, mcpfake.WithTLS()), mcpfake.New(t, mcpfake.WithTLS())
	untrusting := newWire(t, srv)
	var unknown x509.UnknownAuthorityError
	if got := untrusting.post(initBody); !errors.As(got.err, &unknown) {
		t.Errorf("got %+v, want an unknown authority", got)
	}
	stranger := newWire(t, srv)
	trust(t, stranger, other.CAPEM())
	if got := stranger.post(initBody); got.err == nil {
		t.Error("another server's authority is trusted")
	}
	client := newWire(t, srv)
	trust(t, client, srv.CAPEM())
	client.initialize()
	if err := srv.RotateCA(); err != nil {
		t.Fatal(err)
	}
	client.http.CloseIdleConnections()
	if got := client.post(echoBody); !errors.As(got.err, &unknown) {
		t.Errorf("after rotation: %+v", got)
	}
	again := newWire(t, srv)
	trust(t, again, srv.CAPEM())
	again.initialize()
	srv.Fault(mcpfake.Call, 1, mcpfake.Reset())
	if got := again.post(echoBody); !errors.Is(got.err, syscall.ECONNRESET) {
		t.Errorf("reset under TLS: %+v", got)
	}
	srv.CutOnAccept()
	cut := newWire(t, srv)
	trust(t, cut, srv.CAPEM())
	if got := cut.post(initBody); !errors.Is(got.err, io.EOF) && !errors.Is(got.err, syscall.ECONNRESET) {
		t.Errorf("cut handshake: %+v", got)
	}
}

func TestClientCertificate(t *testing.T) {
	srv := mcpfake.New(t, mcpfake.WithClientCert())
	bare := newWire(t, srv)
	trust(t, bare, srv.CAPEM())
	if got := bare.post(initBody); got.err == nil {
		t.Errorf("served without a client certificate: %+v", got)
	}
	cert, key, err := srv.ClientPair()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	client := newWire(t, srv)
	trust(t, client, srv.CAPEM(), pair)
	client.initialize()
}

func TestBearer(t *testing.T) {
	srv := mcpfake.New(t, mcpfake.WithBearer("T1"))
	client := newWire(t, srv)
	got := client.post(initBody)
	if got.status != 401 || got.header.Get("WWW-Authenticate") != `Bearer realm="mcpfake"` {
		t.Errorf("without: %d %q", got.status, got.header.Get("WWW-Authenticate"))
	}
	client.header.Set("Authorization", "Bearer T1")
	client.initialize()
	srv.SetBearer("T2", "T3")
	got = client.post(echoBody)
	if got.status != 401 || got.header.Get("WWW-Authenticate") != `Bearer realm="mcpfake", error="invalid_token"` {
		t.Errorf("after rotation: %d %q", got.status, got.header.Get("WWW-Authenticate"))
	}
	client.header.Set("Authorization", "Bearer T3")
	if got = client.post(echoBody); got.body != echoText {
		t.Errorf("with the new token: %+v", got)
	}
	if seen := srv.Credentials(); !slices.Equal(seen, []string{"Bearer T1", "Bearer T3"}) {
		t.Errorf("credentials %q", seen)
	}
	if st := srv.Stats(); st.Unauthorized != 2 || st.Executions("echo") != 1 {
		t.Errorf("%d unauthorized, %v", st.Unauthorized, st)
	}
}

func TestLostSessionForms(t *testing.T) {
	for _, c := range []struct {
		form   mcpfake.Lost
		status int
		body   string
	}{
		{mcpfake.LostPlain, 404, "session not found\n"},
		{mcpfake.LostRPC, 404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`},
		{mcpfake.LostPlain, 503, "session not found\n"},
	} {
		srv := mcpfake.New(t, mcpfake.WithLostSession(c.form, c.status))
		client := newWire(t, srv).initialize()
		stream, err := client.do(t.Context(), http.MethodGet, "")
		if err != nil {
			t.Fatal(err)
		}
		srv.Await(t, func(st mcpfake.Stats) bool { return st.Streams == 1 })
		srv.LoseSessions()
		if b, err := io.ReadAll(stream.Body); string(b) != ": ok\n\n" || err != nil {
			t.Errorf("stream of a lost session: %q %v", b, err)
		}
		stream.Body.Close()
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			if got := client.send(method, echoBody); got.status != c.status || got.body != c.body {
				t.Errorf("%s: %d %q, want %d %q", method, got.status, got.body, c.status, c.body)
			}
		}
		old := client.session
		if client.initialize().session == old {
			t.Error("a lost id was given again")
		}
		if st := srv.Stats(); st.Sessions != 1 || st.Opened != 2 || st.Executions("echo") != 0 {
			t.Errorf("%d sessions, %d opened, %v", st.Sessions, st.Opened, st)
		}
	}
}

func TestSessionRules(t *testing.T) {
	srv := mcpfake.New(t)
	client := newWire(t, srv)
	got := client.post(listBody)
	if got.status != 400 || !strings.Contains(got.body, "Mcp-Session-Id header is required") {
		t.Errorf("without a session: %d %q", got.status, got.body)
	}
	client.initialize()
	if got := client.send(http.MethodDelete, ""); got.status != 204 {
		t.Errorf("delete: %d", got.status)
	}
	if got := client.send(http.MethodDelete, ""); got.status != 404 {
		t.Errorf("delete again: %d", got.status)
	}
	if got := client.send(http.MethodPut, ""); got.status != 405 || got.header.Get("Allow") != "GET, POST, DELETE" {
		t.Errorf("put: %d", got.status)
	}
	client.initialize()
	if got := client.post(listBody, "Mcp-Protocol-Version", "1999-01-01"); got.status != 400 {
		t.Errorf("unknown version header: %d", got.status)
	}
	if got := client.post(`[]`); got.status != 400 {
		t.Errorf("batch: %d", got.status)
	}
	deaf := newWire(t, mcpfake.New(t, mcpfake.WithoutStream())).initialize()
	if got := deaf.send(http.MethodGet, ""); got.status != 405 {
		t.Errorf("stream not offered: %d", got.status)
	}
	loose := newWire(t, mcpfake.New(t, mcpfake.WithoutSessions())).initialize()
	if loose.session != "" || loose.send(http.MethodDelete, "").status != 405 || loose.post(echoBody).body != echoText {
		t.Errorf("a server without sessions: %q", loose.session)
	}
	got = client.post(strings.Replace(initBody, "2025-11-25", "2099-01-01", 1))
	if !strings.Contains(got.body, `"protocolVersion":"2025-11-25"`) {
		t.Errorf("negotiation: %q", got.body)
	}
}

func TestViolationsAreNamed(t *testing.T) {
	srv := mcpfake.New(t)
	client := newWire(t, srv)
	client.session = client.post(initBody).header.Get("Mcp-Session-Id")
	client.post(listBody)
	client.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	client.post(listBody, "Accept", "application/json")
	client.post(`{"jsonrpc":"2.0","id":5,"method":"ping"}`, "Mcp-Protocol-Version", "2025-06-18")
	client.post(initBody)
	want := []string{
		"tools/list: sent before notifications/initialized",
		`tools/list: Accept is "application/json"`,
		"tools/list: id 1 used twice in one session",
		`POST ping: MCP-Protocol-Version is "2025-06-18", negotiated "2025-11-25"`,
		"initialize: sent with a session id",
	}
	if got := srv.Violations(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestPaging(t *testing.T) {
	srv := mcpfake.New(t)
	client := newWire(t, srv).initialize()
	list := func(cursor string) ([]string, any) {
		t.Helper()
		return toolNames(t, client.post(`{"jsonrpc":"2.0","id":"`+cursor+time.Now().String()+
			`","method":"tools/list","params":{"cursor":"`+cursor+`"}}`).body)
	}
	expect := func(mode string, names []string, next any, want []string, wantNext any) {
		t.Helper()
		if !slices.Equal(names, want) || next != wantNext {
			t.Errorf("%s: got %v next %v, want %v next %v", mode, names, next, want, wantNext)
		}
	}
	all := []string{"echo", "slow", "progress", "fail", "count"}
	srv.SetPaging(2, mcpfake.Honest)
	names, next := list("")
	expect("first page", names, next, all[:2], "2")
	names, next = list("4")
	expect("last page", names, next, all[4:], nil)
	srv.SetPaging(0, mcpfake.Empty)
	names, next = list("")
	expect("empty cursor", names, next, all, "")
	srv.SetPaging(3, mcpfake.Loop)
	names, next = list("")
	expect("before the loop", names, next, all[:3], "3")
	for range 2 {
		names, next = list("3")
		expect("loop", names, next, all[3:], "3")
	}
	srv.SetPaging(0, mcpfake.Endless)
	names, next = list("41")
	expect("endless", names, next, []string{"endless_41"}, "42")
	got := client.post(`{"jsonrpc":"2.0","id":"bad","method":"tools/list","params":{"cursor":"x"}}`)
	if !strings.Contains(got.body, `"code":-32602`) {
		t.Errorf("bad cursor: %q", got.body)
	}
	srv.SetPaging(0, mcpfake.Honest)
	srv.SetTools(mcpfake.RawTool(`{"name":"a","inputSchema":null}`), mcpfake.RawTool(`"no tool"`))
	if got := client.post(`{"jsonrpc":"2.0","id":"raw","method":"tools/list"}`); got.body !=
		`{"jsonrpc":"2.0","id":"raw","result":{"tools":[{"name":"a","inputSchema":null},"no tool"]}}` {
		t.Errorf("raw tools: %q", got.body)
	}
	srv.Fault(mcpfake.List, 1, mcpfake.NoTools())
	names, next = list("")
	expect("no tools", names, next, nil, nil)
}
