package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/internal/cli/lease"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// leaseOf is one that was renewed this long ago, to hold for 15 s. An empty holder has given it back.
func leaseOf(namespace, name, holder string, age time.Duration) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](15),
			RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-age))),
		},
	}
}

// cluster is one with these leases, whose lists can be selected by name.
func cluster(functions interceptor.Funcs, leases ...client.Object) client.WithWatch {
	return interceptor.NewClient(fake.NewClientBuilder().WithObjects(leases...).
		WithIndex(&coordinationv1.Lease{}, "metadata.name", func(o client.Object) []string {
			return []string{o.GetName()}
		}).Build(), functions)
}

func TestLook(t *testing.T) {
	const held = 15*time.Second + lease.Leeway
	running := lease.Report{State: lease.Running}
	since := func(age time.Duration) lease.Report {
		return lease.Report{State: lease.Stopped, Since: now.Add(-age)}
	}
	for name, test := range map[string]struct {
		leases []client.Object
		want   lease.Report
	}{
		"none":             {nil, lease.Report{State: lease.Absent}},
		"others only":      {[]client.Object{leaseOf("kube-system", "x", "x", 0)}, lease.Report{State: lease.Absent}},
		"held":             {[]client.Object{leaseOf("mooring-system", lease.Elected, "a", held-time.Second)}, running},
		"in another place": {[]client.Object{leaseOf("elsewhere", lease.Elected, "a", time.Second)}, running},
		"alone":            {[]client.Object{leaseOf("default", lease.Alone, "a", time.Second)}, running},
		"run out":          {[]client.Object{leaseOf("mooring-system", lease.Elected, "a", held)}, since(held)},
		"given back":       {[]client.Object{leaseOf("a", lease.Elected, "", time.Second)}, since(time.Second)},
		"one of two is held": {[]client.Object{
			leaseOf("a", lease.Elected, "a", time.Hour), leaseOf("a", lease.Alone, "b", 0),
		}, running},
		"both are over": {[]client.Object{
			leaseOf("a", lease.Elected, "a", time.Hour), leaseOf("a", lease.Alone, "b", time.Minute),
		}, since(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			got := lease.Look(t.Context(), cluster(interceptor.Funcs{}, test.leases...), now)
			got.Since = got.Since.UTC()
			want := test.want
			want.Since = want.Since.UTC()
			NewWithT(t).Expect(got).To(Equal(want))
		})
	}
}

// forbidden is what the API server says to who may not.
var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", errors.New("no"))

// Who may not read Leases everywhere is told that a manager runs where that can be seen, and nothing else.
func TestLookWithFewRights(t *testing.T) {
	g := NewWithT(t)
	noList := interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return forbidden
		},
	}
	look := func(functions interceptor.Funcs, leases ...client.Object) lease.State {
		return lease.Look(t.Context(), cluster(functions, leases...), now).State
	}
	g.Expect(look(noList, leaseOf("mooring-system", lease.Elected, "a", 0))).To(Equal(lease.Running))
	g.Expect(look(noList, leaseOf("mooring-system", lease.Elected, "a", time.Hour))).To(Equal(lease.Unknown))
	g.Expect(look(noList)).To(Equal(lease.Unknown))
	noList.Get = func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return forbidden
	}
	g.Expect(look(noList, leaseOf("mooring-system", lease.Elected, "a", 0))).To(Equal(lease.Unknown))
}

// keep runs a Keeper until stop is called.
func keep(t *testing.T, c client.Client, identity string, log logr.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	keeper := &lease.Keeper{Client: c, Namespaces: []string{"gone", "default"}, Identity: identity, Log: log}
	NewWithT(t).Expect(keeper.NeedLeaderElection()).To(BeFalse())
	ended := make(chan error)
	go func() { ended <- keeper.Start(ctx) }()
	return func() {
		cancel()
		NewWithT(t).Expect(<-ended).To(Succeed())
	}
}

// notFound refuses to create what is in the namespace "gone", as an API server does for one that does not exist.
var notFound = interceptor.Funcs{
	Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		if o.GetNamespace() == "gone" {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "gone")
		}
		return c.Create(ctx, o, options...)
	},
}

// From its start on, through renewals, to its end, commands see that the manager runs.
func TestKeeperTellsOfItsManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c := cluster(notFound)
		stop := keep(t, c, "a", logr.Discard())
		synctest.Wait()
		g.Expect(lease.Look(t.Context(), c, time.Now()).State).To(Equal(lease.Running))
		time.Sleep(time.Hour)
		synctest.Wait()
		g.Expect(lease.Look(t.Context(), c, time.Now()).State).To(Equal(lease.Running))
		found := &coordinationv1.Lease{}
		key := client.ObjectKey{Namespace: "default", Name: lease.Alone}
		g.Expect(c.Get(t.Context(), key, found)).To(Succeed())
		g.Expect(found.Spec.RenewTime.Sub(found.Spec.AcquireTime.Time)).To(Equal(time.Hour))
		stop()
		report := lease.Look(t.Context(), c, time.Now())
		g.Expect(report.State).To(Equal(lease.Stopped))
		g.Expect(report.Since).To(BeTemporally("==", time.Now().Truncate(time.Microsecond)))
	})
}

// Of two that run alone, the end of one does not tell that none runs.
func TestKeepersDoNotSpeakForOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c := cluster(notFound)
		stopFirst := keep(t, c, "a", logr.Discard())
		time.Sleep(time.Second)
		stopSecond := keep(t, c, "b", logr.Discard())
		time.Sleep(time.Second)
		stopFirst()
		g.Expect(lease.Look(t.Context(), c, time.Now()).State).To(Equal(lease.Running))
		stopSecond()
		g.Expect(lease.Look(t.Context(), c, time.Now()).State).To(Equal(lease.Stopped))
	})
}

// A manager that may not keep the Lease says so once, and runs.
func TestKeeperWithoutRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
		stop := keep(t, cluster(interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return forbidden },
		}), "a", log)
		time.Sleep(time.Minute)
		stop()
		NewWithT(t).Expect(lines).To(ConsistOf(ContainSubstring("lease cannot be kept")))
	})
}

// claim begins to claim the Lease, and returns what it tells and its end.
func claim(t *testing.T, c client.Client) (told chan lease.Holder, ended chan error) {
	told, ended = make(chan lease.Holder, 10), make(chan error, 1)
	keeper := &lease.Keeper{Client: c, Namespaces: []string{"gone", "default"}, Identity: "me_1", Log: logr.Discard()}
	go func() { ended <- keeper.Claim(t.Context(), func(h lease.Holder) { told <- h }) }()
	return told, ended
}

func TestClaimWhereNobodyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		over := leaseOf("default", lease.Alone, "host_1", 0)
		over.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now().Add(-time.Hour)))
		c := cluster(notFound, over)
		told, ended := claim(t, c)
		synctest.Wait()
		g.Expect(ended).To(Receive(BeNil()))
		g.Expect(told).NotTo(Receive())
		found := &coordinationv1.Lease{}
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(over), found)).To(Succeed())
		g.Expect(found.Spec.HolderIdentity).To(HaveValue(Equal("me_1")), "a third one sees it at once")
	})
}

// Whoever runs, elected or alone, is told of once and waited for; who was killed is, until the Lease has run out.
func TestClaimWaitsForWhoRuns(t *testing.T) {
	for _, name := range []string{lease.Elected, lease.Alone} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				other := leaseOf("mooring-system", name, "host_1", 0)
				heard := metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
				other.Spec.RenewTime = &heard
				told, ended := claim(t, cluster(notFound, other))
				time.Sleep(15*time.Second + lease.Leeway - time.Millisecond)
				synctest.Wait()
				g.Expect(ended).NotTo(Receive())
				var holder lease.Holder
				g.Expect(told).To(Receive(&holder))
				g.Expect(holder.Heard).To(BeTemporally("==", heard.Time))
				holder.Heard = time.Time{}
				g.Expect(holder).To(Equal(lease.Holder{Host: "host", Namespace: "mooring-system", Lease: name}))
				time.Sleep(2 * time.Second)
				synctest.Wait()
				g.Expect(ended).To(Receive(BeNil()))
				g.Expect(told).NotTo(Receive(), "once is enough")
			})
		})
	}
}

// Of two that claim at a time, one goes on and the other waits for it.
func TestClaimIsOneManagers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		rival, functions := leaseOf("default", lease.Alone, "rival_1", 0), notFound
		rival.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now()))
		first := true
		functions.Create = func(
			ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption,
		) error {
			if o.GetNamespace() == "default" && first { // the rival was faster
				first = false
				g.Expect(c.Create(ctx, rival)).To(Succeed())
			}
			return notFound.Create(ctx, c, o, options...)
		}
		told, ended := claim(t, cluster(functions))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		g.Expect(ended).NotTo(Receive())
		g.Expect(told).To(Receive(HaveField("Host", "rival")))
		time.Sleep(time.Minute)
		synctest.Wait()
		g.Expect(ended).To(Receive(BeNil()))
	})
}

// Who may not read Leases cannot know of others, and runs.
func TestClaimWithoutRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ended := claim(t, cluster(interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return forbidden
			},
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return forbidden
			},
		}, leaseOf("default", lease.Alone, "host_1", 0)))
		synctest.Wait()
		NewWithT(t).Expect(ended).To(Receive(BeNil()))
	})
}

// Who interrupts the wait has not claimed anything.
func TestClaimEndsWithItsContext(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	other := leaseOf("default", lease.Elected, "host_1", 0)
	other.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now()))
	keeper := &lease.Keeper{Client: cluster(notFound, other), Namespaces: []string{"default"}, Identity: "me_1"}
	g.Expect(keeper.Claim(ctx, func(lease.Holder) { cancel() })).To(MatchError(context.Canceled))
}
