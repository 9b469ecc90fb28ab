package usage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// ExitStatus is the exit status of a program that was called in a wrong way, as of shells, Go's tools and getopt.
const ExitStatus = 2

// Error is wrong use of a command.
type Error struct {
	Command *cobra.Command
	Err     error
}

// Errorf returns an Error about the command.
func Errorf(cmd *cobra.Command, format string, arguments ...any) error {
	return &Error{Command: cmd, Err: fmt.Errorf(format, arguments...)}
}

// Error says what is wrong, without the hint.
func (e *Error) Error() string { return strings.TrimSpace(e.Err.Error()) }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Hint is how the command is called, and where there is more to read; two lines.
func (e *Error) Hint() string {
	line := e.Command.UseLine()
	if !e.Command.Runnable() {
		line = e.Command.CommandPath() + " COMMAND"
	}
	return fmt.Sprintf("usage: %s\nhelp:  %s --help", line, e.Command.CommandPath())
}

// Program is what the program of a command is called here.
func Program(cmd *cobra.Command) string { return cmd.Root().CommandPath() }

// SetName has the program be called by this name in its help and its hints.
func SetName(root *cobra.Command, name string) {
	if root.Annotations == nil {
		root.Annotations = map[string]string{}
	}
	root.Annotations[cobra.CommandDisplayNameAnnotation] = name
}

// Args wants one argument for each name, in this order.
func Args(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, arguments []string) error {
		if missing := len(names) - len(arguments); missing > 0 {
			return fmt.Errorf("missing argument: %s", strings.Join(names[len(arguments):], " "))
		}
		return Unexpected(arguments[len(names):])
	}
}

// Choice wants one of these words, or nothing.
func Choice(words ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, arguments []string) error {
		if len(arguments) > 0 && !slices.Contains(words, arguments[0]) {
			return fmt.Errorf("argument %q is not one of %s", arguments[0], strings.Join(words, ", "))
		}
		return Unexpected(arguments[min(1, len(arguments)):])
	}
}

// Unexpected is an error that names arguments which a command does not take; nil when there are none.
func Unexpected(arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument: %s", strings.Join(arguments, " "))
}

// Execute runs the command line of root. Flags and arguments that a command refuses, and commands that do not exist,
// are an Error. Examples, each on a line that begins with two spaces and the program's own name, are shown with the
// name that it has here.
func Execute(root *cobra.Command) error {
	root.SetFlagErrorFunc(Wrap)
	prepare(root)
	cmd, err := root.ExecuteC()
	if err != nil && !cmd.Runnable() { // it has no work of its own that could fail
		return Wrap(cmd, err)
	}
	return err
}

// prepare has the arguments of a command, and of all below it, be judged with its usage at hand, and its examples be
// those of a program of this name.
func prepare(cmd *cobra.Command) {
	if judge := cmd.Args; judge != nil {
		cmd.Args = func(cmd *cobra.Command, arguments []string) error { return Wrap(cmd, judge(cmd, arguments)) }
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "  "+cmd.Root().Name()+" ", "  "+Program(cmd)+" ")
	for _, child := range cmd.Commands() {
		prepare(child)
	}
}

// Wrap makes an error that is none yet an Error about the command; nil stays nil.
func Wrap(cmd *cobra.Command, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &Error{Command: cmd, Err: err}
}
