package presence_test

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

	"github.com/mooring-dev/mooring/internal/cli/presence"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// lease is one that was renewed this long ago, to hold for 15 s. An empty holder has given it back.
func lease(namespace, name, holder string, age time.Duration) *coordinationv1.Lease {
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
	const held = 15*time.Second + presence.Leeway
	running := presence.Report{State: presence.Running}
	since := func(age time.Duration) presence.Report {
		return presence.Report{State: presence.Stopped, Since: now.Add(-age)}
	}
	for name, test := range map[string]struct {
		leases []client.Object
		want   presence.Report
	}{
		"none":             {nil, presence.Report{State: presence.Absent}},
		"others only":      {[]client.Object{lease("kube-system", "x", "x", 0)}, presence.Report{State: presence.Absent}},
		"held":             {[]client.Object{lease("mooring-system", presence.Elected, "a", held-time.Second)}, running},
		"in another place": {[]client.Object{lease("elsewhere", presence.Elected, "a", time.Second)}, running},
		"alone":            {[]client.Object{lease("default", presence.Alone, "a", time.Second)}, running},
		"run out":          {[]client.Object{lease("mooring-system", presence.Elected, "a", held)}, since(held)},
		"given back":       {[]client.Object{lease("a", presence.Elected, "", time.Second)}, since(time.Second)},
		"one of two stands": {[]client.Object{
			lease("a", presence.Elected, "a", time.Hour), lease("a", presence.Alone, "b", 0),
		}, running},
		"both are over": {[]client.Object{
			lease("a", presence.Elected, "a", time.Hour), lease("a", presence.Alone, "b", time.Minute),
		}, since(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			got := presence.Look(t.Context(), cluster(interceptor.Funcs{}, test.leases...), now)
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
	look := func(functions interceptor.Funcs, leases ...client.Object) presence.State {
		return presence.Look(t.Context(), cluster(functions, leases...), now).State
	}
	g.Expect(look(noList, lease("mooring-system", presence.Elected, "a", 0))).To(Equal(presence.Running))
	g.Expect(look(noList, lease("mooring-system", presence.Elected, "a", time.Hour))).To(Equal(presence.Unknown))
	g.Expect(look(noList)).To(Equal(presence.Unknown))
	noList.Get = func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return forbidden
	}
	g.Expect(look(noList, lease("mooring-system", presence.Elected, "a", 0))).To(Equal(presence.Unknown))
}

// keep runs a Keeper until stop is called.
func keep(t *testing.T, c client.Client, identity string, log logr.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	keeper := &presence.Keeper{Client: c, Namespaces: []string{"gone", "default"}, Identity: identity, Log: log}
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

// From its start on, through renewals, to its end, commands see where the manager stands.
func TestKeeperTellsOfItsManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c := cluster(notFound)
		stop := keep(t, c, "a", logr.Discard())
		synctest.Wait()
		g.Expect(presence.Look(t.Context(), c, time.Now()).State).To(Equal(presence.Running))
		time.Sleep(time.Hour)
		synctest.Wait()
		g.Expect(presence.Look(t.Context(), c, time.Now()).State).To(Equal(presence.Running))
		found := &coordinationv1.Lease{}
		key := client.ObjectKey{Namespace: "default", Name: presence.Alone}
		g.Expect(c.Get(t.Context(), key, found)).To(Succeed())
		g.Expect(found.Spec.RenewTime.Sub(found.Spec.AcquireTime.Time)).To(Equal(time.Hour))
		stop()
		report := presence.Look(t.Context(), c, time.Now())
		g.Expect(report.State).To(Equal(presence.Stopped))
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
		g.Expect(presence.Look(t.Context(), c, time.Now()).State).To(Equal(presence.Running))
		stopSecond()
		g.Expect(presence.Look(t.Context(), c, time.Now()).State).To(Equal(presence.Stopped))
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
