package lease

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/mooring-dev/mooring/config"
)

const (
	// leaseDuration is how long a Lease counts after it was renewed.
	leaseDuration = 30 * time.Second
	// renewInterval is how often it is renewed.
	renewInterval = 10 * time.Second
	// releaseTimeout bounds giving it back, after everything else has ended.
	releaseTimeout = 5 * time.Second
)

// Keeper keeps the Lease Alone while the manager runs. It is a Runnable of a manager. That it cannot keep the Lease
// keeps nothing else from working.
type Keeper struct {
	// Client reads the API server itself, not a cache.
	Client client.Client
	// Namespaces are where the Lease may be; the first that exists is taken.
	Namespaces []string
	// Identity is who holds it, other than any other process.
	Identity string
	Log      logr.Logger
}

// podNamespace is where a pod finds the name of its own namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Namespaces are where a Keeper may keep its Lease: the namespace told, if any; the pod's own, in a pod; where Mooring
// is installed by default; and where that is not, the one that every cluster has.
func Namespaces(told string) []string {
	own, _ := os.ReadFile(podNamespace) // there is none outside of a pod
	return namespaces(told, string(own))
}

func namespaces(told, own string) []string {
	var out []string
	for _, namespace := range []string{told, own, config.Namespace, metav1.NamespaceDefault} {
		if namespace != "" && !slices.Contains(out, namespace) {
			out = append(out, namespace)
		}
	}
	return out
}

// NeedLeaderElection is false: there is no election.
func (*Keeper) NeedLeaderElection() bool { return false }

// Start renews the Lease until the context ends, and then gives it back. Its error is always nil.
func (k *Keeper) Start(ctx context.Context) error {
	ticker := time.NewTicker(renewInterval)
	defer ticker.Stop()
	told := false
	for {
		if err := k.renew(ctx); err != nil && !told && ctx.Err() == nil {
			told = true
			k.Log.Info("lease cannot be kept; commands cannot tell whether this manager runs", "error", err.Error())
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			k.Release(context.WithoutCancel(ctx))
			return nil
		}
	}
}

// renew writes the Lease. Who held it before does not matter: of two managers that run alone, one is enough to tell of.
func (k *Keeper) renew(ctx context.Context) error {
	if err := k.write(ctx); !taken(err) {
		return err
	}
	return nil
}

// write writes the Lease into the first namespace that exists.
func (k *Keeper) write(ctx context.Context) error {
	var err error
	for _, namespace := range k.Namespaces {
		if err = k.writeIn(ctx, namespace); !apierrors.IsNotFound(err) {
			break
		}
	}
	return err
}

func (k *Keeper) writeIn(ctx context.Context, namespace string) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Alone}}
	_, err := controllerutil.CreateOrUpdate(ctx, k.Client, lease, func() error {
		now := metav1.NowMicro()
		if ptr.Deref(lease.Spec.HolderIdentity, "") != k.Identity {
			lease.Spec.AcquireTime = &now
		}
		lease.Spec.HolderIdentity, lease.Spec.RenewTime = &k.Identity, &now
		lease.Spec.LeaseDurationSeconds = ptr.To(int32(leaseDuration / time.Second))
		return nil
	})
	return err
}

// Release says that this manager has stopped, unless another manager holds the Lease. It is for a manager that claimed
// it and did not come to Start, too; more than once does no harm.
func (k *Keeper) Release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	for _, namespace := range k.Namespaces {
		lease := &coordinationv1.Lease{}
		if err := k.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: Alone}, lease); err != nil {
			continue
		}
		if ptr.Deref(lease.Spec.HolderIdentity, "") != k.Identity {
			continue
		}
		lease.Spec.HolderIdentity, lease.Spec.RenewTime = nil, ptr.To(metav1.NowMicro())
		if err := k.Client.Update(ctx, lease); err != nil {
			k.Log.V(1).Info("lease could not be given back; it runs out", "error", err.Error())
		}
	}
}
