package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
)

var errBroken = errors.New("broken")

// smallProgram is one: show wants a name, fail fails at its work.
func smallProgram() *cobra.Command {
	root := &cobra.Command{Use: "program", SilenceUsage: true, SilenceErrors: true}
	work := func(*cobra.Command, []string) error { return nil }
	show := &cobra.Command{
		Use: "show NAME", Args: wantArgs("NAME"), RunE: work, Example: "  program show a\n  program show b | a program",
	}
	show.Flags().Int("count", 1, "how many")
	fail := &cobra.Command{Use: "fail", RunE: func(cmd *cobra.Command, arguments []string) error {
		if len(arguments) > 0 {
			return usageErrorf(cmd, "no way %q", arguments[0])
		}
		return errBroken
	}}
	pair := &cobra.Command{Use: "pair A B", Args: wantArgs("A", "B"), RunE: work}
	root.SetHelpCommand(newHelp())
	root.AddCommand(show, fail, pair)
	return root
}

func executeLine(root *cobra.Command, line string) error {
	root.SetArgs(strings.Fields(line))
	root.SetOut(&bytes.Buffer{})
	root.SetErr(&bytes.Buffer{})
	return executeRoot(root)
}

func TestWrongUseTellsTheUsageOfItsCommand(t *testing.T) {
	const show = "usage: program show NAME [flags]\nhelp:  program show --help"
	for line, want := range map[string][2]string{
		"show":             {"missing argument: NAME", show},
		"show a b":         {"unexpected argument: b", show},
		"show --none":      {"unknown flag: --none", show},
		"show a --count":   {"flag needs an argument: --count", show},
		"show a --count=x": {`invalid argument "x" for "--count" flag: strconv.ParseInt: parsing "x": invalid syntax`, show},
		"pair":             {"missing argument: A B", "usage: program pair A B [flags]\nhelp:  program pair --help"},
		"pair a":           {"missing argument: B", "usage: program pair A B [flags]\nhelp:  program pair --help"},
		"fail x":           {`no way "x"`, "usage: program fail [flags]\nhelp:  program fail --help"},
		"help none":        {`unknown command "none" for "program"`, "usage: program COMMAND\nhelp:  program --help"},
		"help show none":   {`unknown command "none" for "program show"`, show},
		"none":             {`unknown command "none" for "program"`, "usage: program COMMAND\nhelp:  program --help"},
		"--none":           {"unknown flag: --none", "usage: program COMMAND\nhelp:  program --help"},
	} {
		t.Run(line, func(t *testing.T) {
			g := NewWithT(t)
			var wrong *usageError
			g.Expect(errors.As(executeLine(smallProgram(), line), &wrong)).To(BeTrue())
			g.Expect(wrong.Error()).To(Equal(want[0]))
			g.Expect(wrong.Hint()).To(Equal(want[1]))
		})
	}
}

func TestRightUseIsNoError(t *testing.T) {
	for _, line := range []string{"", "show a", "show a --count 2", "pair a b", "show --help",
		"help", "help show"} {
		NewWithT(t).Expect(executeLine(smallProgram(), line)).To(Succeed(), line)
	}
}

// Help about a command is what its own --help prints.
func TestHelpAboutACommand(t *testing.T) {
	g := NewWithT(t)
	for about, asked := range map[string]string{"": "--help", "show": "show --help", "help": "help --help"} {
		var got, want bytes.Buffer
		root := smallProgram()
		g.Expect(printed(root, &got, "help "+about)).To(Succeed())
		g.Expect(printed(smallProgram(), &want, asked)).To(Succeed())
		g.Expect(got.String()).To(Equal(want.String()))
		g.Expect(got.String()).To(ContainSubstring("Usage:"))
	}
	var completed bytes.Buffer
	g.Expect(printed(smallProgram(), &completed, "__complete help  ")).To(Succeed())
	g.Expect(completed.String()).To(ContainSubstring("show\n"))
}

func printed(root *cobra.Command, out *bytes.Buffer, line string) error {
	root.SetArgs(strings.Split(strings.TrimSuffix(line, " "), " "))
	root.SetOut(out)
	root.SetErr(&bytes.Buffer{})
	return executeRoot(root)
}

// Work that fails is not wrong use.
func TestOtherErrorsStayWhatTheyAre(t *testing.T) {
	g := NewWithT(t)
	err := executeLine(smallProgram(), "fail")
	g.Expect(err).To(MatchError(errBroken))
	g.Expect(errors.As(err, new(*usageError))).To(BeFalse())
	g.Expect(wrongUse(smallProgram(), nil)).To(Succeed())
}

func TestNameIsUsedEverywhere(t *testing.T) {
	g := NewWithT(t)
	root := smallProgram()
	show, _, err := root.Find([]string{"show"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(executeLine(root, "show a")).To(Succeed())
	g.Expect(show.Example).To(Equal("  program show a\n  program show b | a program"))
	g.Expect(programName(root.Commands()[0])).To(Equal("program"))
	setName(root, "kubectl program")
	g.Expect(programName(root.Commands()[0])).To(Equal("kubectl program"))
	var wrong *usageError
	g.Expect(errors.As(executeLine(root, "show"), &wrong)).To(BeTrue())
	g.Expect(wrong.Hint()).To(Equal("usage: kubectl program show NAME [flags]\nhelp:  kubectl program show --help"))
	for range 2 { // however often it is run
		g.Expect(executeLine(root, "show a")).To(Succeed())
		g.Expect(show.Example).To(Equal("  kubectl program show a\n  kubectl program show b | a program"))
	}
}

// A wait that would end before it began is refused before the cluster is asked.
func TestTimeoutIsMoreThanNothing(t *testing.T) {
	g := NewWithT(t)
	for _, given := range []string{"0s", "-5s"} {
		_, _, err := execute(t, "mooring", "reconnect", "github", "--timeout="+given)
		g.Expect(err).To(MatchError(`invalid argument "` + given + `" for "--timeout" flag: not more than 0`))
		g.Expect(errors.As(err, new(*usageError))).To(BeTrue())
	}
}
