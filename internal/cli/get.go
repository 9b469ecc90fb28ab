package cli

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/cli/span"
	"github.com/mooring-dev/mooring/internal/cli/subject"
	"github.com/mooring-dev/mooring/internal/cli/table"
	"github.com/mooring-dev/mooring/internal/cli/words"
)

func newGet() *cobra.Command {
	flags := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "get [servers|sessions]",
		Short: "List servers or agent sessions: what state each is in, since when, and why",
		Long: `Lists servers or agent sessions: what state each is in, since when, and why.

READY and REASON are what the condition Ready says; SINCE is when READY last turned, which may be before REASON did.
Where a server is ready and tools of it are withheld, REASON is why, as the condition ToolsDrifted says; "why" tells
more. TOOLS are those that are offered.`,
		Example:   "  mooring get\n  mooring get servers -A\n  mooring get sessions -n agents",
		Args:      words.Kinds,
		ValidArgs: []cobra.Completion{"servers", "sessions"},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			c, namespace, err := flags.Connect()
			if err != nil {
				return err
			}
			if flags.all {
				namespace = ""
			}
			(&subject.Subject{WithWatch: c, Cmd: cmd}).Note(explain.LastKnown)
			if len(arguments) == 1 && words.Kind(arguments[0]) == words.Session {
				return getSessions(cmd, c, namespace)
			}
			return getServers(cmd, c, namespace)
		},
	}
	flags.Register(cmd.Flags())
	cmd.Flags().BoolVarP(&flags.all, "all-namespaces", "A", false, "those of all namespaces")
	return cmd
}

// getServers lists the MCPServers of a namespace; an empty one is all.
func getServers(cmd *cobra.Command, c client.Client, namespace string) error {
	list := &v1alpha1.MCPServerList{}
	if err := c.List(cmd.Context(), list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("mcpservers: %w", err)
	}
	if len(list.Items) == 0 {
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "no MCPServers %s\n", where(namespace))
		return err
	}
	return printServers(cmd.OutOrStdout(), list.Items, time.Now(), namespace == "")
}

// getSessions lists the AgentSessions of a namespace; an empty one is all.
func getSessions(cmd *cobra.Command, c client.Client, namespace string) error {
	list := &v1alpha1.AgentSessionList{}
	if err := c.List(cmd.Context(), list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("agentsessions: %w", err)
	}
	if len(list.Items) == 0 {
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "no AgentSessions %s\n", where(namespace))
		return err
	}
	return printSessions(cmd.OutOrStdout(), list.Items, time.Now(), namespace == "")
}

func where(namespace string) string {
	if namespace == "" {
		return "in any namespace"
	}
	return fmt.Sprintf("in namespace %q; -A looks into all", namespace)
}

// printServers prints one line per server. SINCE is the age of what READY says. Of one that is ready, that tools are
// withheld is what there is to say.
func printServers(out io.Writer, servers []v1alpha1.MCPServer, now time.Time, namespaced bool) error {
	header := []string{"NAME", "READY", "STATE", "TOOLS", "REASON", "SINCE"}
	if namespaced {
		header = append([]string{"NAMESPACE"}, header...)
	}
	rows := table.New(header...)
	for i := range servers {
		server := &servers[i]
		ready, reason, since := readiness(server.Status.Conditions, now)
		tone := toneOf(ready, reason)
		if drifted := withholding(server); drifted != "" && reason == v1alpha1.ReasonReady {
			reason, tone = drifted, table.Warn
		}
		cells := []string{server.Name, ready, stateOf(server), toolsOf(server), reason, since}
		if namespaced {
			cells = append([]string{server.Namespace}, cells...)
		}
		rows.Row(tone, cells...)
	}
	return rows.Write(out)
}

// printSessions prints one line per agent session.
func printSessions(out io.Writer, sessions []v1alpha1.AgentSession, now time.Time, namespaced bool) error {
	header := []string{"NAME", "READY", "SERVERS", "TOOLS", "REASON", "SINCE"}
	if namespaced {
		header = append([]string{"NAMESPACE"}, header...)
	}
	rows := table.New(header...)
	for i := range sessions {
		session := &sessions[i]
		ready, reason, since := readiness(session.Status.Conditions, now)
		tools := "-"
		if catalog := session.Status.Catalog; catalog != nil && catalog.ToolCount != nil {
			tools = fmt.Sprint(*catalog.ToolCount)
		}
		cells := []string{session.Name, ready, cmp.Or(session.Status.Summary, "-"), tools, reason, since}
		if namespaced {
			cells = append([]string{session.Namespace}, cells...)
		}
		rows.Row(toneOf(ready, reason), cells...)
	}
	return rows.Write(out)
}

// toneOf colours what is well green, what is not red, and what is off on purpose not at all.
func toneOf(ready, reason string) table.Tone {
	switch {
	case reason == v1alpha1.ReasonDisabled:
		return table.Dim
	case ready == "True":
		return table.Good
	case ready == "False":
		return table.Bad
	default:
		return table.Plain
	}
}

// readiness tells what Ready says, why and since when. Before the first status there is nothing to tell.
func readiness(conditions []metav1.Condition, now time.Time) (ready, reason, since string) {
	condition := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	if condition == nil {
		return "Unknown", "-", "-"
	}
	return string(condition.Status), condition.Reason,
		span.Text(now.Sub(condition.LastTransitionTime.Time))
}

// withholding is why tools of a server are withheld; empty while none are.
func withholding(server *v1alpha1.MCPServer) string {
	condition := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionToolsDrifted)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return ""
	}
	return condition.Reason
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
