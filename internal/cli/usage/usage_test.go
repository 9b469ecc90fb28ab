package usage_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/mooring-dev/mooring/internal/cli/usage"
)

var errBroken = errors.New("broken")

// program is a small one: show wants a name, list may be given a word, fail fails at its work.
func program() *cobra.Command {
	root := &cobra.Command{Use: "program", SilenceUsage: true, SilenceErrors: true}
	work := func(*cobra.Command, []string) error { return nil }
	show := &cobra.Command{
		Use: "show NAME", Args: usage.Args("NAME"), RunE: work, Example: "  program show a\n  program show b | a program",
	}
	show.Flags().Int("count", 1, "how many")
	fail := &cobra.Command{Use: "fail", RunE: func(cmd *cobra.Command, arguments []string) error {
		if len(arguments) > 0 {
			return usage.Errorf(cmd, "no way %q", arguments[0])
		}
		return errBroken
	}}
	list := &cobra.Command{Use: "list [big|small]", Args: usage.Choice("big", "small"), RunE: work}
	pair := &cobra.Command{Use: "pair A B", Args: usage.Args("A", "B"), RunE: work}
	wait := &cobra.Command{Use: "wait", RunE: work}
	usage.Timeout(wait.Flags(), new(time.Duration), time.Minute)
	root.SetHelpCommand(usage.Help())
	root.AddCommand(show, fail, list, pair, wait)
	return root
}

func execute(root *cobra.Command, line string) error {
	root.SetArgs(strings.Fields(line))
	root.SetOut(&bytes.Buffer{})
	root.SetErr(&bytes.Buffer{})
	return usage.Execute(root)
}

func TestWrongUseTellsTheUsageOfItsCommand(t *testing.T) {
	const show = "usage: program show NAME [flags]\nhelp:  program show --help"
	const list = "usage: program list [big|small] [flags]\nhelp:  program list --help"
	for line, want := range map[string][2]string{
		"show":             {"missing argument: NAME", show},
		"show a b":         {"unexpected argument: b", show},
		"show --none":      {"unknown flag: --none", show},
		"show a --count":   {"flag needs an argument: --count", show},
		"show a --count=x": {`invalid argument "x" for "--count" flag: strconv.ParseInt: parsing "x": invalid syntax`, show},
		"list huge":        {`argument "huge" is not one of big, small`, list},
		"list big small":   {"unexpected argument: small", list},
		"pair":             {"missing argument: A B", "usage: program pair A B [flags]\nhelp:  program pair --help"},
		"pair a":           {"missing argument: B", "usage: program pair A B [flags]\nhelp:  program pair --help"},
		"fail x":           {`no way "x"`, "usage: program fail [flags]\nhelp:  program fail --help"},
		"wait --timeout=-5s": {`invalid argument "-5s" for "--timeout" flag: not more than 0`,
			"usage: program wait [flags]\nhelp:  program wait --help"},
		"wait --timeout=0s": {`invalid argument "0s" for "--timeout" flag: not more than 0`,
			"usage: program wait [flags]\nhelp:  program wait --help"},
		"wait --timeout=5": {`invalid argument "5" for "--timeout" flag: time: missing unit in duration "5"`,
			"usage: program wait [flags]\nhelp:  program wait --help"},
		"help none":      {`unknown command "none" for "program"`, "usage: program COMMAND\nhelp:  program --help"},
		"help show none": {`unknown command "none" for "program show"`, show},
		"none":           {`unknown command "none" for "program"`, "usage: program COMMAND\nhelp:  program --help"},
		"--none":         {"unknown flag: --none", "usage: program COMMAND\nhelp:  program --help"},
	} {
		t.Run(line, func(t *testing.T) {
			g := NewWithT(t)
			var wrong *usage.Error
			g.Expect(errors.As(execute(program(), line), &wrong)).To(BeTrue())
			g.Expect(wrong.Error()).To(Equal(want[0]))
			g.Expect(wrong.Hint()).To(Equal(want[1]))
		})
	}
}

func TestRightUseIsNoError(t *testing.T) {
	for _, line := range []string{"", "show a", "show a --count 2", "list", "list small", "pair a b", "show --help",
		"help", "help show", "wait", "wait --timeout 1ms"} {
		NewWithT(t).Expect(execute(program(), line)).To(Succeed(), line)
	}
}

// Help about a command is what its own --help prints.
func TestHelp(t *testing.T) {
	g := NewWithT(t)
	for about, asked := range map[string]string{"": "--help", "show": "show --help", "help": "help --help"} {
		var got, want bytes.Buffer
		root := program()
		g.Expect(printed(root, &got, "help "+about)).To(Succeed())
		g.Expect(printed(program(), &want, asked)).To(Succeed())
		g.Expect(got.String()).To(Equal(want.String()))
		g.Expect(got.String()).To(ContainSubstring("Usage:"))
	}
	var completed bytes.Buffer
	g.Expect(printed(program(), &completed, "__complete help  ")).To(Succeed())
	g.Expect(completed.String()).To(ContainSubstring("show\n"))
}

func printed(root *cobra.Command, out *bytes.Buffer, line string) error {
	root.SetArgs(strings.Split(strings.TrimSuffix(line, " "), " "))
	root.SetOut(out)
	root.SetErr(&bytes.Buffer{})
	return usage.Execute(root)
}

func TestTimeout(t *testing.T) {
	g := NewWithT(t)
	var value time.Duration
	cmd := &cobra.Command{Use: "wait"}
	usage.Timeout(cmd.Flags(), &value, 90*time.Second)
	g.Expect(value).To(Equal(90 * time.Second))
	g.Expect(cmd.Flags().FlagUsages()).To(
		Equal("      --timeout duration   how long to wait for the outcome (default 1m30s)\n"))
	g.Expect(cmd.ParseFlags([]string{"--timeout", "5s"})).To(Succeed())
	g.Expect(value).To(Equal(5 * time.Second))
}

// Work that fails is not wrong use.
func TestOtherErrorsStayWhatTheyAre(t *testing.T) {
	g := NewWithT(t)
	err := execute(program(), "fail")
	g.Expect(err).To(MatchError(errBroken))
	g.Expect(errors.As(err, new(*usage.Error))).To(BeFalse())
	g.Expect(usage.Wrap(program(), nil)).To(Succeed())
}

func TestNameIsUsedEverywhere(t *testing.T) {
	g := NewWithT(t)
	root := program()
	root.Annotations = map[string]string{"kept": "yes"}
	show, _, err := root.Find([]string{"show"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(execute(root, "show a")).To(Succeed())
	g.Expect(show.Example).To(Equal("  program show a\n  program show b | a program"))
	g.Expect(usage.Program(root.Commands()[0])).To(Equal("program"))
	usage.SetName(root, "kubectl program")
	g.Expect(usage.Program(root.Commands()[0])).To(Equal("kubectl program"))
	var wrong *usage.Error
	g.Expect(errors.As(execute(root, "show"), &wrong)).To(BeTrue())
	g.Expect(wrong.Hint()).To(Equal("usage: kubectl program show NAME [flags]\nhelp:  kubectl program show --help"))
	for range 2 { // however often it is run
		g.Expect(execute(root, "show a")).To(Succeed())
		g.Expect(show.Example).To(Equal("  kubectl program show a\n  kubectl program show b | a program"))
	}
	g.Expect(root.Annotations).To(HaveKeyWithValue("kept", "yes"))
}
