// Package launch runs the programs of a demonstration or a benchmark: it waits until each is ready, keeps what it
// prints, and ends all of them.
package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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

// Group is programs that run together. What each prints is in a file of its name in Dir.
type Group struct {
	Dir     string
	running []*program
}

type program struct {
	name    string
	command *exec.Cmd
	ended   chan struct{}
}

// Start runs a program and waits until it prints a line that starts with ready; it returns the rest of that line. With
// an empty ready it does not wait.
func (g *Group) Start(ctx context.Context, name, ready string, command *exec.Cmd) (string, error) {
	log, err := os.Create(filepath.Join(g.Dir, name+".log"))
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
	g.running = append(g.running, p)
	go func() {
		defer close(p.ended)
		_ = command.Wait() // its status is told by its log
		_ = writer.Close()
		_ = log.Close()
	}()
	found := make(chan string, 1)
	if ready == "" {
		found <- ""
	}
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

// Stop ends all programs, the last one first, and waits for each.
func (g *Group) Stop() error {
	var errs []error
	for i := len(g.running) - 1; i >= 0; i-- {
		p := g.running[i]
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
