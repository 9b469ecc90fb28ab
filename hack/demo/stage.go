package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 15 * time.Second
)

// stage is what runs during a demo.
type stage struct {
	bin, state string
	running    []*program
	fakes      fakes
}

// program is one process that the demo started.
type program struct {
	name    string
	command *exec.Cmd
	ended   chan struct{}
}

// start runs a program and waits until it prints a line that starts with ready; it returns the rest of that line. The
// program's output goes to a file of its name.
func (s *stage) start(ctx context.Context, name, ready string, command *exec.Cmd) (string, error) {
	log, err := os.Create(filepath.Join(s.state, name+".log"))
	if err != nil {
		return "", err
	}
	reader, writer := io.Pipe()
	command.Stdout = io.MultiWriter(log, writer)
	command.Stderr = command.Stdout
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is ours to pass on, in order
	if err := command.Start(); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	p := &program{name: name, command: command, ended: make(chan struct{})}
	s.running = append(s.running, p)
	go func() {
		defer close(p.ended)
		_ = command.Wait() // its status is told by its log
		_ = writer.Close()
		_ = log.Close()
	}()
	found := make(chan string, 1)
	go watchFor(reader, ready, found)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case rest := <-found:
		return rest, nil
	case <-p.ended:
		return "", fmt.Errorf("%s ended before it was ready; see %s", name, log.Name())
	case <-ctx.Done():
		return "", fmt.Errorf("%s was not ready in time; see %s", name, log.Name())
	}
}

// watchFor sends the rest of the first line that has the prefix, and reads on, so that the program never blocks.
func watchFor(reader io.Reader, prefix string, found chan<- string) {
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
			select {
			case found <- strings.TrimSpace(rest):
			default:
			}
		}
	}
	_, _ = io.Copy(io.Discard, reader)
}

// stop ends all programs, the last one first, and waits for each.
func (s *stage) stop() error {
	defer s.fakes.close()
	var errs []error
	for i := len(s.running) - 1; i >= 0; i-- {
		p := s.running[i]
		_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-p.ended:
		case <-time.After(stopTimeout):
			_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
			<-p.ended
			errs = append(errs, fmt.Errorf("%s had to be killed", p.name))
		}
	}
	return errors.Join(errs...)
}

// startMooring runs the embedded control plane and the manager.
func (s *stage) startMooring(ctx context.Context) error {
	assets := s.bin
	if own := os.Getenv("KUBEBUILDER_ASSETS"); own != "" {
		assets = own
	}
	fmt.Println("starting etcd, kube-apiserver and the manager ...")
	command := exec.Command(filepath.Join(s.bin, "mooring"), "dev", "--dir", s.state, "--assets", assets,
		"--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=0")
	_, err := s.start(ctx, "mooring", "kubeconfig:", command)
	return err
}

// kubectl runs kubectl against the demo's control plane and returns what it printed.
func (s *stage) kubectl(ctx context.Context, input string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, s.kubectlPath(), arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(s.state, "kubeconfig"))
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(arguments, " "), err, out)
	}
	return string(out), nil
}

// kubectlPath is the pinned kubectl, or the one of the path where the control plane is the user's own.
func (s *stage) kubectlPath() string {
	for _, dir := range []string{s.bin, os.Getenv("KUBEBUILDER_ASSETS")} {
		path := filepath.Join(dir, "kubectl")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "kubectl"
}

// closedPort returns a loopback address that refuses connections.
func closedPort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
