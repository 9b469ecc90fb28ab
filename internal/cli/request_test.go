package cli

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
)

// summed is an AgentSession whose status says this.
func summed(summary string) *v1alpha1.AgentSession {
	s := builder.AgentSession("o").Namespace("n").Obj()
	s.Status.Summary = summary
	return s
}

// watching is the lookup of a session in a cluster whose watch tells these events.
func watching(t *testing.T, events ...watch.Event) *lookup {
	t.Helper()
	fed := watch.NewFakeWithChanSize(len(events)+1, false)
	for _, event := range events {
		fed.Action(event.Type, event.Object)
	}
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
			return fed, nil
		},
	})
	return &lookup{WithWatch: c, kinds: []*kind{sessionKind}}
}

func isDone(o client.Object) bool { return o.(*v1alpha1.AgentSession).Status.Summary == "done" }

func TestAwait(t *testing.T) {
	added := watch.Event{Type: watch.Added, Object: summed("first")}
	for name, test := range map[string]struct {
		events []watch.Event
		want   error
		last   string
	}{
		"what is there already counts": {events: []watch.Event{{Type: watch.Added, Object: summed("done")}}},
		"a change is waited for":       {events: []watch.Event{added, {Type: watch.Modified, Object: summed("done")}}},
		"deleted": {
			[]watch.Event{added, {Type: watch.Deleted, Object: summed("last")}}, errDeleted, "last",
		},
		"the watch fails": {
			[]watch.Event{added, {Type: watch.Error, Object: &metav1.Status{}}}, errWatchEnded, "first",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := watching(t, test.events...).await(t.Context(), summed("given"), isDone)
			if test.want != nil {
				g.Expect(err).To(MatchError(test.want))
				g.Expect(got.(*v1alpha1.AgentSession).Status.Summary).To(Equal(test.last), "as it was seen last")
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.(*v1alpha1.AgentSession).Status.Summary).To(Equal("done"))
		})
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	given := summed("done") // which counts only where it was set
	seen, err := watching(t).await(ctx, given, isDone)
	g.Expect(errors.Is(err, context.Canceled)).To(BeTrue())
	g.Expect(seen).To(BeIdenticalTo(given), "it was not seen since")
}
