package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/internal/cli"
	"github.com/mooring-dev/mooring/test/builder"
)

// failing are the scenarios of the legacy era that fail through the gateway.
var failing = []string{
	// A server asks its client for something: servers of the legacy era are told that we do not offer that. In the
	// stateless protocol such requests come as results, which pass.
	"tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums",
	// It is only a warning: a gateway that keeps no sessions gives no session id.
	"server-sse-multiple-streams",
}

// calledTools are those that the scenarios tools-call-* call: some of them pass also where the gateway answers itself.
var calledTools = []string{
	"test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource",
	"test_multiple_content_types", "test_error_handling", "test_tool_with_progress",
}

// The protocol's own conformance suites pass through the gateway, with the SDK's conformance server behind it. A
// scenario that is listed as failing and passes is a failure, too.
func TestConformance(t *testing.T) {
	t.Parallel()
	node := os.Getenv("MOORING_NODE")
	NewWithT(t).Expect(node).To(BeAnExistingFile(), "run `make node-assets`")
	program := filepath.Join(t.TempDir(), "everything-server")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program,
		"github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(out))
	w := newNamespace(t)
	w.startGatewayAs(cli.GatewaySettings{Anonymous: true})
	w.startManager()
	legacy, modern := startConformanceServer(t, program, false), startConformanceServer(t, program, true)
	w.apply(builder.MCPServer("legacy").URL(legacy.url).Obj(), builder.MCPServer("modern").URL(modern.url).Obj())
	w.awaitServer("legacy", "Ready", "True Ready")
	w.awaitServer("modern", "Ready", "True Ready")
	for _, suite := range []struct {
		name, version, server string
		arguments             []string
		upstream              *conformanceServer
		failing               []string
	}{
		{"0.1.16", "0.1", "legacy", []string{"--suite", "active"}, legacy, failing},
		{"2025-11-25", "0.2", "legacy", []string{"--suite", "active", "--spec-version", "2025-11-25"}, legacy, failing},
		{"2026-07-28", "0.2", "modern", []string{"--suite", "all", "--spec-version", "2026-07-28"}, modern, nil},
	} {
		t.Run(suite.name, func(t *testing.T) {
			g := NewWithT(t)
			suite.upstream.forget()
			expected := filepath.Join(t.TempDir(), "failing.yaml")
			list, err := json.Marshal(map[string]any{"server": append([]string{}, suite.failing...)})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.WriteFile(expected, list, 0o600)).To(Succeed())
			command := exec.CommandContext(t.Context(), node, append([]string{
				filepath.Join(filepath.Dir(node), "node_modules", "conformance-"+suite.version, "dist", "index.js"),
				"server", "--url", w.serverURL(suite.server), "--expected-failures", expected,
			}, suite.arguments...)...)
			out, err := command.CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), string(out))
			g.Expect(suite.upstream.called()).To(ContainElements(calledTools))
		})
	}
}

// conformanceServer is the SDK's conformance server, and what was asked of it.
type conformanceServer struct {
	url string

	mu    sync.Mutex
	tools []string
}

// startConformanceServer runs the server until the end of the test.
func startConformanceServer(t *testing.T, program string, stateless bool) *conformanceServer {
	t.Helper()
	g := NewWithT(t)
	free := httptest.NewServer(nil)
	address := free.Listener.Addr().String()
	free.Close()
	command := exec.Command(program, "-http="+address, fmt.Sprintf("-stateless=%t", stateless))
	g.Expect(command.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	g.Eventually(func() error {
		resp, err := http.Get("http://" + address + "/mcp")
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}, patience).Should(Succeed())
	target, err := url.Parse("http://" + address)
	g.Expect(err).NotTo(HaveOccurred())
	s := &conformanceServer{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1}
	counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.note(r)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		counting.CloseClientConnections()
		counting.Close()
	})
	s.url = counting.URL + "/mcp"
	return s
}

// note keeps which tool a request calls.
func (s *conformanceServer) note(r *http.Request) {
	if r.Method != http.MethodPost {
		return
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m struct {
		Method string
		Params struct{ Name string }
	}
	if err == nil && json.Unmarshal(body, &m) == nil && m.Method == "tools/call" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tools = append(s.tools, m.Params.Name)
	}
}

func (s *conformanceServer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = nil
}

func (s *conformanceServer) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools
}
