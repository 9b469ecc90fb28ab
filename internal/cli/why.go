package cli

import (
	"github.com/spf13/cobra"
)

func newWhy(in cluster) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why SERVER|SESSION",
		Short: "Explain a server or an agent session: what state, since when, why, what is next, what you can do",
		Long: `Explains a server or an agent session: what state it is in, since when, because of what, what happens next, and
what you can do. Where both have the name, the server is explained; "server/NAME" and "session/NAME" say which.`,
		Example: "  mooring why github -n agents\n  mooring why session/coder -n agents",
		Args:    wantArgs("SERVER|SESSION"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			at, err := lookUp(cmd, in, arguments[0], serverKind, sessionKind)
			if err != nil {
				return err
			}
			object, err := at.find()
			if err != nil {
				return err
			}
			return at.explain(cmd.Context(), object)
		},
	}
	in.register(cmd.Flags())
	return cmd
}
