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
	// lowPriority is that of passes which let others' catalogs go first.
	lowPriority = handler.LowPriority
	// passesPerWorker: memory and processors are what an encoded catalog takes, and for a moment; most of a pass that
	// publishes is spent waiting for the API server. When many gates open at once, agents wait the less for one another
	// the more of them wait there together.
	passesPerWorker = 4
)

// Sessions is what the controller needs of the supervisor.
type Sessions interface {
	// Refresh asks for one list over the present session, and does not wait for it.
	Refresh(key session.Key)
}

// Reconciler keeps one AgentSession's catalog and status.
type Reconciler struct {
	// Client reads from the cache and writes; Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Servers is what is known of each server; Wakes has this controller woken when that has changed.
	Servers  *catalogstore.Store
	Wakes    *Wakes
	Sessions Sessions
	// ConfigHash identifies the configuration that a server's list must have been made under.
	ConfigHash func(*v1alpha1.MCPServerSpec) string
	// Target is a server's address as messages show it.
	Target func(*v1alpha1.MCPServerSpec) string
	// Watches tells whether objects of a namespace can be seen; nil: all can.
	Watches func(namespace string) bool
	// Gateway is the URL of the gateways, without a path; empty where there is none.
	Gateway string
	// Events tells people of transitions.
	Events *events.Recorder
	// Workers is how many catalogs are encoded or read at a time. passesPerWorker times as many objects are reconciled
	// at a time.
	Workers int

	memories    memories
	exposed     exposedEntries
	encodeSlots chan struct{} // one for each worker; nil: as many as like
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
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	object := &v1alpha1.AgentSession{}
	if err := r.Client.Get(ctx, request.NamespacedName, object); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("agentsession: %w", err)
	}
	if object.UID == "" || !object.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.forget(ctx, request.NamespacedName)
	}
	s := newScope(request.NamespacedName, object, r.memories.of(request.NamespacedName, object.UID))
	// What is known of the servers is told even while the catalog cannot be written.
	defer func() { result, err = r.finish(ctx, s, err) }()
	for _, phase := range []func(context.Context, *scope) error{r.resolve, r.startup, r.publish} {
		if err := phase(ctx, s); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

// finish tells what this pass learnt: one status patch when something changed and it is time, and events for the
// transitions in it. It returns when to look again, or why this pass, whose phases ended with an error, failed.
func (r *Reconciler) finish(ctx context.Context, s *scope, failed error) (ctrl.Result, error) {
	log.FromContext(ctx).V(1).Info("pass", "gateOpen", s.gate == gateOpen, "servers", len(s.servers))
	if err := errors.Join(failed, r.patchStatus(ctx, s)); err != nil {
		return ctrl.Result{}, err
	}
	return s.result(), nil
}

// patchStatus writes status when it is another. A conflict means that a newer version of the object is on its way to
// us, and that pass decides.
func (r *Reconciler) patchStatus(ctx context.Context, s *scope) error {
	if s.report == skipStatus {
		return nil
	}
	r.summarise(s)
	if equality.Semantic.DeepEqual(s.before.Status, s.session.Status) {
		return nil
	}
	edge := edgeOf(s.before, s.session)
	if wait := s.memory.statusWait(edge, s.now); wait > 0 {
		s.lookAgain(s.now.Add(wait))
		return nil
	}
	patch := client.MergeFromWithOptions(s.before, client.MergeFromWithOptimisticLock{})
	err := r.Client.Status().Patch(ctx, s.session, patch, configmap.FieldOwner)
	switch {
	case apierrors.IsConflict(err):
		s.lookAgain(s.now.Add(conflictDelay))
		return nil
	case err != nil:
		return client.IgnoreNotFound(fmt.Errorf("status: %w", err))
	}
	s.memory.statusWritten(edge, s.now)
	for _, event := range transitions(s.before, s.session) {
		r.Events.Emit(s.session, event)
	}
	return nil
}

// forget ends everything that belonged to an object that is gone.
func (r *Reconciler) forget(ctx context.Context, gone types.NamespacedName) error {
	r.Wakes.unfollow(gone)
	place := catalogKind.Place(gone, r.memories.drop(gone)) // of an unknown UID where it was not known
	return r.store().Remove(ctx, place, &v1alpha1.AgentSession{})
}

// ServerChanged has every AgentSession that is offered a server look at what is known of it. It never blocks.
func (r *Reconciler) ServerChanged(key session.Key) {
	if r.Servers.Get(key).Entry == nil {
		r.exposed.drop(key)
	}
	r.Wakes.Notify(key)
}
