package statedir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// grace is how long a process may take to end when it is asked to.
	grace = 10 * time.Second
	// glance is how often it is looked at meanwhile.
	glance = 50 * time.Millisecond
)

// Process is a running program.
type Process struct {
	Pid     int
	Program string
}

// Leftovers returns the programs of a control plane that use the directory. The caller holds its lock, so that they are
// nobody's.
func Leftovers(ctx context.Context, dir string) ([]Process, error) {
	ours := []string{"--data-dir=" + filepath.Join(dir, EtcdData), "--cert-dir=" + filepath.Join(dir, Certificates)}
	all, err := commandLines(ctx)
	if err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	var out []Process
	for pid, arguments := range all {
		program := filepath.Base(arguments[0])
		named := func(argument string) bool { return slices.Contains(ours, argument) }
		if (program == "etcd" || program == "kube-apiserver") && slices.ContainsFunc(arguments, named) {
			out = append(out, Process{Pid: pid, Program: program})
		}
	}
	slices.SortFunc(out, func(a, b Process) int { return strings.Compare(b.Program, a.Program) }) // etcd goes last
	return out, nil
}

// End ends the leftovers of a directory, and tells of each. It asks them to end first.
func End(ctx context.Context, dir string, tell func(format string, arguments ...any)) error {
	return end(ctx, dir, grace, tell)
}

func end(ctx context.Context, dir string, grace time.Duration, tell func(format string, arguments ...any)) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		found, err := Leftovers(ctx, dir)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, process := range found {
			tell("ending %s (process %d), left over from a run that was killed", process.Program, process.Pid)
			if err := syscall.Kill(process.Pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("%s is left over from another run; end it with `kill %d`: %w",
					process.Program, process.Pid, err)
			}
		}
		if gone, err := awaitEnd(ctx, dir, grace); gone || err != nil {
			return err
		}
	}
	return fmt.Errorf("programs that are left over on %s do not end", dir)
}

// awaitEnd waits until the leftovers are gone, and tells whether they are.
func awaitEnd(ctx context.Context, dir string, grace time.Duration) (bool, error) {
	ticker, late := time.NewTicker(glance), time.After(grace)
	defer ticker.Stop()
	for {
		found, err := Leftovers(ctx, dir)
		if err != nil || len(found) == 0 {
			return err == nil, err
		}
		select {
		case <-ticker.C:
		case <-late:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// commandLines are those of all processes that can be seen, by process id. Linux tells them argument by argument, and
// of a process that has ended, none.
func commandLines(ctx context.Context) (map[int][]string, error) {
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(entries) == 0 {
		return listed(ctx)
	}
	out := map[int][]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Clean(entry))
		pid, notPid := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
		if err == nil && notPid == nil && len(text) > 0 { // others end meanwhile
			out[pid] = strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		}
	}
	return out, nil
}

// listed are the command lines that ps tells. It separates arguments by spaces, so that a directory whose name has some
// is not found.
func listed(ctx context.Context) (map[int][]string, error) {
	text, err := exec.CommandContext(ctx, "ps", "-A", "-ww", "-o", "pid=,command=").Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	out := map[int][]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if pid, err := strconv.Atoi(fields[0]); err == nil {
			out[pid] = fields[1:]
		}
	}
	return out, nil
}
