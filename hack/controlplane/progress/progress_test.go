package progress

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestMeterCountsPackagesAndModules(t *testing.T) {
	m := newMeter(&bytes.Buffer{}, "tools", "building x")
	m.Follow(strings.NewReader("go: downloading k8s.io/api v0.37.2\nk8s.io/api/core/v1\n" +
		"# k8s.io/broken\nbroken.go:1:1: syntax error\nk8s.io/klog/v2\n"))
	want := "tools: building x, 0 s, 2 packages compiled, 1 modules downloaded"
	if got := m.line("building x"); got != want {
		t.Errorf("line = %q, want %q", got, want)
	}
	if got := m.Rest(); got != "# k8s.io/broken\nbroken.go:1:1: syntax error" {
		t.Errorf("rest = %q, want what went wrong", got)
	}
}

func TestMeterKeepsTheEndOfWhatWentWrong(t *testing.T) {
	m := newMeter(&bytes.Buffer{}, "tools", "building x")
	m.Follow(strings.NewReader(strings.Repeat("a: early\n", 100) + strings.Repeat("a: late\n", keep)))
	if got, want := m.Rest(), strings.TrimSuffix(strings.Repeat("a: late\n", keep), "\n"); got != want {
		t.Errorf("rest = %q, want the last %d lines", got, keep)
	}
}

// On a terminal one line tells each second, in a log a line each 15 seconds; something quick tells only its end.
func TestMeterShows(t *testing.T) {
	for name, test := range map[string]struct {
		terminal bool
		takes    time.Duration
		ended    string
		want     string
	}{
		"terminal": {true, 2500 * time.Millisecond, "done", "\r\x1b[Kx: busy, 1 s\r\x1b[Kx: busy, 2 s\r\x1b[Kx: done, 2 s\n"},
		"log":      {false, 31 * time.Second, "done", "x: busy, 15 s\nx: busy, 30 s\nx: done, 31 s\n"},
		"quick":    {true, time.Millisecond, "done", "\r\x1b[Kx: done, 0 s\n"},
		"no end":   {true, 1500 * time.Millisecond, "", "\r\x1b[Kx: busy, 1 s\r\x1b[K"},
		"silent":   {false, time.Second, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				m := newMeter(&out, "x", "busy")
				m.terminal = test.terminal
				go m.show()
				time.Sleep(test.takes)
				m.Stop(test.ended)
				if out.String() != test.want {
					t.Errorf("shown %q, want %q", out.String(), test.want)
				}
			})
		})
	}
}

// Who knows more than the time tells it when it is shown.
func TestMeterTellsWhatItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var done atomic.Int32
		m := newMeter(&out, "x", "busy")
		m.Tell(func() string { return fmt.Sprintf("%d done", done.Load()) })
		go m.show()
		done.Store(3)
		time.Sleep(16 * time.Second)
		done.Store(5)
		m.Stop("done")
		if want := "x: busy, 15 s, 3 done\nx: done, 16 s, 5 done\n"; out.String() != want {
			t.Errorf("shown %q, want %q", out.String(), want)
		}
	})
}

// module writes a module with one file into a new folder.
func module(t *testing.T, program string) string {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/x\n\ngo 1.26\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBuild(t *testing.T) {
	dir := module(t, "package main\n\nfunc main() {}\n")
	build := Build{Label: "x", Name: "x", Dir: dir, Arguments: []string{"-o", "program", "."}}
	if err := build.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "program")); err != nil {
		t.Error(err)
	}
}

func TestBuildThatFailsTellsWhatTheCompilerSaid(t *testing.T) {
	build := Build{Label: "x", Name: "the program", Dir: module(t, "package main\n\nfunc main() { none() }\n")}
	err := build.Run(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "build of the program: exit status 1\n") ||
		!strings.Contains(err.Error(), "main.go:3:15: undefined: none") {
		t.Errorf("err = %v, want what the compiler said", err)
	}
}

// A build that is under way ends when its context does, and tells why. The go command that is named is the one that
// builds.
func TestBuildIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	started, program := filepath.Join(dir, "started"), filepath.Join(dir, "go")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho \"$@\" >" + started + "\nexec sleep 600\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		build := Build{Label: "x", Name: "x", Go: program, Arguments: []string{"."}}
		ended <- build.Run(ctx)
	}()
	arguments, err := os.ReadFile(started) // it waits until the program has written, and is at work
	if err != nil || string(arguments) != "build -v .\n" {
		t.Errorf("go %q, %v, want build -v .", arguments, err)
	}
	cancel()
	if err := <-ended; err == nil || err.Error() != "build of x: context canceled" {
		t.Errorf("err = %v, want the context's", err)
	}
}
