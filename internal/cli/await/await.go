package await

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Errors of For, besides the context's.
var (
	ErrDeleted = errors.New("it was deleted")
	ErrEnded   = errors.New("the watch ended; try again")
)

// Step says on out that something begins; the returned function says that it ended, and how long it took.
func Step(out io.Writer, text string) (done func()) {
	_, _ = fmt.Fprintf(out, "%s ...\n", text)
	began := time.Now()
	return func() {
		_, _ = fmt.Fprintf(out, "%s: done in %s\n", text, time.Since(began).Round(100*time.Millisecond))
	}
}

// Outcome is the error of For about something that was asked for, in a person's words. Late tells that time ran out, so
// that what was seen last is worth telling.
func Outcome(err error) (late bool, outcome error) {
	if errors.Is(err, context.DeadlineExceeded) {
		return true, errors.New("no outcome in time; the request stands, and --timeout waits longer")
	}
	return false, fmt.Errorf("outcome: %w", err)
}

// For watches an object, which is of list's kind, until wanted approves of it, and returns it so. What stands there
// already counts. Its errors are ErrDeleted, ErrEnded, the context's, or the API server's; with one of them comes the
// object as it was seen last, which is as it was given if it was not seen since.
func For[T client.Object](
	ctx context.Context, c client.WithWatch, list client.ObjectList, last T, wanted func(T) bool,
) (T, error) {
	watcher, err := c.Watch(ctx, list, client.InNamespace(last.GetNamespace()),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", last.GetName())})
	if err != nil {
		return last, fmt.Errorf("watch: %w", err)
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return last, ctx.Err()
		case event, open := <-watcher.ResultChan():
			seen, ok := event.Object.(T)
			if ok {
				last = seen
			}
			if err := cause(ctx, event, open); err != nil {
				return last, err
			}
			if ok && wanted(seen) {
				return seen, nil
			}
		}
	}
}

// cause is why no more is watched after an event; nil when it goes on.
func cause(ctx context.Context, event watch.Event, open bool) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !open || event.Type == watch.Error:
		return ErrEnded
	case event.Type == watch.Deleted:
		return ErrDeleted
	default:
		return nil
	}
}
