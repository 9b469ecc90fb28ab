package integration

import (
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/kstatustest"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

var update = flag.Bool("update", false, "write the golden files anew; read them before they are committed")

// canary is the credential of all cases. It goes to the servers, and servers repeat it in whatever they answer.
const canary = "canary-5f2c9e1ab7"

// What a person reads who asks kubectl what is wrong, case by case. The golden files are prose that was read and
// judged: each must say what happened, what to do next, and nothing that is secret.
func TestDescribeTellsTheNextStep(t *testing.T) {
	t.Parallel()
	granted, denied := newNamespace(t), newNamespace(t)
	granted.permitSecrets()
	granted.startManager(func(s *cli.Settings) {
		s.WatchNamespaces = []string{granted.namespace, denied.namespace}
		s.EgressDeny = []string{"192.0.2.0/24"}
	})
	for _, w := range []*world{granted, denied} {
		w.apply(builder.Secret("", "login").Key("token", canary).Obj())
	}
	homes := map[bool]*world{false: granted, true: denied}
	for _, c := range cases {
		c.contract(homes[c.denied])
	}
	t.Run("case", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.examine(homes[c.denied].within(t))
			})
		}
	})
	for _, w := range homes {
		w.noCanaryIn("objects", w.kubectl("get", "mcpservers,events,configmaps", "-o", "yaml"))
		w.Expect(reconcileErrors(w.namespace)).To(BeEmpty(), "what is wrong with a server is no error of ours")
	}
	granted.noCanaryIn("metrics", granted.metrics())
	granted.noCanaryIn("logs", logs.String())
}

func TestEveryGoldenFileHasACase(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(goldenFile("*"))
	if err != nil {
		t.Fatal(err)
	}
	var have, want []string
	for _, file := range files {
		have = append(have, strings.TrimSuffix(filepath.Base(file), ".txt"))
	}
	for _, c := range cases {
		want = append(want, c.name)
	}
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("cases (-), golden files (+):\n%s", diff)
	}
}

// The command that a condition holds does what it says, in the shell that a person pastes it into.
func TestToldReconnectCommandTriesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t)
	w.Expect(fake.Refuse()).To(Succeed())
	w.apply(quick().URL(fake.URL()).Mutate(func(s *v1alpha1.MCPServer) { s.Name = "fs" }).Obj())
	server := w.await("fs", v1alpha1.ConditionQuarantined, "True ConnectFailed")
	w.Expect(fake.Restore()).To(Succeed())
	told := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionQuarantined).Message
	command := regexp.MustCompile("`(.*)`").FindStringSubmatch(told)
	w.Expect(command).NotTo(BeNil(), told)
	w.shell(command[1])
	w.ready("fs")
}

// within is the world as a case of its own sees it.
func (w *world) within(t *testing.T) *world {
	inner := &world{WithT: NewWithT(t), t: t, ctx: w.ctx, namespace: w.namespace, manager: w.manager}
	inner.SetDefaultEventuallyTimeout(patience)
	inner.SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	return inner
}

// contract makes the case's objects.
func (c *ailment) contract(w *world) {
	w.t.Helper()
	for _, object := range c.with {
		w.apply(object.DeepCopyObject().(client.Object))
	}
	w.apply(c.server(w).Mutate(func(s *v1alpha1.MCPServer) { s.Name = c.name }).Obj())
}

// examine waits until nothing moves any more and then reads what a person reads.
func (c *ailment) examine(w *world) {
	w.t.Helper()
	var server *v1alpha1.MCPServer
	w.Eventually(func() string {
		server = w.get(c.name)
		return says(server, v1alpha1.ConditionReady) + " " + sessionState(server)
	}).Should(Equal(c.ready+" "+c.state), func() string { return describe(w.get(c.name)) })
	w.Expect(kstatustest.Check(w.t, server)).To(Equal(c.verdict()))
	if !strings.HasPrefix(c.ready, "True ") {
		w.Expect(message(server, v1alpha1.ConditionReady)).To(MatchRegexp(`^[^;]+; [^;]+`), "what happened; what to do")
	}

	var whole, told string
	look := func() string {
		whole = w.kubectl("describe", "mcpserver", c.name)
		told = w.normal(whole)
		return told
	}
	if *update {
		w.Eventually(look).Should(ContainSubstring("\nEvents:\n  "))
		w.Consistently(look, "2s", "500ms").Should(Equal(told), "what is told has settled")
		w.Expect(os.WriteFile(goldenFile(c.name), []byte(told), 0o600)).To(Succeed())
	}
	golden, err := os.ReadFile(goldenFile(c.name))
	w.Expect(err).NotTo(HaveOccurred(), "run with -update to write it")
	w.Eventually(look, patience, "500ms").Should(Equal(string(golden)),
		func() string { return "golden (-), told (+):\n" + cmp.Diff(string(golden), told) })
	w.noCanaryIn("describe", whole)
}

// verdict is what kstatus must make of the outcome.
func (c *ailment) verdict() status.Status {
	switch {
	case strings.HasPrefix(c.ready, "True "):
		return status.CurrentStatus
	case c.stalled:
		return status.FailedStatus
	default:
		return status.InProgressStatus
	}
}

func sessionState(server *v1alpha1.MCPServer) string {
	if server.Status.Session == nil {
		return "-"
	}
	return server.Status.Session.State
}

func goldenFile(name string) string { return filepath.Join("testdata", "golden", name+".txt") }

// kubectl runs the command as an administrator does, in the world's namespace, and returns what it prints.
func (w *world) kubectl(arguments ...string) string {
	w.t.Helper()
	cache := filepath.Join(filepath.Dir(kubeconfigFile), "cache")
	arguments = append(arguments, "--kubeconfig", kubeconfigFile, "--cache-dir", cache, "--namespace", w.namespace)
	return w.output(exec.CommandContext(w.ctx, kubectlPath(), arguments...))
}

// shell runs a line that begins with kubectl, as the person does who pastes it.
func (w *world) shell(line string) string {
	w.t.Helper()
	tools, err := filepath.Abs(assetsDir)
	w.Expect(err).NotTo(HaveOccurred())
	command := exec.CommandContext(w.ctx, "sh", "-c", line)
	command.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "KUBECONFIG="+kubeconfigFile)
	return w.output(command)
}

func (w *world) output(command *exec.Cmd) string {
	w.t.Helper()
	out, err := command.CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

// normal is the Status and the Events of what kubectl describes, with what differs from run to run replaced. Of events,
// time and source are left out, and their order, which is by whole seconds.
func (w *world) normal(description string) string {
	description = strings.ReplaceAll(description, w.namespace, "NAMESPACE")
	for _, varying := range varyings {
		description = varying.pattern.ReplaceAllString(description, varying.replacement)
	}
	_, told, _ := strings.Cut(description, "\nStatus:\n")
	about, events, _ := strings.Cut(told, "\nEvents:")
	var lines []string
	for _, row := range eventRow.FindAllStringSubmatch(events, -1) {
		lines = append(lines, fmt.Sprintf("  %s %s: %s\n", row[1], row[2], row[3]))
	}
	slices.Sort(lines)
	return "Status:\n" + about + "\nEvents:\n" + strings.Join(lines, "")
}

var varyings = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`(References: +)[0-9a-f]{16}`), "${1}HASH"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "DIGEST"},
	{regexp.MustCompile(`(Config Hash: +)[0-9a-f]+`), "${1}HASH"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`mcpfake CA [A-Z2-7]+`), "mcpfake CA ID"},
}

// eventRow is Type, Reason, Age, From and Message; all are told by the same controller.
var eventRow = regexp.MustCompile(`(?m)^  (Normal|Warning) +(\S+) .*?  mooring  (.*)$`)

// reconcileErrors are the lines that the controllers logged of passes over a namespace that failed.
func reconcileErrors(namespace string) (lines []string) {
	for line := range strings.Lines(logs.String()) {
		if strings.Contains(line, "Reconciler error") && strings.Contains(line, namespace) {
			lines = append(lines, line)
		}
	}
	return lines
}

// metrics is every series that the manager has.
func (w *world) metrics() string {
	w.t.Helper()
	families, err := w.manager.series.Gather()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(families).NotTo(BeEmpty())
	return fmt.Sprint(families)
}

// noCanaryIn looks for the credential as it is and as Kubernetes writes Secrets down.
func (w *world) noCanaryIn(place, text string) {
	w.t.Helper()
	w.Expect(text).NotTo(BeEmpty(), place)
	for _, form := range []string{canary, base64.RawStdEncoding.EncodeToString([]byte(canary))[:20]} {
		if at := strings.Index(text, form); at >= 0 {
			w.t.Errorf("%s: the credential shows: %s", place, text[max(0, at-200):min(len(text), at+60)])
		}
	}
}
