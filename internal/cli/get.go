package cli

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

func newGet() *cobra.Command {
	flags := &clusterFlags{}
	cmd := &cobra.Command{
		Use:     "get [servers]",
		Short:   "List servers: what state each is in, since when, and why",
		Example: "  mooring get\n  mooring get servers -A",
		Args:    cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []cobra.Completion{
			cobra.CompletionWithDesc("servers", "MCPServers"),
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, namespace, err := flags.connect()
			if err != nil {
				return err
			}
			if flags.all {
				namespace = ""
			}
			list := &v1alpha1.MCPServerList{}
			if err := c.List(cmd.Context(), list, client.InNamespace(namespace)); err != nil {
				return fmt.Errorf("mcpservers: %w", err)
			}
			if len(list.Items) == 0 {
				_, err := fmt.Fprintf(cmd.ErrOrStderr(), "no MCPServers %s\n", where(namespace))
				return err
			}
			return printServers(cmd.OutOrStdout(), list.Items, time.Now(), flags.all)
		},
	}
	flags.register(cmd.Flags())
	cmd.Flags().BoolVarP(&flags.all, "all-namespaces", "A", false, "servers of all namespaces")
	return cmd
}

func where(namespace string) string {
	if namespace == "" {
		return "in any namespace"
	}
	return fmt.Sprintf("in namespace %q; -A looks into all", namespace)
}

// printServers prints one line per server. SINCE is the age of what READY says.
func printServers(out io.Writer, servers []v1alpha1.MCPServer, now time.Time, namespaced bool) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	if namespaced {
		_, _ = fmt.Fprint(table, "NAMESPACE\t") // errors of a tabwriter come with Flush
	}
	_, _ = fmt.Fprintln(table, "NAME\tREADY\tSTATE\tTOOLS\tREASON\tSINCE")
	for i := range servers {
		server := &servers[i]
		if namespaced {
			_, _ = fmt.Fprintf(table, "%s\t", server.Namespace)
		}
		ready, reason, since := readiness(server, now)
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n",
			server.Name, ready, stateOf(server), toolsOf(server), reason, since)
	}
	return table.Flush()
}

// readiness tells what Ready says, why and since when. Before the first status there is nothing to tell.
func readiness(server *v1alpha1.MCPServer, now time.Time) (ready, reason, since string) {
	condition := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady)
	if condition == nil {
		return "Unknown", "-", "-"
	}
	return string(condition.Status), condition.Reason,
		duration.HumanDuration(now.Sub(condition.LastTransitionTime.Time))
}

// stateOf is the session's state; a server without a session is disabled or was not accepted.
func stateOf(server *v1alpha1.MCPServer) string {
	switch {
	case server.Status.Session != nil && server.Status.Session.State != "":
		return server.Status.Session.State
	case server.Spec.Disabled:
		return "Disabled"
	default:
		return "-"
	}
}

func toolsOf(server *v1alpha1.MCPServer) string {
	if server.Status.Catalog == nil || server.Status.Catalog.ToolCount == nil {
		return "-"
	}
	return fmt.Sprint(*server.Status.Catalog.ToolCount)
}
