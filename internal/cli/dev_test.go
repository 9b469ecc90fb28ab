package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/devstate"
	"github.com/mooring-dev/mooring/internal/cli/lease"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// patience is how long a test waits for what must happen; it fails after that. It is no measurement.
const patience = 2 * time.Minute

// devRun is one `mooring dev`, as a process of its own.
type devRun struct {
	*WithT
	t       *testing.T
	command *exec.Cmd
	ended   chan error

	mu   sync.Mutex
	text bytes.Buffer
	// lines is closed when the output ends.
	lines chan string
}

// assets is the directory that has the control plane's programs.
func assets() string {
	return cmp.Or(os.Getenv("KUBEBUILDER_ASSETS"), filepath.Join("..", "..", "bin"))
}

// startDev starts `mooring dev` in a process group of its own, as a shell does.
func startDev(t *testing.T, dir string) *devRun {
	t.Helper()
	d := &devRun{WithT: NewWithT(t), t: t, ended: make(chan error, 1), lines: make(chan string, 1000)}
	d.SetDefaultEventuallyTimeout(patience)
	d.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	d.Expect(exists(filepath.Join(assets(), "kube-apiserver"))).To(BeTrue(), "run `make controlplane`")
	d.command = exec.Command(os.Args[0], "dev", "--dir", dir, "--assets", assets(), "--drain-timeout", "1s",
		"--gateway-bind-address", "127.0.0.1:0")
	d.command.Env = append(os.Environ(), asProgram+"=1")
	d.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	reader, writer := io.Pipe()
	d.command.Stdout, d.command.Stderr = writer, writer
	go d.read(reader)
	d.Expect(d.command.Start()).To(Succeed())
	go func() {
		err := d.command.Wait()
		_ = writer.Close()
		d.ended <- err
	}()
	t.Cleanup(func() {
		children := d.children()
		_ = syscall.Kill(-d.command.Process.Pid, syscall.SIGKILL) // it has ended unless the test failed
		for _, pid := range children {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if t.Failed() {
			t.Log(d.output())
		}
	})
	return d
}

func (d *devRun) read(from io.Reader) {
	defer close(d.lines)
	scanner := bufio.NewScanner(from)
	for scanner.Scan() {
		d.mu.Lock()
		d.text.WriteString(scanner.Text() + "\n")
		d.mu.Unlock()
		select {
		case d.lines <- scanner.Text():
		default: // nobody waits for a line any more
		}
	}
	_, _ = io.Copy(io.Discard, from)
}

func (d *devRun) output() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

// line waits for a line that begins so, and returns the rest of it.
func (d *devRun) line(prefix string) string {
	d.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case line, open := <-d.lines:
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return strings.TrimSpace(rest)
			}
			d.Expect(open).To(BeTrue(), "it ended before it said %q:\n%s", prefix, d.output())
		case <-deadline:
			d.t.Fatalf("it did not say %q:\n%s", prefix, d.output())
		}
	}
}

// children are the processes that it has started and that have not ended.
func (d *devRun) children() (pids []int) {
	d.t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	d.Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[1] == strconv.Itoa(d.command.Process.Pid) {
			pid, err := strconv.Atoi(fields[0])
			d.Expect(err).NotTo(HaveOccurred())
			pids = append(pids, pid)
		}
	}
	return pids
}

// end sends a signal and waits until the program and all that it had started are gone.
func (d *devRun) end(signal syscall.Signal) {
	d.t.Helper()
	started := map[int]bool{}
	look := func() {
		for _, pid := range d.children() {
			started[pid] = true
		}
	}
	look()
	d.Expect(started).NotTo(BeEmpty(), "at least etcd")
	d.Expect(syscall.Kill(-d.command.Process.Pid, signal)).To(Succeed()) // the group, as a terminal does
	d.Eventually(func() chan error {
		look() // what it starts now is its own to end, too
		return d.ended
	}).Should(Receive(BeNil()), "it ends with status 0")
	for pid := range started {
		d.Eventually(func() error { return syscall.Kill(pid, 0) }).Should(MatchError(syscall.ESRCH))
	}
}

// run runs another command as a person does in another terminal, and returns what it printed.
func (d *devRun) run(kubeconfig string, arguments ...string) (out, errOut string, err error) {
	command := exec.CommandContext(d.t.Context(), os.Args[0], arguments...)
	command.Env = append(os.Environ(), asProgram+"=1", "KUBECONFIG="+kubeconfig)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	return stdout.String(), stderr.String(), err
}

// admin is a client for the kubeconfig that was printed.
func (d *devRun) admin(kubeconfig string) client.Client {
	d.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	d.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{Scheme: newScheme()})
	d.Expect(err).NotTo(HaveOccurred())
	return c
}

// ready waits until the server says Ready and returns it.
func (d *devRun) ready(c client.Client, name string) *v1alpha1.MCPServer {
	d.t.Helper()
	found := &v1alpha1.MCPServer{}
	d.Eventually(func() bool {
		d.Expect(c.Get(d.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, found)).To(Succeed())
		return meta.IsStatusConditionTrue(found.Status.Conditions, v1alpha1.ConditionReady)
	}).Should(BeTrue())
	return found
}

// table is what `mooring get` prints, each row as its fields.
func (d *devRun) table(kubeconfig string, arguments ...string) (rows [][]string) {
	d.t.Helper()
	out, errOut, err := d.run(kubeconfig, append([]string{"get"}, arguments...)...)
	d.Expect(err).NotTo(HaveOccurred(), errOut)
	for line := range strings.Lines(out) {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

// From nothing to a server that is Ready, with the commands that people use, and twice over the same state.
func TestDevFromStartToEnd(t *testing.T) {
	dir, fake := t.TempDir(), mcpfake.New(t, mcpfake.WithBearer("token-1"))
	d := startDev(t, dir)
	kubeconfig := d.line("kubeconfig:")
	d.Expect(kubeconfig).To(Equal(filepath.Join(dir, "kubeconfig")))
	d.Expect(d.children()).To(HaveLen(2), "etcd and kube-apiserver")
	info, err := os.Stat(kubeconfig)
	d.Expect(err).NotTo(HaveOccurred())
	d.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)), "it is an administrator's")

	d.Eventually(func() string { // from its start on, the manager tells that it runs
		_, errOut, err := d.run(kubeconfig, "get")
		d.Expect(err).NotTo(HaveOccurred())
		return errOut
	}).Should(Equal("no MCPServers in namespace \"default\"; -A looks into all\n"))

	admin := d.admin(kubeconfig)
	d.Expect(admin.Create(t.Context(), builder.Secret("default", "login").Key("token", "token-1").Obj())).To(Succeed())
	d.Expect(admin.Create(t.Context(), builder.MCPServer("fs").Namespace("default").URL(fake.URL()).
		Bearer("login", "token").Obj())).To(Succeed())
	first := d.ready(admin, "fs")
	header := []string{"NAME", "READY", "STATE", "TOOLS", "REASON", "SINCE"}
	rows := d.table(kubeconfig)
	d.Expect(rows).To(HaveLen(2))
	d.Expect(rows[0]).To(Equal(header))
	d.Expect(rows[1][:5]).To(Equal([]string{"fs", "True", "Connected", "5", "Ready"}))
	d.Expect(d.table(kubeconfig, "-A")[0]).To(Equal(slices.Concat([]string{"NAMESPACE"}, header)))
	d.Expect(d.table(kubeconfig, "servers", "-n", "default")[1][0]).To(Equal("fs"))

	out, errOut, err := d.run(kubeconfig, "why", "fs")
	d.Expect(err).NotTo(HaveOccurred(), errOut)
	d.Expect(out).To(HavePrefix("MCPServer fs in namespace default is ready.\n"))
	out, errOut, err = d.run(kubeconfig, "reconnect", "fs")
	d.Expect(err).NotTo(HaveOccurred(), errOut)
	d.Expect(out).To(ContainSubstring("fs"))
	d.Expect(fake.Stats().Opened).To(Equal(2))
	_, errOut, err = d.run(kubeconfig, "why", "none")
	d.Expect(err).To(HaveOccurred())
	d.Expect(errOut).To(Equal(
		"error: no MCPServer or AgentSession \"none\" in namespace \"default\"; list all with `mooring get servers -A` or " +
			"`mooring get sessions -A`\n"))

	d.end(syscall.SIGINT)
	d.Expect(fake.OpenSessions()).To(BeZero(), "sessions are closed before it ends")
	d.Expect(d.output()).NotTo(ContainSubstring(`"level":"error"`))
	d.Expect(d.output()).NotTo(ContainSubstring("Starting Controller"), "it is about the program, not about servers")

	again := startDev(t, dir)
	kubeconfig = again.line("kubeconfig:")
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Opened == 3 })
	second := again.ready(again.admin(kubeconfig), "fs")
	d.Expect(second.UID).To(Equal(first.UID), "the state was kept")
	again.end(syscall.SIGTERM)
	d.Expect(fake.OpenSessions()).To(BeZero())
}

// Two at a time on one directory would destroy its data; the second is told of the first at once.
func TestDevTwiceOnOneDirectory(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir)
	d.line("starting etcd and kube-apiserver ...")
	_, errOut, err := d.run("", "dev", "--dir", dir, "--assets", assets())
	d.Expect(err).To(HaveOccurred())
	d.Expect(errOut).To(Equal(fmt.Sprintf(
		"error: process %[1]d runs on %[2]s already; stop it with `kill %[1]d`, or give another --dir\n",
		d.command.Process.Pid, dir)))
	d.line("kubeconfig:")
	d.end(syscall.SIGINT)
}

// A dev that is killed takes its control plane along where the system can see to that. Where it cannot, what is left
// is ended by the next start on the directory, which has all data.
func TestDevAfterItWasKilled(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir)
	kubeconfig := d.line("kubeconfig:")
	admin := d.admin(kubeconfig)
	d.Expect(admin.Create(t.Context(), builder.Secret("default", "kept").Key("a", "b").Obj())).To(Succeed())
	children := d.children()
	d.Expect(children).To(HaveLen(2), "etcd and kube-apiserver")
	d.Expect(syscall.Kill(d.command.Process.Pid, syscall.SIGKILL)).To(Succeed())
	d.Eventually(d.ended).Should(Receive(HaveOccurred()))
	if runtime.GOOS == "linux" {
		for _, pid := range children {
			d.Eventually(func() bool { return runs(pid) }).Should(BeFalse())
		}
	}
	left := exec.Command(filepath.Join(assets(), "etcd"), "--data-dir="+filepath.Join(dir, "etcd"),
		"--listen-peer-urls=http://127.0.0.1:0", "--listen-client-urls=http://127.0.0.1:0",
		"--advertise-client-urls=http://127.0.0.1:0")
	d.Expect(left.Start()).To(Succeed())
	gone := make(chan error, 1)
	go func() { gone <- left.Wait() }()
	t.Cleanup(func() { _ = left.Process.Kill() })
	d.Eventually(func() error { return devstate.CheckFree(t.Context(), dir) }).ShouldNot(Succeed(), "etcd has its data")

	again := startDev(t, dir)
	again.line(fmt.Sprintf("ending etcd (process %d), left over from a run that was killed", left.Process.Pid))
	d.Eventually(gone).Should(Receive())
	kept := builder.Secret("default", "kept").Obj()
	admin = again.admin(again.line("kubeconfig:"))
	d.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(kept), kept)).To(Succeed())
	again.end(syscall.SIGTERM)
}

// runs tells whether a process runs; one that has ended and that nobody has waited for does not.
func runs(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// What is given by flags is what `mooring run` works against, and its end is seen by those who ask.
func TestRunAgainstAKubeconfig(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir)
	kubeconfig := d.line("kubeconfig:")
	run := exec.Command(os.Args[0], "run", "--kubeconfig", kubeconfig, "--context", "envtest",
		"--leader-election-namespace", "default", "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
		"--gateway-bind-address", "127.0.0.1:0", "--alongside")
	run.Env = append(os.Environ(), asProgram+"=1", "KUBECONFIG=/no/where")
	var told bytes.Buffer
	run.Stderr = &told
	d.Expect(run.Start()).To(Succeed())
	t.Cleanup(func() { _ = run.Process.Kill() })
	admin, held := d.admin(kubeconfig), &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: "default", Name: lease.Alone}
	d.Eventually(func() error { return admin.Get(t.Context(), key, held) }).Should(Succeed())
	d.Expect(held.Spec.HolderIdentity).To(HaveValue(Not(BeEmpty())))
	d.Expect(run.Process.Signal(syscall.SIGINT)).To(Succeed())
	d.Expect(run.Wait()).To(Succeed())
	d.Expect(admin.Get(t.Context(), key, held)).To(Succeed())
	d.Expect(held.Spec.HolderIdentity).To(BeNil(), "it was given back")
	d.Expect(told.String()).To(MatchRegexp(`^cluster: context envtest, https://127\.0\.0\.1:\d+\nstop:    Ctrl-C\n`))
	d.end(syscall.SIGINT)
}

// Where a manager is active, the next one says so, waits for its end, and can be interrupted meanwhile.
func TestRunWaitsForAnotherManager(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir)
	kubeconfig := d.line("kubeconfig:")
	d.Eventually(func() lease.State {
		return lease.Look(t.Context(), d.admin(kubeconfig), time.Now()).State
	}).Should(Equal(lease.Running))
	run := exec.Command(os.Args[0], "run", "--kubeconfig", kubeconfig, "--metrics-bind-address", "0",
		"--health-probe-bind-address", "0")
	run.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := run.StderrPipe()
	d.Expect(err).NotTo(HaveOccurred())
	d.Expect(run.Start()).To(Succeed())
	t.Cleanup(func() { _ = run.Process.Kill() })
	lines := bufio.NewReader(stderr)
	for _, want := range []string{
		`cluster: context envtest, https://127\.0\.0\.1:\d+`, `stop:    Ctrl-C`,
		`another manager is active \(on \S+, heard of \d+s ago; Lease run.mooring.dev in namespace mooring-system\); ` +
			`waiting until it ends, --alongside does not`,
	} {
		line, err := lines.ReadString('\n')
		d.Expect(err).NotTo(HaveOccurred())
		d.Expect(line).To(MatchRegexp("^" + want + "\n$"))
	}
	d.Expect(run.Process.Signal(syscall.SIGINT)).To(Succeed())
	rest, err := io.ReadAll(lines)
	d.Expect(err).NotTo(HaveOccurred())
	d.Expect(string(rest)).To(BeEmpty())
	d.Expect(run.Wait()).To(Succeed())
	d.end(syscall.SIGINT)
}

// A run that cannot start keeps nobody waiting: what it claimed is given back.
func TestRunThatCannotStartGivesItsClaimBack(t *testing.T) {
	g, controlPlane := NewWithT(t), &envtest.Environment{
		BinaryAssetsDirectory: assets(), ControlPlaneStartTimeout: patience,
	}
	t.Cleanup(func() { NewWithT(t).Expect(controlPlane.Stop()).To(Succeed()) })
	admin, err := controlPlane.Start()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(installInto(t.Context(), admin)).To(Succeed())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = taken.Close() })
	p := &process{
		Settings: &Settings{MetricsAddress: "0", ProbeAddress: taken.Addr().String(), LeaderNamespace: "default"},
		config:   admin, target: target{host: admin.Host}, progress: newProgress(io.Discard), exclusive: true,
	}
	g.Expect(p.run(t.Context())).To(MatchError(ContainSubstring("address already in use")))
	c, err := client.New(admin, client.Options{Scheme: newScheme()})
	g.Expect(err).NotTo(HaveOccurred())
	held := &coordinationv1.Lease{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: lease.Alone}, held)).To(Succeed())
	g.Expect(held.Spec.AcquireTime).NotTo(BeNil(), "it was claimed")
	g.Expect(held.Spec.HolderIdentity).To(BeNil(), "and given back")
}

// Whoever interrupts the start is left with nothing running, either.
func TestDevInterruptedWhileItStarts(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir)
	d.line("starting etcd and kube-apiserver ...")
	d.Eventually(func() bool { return exists(filepath.Join(dir, "etcd", "member")) }).Should(BeTrue(), "etcd runs")
	d.end(syscall.SIGINT)
	d.Expect(d.output()).NotTo(ContainSubstring("error:"))
}
