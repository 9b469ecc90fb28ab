package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newHelp returns the command "help". Unlike cobra's own, it takes a command that there is not for wrong use.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, arguments []string) error {
			about, rest, err := cmd.Root().Find(arguments)
			if err != nil {
				return wrongUse(cmd.Root(), err)
			}
			if len(rest) > 0 {
				return wrongUse(about, fmt.Errorf("unknown command %q for %q", strings.Join(rest, " "), about.CommandPath()))
			}
			about.InitDefaultHelpFlag() // as for a command that is run
			about.InitDefaultVersionFlag()
			return about.Help()
		},
		ValidArgsFunction: topics,
	}
}

// topics completes a command below those that are named.
func topics(cmd *cobra.Command, arguments []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	about, rest, err := cmd.Root().Find(arguments)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, child := range about.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, cobra.CompletionWithDesc(child.Name(), child.Short))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
