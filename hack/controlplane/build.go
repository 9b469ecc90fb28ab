package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// versionPackage holds the variables by which Kubernetes' programs know their own version.
const versionPackage = "k8s.io/component-base/version"

// program is one program to build: its name in the folder, its package, its linker flags.
type program struct{ name, pkg, ldflags string }

// build builds the programs from their modules, the largest first.
func build(ctx context.Context, bin string, want versions) error {
	major, rest, _ := strings.Cut(strings.TrimPrefix(want.kubernetes, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	stripped := "-s -w"
	kubernetes := strings.Join([]string{
		stripped,
		"-X", versionPackage + ".gitVersion=" + want.kubernetes,
		"-X", versionPackage + ".gitMajor=" + major,
		"-X", versionPackage + ".gitMinor=" + minor,
		"-X", versionPackage + ".gitTreeState=clean",
	}, " ")
	for _, p := range []program{
		{apiserver, "k8s.io/kubernetes/cmd/kube-apiserver", kubernetes},
		{kubectl, "k8s.io/kubernetes/cmd/kubectl", kubernetes},
		{etcd, "go.etcd.io/etcd/server/v3", stripped},
	} {
		if err := buildOne(ctx, bin, p); err != nil {
			return err
		}
	}
	return nil
}

func buildOne(ctx context.Context, bin string, p program) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-mod=readonly", "-buildvcs=false",
		"-ldflags", p.ldflags, "-o", filepath.Join(bin, p.name), p.pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	meter := newMeter(p.name)
	meter.follow(stderr)
	err = cmd.Wait()
	meter.stop(err)
	if ctx.Err() != nil {
		return fmt.Errorf("build of %s interrupted", p.name)
	}
	if err != nil {
		return fmt.Errorf("build of %s: %w\n%s", p.name, err, strings.Join(meter.tail, "\n"))
	}
	return nil
}

// meter shows how far one build has come: every second on a terminal, every 15 seconds in a log.
type meter struct {
	name     string
	terminal bool
	start    time.Time
	quit     chan string // the verb of the last line
	done     chan struct{}

	// tail holds the last lines of output, for the error message.
	tail []string

	guarded struct {
		sync.Mutex
		packages, modules int
	}
}

func newMeter(name string) *meter {
	info, err := os.Stdout.Stat()
	m := &meter{
		name:     name,
		terminal: err == nil && info.Mode()&os.ModeCharDevice != 0,
		start:    time.Now(),
		quit:     make(chan string),
		done:     make(chan struct{}),
	}
	go m.show()
	return m
}

// follow reads the output of `go build -v` to its end: one line for each package compiled or module downloaded.
func (m *meter) follow(r io.Reader) {
	const keep = 30
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		m.guarded.Lock()
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			m.guarded.modules++
		case !strings.ContainsAny(line, " #:"):
			m.guarded.packages++
		}
		m.guarded.Unlock()
		m.tail = append(m.tail, line)
		if len(m.tail) > keep {
			m.tail = m.tail[1:]
		}
	}
}

func (m *meter) show() {
	defer close(m.done)
	interval := 15 * time.Second
	if m.terminal {
		interval = time.Second
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.print("building", false)
		case verb := <-m.quit:
			m.print(verb, true)
			return
		}
	}
}

func (m *meter) print(verb string, last bool) {
	m.guarded.Lock()
	packages, modules := m.guarded.packages, m.guarded.modules
	m.guarded.Unlock()
	line := fmt.Sprintf("controlplane: %-8s %s, %.0f s, %d packages compiled, %d modules downloaded",
		verb, m.name, time.Since(m.start).Seconds(), packages, modules)
	if m.terminal {
		fmt.Print("\r\x1b[K", line)
		if !last {
			return
		}
	} else {
		fmt.Print(line)
	}
	fmt.Println()
}

// stop prints the last line, by how the build ended, and ends the printing.
func (m *meter) stop(err error) {
	verb := "built"
	if err != nil {
		verb = "stopped"
	}
	m.quit <- verb
	<-m.done
}
