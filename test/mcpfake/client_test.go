package mcpfake_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/pace"
)

// wire is a client that does nothing by itself.
type wire struct {
	t       *testing.T
	srv     *mcpfake.Server
	http    *http.Client
	session string
	header  http.Header // sent with every request
}

type reply struct {
	status int
	header http.Header
	body   string
	err    error // of the exchange or of reading the body
}

func newWire(t *testing.T, srv *mcpfake.Server) *wire {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &wire{t: t, srv: srv, header: http.Header{},
		http: &http.Client{Transport: transport, CheckRedirect: noRedirect}}
}

func (c *wire) do(ctx context.Context, method, body string, extra ...string) (*http.Response, error) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, c.srv.URL(), strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = c.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	for i := 0; i < len(extra); i += 2 {
		req.Header.Set(extra[i], extra[i+1])
	}
	return c.http.Do(req)
}

func (c *wire) send(method, body string, extra ...string) reply {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), pace.Patience)
	defer cancel()
	resp, err := c.do(ctx, method, body, extra...)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(b), err}
}

func (c *wire) post(body string, extra ...string) reply {
	c.t.Helper()
	return c.send(http.MethodPost, body, extra...)
}

const (
	initBody = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"w","version":"1"}}}`
	listBody = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	echoBody = `{"jsonrpc":"2.0","id":2,"method":"tools/call",` +
		`"params":{"name":"echo","arguments":{"n":12345678901234567890}}}`
	echoText = `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"n\":12345678901234567890}"}]}}`
)

// initialize opens a legacy session.
func (c *wire) initialize() *wire {
	c.t.Helper()
	c.session = ""
	r := c.post(initBody)
	if r.err != nil || r.status != 200 {
		c.t.Fatalf("initialize: %d %q %v", r.status, r.body, r.err)
	}
	c.session = r.header.Get("Mcp-Session-Id")
	if r = c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.status != 202 {
		c.t.Fatalf("initialized: %d %q %v", r.status, r.body, r.err)
	}
	return c
}

// modern makes a stateless request.
func (c *wire) modern(method, params string, extra ...string) reply {
	c.t.Helper()
	body := `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}` + params + `}}`
	all := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	return c.post(body, append(all, extra...)...)
}

// events reads the data of n server-sent events, with ids.
func events(t *testing.T, r io.Reader, n int) (ids, data []string) {
	t.Helper()
	scan := bufio.NewScanner(r)
	id := ""
	for len(data) < n && scan.Scan() {
		if v, ok := strings.CutPrefix(scan.Text(), "id: "); ok {
			id = v
		}
		if v, ok := strings.CutPrefix(scan.Text(), "data: "); ok {
			ids, data = append(ids, id), append(data, v)
		}
	}
	if len(data) < n {
		t.Fatalf("stream ended after %d events, want %d: %v", len(data), n, scan.Err())
	}
	return ids, data
}

func toolNames(t *testing.T, body string) (names []string, cursor any) {
	t.Helper()
	var m struct {
		Result struct {
			Tools []struct{ Name string }
			Next  any `json:"nextCursor"`
		}
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	for _, tool := range m.Result.Tools {
		names = append(names, tool.Name)
	}
	return names, m.Result.Next
}
