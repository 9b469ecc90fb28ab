package main

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mooring-dev/mooring/hack/launch"
)

// target is a way to the upstream server.
type target struct {
	name, origin string
	// path makes of an era the path of its endpoint.
	path  func(era string) string
	token string
	// pid is its process, 0 for none; mallocs asks it for its allocations.
	pid     int
	mallocs func(context.Context) (float64, error)
}

func (t *target) url(era string) string { return t.origin + t.path(era) }

// world is all that runs during a benchmark.
type world struct {
	*options
	programs launch.Group
	upstream string // its origin
	targets  []*target
	gateway  *target
	pprof    string
	secure   []*slowServer
}

func (w *world) stop() error {
	for _, server := range w.secure {
		server.close()
	}
	return errors.Join(w.programs.Stop(), os.RemoveAll(w.programs.Dir))
}

// start starts everything.
func (w *world) start(ctx context.Context) (err error) {
	if w.programs.Dir, err = os.MkdirTemp("", "mooring-bench-"); err != nil {
		return err
	}
	plain := func(era string) string { return "/" + era }
	if w.upstream, _, err = w.play(ctx, "upstream"); err != nil {
		return err
	}
	w.targets = append(w.targets, &target{name: "direct", origin: w.upstream, path: plain})
	for _, role := range []string{"reverse", "naive"} {
		origin, pid, err := w.play(ctx, role)
		if err != nil {
			return err
		}
		w.targets = append(w.targets, &target{name: names[role], origin: origin, path: plain, pid: pid,
			mallocs: func(ctx context.Context) (float64, error) {
				s, err := statsOf(ctx, origin)
				return float64(s.Mallocs), err
			}})
	}
	for _, keeps := range []time.Duration{2 * time.Minute, 5 * time.Second} {
		server, err := newSlowServer(ctx, w.upstream, keeps)
		if err != nil {
			return err
		}
		w.secure = append(w.secure, server)
	}
	return w.startMooring(ctx)
}

var names = map[string]string{"reverse": "httputil.ReverseProxy", "naive": "SDK client behind SDK server"}

// play starts this program in a role.
func (w *world) play(ctx context.Context, role string) (origin string, pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", 0, err
	}
	command := exec.Command(self, "-role", role, "-upstream", w.upstream)
	origin, err = w.programs.Start(ctx, role, "listening", command)
	if err != nil {
		return "", 0, err
	}
	return origin, command.Process.Pid, nil
}

// startMooring runs the control plane with the manager, and a gateway of its own process, and declares the servers.
func (w *world) startMooring(ctx context.Context) error {
	assets := w.bin
	if own := os.Getenv("KUBEBUILDER_ASSETS"); own != "" {
		assets = own
	}
	mooring := filepath.Join(w.bin, "mooring")
	dev := exec.Command(mooring, "dev", "--dir", w.programs.Dir, "--assets", assets, "--gateway-bind-address=0")
	if _, err := w.programs.Start(ctx, "dev", "kubeconfig:", dev); err != nil {
		return err
	}
	if _, err := w.kubectl(ctx, w.manifests(), "apply", "-f", "-"); err != nil {
		return err
	}
	address, metrics, pprof := freeAddress(), freeAddress(), freeAddress()
	gateway := exec.Command(mooring, "gateway", "--gateway-bind-address", address, "--metrics-bind-address", metrics,
		"--health-probe-bind-address=0", "--pprof-bind-address", pprof, "--allow-loopback")
	gateway.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig())
	if _, err := w.programs.Start(ctx, "gateway", "", gateway); err != nil {
		return err
	}
	token, err := w.token(ctx, "agent")
	if err != nil {
		return err
	}
	w.gateway = &target{
		name: "Mooring", origin: "http://" + address, token: token, pid: gateway.Process.Pid,
		path: func(era string) string { return "/servers/default/" + era + "/mcp" },
		mallocs: func(ctx context.Context) (float64, error) {
			page, err := fetch(ctx, "http://"+metrics+"/metrics")
			return metric(page, "go_memstats_mallocs_total"), err
		},
	}
	w.pprof = "http://" + pprof + "/debug/pprof/"
	standard := *w.gateway
	standard.name = "Mooring, maxConcurrent 4"
	standard.path = func(era string) string { return "/servers/default/" + era + "-default/mcp" }
	w.targets = append(w.targets, w.gateway, &standard)
	return w.await(ctx)
}

// await waits until the servers are Ready and calls to them succeed.
func (w *world) await(ctx context.Context) error {
	_, err := w.kubectl(ctx, "", "wait", "mcpserver", "--all", "--for=condition=Ready", "--timeout=60s")
	if err != nil {
		return err
	}
	a := newAgent(w.gateway, "modern")
	defer a.close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		err := a.call(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

// manifests declare the servers, and who may use them.
func (w *world) manifests() string {
	var out strings.Builder
	server := func(name, url string, concurrent int, more string) {
		fmt.Fprintf(&out, `---
apiVersion: mooring.dev/v1alpha1
kind: MCPServer
metadata: {name: %s, namespace: default}
spec:
  http: {url: %q%s}
  calls: {maxConcurrent: %d}
`, name, url, more, concurrent)
	}
	for _, era := range eras {
		server(era, w.upstream+"/"+era, 256, "")
		server(era+"-default", w.upstream+"/"+era, 4, "")
	}
	for i, secure := range w.secure {
		ca := fmt.Sprintf("ca-%d", i)
		fmt.Fprintf(&out, `---
apiVersion: v1
kind: ConfigMap
metadata: {name: %s, namespace: default}
data: {ca.crt: %q}
`, ca, secure.authority())
		server(secureName(i), secure.url+"/modern", 4,
			fmt.Sprintf(", tls: {caBundleRef: {kind: ConfigMap, name: %s, key: ca.crt}, serverName: example.com}", ca))
	}
	for i := range agents(w.idle) {
		fmt.Fprintf(&out, `---
apiVersion: v1
kind: ServiceAccount
metadata: {name: %s, namespace: default}
`, agentName(i))
	}
	out.WriteString(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: agents, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: mooring-agent}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:default"}]
`)
	return out.String()
}

func secureName(i int) string { return fmt.Sprintf("secure-%d", i) }

// streamsAnAgent is how many streams one agent may have open.
const streamsAnAgent = 8

// agents is how many agents it takes to have so many streams open.
func agents(streams int) int { return (streams + streamsAnAgent - 1) / streamsAnAgent }

func agentName(i int) string {
	if i == 0 {
		return "agent"
	}
	return fmt.Sprintf("agent-%d", i)
}

func (w *world) token(ctx context.Context, account string) (string, error) {
	out, err := w.kubectl(ctx, "", "create", "token", account, "--audience=mooring", "--duration=2h")
	return strings.TrimSpace(out), err
}

func (w *world) kubeconfig() string { return filepath.Join(w.programs.Dir, "kubeconfig") }

func (w *world) kubectl(ctx context.Context, input string, arguments ...string) (string, error) {
	path := "kubectl"
	for _, dir := range []string{w.bin, os.Getenv("KUBEBUILDER_ASSETS")} {
		if found := filepath.Join(dir, "kubectl"); exists(found) {
			path = found
			break
		}
	}
	command := exec.CommandContext(ctx, path, append(arguments, "-n", "default")...)
	command.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig())
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w\n%s", arguments[0], err, out)
	}
	return string(out), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func freeAddress() string {
	listener := httptest.NewUnstartedServer(nil).Listener // which panics where there is none
	defer listener.Close()
	return listener.Addr().String()
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// oneWay is what the network between here and a slowServer adds in each direction.
const oneWay = 10 * time.Millisecond

// slowServer is the upstream server over TLS, 20 ms away, which keeps idle connections for a while.
type slowServer struct {
	url      string
	server   *httptest.Server
	listener net.Listener
}

func newSlowServer(ctx context.Context, upstream string, keeps time.Duration) (*slowServer, error) {
	handler, err := reverse(upstream)
	if err != nil {
		return nil, err
	}
	server := httptest.NewUnstartedServer(handler)
	server.Config.IdleTimeout = keeps
	server.StartTLS()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &slowServer{url: "https://" + listener.Addr().String(), server: server, listener: listener}
	go s.serve()
	return s, nil
}

func (s *slowServer) close() {
	_ = s.listener.Close()
	s.server.CloseClientConnections()
	s.server.Close()
}

func (s *slowServer) authority() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw}))
}

func (s *slowServer) serve() {
	for {
		near, err := s.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", s.server.Listener.Addr().String())
		if err != nil {
			_ = near.Close()
			continue
		}
		go delay(near, far)
		go delay(far, near)
	}
}

// delay copies what one end says to the other one, each piece a little later.
func delay(from, to net.Conn) {
	type piece struct {
		due   time.Time
		bytes []byte
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 32<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				pieces <- piece{time.Now().Add(oneWay), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		<-time.After(time.Until(p.due))
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	_ = to.Close()
	for range pieces { // until the reader has ended
	}
}
