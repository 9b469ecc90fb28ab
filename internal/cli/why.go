package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/cli/presence"
	"github.com/mooring-dev/mooring/internal/cli/usage"
)

func newWhy() *cobra.Command {
	flags := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "why SERVER",
		Short: "Explain a server: what state, since when, because of what, what happens next, what you can do",
		Args:  usage.Args("SERVER"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			c, namespace, err := flags.Connect()
			if err != nil {
				return err
			}
			server, err := findServer(cmd, c, client.ObjectKey{Namespace: namespace, Name: arguments[0]})
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), explain.Server(server, view(cmd.Context(), cmd, c)))
			return err
		},
	}
	flags.Register(cmd.Flags())
	return cmd
}

// view is how things are looked at now.
func view(ctx context.Context, cmd *cobra.Command, c client.Reader) explain.View {
	now := time.Now()
	return explain.View{Now: now, Program: usage.Program(cmd), Manager: presence.Look(ctx, c, now)}
}

// note tells on standard error when no manager runs, and what that means.
func note(cmd *cobra.Command, c client.Reader, means string) {
	if text := view(cmd.Context(), cmd, c).Note(means); text != "" {
		newProgress(cmd.ErrOrStderr()).note("%s", text)
	}
}

// findServer reads a server, or says where it was looked for.
func findServer(cmd *cobra.Command, c client.Client, key client.ObjectKey) (*v1alpha1.MCPServer, error) {
	server := &v1alpha1.MCPServer{}
	err := c.Get(cmd.Context(), key, server)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("no MCPServer %q in namespace %q; `%s get -A` lists all",
			key.Name, key.Namespace, usage.Program(cmd))
	}
	if err != nil {
		return nil, fmt.Errorf("mcpserver: %w", err)
	}
	return server, nil
}
