package refs

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// newInformer returns an informer over the scope's metadata that belongs to one round, and a channel that is closed
// when its first list was told. It was not started, so nothing that is set here can fail.
func (w *watch) newInformer(r *round) (informer cache.SharedIndexInformer, synced <-chan struct{}) {
	informer = metadatainformer.NewFilteredMetadataInformer(w.tracker.metadata,
		w.scope.kind.groupVersionResource(), w.scope.namespace, 0, cache.Indexers{}, w.listOptions).Informer()
	_ = informer.SetTransform(slim)
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) {
			w.refuse(r)
			return
		}
		w.tracker.log.V(1).Info("watch ended", "namespace", w.scope.namespace, "kind", w.scope.kind,
			"error", err.Error())
	})
	handler, _ := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			// Once the first list is complete all referrers are woken; one by one would wake them twice.
			if !isInInitialList {
				w.wakeName(nameOf(obj))
			}
		},
		UpdateFunc: func(before, after any) {
			// A list after a broken watch tells of everything, changed or not.
			if versionOf(before) != versionOf(after) {
				w.wakeName(nameOf(after))
			}
		},
		DeleteFunc: func(obj any) { w.wakeName(nameOf(obj)) },
	})
	return informer, handler.HasSyncedChecker().Done()
}

func (w *watch) listOptions(options *metav1.ListOptions) {
	if w.tracker.watchTimeout > 0 {
		options.TimeoutSeconds = new(int64(w.tracker.watchTimeout.Seconds()))
	}
}

// slim keeps what events are told by. Annotations may hold a whole copy of a Secret (kubectl's last-applied).
func slim(obj any) (any, error) {
	object, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	return &metav1.PartialObjectMetadata{
		TypeMeta: object.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       object.Namespace,
			Name:            object.Name,
			UID:             object.UID,
			ResourceVersion: object.ResourceVersion,
		},
	}, nil
}

// nameOf also knows an object whose deletion was not seen as such.
func nameOf(obj any) string {
	name, _ := cache.DeletionHandlingObjectToName(obj)
	return name.Name
}

func versionOf(obj any) string {
	object, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return ""
	}
	return object.ResourceVersion
}
