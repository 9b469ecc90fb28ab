package directory

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watched holds the objects of one kind under keys of our own, as an informer tells them.
type watched[T client.Object] struct {
	// key is where an object is found; the zero key is for one that is of no use here.
	key func(T) types.NamespacedName
	// changed is told of every change; before or after is the zero T where there was none or is none.
	changed func(key types.NamespacedName, before, after T)

	mu      sync.RWMutex
	guarded map[types.NamespacedName]T
}

// follow hears from the informer of the kind, from what it has already on. synced tells when all of that was heard.
func (w *watched[T]) follow(ctx context.Context, informers cache.Informers, kind T) (synced func() bool, err error) {
	w.guarded = map[types.NamespacedName]T{}
	informer, err := informers.GetInformer(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.set(object) },
		UpdateFunc: func(_, object any) { w.set(object) },
		DeleteFunc: func(object any) { w.remove(object) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return registration.HasSynced, nil
}

func (w *watched[T]) get(key types.NamespacedName) (T, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	object, found := w.guarded[key]
	return object, found
}

func (w *watched[T]) set(told any) {
	object, ok := told.(T)
	if !ok {
		return
	}
	key := w.key(object)
	if key == (types.NamespacedName{}) {
		return
	}
	w.mu.Lock()
	before := w.guarded[key]
	w.guarded[key] = object
	w.mu.Unlock()
	w.changed(key, before, object)
}

func (w *watched[T]) remove(told any) {
	if tombstone, ok := told.(toolscache.DeletedFinalStateUnknown); ok {
		told = tombstone.Obj
	}
	object, ok := told.(T)
	if !ok {
		return
	}
	key := w.key(object)
	w.mu.Lock()
	before, found := w.guarded[key]
	if found && before.GetUID() == object.GetUID() {
		delete(w.guarded, key)
	} else {
		found = false
	}
	w.mu.Unlock()
	if found {
		var none T
		w.changed(key, before, none)
	}
}
