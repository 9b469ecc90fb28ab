package devstate

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
	// pollInterval is how often it is looked at meanwhile.
	pollInterval = 50 * time.Millisecond
)

// process is a running program.
type process struct {
	pid     int
	program string
}

// leftovers returns the programs of a control plane that use the directory. The caller holds its lock, so that they are
// nobody's.
func leftovers(ctx context.Context, dir string) ([]process, error) {
	ours := []string{"--data-dir=" + filepath.Join(dir, EtcdData), "--cert-dir=" + filepath.Join(dir, Certificates)}
	all, err := commandLines(ctx)
	if err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	var out []process
	for pid, arguments := range all {
		program := filepath.Base(arguments[0])
		named := func(argument string) bool { return slices.Contains(ours, argument) }
		if (program == "etcd" || program == "kube-apiserver") && slices.ContainsFunc(arguments, named) {
			out = append(out, process{pid: pid, program: program})
		}
	}
	slices.SortFunc(out, func(a, b process) int { return strings.Compare(b.program, a.program) }) // etcd goes last
	return out, nil
}

// End ends the leftovers of a directory, and tells of each. It asks them to end first.
func End(ctx context.Context, dir string, tell func(format string, arguments ...any)) error {
	return end(ctx, dir, grace, tell)
}

func end(ctx context.Context, dir string, grace time.Duration, tell func(format string, arguments ...any)) error {
	for _, by := range []struct {
		doing  string
		signal syscall.Signal
	}{{"ending", syscall.SIGTERM}, {"killing", syscall.SIGKILL}} {
		found, err := leftovers(ctx, dir)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, left := range found {
			tell("%s %s (process %d), left over from a run that was killed", by.doing, left.program, left.pid)
			if err := syscall.Kill(left.pid, by.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("%s (process %d) is left over from another run: %w; end it with `kill %[2]d`",
					left.program, left.pid, err)
			}
		}
		if gone, err := awaitEnd(ctx, dir, grace); gone || err != nil {
			return err
		}
	}
	return fmt.Errorf("programs that are left over on %s do not end; end them with `kill -9`, or give another --dir", dir)
}

// awaitEnd waits until the leftovers are gone, and tells whether they are.
func awaitEnd(ctx context.Context, dir string, grace time.Duration) (bool, error) {
	ticker, late := time.NewTicker(pollInterval), time.After(grace)
	defer ticker.Stop()
	for {
		found, err := leftovers(ctx, dir)
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
