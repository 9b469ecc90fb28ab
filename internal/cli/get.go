package cli

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
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
		Args:      kindArgs,
		ValidArgs: []cobra.Completion{"servers", "sessions"},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			c, namespace, err := flags.connect()
			if err != nil {
				return err
			}
			noteManager(cmd, c)
			if flags.all {
				namespace = ""
			}
			of := serverKind
			if len(arguments) == 1 {
				of = kindOf(arguments[0])
			}
			return get(cmd, c, of, namespace)
		},
	}
	flags.register(cmd.Flags())
	cmd.Flags().BoolVarP(&flags.all, "all-namespaces", "A", false, "those of all namespaces")
	return cmd
}

// get lists the objects of a kind in a namespace; an empty one is all.
func get(cmd *cobra.Command, c client.Client, of *kind, namespace string) error {
	list := of.newList()
	if err := c.List(cmd.Context(), list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("%ss: %w", of.word, err)
	}
	if meta.LenList(list) > 0 {
		return printList(cmd.OutOrStdout(), list, time.Now(), namespace == "")
	}
	where := "in any namespace"
	if namespace != "" {
		where = fmt.Sprintf("in namespace %q; -A looks into all", namespace)
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "no %ss %s\n", of.name, where)
	return err
}

// printList prints one line for each object. SINCE is the age of what READY says.
func printList(out io.Writer, list client.ObjectList, now time.Time, namespaced bool) error {
	header := []string{"NAMESPACE", "NAME", "READY", "STATE", "TOOLS", "REASON", "SINCE"}
	if _, ok := list.(*v1alpha1.AgentSessionList); ok {
		header[3] = "SERVERS"
	}
	first := 1
	if namespaced {
		first = 0
	}
	rows := newTable(header[first:]...)
	err := meta.EachListItem(list, func(object runtime.Object) error {
		var cells []string
		var tone tone
		switch object := object.(type) {
		case *v1alpha1.MCPServer:
			cells, tone = serverRow(object, now)
		case *v1alpha1.AgentSession:
			cells, tone = sessionRow(object, now)
		}
		rows.row(tone, cells[first:]...)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	return rows.write(out)
}

// serverRow is what there is to say of a server. Of one that is ready, that is that tools are withheld.
func serverRow(server *v1alpha1.MCPServer, now time.Time) ([]string, tone) {
	ready, reason, since := readiness(server.Status.Conditions, now)
	color := toneOf(ready, reason)
	drifted := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionToolsDrifted)
	if drifted != nil && drifted.Status == metav1.ConditionTrue && reason == v1alpha1.ReasonReady {
		reason, color = drifted.Reason, warn
	}
	state, tools := "-", "-"
	switch {
	case server.Status.Session != nil && server.Status.Session.State != "":
		state = server.Status.Session.State
	case server.Spec.Disabled: // a server without a session is disabled or was not accepted
		state = "Disabled"
	}
	if catalog := server.Status.Catalog; catalog != nil && catalog.ToolCount != nil {
		tools = fmt.Sprint(*catalog.ToolCount)
	}
	return []string{server.Namespace, server.Name, ready, state, tools, reason, since}, color
}

func sessionRow(session *v1alpha1.AgentSession, now time.Time) ([]string, tone) {
	ready, reason, since := readiness(session.Status.Conditions, now)
	tools := "-"
	if catalog := session.Status.Catalog; catalog != nil && catalog.ToolCount != nil {
		tools = fmt.Sprint(*catalog.ToolCount)
	}
	servers := cmp.Or(session.Status.Summary, "-")
	return []string{session.Namespace, session.Name, ready, servers, tools, reason, since}, toneOf(ready, reason)
}

// toneOf colours what is well green, what is not red, and what is off on purpose not at all.
func toneOf(ready, reason string) tone {
	switch {
	case reason == v1alpha1.ReasonDisabled:
		return dim
	case ready == "True":
		return good
	case ready == "False":
		return bad
	default:
		return plain
	}
}

// readiness tells what Ready says, why and since when. Before the first status there is nothing to tell. A moment that
// has yet to come by this machine's clock is taken for now.
func readiness(conditions []metav1.Condition, now time.Time) (ready, reason, since string) {
	condition := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	if condition == nil {
		return "Unknown", "-", "-"
	}
	age := max(0, now.Sub(condition.LastTransitionTime.Time))
	return string(condition.Status), condition.Reason, duration.HumanDuration(age)
}
