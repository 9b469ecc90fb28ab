package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
)

var update = flag.Bool("update", false, "write the golden files anew; read them before they are committed")

// asProgram has the test binary be the program: tests start it as people start mooring.
const asProgram = "MOORING_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Args[0] = "mooring"
		os.Exit(Main())
	}
	os.Exit(m.Run())
}

// execute runs a command of this process and returns what it printed.
func execute(t *testing.T, program string, arguments ...string) (out, errOut string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := newRoot(program)
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs(arguments)
	root.SetContext(t.Context())
	err = executeRoot(root)
	return stdout.String(), stderr.String(), err
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	g := NewWithT(t)
	file := filepath.Join("testdata", name+".txt")
	if *update {
		g.Expect(os.MkdirAll(filepath.Dir(file), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred(), "run with -update to write it")
	g.Expect(text).To(Equal(string(want)))
}

// commands are the names of those that people call.
func commands() (names []string) {
	for _, command := range newRoot("mooring").Commands() {
		if !command.Hidden {
			names = append(names, command.Name())
		}
	}
	return names
}

// The flags are an interface: scripts and charts name them, so that what changes here is seen.
func TestHelp(t *testing.T) {
	for _, command := range append(commands(), "") {
		t.Run(command, func(t *testing.T) {
			out, errOut, err := execute(t, "mooring", strings.Fields(command+" --help")...)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(errOut).To(BeEmpty())
			golden(t, filepath.Join("help", strings.TrimSuffix("mooring-"+command, "-")), out)
		})
	}
}

func TestHelpOfAKubectlPlugin(t *testing.T) {
	g := NewWithT(t)
	out, _, err := execute(t, "kubectl-mooring", "get", "--help")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("Usage:\n  kubectl mooring get [servers|sessions] [flags]\n"))
	g.Expect(out).To(ContainSubstring("Examples:\n  kubectl mooring get\n  kubectl mooring get servers -A\n"))
	for _, command := range append(commands(), "") {
		out, _, err = execute(t, "kubectl-mooring", strings.Fields(command+" --help")...)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.ReplaceAll(out, "kubectl mooring", "it")).NotTo(ContainSubstring("mooring "), command)
	}
	out, _, err = execute(t, "mooring", "get", "--help")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("Usage:\n  mooring get [servers|sessions] [flags]\n"))
}

func TestVersion(t *testing.T) {
	g := NewWithT(t)
	out, errOut, err := execute(t, "mooring", "version")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(errOut).To(BeEmpty())
	g.Expect(out).To(MatchRegexp(`^mooring \S+ go1\.\d+(\.\d+)? \w+/\w+\n$`))
	asked, _, err := execute(t, "mooring", "--version")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked).To(Equal(out), "both are what people try")
	before := version
	t.Cleanup(func() { version = before })
	version = "v1.2.3"
	out, _, err = execute(t, "mooring", "version")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(HavePrefix("mooring v1.2.3 go"))
}

func TestWrongUseIsRefusedWithAWord(t *testing.T) {
	for line, want := range map[string]string{
		"gett":                   `unknown command "gett" for "mooring"`,
		"get pods":               `argument "pods" is not one of servers, sessions`,
		"get --no-such-flag":     `unknown flag: --no-such-flag`,
		"why":                    "missing argument: SERVER|SESSION",
		"reconnect a b":          "unexpected argument: b",
		"manager --workers=x":    `invalid argument "x" for "--workers"`,
		"manager now":            "unexpected argument: now",
		"dev --assets /no/where": "etcd is not in /no/where; run `make controlplane`, or give --assets",
	} {
		t.Run(line, func(t *testing.T) {
			t.Chdir(t.TempDir()) // where `dev` would put its state
			out, _, err := execute(t, "mooring", strings.Fields(line)...)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)))
			NewWithT(t).Expect(out).To(BeEmpty())
		})
	}
}

// As shells and other tools do, wrong use ends with another status than work that failed.
func TestWrongUseHasItsOwnStatus(t *testing.T) {
	for line, want := range map[string]struct {
		status int
		errOut string
	}{
		"help nosuch": {
			2, "error: unknown command \"nosuch\" for \"mooring\"\nusage: mooring COMMAND\nhelp:  mooring --help\n",
		},
		"diff": {2, "error: missing argument: SERVER\nusage: mooring diff SERVER [flags]\nhelp:  mooring diff --help\n"},
		"get --kubeconfig /no/where": {
			1, "error: kubeconfig: /no/where: no such file or directory; set KUBECONFIG, or give --kubeconfig\n",
		},
	} {
		t.Run(line, func(t *testing.T) {
			g := NewWithT(t)
			command := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(line)...)
			command.Env = append(os.Environ(), asProgram+"=1")
			var out, errOut bytes.Buffer
			command.Stdout, command.Stderr = &out, &errOut
			g.Expect(command.Run()).To(HaveOccurred())
			g.Expect(command.ProcessState.ExitCode()).To(Equal(want.status))
			g.Expect(out.String()).To(BeEmpty())
			g.Expect(errOut.String()).To(Equal(want.errOut))
		})
	}
}

// A name that a server and an agent session have is the server's, unless the person says otherwise.
func TestWhyExplainsServersAndSessions(t *testing.T) {
	both := server("both", "agents", "", 0, "", -1)
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(&both,
		builder.AgentSession("both").Namespace("agents").Obj(),
		builder.AgentSession("coder").Namespace("agents").Obj()).Build()
	for argument, want := range map[string]string{
		"both":                           "MCPServer both in namespace agents has not been processed yet.",
		"server/both":                    "MCPServer both in namespace agents has not been processed yet.",
		"session/both":                   "AgentSession both in namespace agents has not been processed yet.",
		"coder":                          "AgentSession coder in namespace agents has not been processed yet.",
		"agentsession/coder":             "AgentSession coder in namespace agents has not been processed yet.",
		"agentsession.mooring.dev/coder": "AgentSession coder in namespace agents has not been processed yet.",
		"server/coder": "error: no MCPServer \"coder\" in namespace \"agents\"; " +
			"list all with `mooring get servers -A`",
		"session/none": "error: no AgentSession \"none\" in namespace \"agents\"; " +
			"list all with `mooring get sessions -A`",
		"none": "error: no MCPServer or AgentSession \"none\" in namespace \"agents\"; list all with " +
			"`mooring get servers -A` or `mooring get sessions -A`",
		"pod/both": "error: no kind \"pod\"; use server or session",
	} {
		t.Run(argument, func(t *testing.T) {
			text, err := call(t, newWhy(connected{c}), argument)
			if err != nil {
				text = fmt.Sprintf("error: %v\n", err)
			}
			got, _, _ := strings.Cut(text, "\n")
			NewWithT(t).Expect(got).To(Equal(want))
		})
	}
}

// connected is a cluster in which the namespace is "agents"; without a client, it cannot be connected to.
type connected struct{ client.WithWatch }

func (connected) register(*pflag.FlagSet) {}

func (c connected) connect() (client.WithWatch, string, error) {
	if c.WithWatch == nil {
		return nil, "", errDown
	}
	return c.WithWatch, "agents", nil
}

// While nothing comes of it, what is known of the server is told.
func TestReconnectWithoutAnOutcome(t *testing.T) {
	g := NewWithT(t)
	s := server("github", "agents", "False ConnectFailed", time.Minute, v1alpha1.SessionWaiting, -1)
	s.Status.Conditions[0].Message = "connection was refused; check that the server runs"
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(&s).Build()
	root := newRoot("kubectl-mooring")
	cmd, _, err := root.Find([]string{"reconnect"})
	g.Expect(err).NotTo(HaveOccurred())
	cmd.SetContext(t.Context())
	var out, errOut bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&errOut)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	at := &lookup{WithWatch: c, ObjectKey: client.ObjectKeyFromObject(&s), kinds: []*kind{serverKind}, cmd: cmd}
	g.Expect(reconnect(ctx, at, &s)).To(
		MatchError("no outcome in time; the request remains, and --timeout waits longer"))
	g.Expect(errOut.String()).To(Equal("reconnecting github ...\n"))
	g.Expect(out.String()).To(HavePrefix("MCPServer github in namespace agents is not ready yet " +
		"(ConnectFailed).\n  Because   connection was refused; check that the server runs\n"))
	g.Expect(out.String()).To(HaveSuffix("try at once: kubectl mooring reconnect github -n agents\n"))
}

// Without a manager there is nothing to wait for: the request is made, and that it remains is told at once.
func TestReconnectWithoutAManager(t *testing.T) {
	g := NewWithT(t)
	s := server("github", "agents", "True Ready", time.Minute, v1alpha1.SessionConnected, -1)
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(&s).
		WithIndex(&coordinationv1.Lease{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		Build()
	cmd, _, err := newRoot("mooring").Find([]string{"reconnect"})
	g.Expect(err).NotTo(HaveOccurred())
	cmd.SetContext(t.Context())
	at := &lookup{WithWatch: c, ObjectKey: client.ObjectKeyFromObject(&s), kinds: []*kind{serverKind}, cmd: cmd}
	g.Expect(reconnect(t.Context(), at, &s)).To(MatchError(HavePrefix("no manager is running (none holds a Lease in " +
		"this cluster); the request remains, and is acted on once one runs: `mooring run` runs one here, ")))
	asked, err := at.find()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked.GetAnnotations()).To(HaveKey(v1alpha1.AnnotationReconnect))
}

// What a reconnect does not look at anew is not told as if it had.
func TestOutcomeOfAReconnect(t *testing.T) {
	for says, want := range map[string]string{
		"True Ready":          "",
		"False ConnectFailed": "the server is not ready",
		"":                    "the server is not ready",
		"False SecretAccessDenied": "the server is not ready; access that was granted just now is noticed within 30s, " +
			"and the connection follows automatically",
	} {
		t.Run(says, func(t *testing.T) {
			s := server("github", "agents", says, time.Minute, "", -1)
			err := outcomeOfReconnect(&s)
			if want == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				return
			}
			NewWithT(t).Expect(err).To(MatchError(want))
		})
	}
}

// Who has no cluster at hand is told how to name one, or how to have one.
func TestWithoutAClusterItIsSaidWhatToDo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none")
	t.Setenv("KUBECONFIG", file)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // in a pod there is one
	_, _, err := execute(t, "mooring", "get")
	none := fmt.Sprintf("kubeconfig: none was found at %s; set KUBECONFIG, or give --kubeconfig", file)
	NewWithT(t).Expect(err).To(MatchError(none))
	_, _, err = execute(t, "kubectl-mooring", "run")
	NewWithT(t).Expect(err).To(MatchError(none + ", or try `kubectl mooring dev`, which needs none"))
	_, _, err = execute(t, "mooring", "manager")
	NewWithT(t).Expect(err).To(MatchError("kubeconfig: none was found, and this is no pod; " +
		"set KUBECONFIG, or try `mooring dev`, which needs none"))
}

// A kubeconfig that does not lead to a cluster is refused with what there is, by every command that has the flags.
func TestKubeconfigThatLeadsNowhere(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "config")
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	config.Contexts["staging"] = &clientcmdapi.Context{Cluster: "c"}
	config.Contexts["prod"] = &clientcmdapi.Context{Cluster: "c"}
	NewWithT(t).Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	broken := filepath.Join(t.TempDir(), "broken")
	NewWithT(t).Expect(os.WriteFile(broken, []byte("a: ["), 0o600)).To(Succeed())
	empty := filepath.Join(t.TempDir(), "empty")
	NewWithT(t).Expect(os.WriteFile(empty, nil, 0o600)).To(Succeed())
	for flags, want := range map[string]string{
		"--kubeconfig /no/where":                     "kubeconfig: /no/where: no such file or directory; set KUBECONFIG",
		"--kubeconfig " + file:                       "kubeconfig: no current context; give --context, one of prod, staging",
		"--kubeconfig " + file + " --context test":   `kubeconfig: no context "test"; there are prod, staging`,
		"--kubeconfig " + empty + " --context test":  `kubeconfig: no context "test", and no other`,
		"--kubeconfig " + broken + " --context test": `kubeconfig: error loading config file "` + broken + `": `,
	} {
		for _, command := range []string{"run", "get", "why x", "reconnect x", "tools x", "diff x", "reload x"} {
			t.Run(command+" "+flags, func(t *testing.T) {
				_, _, err := execute(t, "mooring", strings.Fields(command+" "+flags)...)
				NewWithT(t).Expect(err).To(MatchError(HavePrefix(want)))
			})
		}
	}
}

// An API server that does not answer is told of as the cluster that was chosen, by every command that needs one.
func TestClusterThatDoesNotAnswer(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	file := filepath.Join(t.TempDir(), "config")
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: closed.URL}
	config.Contexts["staging"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "staging"
	NewWithT(t).Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	t.Setenv("KUBECONFIG", file)
	for _, command := range []string{"run", "manager", "get", "why x", "reconnect x", "tools x", "diff x", "reload x"} {
		t.Run(command, func(t *testing.T) {
			of := ` of context "staging"`
			if command == "manager" { // it is for pods, which have no context
				of = ""
			}
			_, _, err := execute(t, "mooring", strings.Fields(command)...)
			NewWithT(t).Expect(err).To(MatchError(fmt.Sprintf(
				"cannot reach the API server at %s%s (connection refused); is it running?", closed.URL, of)))
		})
	}
}

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// server is one whose Ready has said "True Ready" or so since an age.
func server(name, namespace, says string, age time.Duration, state string, tools int) v1alpha1.MCPServer {
	ready, reason, _ := strings.Cut(says, " ")
	s := builder.MCPServer(name).Namespace(namespace).URL("https://mcp.example.com/mcp").Obj()
	if ready != "" {
		s.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionStatus(ready), Reason: reason,
			LastTransitionTime: metav1.NewTime(now.Add(-age)),
		}}
	}
	if state != "" {
		s.Status.Session = &v1alpha1.SessionStatus{State: state}
	}
	if tools >= 0 {
		s.Status.Catalog = &v1alpha1.CatalogStatus{ToolCount: ptr.To(int32(tools))}
	}
	return *s
}

func TestTableOfServers(t *testing.T) {
	disabled := server("resting", "default", "True Disabled", 48*time.Hour, "", 5)
	disabled.Spec.Disabled = true
	drifted := metav1.Condition{Type: v1alpha1.ConditionToolsDrifted, Status: metav1.ConditionTrue}
	changed := server("changed", "default", "True Ready", time.Hour, v1alpha1.SessionConnected, 2)
	drifted.Reason = v1alpha1.ReasonToolsChanged
	changed.Status.Conditions = append(changed.Status.Conditions, drifted)
	down := server("changed-and-down", "default", "False ConnectFailed", time.Hour, v1alpha1.SessionWaiting, 2)
	down.Status.Conditions = append(down.Status.Conditions, drifted)
	approved := server("approved", "default", "True Ready", time.Hour, v1alpha1.SessionConnected, 2)
	drifted.Status = metav1.ConditionFalse
	approved.Status.Conditions = append(approved.Status.Conditions, drifted)
	servers := &v1alpha1.MCPServerList{Items: []v1alpha1.MCPServer{
		server("github", "default", "True Ready", 90*time.Second, v1alpha1.SessionConnected, 42),
		server("a-server-with-a-long-name-of-40-letters-", "team-a", "False AuthenticationFailed", 3*time.Hour,
			v1alpha1.SessionRetired, -1),
		server("new", "default", "", 0, "", -1),
		server("empty", "default", "True Ready", time.Second, v1alpha1.SessionConnected, 0),
		server("waiting", "default", "False SecretNotFound", time.Minute, "", -1),
		disabled, changed, down, approved,
	}}
	var one, all bytes.Buffer
	NewWithT(t).Expect(printList(&one, servers, now, false)).To(Succeed())
	golden(t, "get", one.String())
	NewWithT(t).Expect(printList(&all, servers, now, true)).To(Succeed())
	golden(t, "get-all-namespaces", all.String())
}

func TestProgressTellsHowLongItTook(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	done := p.step("starting %s", "etcd")
	NewWithT(t).Expect(out.String()).To(Equal("starting etcd ...\n"))
	done()
	p.note("kubeconfig: %s", "/tmp/k")
	NewWithT(t).Expect(out.String()).To(MatchRegexp(
		`^starting etcd \.\.\.\nstarting etcd: done in \d+(\.\d)?m?s\nkubeconfig: /tmp/k\n$`))
}

// A flag that makes no sense is refused before anything starts.
func TestEgressFlagsAreChecked(t *testing.T) {
	for _, settings := range []Settings{
		{EgressAllow: []string{"10.0.0.0/33"}}, {EgressDeny: []string{"not a host"}},
	} {
		_, err := settings.egressPolicy(&rest.Config{Host: "https://api.example.com"})
		NewWithT(t).Expect(err).To(MatchError(MatchRegexp(`^flags: egress (allow|deny): .* is neither a CIDR`)))
	}
}
