package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/events"
	"github.com/mooring-dev/mooring/internal/metrics"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/session"
)

// +kubebuilder:rbac:groups=mooring.dev,resources=mcpservers,verbs=get;list;watch
// +kubebuilder:rbac:groups=mooring.dev,resources=mcpservers/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// name is the controller's, in logs and metrics.
const name = "mcpserver"

// Sessions is what the controller needs of the supervisor. No method does network I/O.
type Sessions interface {
	// Ensure declares the session that key is to have.
	Ensure(key session.Key, config session.Config)
	// Snapshot is what is known of it now.
	Snapshot(key session.Key) (session.Snapshot, bool)
	// Forget closes the session in the background. A key that is not known is none.
	Forget(key session.Key)
}

// References wakes the objects that refer to Secrets and ConfigMaps when these change.
type References interface {
	// Track declares all references of an owner; none forgets it.
	Track(owner types.NamespacedName, references []refs.Ref)
}

// Reconciler keeps one MCPServer's session, status and catalog.
type Reconciler struct {
	// Client reads from the cache and writes; Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Keys has this controller woken when a session has news.
	Keys       *Keys
	Sessions   Sessions
	References References
	// Connector makes of a declaration the session that it asks for.
	Connector *connect.Connector
	// Events tells people of transitions.
	Events *events.Recorder
	// Metrics has the series of each server, which end with it.
	Metrics *metrics.Metrics
	// Catalogs is told what each server offers, for those who put it together for agents.
	Catalogs *catalogstore.Store
	// Workers is how many objects are reconciled at a time.
	Workers int

	memories memories
	written  lastWritten
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		Named(name).
		For(&v1alpha1.MCPServer{}, builder.WithPredicates(r.changedByOthers())).
		Owns(&corev1.ConfigMap{}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WatchesRawSource(&r.Keys.Feed).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Workers}).
		Complete(r)
}

// Reconcile makes one pass over one MCPServer.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	server := &v1alpha1.MCPServer{}
	if err := r.Client.Get(ctx, request.NamespacedName, server); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("mcpserver: %w", err)
	}
	if server.UID == "" || !server.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.forget(ctx, request.NamespacedName)
	}
	if former, replaced := r.Keys.bind(request.NamespacedName, session.Key(server.UID)); replaced {
		r.release(former)
	}
	s := newScope(request.NamespacedName, server, r.memories.of(session.Key(server.UID)))
	// What the session does is told even while the catalog cannot be read or written.
	defer func() { result, err = r.finish(ctx, s, err) }()
	for _, phase := range []func(context.Context, *scope) error{r.resolve, r.connect, r.publish, r.offer} {
		if err := phase(ctx, s); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

// finish tells what this pass learnt: one status patch when something changed, events for the transitions in it, and
// metrics. It returns when to look again, or why this pass, whose phases ended with an error, failed.
func (r *Reconciler) finish(ctx context.Context, s *scope, failed error) (ctrl.Result, error) {
	log.FromContext(ctx).V(1).Info("pass", "state", s.snapshot.State, "settled", s.snapshot.Settled)
	if err := errors.Join(failed, r.patchStatus(ctx, s)); err != nil {
		return ctrl.Result{}, err
	}
	return s.requeue, nil
}

// patchStatus writes status when it is another. A conflict means that a newer version of the object is on its way to
// us, and that pass decides.
func (r *Reconciler) patchStatus(ctx context.Context, s *scope) error {
	if s.report == skipStatus {
		if s.snapshot.Restored { // it may be long before there is news
			r.measure(s, &s.before.Status)
		}
		return nil
	}
	summarise(s)
	r.measure(s, &s.server.Status)
	if equality.Semantic.DeepEqual(s.before.Status, s.server.Status) {
		r.written.note(s.server)
		return nil
	}
	if wait := r.written.again(s.server); wait > 0 {
		s.requeue.RequeueAfter = wait
		return nil
	}
	takeBack := r.written.note(s.server)
	patch := client.MergeFromWithOptions(s.before, client.MergeFromWithOptimisticLock{})
	err := r.Client.Status().Patch(ctx, s.server, patch, configmap.FieldOwner)
	if err != nil {
		takeBack()
	}
	switch {
	case apierrors.IsConflict(err):
		s.requeue.RequeueAfter = conflictDelay
		return nil
	case err != nil:
		return client.IgnoreNotFound(fmt.Errorf("status: %w", err))
	}
	for _, event := range transitions(s.before, s.server) {
		r.Events.Emit(s.server, event)
	}
	return nil
}

// forget ends everything that belonged to an object that is gone.
func (r *Reconciler) forget(ctx context.Context, gone types.NamespacedName) error {
	r.References.Track(gone, nil)
	r.Metrics.Forget(gone.Namespace, gone.Name)
	key, known := r.Keys.unbind(gone)
	if known {
		r.release(key)
	}
	place := catalogKind.Place(gone, types.UID(key)) // of an unknown UID where it was not known
	return r.store().Remove(ctx, place, &v1alpha1.MCPServer{})
}

// release ends a session whose object is gone, and what was remembered of it.
func (r *Reconciler) release(key session.Key) {
	r.Sessions.Forget(key)
	r.Connector.Forget(key)
	r.memories.drop(key)
	r.Catalogs.Delete(key)
	r.written.drop(types.UID(key))
}

// conflictDelay is how long a pass whose status write met a newer version of the object waits before it looks again.
// The newer version normally wakes the controller before that.
const conflictDelay = 500 * time.Millisecond

// changedByOthers lets through what somebody else changed: our own status writes do not wake us.
func (r *Reconciler) changedByOthers() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{},
		predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			server, ok := e.ObjectNew.(*v1alpha1.MCPServer)
			return ok && r.written.differs(server)
		}})
}
