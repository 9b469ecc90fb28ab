package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/config"
	"github.com/mooring-dev/mooring/internal/cli"
)

// journal keeps what was logged, for the search for tokens.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

var logs = &journal{}

// world is one test's namespace, with a manager and a gateway at work, each under its own shipped role.
type world struct {
	*WithT
	t         testing.TB
	ctx       context.Context
	namespace string
	// url is the gateway's, without a path.
	url string
	// metrics are the gateway's.
	metrics *prometheus.Registry
	// stopGateway ends it and waits; it runs at the end of the test at the latest.
	stopGateway func()
}

// newWorld makes a namespace, and runs manager and gateway.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := newNamespace(t)
	for i, account := range []string{config.ManagerServiceAccount, config.GatewayServiceAccount} {
		binding, err := config.SecretReader(w.namespace)
		w.Expect(err).NotTo(HaveOccurred())
		if i > 0 {
			binding.SetName(binding.GetName() + "-gateway")
			subject := []any{map[string]any{"kind": "ServiceAccount", "name": account, "namespace": config.Namespace}}
			binding.Object["subjects"] = subject
		}
		w.Expect(admin.Create(w.ctx, binding)).To(Succeed())
	}
	w.startGateway()
	w.startManager()
	return w
}

func newNamespace(t testing.TB) *world {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w := &world{WithT: NewWithT(t), t: t, ctx: ctx}
	w.SetDefaultEventuallyTimeout(patience)
	w.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}}
	w.Expect(admin.Create(ctx, namespace)).To(Succeed())
	w.namespace = namespace.Name
	return w
}

func (w *world) settings() *cli.Settings {
	return &cli.Settings{
		MetricsAddress: "0", ProbeAddress: "0", Workers: 4, DrainTimeout: 10 * time.Second, AllowLoopback: true,
		Registry: prometheus.NewRegistry(), WatchNamespaces: []string{w.namespace}, GatewayURL: w.url,
	}
}

func (w *world) startManager() {
	w.t.Helper()
	restConfig, err := configOf(config.ManagerServiceAccount)
	w.Expect(err).NotTo(HaveOccurred())
	manager, err := cli.NewManager(w.ctx, restConfig, w.settings())
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(w.start(manager))
}

func (w *world) startGateway() { w.t.Helper(); w.startGatewayAs(cli.GatewaySettings{}) }

// startGatewayAs runs a gateway with settings, on a listener of its own.
func (w *world) startGatewayAs(settings cli.GatewaySettings) {
	w.t.Helper()
	restConfig, err := configOf(config.GatewayServiceAccount)
	w.Expect(err).NotTo(HaveOccurred())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.Expect(err).NotTo(HaveOccurred())
	settings.Listener = listener
	process := w.settings()
	w.metrics, _ = process.Registry.(*prometheus.Registry)
	manager, err := cli.NewGateway(w.ctx, restConfig, process, &settings)
	w.Expect(err).NotTo(HaveOccurred())
	w.url = "http://" + listener.Addr().String()
	w.stopGateway = w.start(manager)
	w.t.Cleanup(w.stopGateway)
}

// start runs a manager until what it returns is called.
func (w *world) start(manager ctrl.Manager) (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		w.Eventually(ended).Should(Receive(BeNil()), "it ends cleanly")
	})
}

// apply creates objects in the test's namespace.
func (w *world) apply(objects ...client.Object) {
	w.t.Helper()
	for _, object := range objects {
		object.SetNamespace(w.namespace)
		w.Expect(admin.Create(w.ctx, object)).To(Succeed())
	}
}

// change edits an object.
func change[T client.Object](w *world, name string, object T, edit func(T)) {
	w.t.Helper()
	w.Expect(admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, object)).To(Succeed())
	before, _ := object.DeepCopyObject().(client.Object)
	edit(object)
	w.Expect(admin.Patch(w.ctx, object, client.MergeFrom(before))).To(Succeed())
}

// awaitSession waits until an AgentSession is Ready for a reason.
func (w *world) awaitSession(name, reason string) *v1alpha1.AgentSession {
	w.t.Helper()
	session := &v1alpha1.AgentSession{}
	w.Eventually(func() string {
		w.Expect(admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, session)).To(Succeed())
		ready := meta.FindStatusCondition(session.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.ObservedGeneration != session.Generation {
			return ""
		}
		return ready.Reason
	}).Should(Equal(reason))
	return session
}

// awaitServer waits until an MCPServer's condition is as wanted, such as "True Ready".
func (w *world) awaitServer(name, condition, wanted string) {
	w.t.Helper()
	w.Eventually(func() string {
		server := &v1alpha1.MCPServer{}
		w.Expect(admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, server)).To(Succeed())
		found := meta.FindStatusCondition(server.Status.Conditions, condition)
		if found == nil || found.ObservedGeneration != server.Generation {
			return ""
		}
		return string(found.Status) + " " + found.Reason
	}).Should(Equal(wanted))
}

// account makes a service account.
func (w *world) account(name string) {
	w.t.Helper()
	w.apply(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// permit binds the shipped role of agents to a service account.
func (w *world) permit(account string) {
	w.t.Helper()
	w.apply(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "mooring-agent"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: w.namespace}},
	})
}

// token is one of a service account, of an audience, as a pod gets it.
func (w *world) token(account, audience string) string {
	w.t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{audience}, ExpirationSeconds: ptr.To[int64](3600),
	}}
	got, err := kube.CoreV1().ServiceAccounts(w.namespace).CreateToken(w.ctx, account, request, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return got.Status.Token
}

// agent is a permitted service account's token.
func (w *world) agent(name string) string {
	w.t.Helper()
	w.account(name)
	w.permit(name)
	return w.token(name, "mooring")
}

// sessionURL is the endpoint of an AgentSession.
func (w *world) sessionURL(name string) string {
	return w.url + "/sessions/" + w.namespace + "/" + name + "/mcp"
}

// serverURL is the endpoint of an MCPServer.
func (w *world) serverURL(name string) string {
	return w.url + "/servers/" + w.namespace + "/" + name + "/mcp"
}

// bearer adds a token to each request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// answer is what came back over plain HTTP.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request with a token, "" for none, and header lines as pairs.
func (w *world) send(method, url, token, body string, headers ...string) answer {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.ctx, method, url, strings.NewReader(body))
	w.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultTransport.RoundTrip(request) // follows no redirect
	w.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	w.Expect(err).NotTo(HaveOccurred())
	return answer{response.StatusCode, response.Header, string(text)}
}

// call calls a tool with raw arguments and returns the answer's body.
func (w *world) call(url, token, tool, arguments string) string {
	w.t.Helper()
	return w.send(http.MethodPost, url, token,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`).body
}

// failure is what a result of ours tells programs.
type failure struct {
	Class             string
	HTTPStatus        int
	Retryable         bool
	RetryAfterSeconds int
}

// failed reads an answer that must be a result of ours: its text, and what it tells programs.
func (w *world) failed(body string) (string, failure) {
	w.t.Helper()
	var message struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
			Meta    map[string]failure `json:"_meta"`
		}
	}
	w.Expect(json.Unmarshal([]byte(body), &message)).To(Succeed(), body)
	w.Expect(message.Result.IsError).To(BeTrue(), body)
	w.Expect(message.Result.Content).To(HaveLen(1), body)
	w.Expect(message.Result.Meta).To(HaveKey("mooring.dev/failure"), body)
	return message.Result.Content[0].Text, message.Result.Meta["mooring.dev/failure"]
}

// connect is the SDK's client.
func (w *world) connect(url, token string, options *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, options)
	session, err := client.Connect(w.ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token}},
	}, nil)
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { _ = session.Close() })
	return session
}

// text is the text of a result, after "error: " where it is one.
func text(result *mcp.CallToolResult) string {
	var out []string
	for _, content := range result.Content {
		if piece, ok := content.(*mcp.TextContent); ok {
			out = append(out, piece.Text)
		}
	}
	joined := strings.Join(out, "\n")
	if result.IsError {
		return "error: " + joined
	}
	return joined
}
