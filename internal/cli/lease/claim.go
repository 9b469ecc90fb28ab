package lease

import (
	"context"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
)

// claimInterval is how often it is looked whether another manager has ended.
const claimInterval = 2 * time.Second

// Holder is a manager that runs.
type Holder struct {
	// Host is where it runs, Namespace and Lease are how it tells so.
	Host, Namespace, Lease string
	// Heard is when it last did.
	Heard time.Time
}

// Longest is how long a manager that was killed counts as running.
const Longest = leaseDuration + Leeway

// Claim takes the Lease Alone when no other manager runs, elected or alone, and waits until none does. It tells of each
// that it waits for. Who may not read or write Leases waits for nobody. Its error is the context's.
func (k *Keeper) Claim(ctx context.Context, tell func(Holder)) error {
	ticker := time.NewTicker(claimInterval)
	defer ticker.Stop()
	told := ""
	for {
		leases, _ := readLeases(ctx, k.Client)
		other := k.other(leases, time.Now())
		if other == nil && !taken(k.write(ctx)) {
			return ctx.Err()
		}
		if other != nil && ptr.Deref(other.Spec.HolderIdentity, "") != told {
			told = *other.Spec.HolderIdentity
			host, _, _ := strings.Cut(told, "_")
			tell(Holder{Host: host, Namespace: other.Namespace, Lease: other.Name, Heard: other.Spec.RenewTime.Time})
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// other is a Lease that another manager holds; nil when none does.
func (k *Keeper) other(leases []coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	for i := range leases {
		if held(&leases[i], now) && *leases[i].Spec.HolderIdentity != k.Identity {
			return &leases[i]
		}
	}
	return nil
}

// taken tells that another manager wrote the Lease in the meantime.
func taken(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
