package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	legacyVersion = "2025-11-25"
	modernVersion = "2026-07-28"
	// text is what the tool is told to say.
	text = "what one agent says to a tool is seldom much longer than this sentence"
)

// agent is a client with one session over connections of its own.
type agent struct {
	era, url, token, session string
	http                     *http.Client
	ids                      int
}

func newAgent(t *target, era string) *agent {
	return &agent{
		era: era, url: t.url(era), token: t.token,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}, Timeout: time.Minute},
	}
}

func (a *agent) close() { a.http.CloseIdleConnections() }

// open shakes hands, where the era has that.
func (a *agent) open(ctx context.Context) error {
	if a.era == "modern" {
		return nil
	}
	_, header, err := a.post(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{`+
		`"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`, a.id(), legacyVersion), "")
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	a.session = header.Get("Mcp-Session-Id")
	_, _, err = a.post(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), "")
	return err
}

// begin opens the session and makes the first call. ReverseProxy now and then loses an answer; that costs it a try.
func (a *agent) begin(ctx context.Context) (err error) {
	for range 3 {
		if err = errors.Join(a.open(ctx), a.call(ctx)); err == nil {
			return nil
		}
		a.session = ""
	}
	return err
}

func (a *agent) id() int {
	a.ids++
	return a.ids
}

// call calls the tool and looks at its answer.
func (a *agent) call(ctx context.Context) error {
	meta := ""
	if a.era == "modern" {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modernVersion + `",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}`
	}
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo",`+
		`"arguments":{"text":%q}%s}}`, a.id(), text, meta)
	answer, _, err := a.post(ctx, body, "tools/call")
	switch {
	case err != nil:
		return err
	case !bytes.Contains(answer, []byte(text)) || bytes.Contains(answer, []byte(`"isError":true`)):
		return fmt.Errorf("the tool answered %.300s", answer)
	}
	return nil
}

func (a *agent) request(ctx context.Context, method string, body io.Reader, call string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.url, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	switch {
	case a.era == "modern":
		r.Header.Set("Mcp-Protocol-Version", modernVersion)
		r.Header.Set("Mcp-Method", call)
		r.Header.Set("Mcp-Name", "echo")
	case a.session != "":
		r.Header.Set("Mcp-Protocol-Version", legacyVersion)
		r.Header.Set("Mcp-Session-Id", a.session)
	}
	return r, nil
}

func (a *agent) post(ctx context.Context, body []byte, call string) ([]byte, http.Header, error) {
	r, err := a.request(ctx, http.MethodPost, bytes.NewReader(body), call)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := a.http.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode > 299 {
		err = fmt.Errorf("status %d: %.300s", resp.StatusCode, answer)
	}
	return answer, resp.Header, err
}

// listen opens a standing stream, which ends with the context.
func (a *agent) listen(ctx context.Context) error {
	r, err := a.request(ctx, http.MethodGet, nil, "")
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := a.http.Do(r) //nolint:bodyclose // it stays open
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("stream: status %d", resp.StatusCode)
	}
	go func() { _, _ = io.Copy(io.Discard, resp.Body) }()
	return nil
}

// statsOf asks a process of the benchmark about itself.
func statsOf(ctx context.Context, origin string) (s stats, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+"/stats", nil)
	if err != nil {
		return s, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	return s, json.NewDecoder(resp.Body).Decode(&s)
}

// metric is a sample of a Prometheus page, 0 when it is not there.
func metric(page []byte, name string) float64 {
	for line := range bytes.Lines(page) {
		if rest, found := bytes.CutPrefix(line, []byte(name+" ")); found {
			value, _ := strconv.ParseFloat(string(bytes.TrimSpace(rest)), 64)
			return value
		}
	}
	return 0
}
