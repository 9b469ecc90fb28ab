package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/await"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/cli/subject"
	"github.com/mooring-dev/mooring/internal/cli/usage"
	"github.com/mooring-dev/mooring/internal/refs"
)

func newReconnect() *cobra.Command {
	flags := &clusterFlags{}
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "reconnect SERVER",
		Short: "Drop a server's session, connect anew, and wait for the outcome",
		Args:  usage.Args("SERVER"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			at, err := subject.Find(cmd, flags, arguments[0], subject.Server)
			if err != nil {
				return err
			}
			server, err := at.Server()
			switch {
			case err != nil:
				return err
			case server == nil:
				return at.None()
			case server.Spec.Disabled:
				return fmt.Errorf("%s is disabled and holds no session; remove spec.disabled", server.Name)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return reconnect(ctx, at, server)
		},
	}
	flags.Register(cmd.Flags())
	usage.Timeout(cmd.Flags(), &timeout, 90*time.Second)
	return cmd
}

// reconnect sets the annotation and waits until the manager has echoed it, which it does when an attempt has ended.
// Where no manager runs, there is nothing to wait for.
func reconnect(ctx context.Context, at *subject.Subject, server *v1alpha1.MCPServer) error {
	before := server.DeepCopy()
	value := time.Now().UTC().Format(time.RFC3339Nano)
	if server.Annotations == nil {
		server.Annotations = map[string]string{}
	}
	server.Annotations[v1alpha1.AnnotationReconnect] = value
	if err := at.Patch(ctx, server, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotation: %w", err)
	}
	if err := at.View(ctx).Unheeded(); err != nil {
		return err
	}
	done := await.Step(at.Cmd.ErrOrStderr(), "reconnecting "+server.Name)
	after, err := await.For(ctx, at, &v1alpha1.MCPServerList{}, server,
		func(s *v1alpha1.MCPServer) bool { return s.Status.LastHandledReconnectAt == value })
	if err != nil {
		late, outcome := await.Outcome(err)
		if late {
			_, _ = fmt.Fprint(at.Cmd.OutOrStdout(), explain.Server(after, at.View(context.WithoutCancel(ctx))))
		}
		return outcome
	}
	done()
	_, err = fmt.Fprint(at.Cmd.OutOrStdout(), explain.Server(after, at.View(ctx)))
	if err != nil {
		return err
	}
	return verdict(after)
}

// verdict is an error unless the server is ready.
func verdict(server *v1alpha1.MCPServer) error {
	ready := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready != nil && ready.Status == metav1.ConditionTrue:
		return nil
	case ready != nil && ready.Reason == v1alpha1.ReasonSecretAccessDenied: // a reconnect does not ask for it anew
		return fmt.Errorf("the server is not ready; access that was granted just now is noticed within %s, "+
			"and the connection follows by itself", refs.DefaultRecheck)
	default:
		return errors.New("the server is not ready")
	}
}
