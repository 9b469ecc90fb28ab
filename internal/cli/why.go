package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/cli/subject"
	"github.com/mooring-dev/mooring/internal/cli/usage"
)

func newWhy() *cobra.Command {
	flags := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "why SERVER|SESSION",
		Short: "Explain a server or an agent session: what state, since when, why, what is next, what you can do",
		Long: `Explains a server or an agent session: what state it is in, since when, because of what, what happens next, and
what you can do. Where both have the name, the server is explained; "server/NAME" and "session/NAME" say which.`,
		Example: "  mooring why github -n agents\n  mooring why session/coder -n agents",
		Args:    usage.Args("SERVER|SESSION"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			at, err := subject.Find(cmd, flags, arguments[0], subject.Server, subject.Session)
			if err != nil {
				return err
			}
			return why(at)
		},
	}
	flags.Register(cmd.Flags())
	return cmd
}

func why(at *subject.Subject) error {
	server, err := at.Server()
	if err != nil {
		return err
	}
	if server != nil {
		_, err := fmt.Fprint(at.Cmd.OutOrStdout(), explain.Server(server, at.View(at.Cmd.Context())))
		return err
	}
	session, err := at.Session()
	if err != nil {
		return err
	}
	if session == nil {
		return at.None()
	}
	_, err = fmt.Fprint(at.Cmd.OutOrStdout(), explain.Agent(session, at.View(at.Cmd.Context())))
	return err
}
