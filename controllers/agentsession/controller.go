package agentsession

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/events"
	"github.com/mooring-dev/mooring/internal/session"
)

// +kubebuilder:rbac:groups=mooring.dev,resources=agentsessions,verbs=get;list;watch
// +kubebuilder:rbac:groups=mooring.dev,resources=agentsessions/status,verbs=patch
// +kubebuilder:rbac:groups=mooring.dev,resources=mcpservers,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
//
// The right to watch namespaces is in config/rbac/namespace_reader_role.yaml: no RoleBinding gives it, and RoleBindings
// are all that the generated role has where the manager watches chosen namespaces.

const (
	// name is the controller's, in logs and metrics.
	name = "agentsession"
	// passesPerWorker: memory and processors are what an encoded catalog takes, and for a moment; most of a pass that
	// publishes is spent waiting for the API server. When many gates open at once, agents wait the less for one another
	// the more of them wait there together.
	passesPerWorker = 4
)

// Sessions is what the controller needs of the supervisor. No method does network I/O.
type Sessions interface {
	// Snapshot is what is known of a server's session now.
	Snapshot(key session.Key) (session.Snapshot, bool)
	// Refresh asks for one list over the present session.
	Refresh(key session.Key)
}

// Catalogs tells what was decided of a server's catalog.
type Catalogs interface {
	Get(key string) (catalogstore.Entry, bool)
}

// Reconciler keeps one AgentSession's catalog and status.
type Reconciler struct {
	// Client reads from the cache and writes; Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Wakes has this controller woken when a server has news.
	Wakes    *Wakes
	Sessions Sessions
	Catalogs Catalogs
	// ConfigHash identifies the configuration that a server's list must have been made under.
	ConfigHash func(*v1alpha1.MCPServerSpec) string
	// Target is a server's address as messages show it.
	Target func(*v1alpha1.MCPServerSpec) string
	// Watches tells whether objects of a namespace can be seen; nil: all can.
	Watches func(namespace string) bool
	// Gateway is the URL of the gateways, without a path.
	Gateway string
	// Events tells people of transitions.
	Events *events.Recorder
	// Workers is how many catalogs are encoded or read at a time. passesPerWorker times as many objects are reconciled
	// at a time.
	Workers int

	memories    memories
	slices      entryCache
	encodeSlots chan struct{} // one place for each worker; nil: as many as like
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	// A ConfigMap that comes into being is our own write, but for those that are found at the start.
	found := predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return e.IsInInitialList }}
	workers := max(1, r.Workers)
	r.encodeSlots = make(chan struct{}, workers)
	edited := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
	return ctrl.NewControllerManagedBy(manager).
		Named(name).
		For(&v1alpha1.AgentSession{}, builder.WithPredicates(
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&corev1.ConfigMap{}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{}, found)).
		Watches(&v1alpha1.MCPServer{}, handler.EnqueueRequestsFromMapFunc(r.choosers),
			builder.WithPredicates(edited)).
		Watches(&v1alpha1.AgentSession{}, handler.EnqueueRequestsFromMapFunc(r.children),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.inhabitants),
			builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesRawSource(&r.Wakes.Feed).
		WithOptions(controller.Options{MaxConcurrentReconciles: passesPerWorker * workers}).
		Complete(r)
}

// Reconcile makes one pass over one AgentSession.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := &v1alpha1.AgentSession{}
	if err := r.Client.Get(ctx, request.NamespacedName, object); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, r.forget(ctx, request.NamespacedName)
		}
		return ctrl.Result{}, fmt.Errorf("agentsession: %w", err)
	}
	if !object.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.forget(ctx, request.NamespacedName)
	}
	s := newScope(request.NamespacedName, object, r.memories.of(request.NamespacedName, object.UID))
	if err := r.resolve(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	r.startup(ctx, s)
	unpublished := r.publish(ctx, s)
	log.FromContext(ctx).V(1).Info("pass", "open", s.open, "servers", len(s.servers))
	// How the servers stand is told even while the catalog cannot be written.
	if err := errors.Join(unpublished, r.finish(ctx, s)); err != nil {
		return ctrl.Result{}, err
	}
	return s.result(), nil
}

// finish tells what this pass learnt: one status patch when something changed and it is time, and events for the
// transitions in it. A conflict means that a newer version of the object is on its way to us, and that pass decides.
func (r *Reconciler) finish(ctx context.Context, s *scope) error {
	if s.skipStatus {
		return nil
	}
	r.summarise(s)
	if equality.Semantic.DeepEqual(s.before.Status, s.session.Status) {
		return nil
	}
	edge := edgeOf(s.before, s.session)
	if wait := s.memory.writes.Delay(edge, s.now); wait > 0 {
		s.lookAgain(s.now.Add(wait))
		return nil
	}
	patch := client.MergeFromWithOptions(s.before, client.MergeFromWithOptimisticLock{})
	err := r.Client.Status().Patch(ctx, s.session, patch, configmap.FieldOwner)
	switch {
	case apierrors.IsConflict(err):
		s.lookAgain(s.now.Add(conflictDelay))
		return nil
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("status: %w", err)
	}
	s.memory.writes.Wrote(edge, s.now)
	for _, event := range transitions(s.before, s.session) {
		r.Events.Emit(s.session, event)
	}
	return nil
}

// forget ends everything that belonged to an object that is gone.
func (r *Reconciler) forget(ctx context.Context, gone types.NamespacedName) error {
	r.Wakes.unfollow(gone)
	uid := r.memories.drop(gone)
	return r.removeCatalog(ctx, gone, uid)
}

// ServerChanged has every AgentSession look at a server whose session or catalog has news. It never blocks.
func (r *Reconciler) ServerChanged(key session.Key) {
	if _, offered := r.Catalogs.Get(string(key)); !offered {
		r.slices.drop(key)
	}
	r.Wakes.Notify(key)
}
