package devstate

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mooring-dev/mooring/internal/text"
)

// tetherName is the command that a tethered program is started by. People do not call it.
const tetherName = "dev-tether"

// Tether returns the path of a program that is started in the place of another, runs it in its own process, and lets it
// live no longer than the process that called Tether. Where the system cannot see to that, it returns the program
// itself. The caller stays on its thread, by runtime.LockOSThread, as long as the program is to run: what the system
// watches is the thread that started it.
func Tether(dir, program string) (string, error) {
	if !tethers {
		return program, nil
	}
	program, err := filepath.Abs(program)
	if err != nil {
		return "", fmt.Errorf("program: %w", err)
	}
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("own program: %w", err)
	}
	path := filepath.Join(dir, "bin", filepath.Base(program))
	script := fmt.Sprintf("#!/bin/sh\nexec %s %s %d %s \"$@\"\n",
		text.ShellWord(own), tetherName, os.Getpid(), text.ShellWord(program))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil { //nolint:gosec // people name the directory themselves
		return "", fmt.Errorf("state directory: %w", err)
	}
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		return "", fmt.Errorf("state directory: %w", err)
	}
	return path, nil
}

// NewTether returns the command that becomes a program which ends with the process of the given id.
func NewTether() *cobra.Command {
	return &cobra.Command{
		Use:                tetherName + " PID PROGRAM [ARGUMENT...]",
		Short:              "Run a program that ends with another process",
		Hidden:             true,
		DisableFlagParsing: true, // those are the program's
		Args:               cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, arguments []string) error {
			pid, err := strconv.Atoi(arguments[0])
			if err != nil {
				return fmt.Errorf("process id: %w", err)
			}
			return become(pid, arguments[1:])
		},
	}
}

// become replaces this process by a program. It returns only if it cannot.
func become(parent int, arguments []string) error {
	if err := tie(); err != nil {
		return fmt.Errorf("tether: %w", err)
	}
	if os.Getppid() != parent {
		return fmt.Errorf("process %d has ended", parent)
	}
	return syscall.Exec(arguments[0], arguments, os.Environ()) //nolint:gosec // that is what it is for
}
