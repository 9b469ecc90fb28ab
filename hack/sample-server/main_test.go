package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mooring-dev/mooring/test/pace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs the command and returns its URL; the test ends it and checks that it ended well.
func start(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, args, w, io.Discard) }()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
	})
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening ")
	if !ok {
		t.Fatalf("announced %q", line)
	}
	return url
}

type bearer struct {
	token string
	next  *http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

func connect(t *testing.T, url, token string, changed chan<- struct{}) (*mcp.ClientSession, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pace.Patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	web := &http.Transport{}
	t.Cleanup(web.CloseIdleConnections)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token, web}}}, nil)
	if err == nil {
		t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

func admin(t *testing.T, method, url, query string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(url, "/mcp")+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	return resp.StatusCode
}

func call(t *testing.T, s *mcp.ClientSession, name string, args any) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if res.IsError {
		return "error: " + res.Content[0].(*mcp.TextContent).Text
	}
	if res.StructuredContent != nil {
		b, err := json.Marshal(res.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func TestBothEras(t *testing.T) {
	for era, version := range map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			url := start(t, "--era", era)
			changed := make(chan struct{}, 8)
			s, err := connect(t, url, "", changed)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("version %s, want %s", got, version)
			}
			for _, c := range []struct {
				tool string
				args any
				want string
			}{
				{"echo", map[string]any{"text": "ä b"}, "ä b"},
				{"add", map[string]any{"a": 1.5, "b": 2}, `{"sum":3.5}`},
				{"word_count", map[string]any{"text": "zwei wörter\nmehr\n"}, `{"characters":17,"lines":2,"words":3}`},
				{"now", map[string]any{"zone": "No/Where"}, `error: unknown time zone "No/Where"`},
				{"wait", map[string]any{"seconds": 0.01}, "waited 0.01 s"},
				{"wait", map[string]any{"seconds": 301}, "error: seconds must be between 0 and 300, got 301"},
			} {
				if got := call(t, s, c.tool, c.args); got != c.want {
					t.Errorf("%s: got %q, want %q", c.tool, got, c.want)
				}
			}
			if _, err := time.Parse(time.RFC3339, call(t, s, "now", map[string]any{})); err != nil {
				t.Error(err)
			}
			if code := admin(t, http.MethodPost, url, "/admin/tools?name=greet"); code != 204 {
				t.Errorf("admin: %d", code)
			}
			select {
			case <-changed:
			case <-time.After(pace.Patience):
				t.Fatal("no list_changed after a tool was added")
			}
			if got := tools(t, s); !slices.Equal(got, []string{"add", "echo", "greet", "now", "wait", "word_count"}) {
				t.Errorf("tools %v", got)
			}
			if got := call(t, s, "greet", map[string]any{}); got != "hello world from greet" {
				t.Errorf("greet: %q", got)
			}
			if code := admin(t, http.MethodDelete, url, "/admin/tools?name=greet"); code != 204 {
				t.Errorf("admin: %d", code)
			}
			if got := tools(t, s); len(got) != 5 {
				t.Errorf("tools %v", got)
			}
		})
	}
}

func tools(t *testing.T, s *mcp.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

func TestBearerFileIsReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("T1\n")
	url := start(t, "--bearer-file", file)
	for _, token := range []string{"", "T2"} {
		if _, err := connect(t, url, token, nil); err == nil {
			t.Errorf("connected with %q", token)
		}
	}
	if _, err := connect(t, url, "T1", make(chan struct{}, 1)); err != nil {
		t.Errorf("the right token: %v", err)
	}
	write("T2")
	if _, err := connect(t, url, "T2", make(chan struct{}, 1)); err != nil {
		t.Errorf("after rotation: %v", err)
	}
	if code := admin(t, http.MethodGet, url, "/mcp"); code != 401 {
		t.Errorf("bare GET: %d, want 401", code)
	}
	if code := admin(t, http.MethodGet, url, "/healthz"); code != 200 {
		t.Errorf("healthz: %d", code)
	}
}

func TestFlagsAndNamesAreChecked(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--era", "future"}, {"--bearer-file", empty}, {"--bearer-file", empty + "-missing"},
		{"--listen", "nowhere"}, {"--what"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
	url := start(t)
	for query, want := range map[string]int{"?name=": 400, "?name=a%20b": 400, "?name=ok": 204} {
		if code := admin(t, http.MethodPost, url, "/admin/tools"+query); code != want {
			t.Errorf("%s: %d, want %d", query, code, want)
		}
	}
	var rec recorder
	req := &http.Request{RemoteAddr: "10.1.2.3:99"}
	loopbackOnly(http.NotFoundHandler()).ServeHTTP(&rec, req)
	if rec.code != http.StatusForbidden {
		t.Errorf("from elsewhere: %d, want 403", rec.code)
	}
}

type recorder struct{ code int }

func (r *recorder) Header() http.Header         { return http.Header{} }
func (r *recorder) WriteHeader(code int)        { r.code = code }
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }

// A signal ends standing streams and lets a call in flight finish.
func TestShutdownLetsCallsFinish(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			r, w := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- run(ctx, []string{"--era", era}, w, io.Discard) }()
			line, err := bufio.NewReader(r).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {},
				// The call is known to be in flight when its first progress comes.
				ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { stop() },
			})
			web := &http.Transport{}
			defer web.CloseIdleConnections()
			s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: strings.Fields(line)[1], HTTPClient: &http.Client{Transport: web}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			params := &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"seconds": 1.3}}
			params.SetProgressToken("p")
			res, err := s.CallTool(t.Context(), params)
			if err != nil {
				t.Fatalf("the call in flight: %v", err)
			}
			if got := res.Content[0].(*mcp.TextContent).Text; got != "waited 1.3 s" {
				t.Errorf("the call in flight gave %q", got)
			}
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(grace):
				t.Error("still serving after the grace period")
			}
		})
	}
}
