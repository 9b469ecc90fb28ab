package directory

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/configmap"
)

// Options are what a Directory needs.
type Options struct {
	// Approve says what of a server's list its pin approves.
	Approve func(
		spec *v1alpha1.MCPServerSpec, recorded string, found *catalog.Baseline, current catalog.Catalog,
	) catalog.Verdict
	// SessionEnded is told of an AgentSession whose calls are to go on over new sessions, if at all: it is gone, or its
	// reload was asked for. It must not block.
	SessionEnded func(uid types.UID)
	// ServerGone is told of an MCPServer that is gone; nil for nobody. It must not block.
	ServerGone func(name types.NamespacedName)
}

// Directory is safe for concurrent use; New makes one.
type Directory struct {
	options    Options
	sessions   watched[*v1alpha1.AgentSession]
	servers    watched[*v1alpha1.MCPServer]
	namespaces watched[*corev1.Namespace]
	// sessionCatalogs and serverCatalogs hold the ConfigMaps by the name of the object that they belong to.
	sessionCatalogs, serverCatalogs watched[*corev1.ConfigMap]
	sessionDocuments                decoded[*sessionDocument]
	serverDocuments                 decoded[*serverDocument]
	offered                         decoded[*catalog.Catalog]
	news                            news
	synced                          []func() bool
}

// New returns a Directory that knows nothing before Follow.
func New(options Options) *Directory {
	d := &Directory{options: options}
	d.sessions.key, d.sessions.changed = named[*v1alpha1.AgentSession], d.sessionChanged
	d.servers.key, d.servers.changed = named[*v1alpha1.MCPServer], func(
		key types.NamespacedName, _, server *v1alpha1.MCPServer,
	) {
		if server == nil {
			d.offered.drop(key)
			if options.ServerGone != nil {
				options.ServerGone(key)
			}
		}
		d.news.tell(serverTopic(key))
	}
	d.namespaces.key = named[*corev1.Namespace]
	d.namespaces.changed = func(types.NamespacedName, *corev1.Namespace, *corev1.Namespace) {}
	d.sessionCatalogs.key = labelled(v1alpha1.ComponentSessionCatalog, v1alpha1.LabelSession)
	d.sessionCatalogs.changed = func(key types.NamespacedName, _, after *corev1.ConfigMap) {
		if after == nil {
			d.sessionDocuments.drop(key)
		}
		d.news.tell(sessionTopic(key))
	}
	d.serverCatalogs.key = labelled(v1alpha1.ComponentServerCatalog, v1alpha1.LabelServer)
	d.serverCatalogs.changed = func(key types.NamespacedName, _, after *corev1.ConfigMap) {
		if after == nil {
			d.serverDocuments.drop(key)
		}
		d.news.tell(serverTopic(key))
	}
	return d
}

// Follow hears of all objects from the informers.
func (d *Directory) Follow(ctx context.Context, informers cache.Informers) error {
	for _, follow := range []func() (func() bool, error){
		func() (func() bool, error) { return d.namespaces.follow(ctx, informers, &corev1.Namespace{}) },
		func() (func() bool, error) { return d.servers.follow(ctx, informers, &v1alpha1.MCPServer{}) },
		func() (func() bool, error) { return d.sessions.follow(ctx, informers, &v1alpha1.AgentSession{}) },
		func() (func() bool, error) { return d.serverCatalogs.follow(ctx, informers, &corev1.ConfigMap{}) },
		func() (func() bool, error) { return d.sessionCatalogs.follow(ctx, informers, &corev1.ConfigMap{}) },
	} {
		synced, err := follow()
		if err != nil {
			return fmt.Errorf("directory: %w", err)
		}
		d.synced = append(d.synced, synced)
	}
	return nil
}

// Synced tells whether all that there was at the start was heard of.
func (d *Directory) Synced() bool {
	for _, synced := range d.synced {
		if !synced() {
			return false
		}
	}
	return len(d.synced) > 0
}

func named[T client.Object](object T) types.NamespacedName { return client.ObjectKeyFromObject(object) }

// labelled finds our ConfigMaps of one component by the object that they say they belong to.
func labelled(component, label string) func(*corev1.ConfigMap) types.NamespacedName {
	return func(object *corev1.ConfigMap) types.NamespacedName {
		name := object.Labels[label]
		if object.Labels[v1alpha1.LabelComponent] != component || name == "" {
			return types.NamespacedName{}
		}
		return types.NamespacedName{Namespace: object.Namespace, Name: name}
	}
}

// belongs tells whether the ConfigMap is that of the object.
func belongs(object *corev1.ConfigMap, owner client.Object) bool {
	kind := reflect.TypeOf(owner).Elem().Name()
	return configmap.Owner{Kind: kind, Name: owner.GetName()}.Owns(object) &&
		metav1.GetControllerOf(object).UID == owner.GetUID()
}

func (d *Directory) sessionChanged(key types.NamespacedName, before, after *v1alpha1.AgentSession) {
	const reload = v1alpha1.AnnotationReload
	ended := before != nil &&
		(after == nil || after.UID != before.UID || after.Annotations[reload] != before.Annotations[reload])
	if ended && d.options.SessionEnded != nil {
		d.options.SessionEnded(before.UID)
	}
	d.news.tell(sessionTopic(key))
}
