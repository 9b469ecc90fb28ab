package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/refs"
)

func newReconnect(in cluster) *cobra.Command {
	return newRequest(in, &cobra.Command{
		Use:   "reconnect SERVER",
		Short: "Drop a server's session, connect anew, and wait for the outcome",
		Args:  wantArgs("SERVER"),
	}, serverKind, 90*time.Second, reconnect)
}

func newReload(in cluster) *cobra.Command {
	return newRequest(in, &cobra.Command{
		Use:   "reload SESSION",
		Short: "Have an agent session's servers listed anew and its catalog published again",
		Args:  wantArgs("SESSION"),
	}, sessionKind, 2*time.Minute, reload)
}

// newRequest completes a command that requests something of one object and waits for the outcome.
func newRequest(
	in cluster, cmd *cobra.Command, of *kind, patience time.Duration,
	act func(context.Context, *lookup, client.Object) error,
) *cobra.Command {
	var timeout time.Duration
	cmd.RunE = func(cmd *cobra.Command, arguments []string) error {
		if timeout <= 0 {
			return usageErrorf(cmd, "invalid argument %q for \"--timeout\" flag: not more than 0", timeout.String())
		}
		at, err := lookUp(cmd, in, arguments[0], of)
		if err != nil {
			return err
		}
		object, err := at.find()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		return act(ctx, at, object)
	}
	in.register(cmd.Flags())
	cmd.Flags().DurationVar(&timeout, "timeout", patience, "how long to wait for the outcome")
	return cmd
}

func reconnect(ctx context.Context, at *lookup, object client.Object) error {
	server := object.(*v1alpha1.MCPServer) //nolint:forcetypeassert // the kind that is looked for
	if server.Spec.Disabled {
		return fmt.Errorf("%s is disabled and holds no session; remove spec.disabled", server.Name)
	}
	after, err := at.request(ctx, server, v1alpha1.AnnotationReconnect, "reconnecting", func(o client.Object) string {
		return o.(*v1alpha1.MCPServer).Status.LastHandledReconnectAt //nolint:forcetypeassert // as above
	})
	if err != nil {
		return err
	}
	if err := at.explain(ctx, after); err != nil {
		return err
	}
	return outcomeOfReconnect(after.(*v1alpha1.MCPServer)) //nolint:forcetypeassert // as above
}

// outcomeOfReconnect is an error unless the server is ready.
func outcomeOfReconnect(server *v1alpha1.MCPServer) error {
	ready := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready != nil && ready.Status == metav1.ConditionTrue:
		return nil
	case ready != nil && ready.Reason == v1alpha1.ReasonSecretAccessDenied: // a reconnect does not ask for it anew
		return fmt.Errorf("the server is not ready; access that was granted just now is noticed within %s, "+
			"and the connection follows automatically", refs.DefaultRecheck)
	default:
		return errors.New("the server is not ready")
	}
}

// reload tells what agents are offered afterwards. It fails when the session is not ready, or its catalog is a former
// one, with which it stays ready.
func reload(ctx context.Context, at *lookup, object client.Object) error {
	after, err := at.request(ctx, object, v1alpha1.AnnotationReload, "reloading", func(o client.Object) string {
		return o.(*v1alpha1.AgentSession).Status.LastHandledReloadAt //nolint:forcetypeassert // the kind that is looked for
	})
	if err != nil {
		return err
	}
	status := after.(*v1alpha1.AgentSession).Status //nolint:forcetypeassert // as above
	if !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) {
		return errors.Join(at.explain(ctx, after), errors.New("the agent session is not ready"))
	}
	published := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionCatalogPublished)
	if published != nil && published.Status == metav1.ConditionFalse {
		return fmt.Errorf("the catalog was not published: %s", published.Message)
	}
	tools, revision := int32(0), "none"
	if catalog := status.Catalog; catalog != nil {
		tools, revision = ptr.Deref(catalog.ToolCount, 0), catalog.Revision
	}
	_, err = fmt.Fprintf(at.cmd.OutOrStdout(), "%s: %d tools of %s servers, revision %s\n",
		at.Name, tools, status.Summary, revision)
	return err
}

// request asks the manager for something by an annotation, and returns the object once status echoes it. Where no
// manager runs, there is nothing to wait for. When time runs out, it tells what is known of the object.
func (l *lookup) request(
	ctx context.Context, object client.Object, annotation, doing string, echo func(client.Object) string,
) (client.Object, error) {
	before := object.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy of one
	value := time.Now().UTC().Format(time.RFC3339Nano)
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotation] = value
	object.SetAnnotations(annotations)
	if err := l.Patch(ctx, object, client.MergeFrom(before)); err != nil {
		return nil, fmt.Errorf("annotation: %w", err)
	}
	if err := viewOf(ctx, l.cmd, l).NoManager(); err != nil {
		return nil, err
	}
	done := newProgress(l.cmd.ErrOrStderr()).step("%s %s", doing, l.Name)
	after, err := l.await(ctx, object, func(o client.Object) bool { return echo(o) == value })
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		_ = l.explain(context.WithoutCancel(ctx), after) // the error says more than that it was not printed
		return nil, errors.New("no outcome in time; the request remains, and --timeout waits longer")
	case err != nil:
		return nil, fmt.Errorf("outcome: %w", err)
	}
	done()
	return after, nil
}

var (
	errDeleted    = errors.New("it was deleted")
	errWatchEnded = errors.New("the watch ended; try again")
)

// await watches an object until it is as wanted, and returns it so; what is there already counts. With an error, which
// is errDeleted, errWatchEnded, the context's or the API server's, comes the object as it was seen last.
func (l *lookup) await(
	ctx context.Context, last client.Object, wanted func(client.Object) bool,
) (client.Object, error) {
	watcher, err := l.Watch(ctx, l.kinds[0].newList(), client.InNamespace(last.GetNamespace()),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", last.GetName())})
	if err != nil {
		return last, fmt.Errorf("watch: %w", err)
	}
	_, err = watchtools.UntilWithoutRetry(ctx, watcher, func(event watch.Event) (bool, error) {
		seen, ok := event.Object.(client.Object)
		if ok {
			last = seen
		}
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case event.Type == watch.Deleted:
			return false, errDeleted
		case !ok: // the API server's error
			return false, errWatchEnded
		default:
			return wanted(seen), nil
		}
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return last, ctx.Err()
	case errors.Is(err, watchtools.ErrWatchClosed):
		return last, errWatchEnded
	default:
		return last, err
	}
}
