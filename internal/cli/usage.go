package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usageStatus is the exit status of a program that was called in a wrong way, as of shells, Go's tools and getopt.
const usageStatus = 2

// usageError is wrong use of a command.
type usageError struct {
	Command *cobra.Command
	Err     error
}

// usageErrorf returns a usageError about the command.
func usageErrorf(cmd *cobra.Command, format string, arguments ...any) error {
	return &usageError{Command: cmd, Err: fmt.Errorf(format, arguments...)}
}

// Error says what is wrong, without the hint.
func (e *usageError) Error() string { return strings.TrimSpace(e.Err.Error()) }

// Unwrap returns what is wrong.
func (e *usageError) Unwrap() error { return e.Err }

// Hint is how the command is called, and where there is more to read; two lines.
func (e *usageError) Hint() string {
	line := e.Command.UseLine()
	if !e.Command.Runnable() {
		line = e.Command.CommandPath() + " COMMAND"
	}
	return fmt.Sprintf("usage: %s\nhelp:  %s --help", line, e.Command.CommandPath())
}

// programName is what the program of a command is called here.
func programName(cmd *cobra.Command) string { return cmd.Root().CommandPath() }

// setName has the program be called by this name in its help and its hints.
func setName(root *cobra.Command, name string) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
}

// wantArgs wants one argument for each name, in this order.
func wantArgs(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, arguments []string) error {
		if missing := len(names) - len(arguments); missing > 0 {
			return fmt.Errorf("missing argument: %s", strings.Join(names[len(arguments):], " "))
		}
		return unexpected(arguments[len(names):])
	}
}

// unexpected is an error that names arguments which a command does not take; nil when there are none.
func unexpected(arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument: %s", strings.Join(arguments, " "))
}

// executeRoot runs the command line of root. Flags and arguments that a command refuses, and commands that do not
// exist, are a usageError. Examples, each on a line that begins with two spaces and the program's own name, are shown
// with the name that it has here.
func executeRoot(root *cobra.Command) error {
	root.SetFlagErrorFunc(wrongUse)
	prepare(root)
	cmd, err := root.ExecuteC()
	if err != nil && !cmd.Runnable() { // it has no work of its own that could fail
		return wrongUse(cmd, err)
	}
	return err
}

// prepare has the arguments of a command, and of all below it, be judged with its usage at hand, and its examples be
// those of a program of this name.
func prepare(cmd *cobra.Command) {
	if judge := cmd.Args; judge != nil {
		cmd.Args = func(cmd *cobra.Command, arguments []string) error { return wrongUse(cmd, judge(cmd, arguments)) }
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "  "+cmd.Root().Name()+" ", "  "+programName(cmd)+" ")
	for _, child := range cmd.Commands() {
		prepare(child)
	}
}

// wrongUse makes an error that is none yet a usageError about the command; nil stays nil.
func wrongUse(cmd *cobra.Command, err error) error {
	var known *usageError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &usageError{Command: cmd, Err: err}
}
