package agents

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/await"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/cli/subject"
	"github.com/mooring-dev/mooring/internal/cli/usage"
)

// Reload returns the command "reload".
func Reload(cluster subject.Cluster) *cobra.Command {
	timeout := 2 * time.Minute
	cmd := &cobra.Command{
		Use:   "reload SESSION",
		Short: "Have an agent session's servers listed anew and its catalog published again",
		Args:  usage.Args("SESSION"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			at, err := find(cmd, cluster, arguments[0], subject.Session)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return at.reload(ctx)
		},
	}
	cluster.Register(cmd.Flags())
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long to wait for the outcome")
	return cmd
}

// reload sets the annotation and waits until it is echoed in status.
func (p place) reload(ctx context.Context) error {
	session, err := p.Session()
	if err != nil {
		return err
	}
	if session == nil {
		return p.None()
	}
	p.Note(explain.Unheeded)
	before := session.DeepCopy()
	value := time.Now().UTC().Format(time.RFC3339Nano)
	if session.Annotations == nil {
		session.Annotations = map[string]string{}
	}
	session.Annotations[v1alpha1.AnnotationReload] = value
	if err := p.Patch(ctx, session, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotation: %w", err)
	}
	_, _ = fmt.Fprintf(p.Cmd.ErrOrStderr(), "reloading %s ...\n", p.Name)
	after, err := await.For(ctx, p.WithWatch, &v1alpha1.AgentSessionList{}, session,
		func(s *v1alpha1.AgentSession) bool { return s.Status.LastHandledReloadAt == value })
	if err != nil {
		late, outcome := await.Outcome(err)
		if late {
			_, _ = fmt.Fprint(p.Cmd.OutOrStdout(), explain.Agent(after, p.View(context.WithoutCancel(ctx))))
		}
		return outcome
	}
	return p.tell(after)
}

// tell prints what agents are offered now.
func (p place) tell(session *v1alpha1.AgentSession) error {
	tools, revision := int32(0), "none"
	if catalog := session.Status.Catalog; catalog != nil {
		if catalog.ToolCount != nil {
			tools = *catalog.ToolCount
		}
		revision = catalog.Revision
	}
	_, err := fmt.Fprintf(p.Cmd.OutOrStdout(), "%s: %d tools of %s servers, revision %s\n",
		session.Name, tools, session.Status.Summary, revision)
	return err
}
