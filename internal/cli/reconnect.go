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
	"github.com/mooring-dev/mooring/internal/cli/usage"
)

func newReconnect() *cobra.Command {
	flags := &clusterFlags{}
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "reconnect SERVER",
		Short: "Drop a server's session, connect anew, and wait for the outcome",
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
			if server.Spec.Disabled {
				return fmt.Errorf("%s is disabled and holds no session; remove spec.disabled", server.Name)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return reconnect(ctx, cmd, c, server)
		},
	}
	flags.Register(cmd.Flags())
	cmd.Flags().DurationVar(&timeout, "timeout", 90*time.Second, "how long to wait for the outcome")
	return cmd
}

// reconnect sets the annotation and waits until the manager has echoed it, which it does when an attempt has ended.
func reconnect(ctx context.Context, cmd *cobra.Command, c client.WithWatch, server *v1alpha1.MCPServer) error {
	note(cmd, c, explain.Unheeded)
	before := server.DeepCopy()
	value := time.Now().UTC().Format(time.RFC3339Nano)
	if server.Annotations == nil {
		server.Annotations = map[string]string{}
	}
	server.Annotations[v1alpha1.AnnotationReconnect] = value
	if err := c.Patch(ctx, server, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotation: %w", err)
	}
	done := newProgress(cmd.ErrOrStderr()).step("reconnecting %s", server.Name)
	after, err := await.For(ctx, c, &v1alpha1.MCPServerList{}, client.ObjectKeyFromObject(server),
		func(s *v1alpha1.MCPServer) bool { return s.Status.LastHandledReconnectAt == value })
	if err != nil {
		late, outcome := await.Outcome(err)
		if after == nil { // it was not seen since
			after = server
		}
		if late {
			_, _ = fmt.Fprint(cmd.OutOrStdout(), explain.Server(after, view(context.WithoutCancel(ctx), cmd, c)))
		}
		return outcome
	}
	done()
	_, err = fmt.Fprint(cmd.OutOrStdout(), explain.Server(after, view(ctx, cmd, c)))
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
		return errors.New("the server is not ready; access that was granted just now is noticed within 30s, " +
			"and the connection follows by itself")
	default:
		return errors.New("the server is not ready")
	}
}
