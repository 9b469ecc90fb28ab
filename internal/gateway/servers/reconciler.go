package servers

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/wake"
)

// Sessions are where servers are made known.
type Sessions interface {
	Ensure(key session.Key, config session.Config)
	Forget(key session.Key)
	Snapshot(key session.Key) (session.Snapshot, bool)
}

// References follows Secrets and ConfigMaps.
type References interface {
	Track(owner types.NamespacedName, references []refs.Ref)
}

// Reconciler brings the supervisor in line with the MCPServers.
type Reconciler struct {
	Client     client.Reader
	Sessions   Sessions
	References References
	Connector  *connect.Connector
	// Feed wakes a server whose references changed.
	Feed wake.Feed
	// SkipNameValidation is for several gateways in one process.
	SkipNameValidation bool

	mu      sync.Mutex
	guarded map[types.NamespacedName]session.Key
}

// SetupWithManager has the manager run the reconciler.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("gateway-servers").For(&v1alpha1.MCPServer{}).
		WatchesRawSource(&r.Feed).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, SkipNameValidation: &r.SkipNameValidation}).
		Complete(r)
}

// Reconcile makes one server known, or forgets it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	server := &v1alpha1.MCPServer{}
	err := r.Client.Get(ctx, request.NamespacedName, server)
	if apierrors.IsNotFound(err) {
		r.References.Track(request.NamespacedName, nil)
		r.forget(request.NamespacedName, "")
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("server: %w", err)
	}
	err = r.hold(ctx, server)
	var refused *connect.NotAccepted
	if errors.As(err, &refused) {
		log.FromContext(ctx).V(1).Info("server not accepted", "reason", refused.Reason)
		return ctrl.Result{}, nil // a change wakes it
	}
	return ctrl.Result{}, err
}

// Hold makes a server known at once that is not known yet. The error is a *connect.NotAccepted, or what the API fails
// with.
func (r *Reconciler) Hold(ctx context.Context, server *v1alpha1.MCPServer) error {
	if _, known := r.Sessions.Snapshot(session.Key(server.UID)); known {
		return nil
	}
	return r.hold(ctx, server)
}

// Reread is the configuration of a server with its credentials as they are now.
func (r *Reconciler) Reread(ctx context.Context, key session.Key) (session.Config, error) {
	name, known := r.Name(key)
	server := &v1alpha1.MCPServer{}
	if !known {
		return session.Config{}, errors.New("server is gone")
	}
	if err := r.Client.Get(ctx, name, server); err != nil {
		return session.Config{}, fmt.Errorf("server: %w", err)
	}
	config, err := r.configure(ctx, server)
	if err != nil || config == nil {
		return session.Config{}, errors.Join(err, errors.New("server is not held"))
	}
	return *config, nil
}

func (r *Reconciler) hold(ctx context.Context, server *v1alpha1.MCPServer) error {
	name, key := client.ObjectKeyFromObject(server), session.Key(server.UID)
	r.References.Track(name, connect.References(name.Namespace, &server.Spec))
	config, err := r.configure(ctx, server)
	refused := new(connect.NotAccepted)
	if errors.As(err, &refused) || err == nil && config == nil {
		r.forget(name, "")
		return err
	}
	if err != nil {
		return err
	}
	r.forget(name, key)
	r.Sessions.Ensure(key, *config)
	return nil
}

// configure is nil for a disabled server.
func (r *Reconciler) configure(ctx context.Context, server *v1alpha1.MCPServer) (*session.Config, error) {
	wanted, err := r.Connector.Session(ctx, server)
	if err != nil || wanted == nil {
		return nil, err
	}
	config := wanted.Config
	if connected := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionConnected); connected != nil &&
		connected.Status == metav1.ConditionTrue {
		config.Wake = secret.Fingerprint(config.Wake, connected.LastTransitionTime.String())
	}
	if status := server.Status.Session; status != nil && server.Status.ObservedGeneration == server.Generation {
		config.Refused = status.Retirement == v1alpha1.RetirementRefused
	}
	return &config, nil
}

// forget ends what was held under the name, unless it is key, which is held from now on; empty for none.
func (r *Reconciler) forget(name types.NamespacedName, key session.Key) {
	r.mu.Lock()
	former := r.guarded[name]
	if r.guarded == nil {
		r.guarded = map[types.NamespacedName]session.Key{}
	}
	if key == "" {
		delete(r.guarded, name)
	} else {
		r.guarded[name] = key
	}
	r.mu.Unlock()
	if former != "" && former != key {
		r.Sessions.Forget(former)
		r.Connector.Forget(former)
	}
}

// Name is the object that a key is of; none when it is not held.
func (r *Reconciler) Name(key session.Key) (types.NamespacedName, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, held := range r.guarded {
		if held == key {
			return name, true
		}
	}
	return types.NamespacedName{}, false
}
