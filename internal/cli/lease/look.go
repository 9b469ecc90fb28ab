package lease

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/config"
)

// The names of the Leases.
const (
	// Elected is held by the manager that was elected among replicas.
	Elected = "manager.mooring.dev"
	// Alone is kept by a manager that runs without election.
	Alone = "run.mooring.dev"
)

// Leeway is how long a Lease that has run out is still believed.
const Leeway = 15 * time.Second

// lookTime bounds the look: what it tells is an addition to something else.
const lookTime = 5 * time.Second

// Report is what the Leases tell. The zero Report tells nothing.
type Report struct {
	State State
	// Since is when a manager last renewed its Lease, with Stopped.
	Since time.Time
}

// State is whether a manager runs.
type State int

// The states.
const (
	Unknown State = iota
	Running
	// Stopped: one has run, and none does.
	Stopped
	// Absent: none has ever held a Lease.
	Absent
)

// Missing tells that no manager runs.
func (r Report) Missing() bool { return r.State == Stopped || r.State == Absent }

// Look reads the Leases as of now.
func Look(ctx context.Context, reader client.Reader, now time.Time) Report {
	leases, everywhere := readLeases(ctx, reader)
	report := judge(leases, now)
	if report.Missing() && !everywhere {
		return Report{}
	}
	return report
}

// readLeases returns those of managers, and whether they were looked for in all namespaces.
func readLeases(ctx context.Context, reader client.Reader) (leases []coordinationv1.Lease, everywhere bool) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	everywhere = true
	for _, name := range []string{Elected, Alone} {
		list := &coordinationv1.LeaseList{}
		if err := reader.List(ctx, list, client.MatchingFields{"metadata.name": name}); err == nil {
			leases = append(leases, list.Items...)
			continue
		}
		everywhere = false
		lease := &coordinationv1.Lease{}
		key := client.ObjectKey{Namespace: config.Namespace, Name: name}
		if err := reader.Get(ctx, key, lease); err == nil {
			leases = append(leases, *lease)
		}
	}
	return leases, everywhere
}

// judge tells what these Leases say.
func judge(leases []coordinationv1.Lease, now time.Time) Report {
	if len(leases) == 0 {
		return Report{State: Absent}
	}
	report := Report{State: Stopped}
	for i := range leases {
		spec := &leases[i].Spec
		if spec.RenewTime == nil {
			continue
		}
		if held(&leases[i], now) {
			return Report{State: Running}
		}
		if spec.RenewTime.After(report.Since) {
			report.Since = spec.RenewTime.Time
		}
	}
	return report
}

// held tells whether somebody holds a Lease.
func held(lease *coordinationv1.Lease, now time.Time) bool {
	spec := &lease.Spec
	counts := time.Duration(ptr.Deref(spec.LeaseDurationSeconds, 0))*time.Second + Leeway
	return ptr.Deref(spec.HolderIdentity, "") != "" && spec.RenewTime != nil && now.Before(spec.RenewTime.Add(counts))
}
