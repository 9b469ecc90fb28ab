package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/explain"
)

func newWhy() *cobra.Command {
	flags := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "why SERVER",
		Short: "Explain a server: what state, since when, because of what, what happens next, what you can do",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			c, namespace, err := flags.Connect()
			if err != nil {
				return err
			}
			server, err := findServer(cmd, c, client.ObjectKey{Namespace: namespace, Name: arguments[0]})
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), explain.Server(server, time.Now()))
			return err
		},
	}
	flags.Register(cmd.Flags())
	return cmd
}

// findServer reads a server, or says where it was looked for.
func findServer(cmd *cobra.Command, c client.Client, key client.ObjectKey) (*v1alpha1.MCPServer, error) {
	server := &v1alpha1.MCPServer{}
	err := c.Get(cmd.Context(), key, server)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("no MCPServer %q in namespace %q; `mooring get -A` lists all", key.Name, key.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("mcpserver: %w", err)
	}
	return server, nil
}
