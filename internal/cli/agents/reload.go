package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/await"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/cli/subject"
	"github.com/mooring-dev/mooring/internal/cli/usage"
)

// Reload returns the command "reload".
func Reload(cluster subject.Cluster) *cobra.Command {
	var timeout time.Duration
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
	usage.Timeout(cmd.Flags(), &timeout, 2*time.Minute)
	return cmd
}

// reload sets the annotation and waits until it is echoed in status. Where no manager runs, there is nothing to wait
// for.
func (p place) reload(ctx context.Context) error {
	session, err := p.Session()
	if err != nil {
		return err
	}
	if session == nil {
		return p.None()
	}
	before := session.DeepCopy()
	value := time.Now().UTC().Format(time.RFC3339Nano)
	if session.Annotations == nil {
		session.Annotations = map[string]string{}
	}
	session.Annotations[v1alpha1.AnnotationReload] = value
	if err := p.Patch(ctx, session, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotation: %w", err)
	}
	if err := p.View(ctx).Unheeded(); err != nil {
		return err
	}
	done := await.Step(p.Cmd.ErrOrStderr(), "reloading "+p.Name)
	after, err := await.For(ctx, p.WithWatch, &v1alpha1.AgentSessionList{}, session,
		func(s *v1alpha1.AgentSession) bool { return s.Status.LastHandledReloadAt == value })
	if err != nil {
		late, outcome := await.Outcome(err)
		if late {
			_, _ = fmt.Fprint(p.Cmd.OutOrStdout(), explain.Agent(after, p.View(context.WithoutCancel(ctx))))
		}
		return outcome
	}
	done()
	return p.tell(ctx, after)
}

// errNotReady is the outcome of a reload after which the agent does not have what was declared for it.
var errNotReady = errors.New("the agent session is not ready")

// tell prints what agents are offered now. It fails when the session is not ready, or its catalog is a former one.
func (p place) tell(ctx context.Context, session *v1alpha1.AgentSession) error {
	if !meta.IsStatusConditionTrue(session.Status.Conditions, v1alpha1.ConditionReady) {
		if _, err := fmt.Fprint(p.Cmd.OutOrStdout(), explain.Agent(session, p.View(ctx))); err != nil {
			return err
		}
		return errNotReady
	}
	published := meta.FindStatusCondition(session.Status.Conditions, v1alpha1.ConditionCatalogPublished)
	if published != nil && published.Status == metav1.ConditionFalse { // with the former one, the session stays ready
		return fmt.Errorf("the catalog was not published: %s", published.Message)
	}
	tools, revision := int32(0), "none"
	if catalog := session.Status.Catalog; catalog != nil {
		tools, revision = ptr.Deref(catalog.ToolCount, 0), catalog.Revision
	}
	_, err := fmt.Fprintf(p.Cmd.OutOrStdout(), "%s: %d tools of %s servers, revision %s\n",
		session.Name, tools, session.Status.Summary, revision)
	return err
}
