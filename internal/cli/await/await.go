package await

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Errors of For, besides the context's.
var (
	ErrDeleted = errors.New("it was deleted")
	ErrEnded   = errors.New("the watch ended; try again")
)

// For watches the object of key, which is of list's kind, until wanted approves of it, and returns it so. What stands
// there already counts. Its errors are ErrDeleted, ErrEnded, the context's, or the API server's.
func For[T client.Object](
	ctx context.Context, c client.WithWatch, list client.ObjectList, key client.ObjectKey, wanted func(T) bool,
) (T, error) {
	var none T
	watcher, err := c.Watch(ctx, list, client.InNamespace(key.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", key.Name)})
	if err != nil {
		return none, fmt.Errorf("watch: %w", err)
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return none, ctx.Err()
		case event, open := <-watcher.ResultChan():
			switch seen, ok := event.Object.(T); {
			case ctx.Err() != nil:
				return none, ctx.Err()
			case !open || event.Type == watch.Error:
				return none, ErrEnded
			case event.Type == watch.Deleted:
				return none, ErrDeleted
			case ok && wanted(seen):
				return seen, nil
			}
		}
	}
}
