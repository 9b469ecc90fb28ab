package devstate

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/test/pace"
)

// What the test binary is when it is started with this variable.
const (
	part     = "MOORING_TEST_PART"
	obedient = "obedient" // ends when it is asked to
	stubborn = "stubborn" // has to be killed
	parent   = "parent"   // starts an obedient program by Tether, tells its process id, and waits
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == tetherName {
		command := NewTether()
		command.SetArgs(os.Args[2:])
		fmt.Println("error:", command.Execute()) // it does not return otherwise
		os.Exit(1)
	}
	switch os.Getenv(part) {
	case "":
		os.Exit(m.Run())
	case stubborn:
		signal.Ignore(syscall.SIGTERM)
	case parent:
		startTethered(os.Args[1])
	}
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR1)
	fmt.Println(os.Getpid())
	<-never
}

// startTethered starts this binary as a tethered program in the directory.
func startTethered(dir string) {
	runtime.LockOSThread()
	own, _ := os.Executable()
	program, err := Tether(dir, own)
	if err != nil {
		panic(err)
	}
	command := exec.Command(program, "--data-dir="+filepath.Join(dir, EtcdData))
	command.Env = append(os.Environ(), part+"="+obedient)
	command.Stdout = os.Stdout
	if err := command.Start(); err != nil {
		panic(err)
	}
}

// start starts the test binary under another name and waits until it has said its process id.
func start(t *testing.T, what, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	g := NewWithT(t)
	own, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	command := exec.Command(own)
	command.Args = append([]string{name}, arguments...)
	command.Env = append(os.Environ(), part+"="+what)
	out, err := command.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(command.Start()).To(Succeed())
	_, err = bufio.NewReader(out).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = command.Process.Kill() })
	return command
}

// ended waits for the end of a process and returns the signal that ended it.
func ended(command *exec.Cmd) <-chan syscall.Signal {
	out := make(chan syscall.Signal, 1)
	go func() {
		_ = command.Wait()
		out <- command.ProcessState.Sys().(syscall.WaitStatus).Signal()
	}()
	return out
}

func TestLockIsOneProcess(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	unlock, err := Lock(dir)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = Lock(dir)
	g.Expect(err).To(MatchError(fmt.Sprintf(
		"process %[1]d runs on %[2]s already; stop it with `kill %[1]d`, or give another --dir", os.Getpid(), dir)))
	unlock()
	unlock, err = Lock(dir)
	g.Expect(err).NotTo(HaveOccurred())
	unlock()
	_, err = Lock(filepath.Join(dir, "none"))
	g.Expect(err).To(MatchError(os.ErrNotExist))
}

// What uses the directory, under the very names and in the very argument that we give, is ended; nothing else is.
func TestEndEndsWhatIsOurs(t *testing.T) {
	g := NewWithT(t)
	dir, other := t.TempDir(), t.TempDir()
	data := "--data-dir=" + filepath.Join(dir, EtcdData)
	etcd := start(t, obedient, "/bin/etcd", "--name=default", data)
	server := start(t, stubborn, "kube-apiserver", "--cert-dir="+filepath.Join(dir, Certificates))
	strangers := []*exec.Cmd{
		start(t, obedient, "etcd", "--data-dir="+filepath.Join(other, EtcdData)),
		start(t, obedient, "etcd", data+"2"),
		start(t, obedient, "vi", data),
	}
	found, err := leftovers(t.Context(), dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(Equal([]process{{server.Process.Pid, "kube-apiserver"}, {etcd.Process.Pid, "etcd"}}))
	endOfEtcd, endOfServer := ended(etcd), ended(server)
	var told []string
	g.Expect(end(t.Context(), dir, time.Second, func(format string, arguments ...any) {
		told = append(told, fmt.Sprintf(format, arguments...))
	})).To(Succeed())
	g.Expect(<-endOfEtcd).To(Equal(syscall.SIGTERM))
	g.Expect(<-endOfServer).To(Equal(syscall.SIGKILL), "it does not listen")
	const line = "%s %s (process %d), left over from a run that was killed"
	g.Expect(told).To(Equal([]string{
		fmt.Sprintf(line, "ending", "kube-apiserver", server.Process.Pid),
		fmt.Sprintf(line, "ending", "etcd", etcd.Process.Pid),
		fmt.Sprintf(line, "killing", "kube-apiserver", server.Process.Pid),
	}))
	for _, stranger := range strangers {
		g.Expect(stranger.Process.Signal(syscall.Signal(0))).To(Succeed(), "%v is not ours", stranger.Args)
	}
	g.Expect(End(t.Context(), dir, func(string, ...any) { t.Error("nothing is left") })).To(Succeed())
}

// Where there is no /proc, ps is asked.
func TestProcessesByPS(t *testing.T) {
	g := NewWithT(t)
	etcd := start(t, obedient, "etcd", "--data-dir=/x/etcd")
	all, err := listed(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all[etcd.Process.Pid]).To(Equal([]string{"etcd", "--data-dir=/x/etcd"})) // what others run is not told
}

// Data that somebody else holds is told of at once.
func TestCheckFree(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(CheckFree(t.Context(), dir)).To(Succeed(), "there is no data yet")
	path := filepath.Join(dir, EtcdData, "member", "snap", "db")
	g.Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
	holder, err := os.Create(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(CheckFree(t.Context(), dir)).To(Succeed())
	g.Expect(syscall.Flock(int(holder.Fd()), syscall.LOCK_EX)).To(Succeed())
	g.Expect(CheckFree(t.Context(), dir)).To(MatchError(fmt.Sprintf("another process uses etcd's data; "+
		"`fuser %[1]s` or `lsof %[1]s` tells which: end it with `kill PID`, or give another --dir", path)))
	checked := make(chan error, 1)
	go func() { checked <- CheckFree(t.Context(), dir) }()
	g.Expect(holder.Close()).To(Succeed(), "as a process does that was killed a moment ago")
	g.Expect(<-checked).To(Succeed())
}

func TestEmpty(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700)).To(Succeed())
	g.Expect(Empty(dir, "a")).To(Succeed())
	g.Expect(os.ReadDir(filepath.Join(dir, "a"))).To(BeEmpty())
	g.Expect(Empty(dir, "new")).To(Succeed())
	g.Expect(filepath.Join(dir, "new")).To(BeADirectory())
}

// A tethered program ends with the process that started it, also when that is killed.
func TestTetheredProgramEndsWithItsParent(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "a b'c") // names that a shell would take apart
	g.Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	own, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	if !tethers {
		g.Expect(Tether(dir, own)).To(Equal(own))
		return
	}
	command := exec.Command(own, dir)
	command.Env = append(os.Environ(), part+"="+parent)
	out, err := command.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(command.Start()).To(Succeed())
	t.Cleanup(func() { _ = command.Process.Kill() })
	pids := map[int]bool{}
	for lines := bufio.NewScanner(out); len(pids) < 2 && lines.Scan(); {
		pid, err := strconv.Atoi(lines.Text())
		g.Expect(err).NotTo(HaveOccurred(), lines.Text())
		pids[pid] = true
	}
	delete(pids, command.Process.Pid)
	g.Expect(pids).To(HaveLen(1))
	g.Expect(command.Process.Kill()).To(Succeed())
	_ = command.Wait()
	for pid := range pids {
		g.Eventually(func() []string {
			all, err := commandLines(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			return all[pid]
		}).WithTimeout(pace.Patience).Should(BeEmpty(), "it has ended")
	}
}

// Who was started by somebody who is gone, or by nobody, starts nothing. It is tried in a process of its own, which is
// a child of this one and of no other.
func TestTetherWithoutAParent(t *testing.T) {
	g := NewWithT(t)
	own, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	other := strconv.Itoa(os.Getppid())
	tethered := exec.CommandContext(t.Context(), own, tetherName, other, "/bin/sh", "-c", "echo it runs")
	out, err := tethered.Output()
	g.Expect(err).To(MatchError("exit status 1"))
	g.Expect(string(out)).To(Equal("error: process " + other + " has ended\n"))
	command := NewTether()
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs([]string{"x", "/bin/true"})
	g.Expect(command.Execute()).To(MatchError(ContainSubstring("process id: ")))
}
