package await_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/internal/cli/await"
)

func object(value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "o"}, Data: map[string]string{"k": value},
	}
}

// watching is a client whose watch tells these events.
func watching(t *testing.T, events ...watch.Event) client.WithWatch {
	t.Helper()
	fed := watch.NewFakeWithChanSize(len(events)+1, false)
	for _, event := range events {
		fed.Action(event.Type, event.Object)
	}
	return interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
			return fed, nil
		},
	})
}

func isDone(o *corev1.ConfigMap) bool { return o.Data["k"] == "done" }

func TestFor(t *testing.T) {
	added := watch.Event{Type: watch.Added, Object: object("first")}
	for name, test := range map[string]struct {
		events []watch.Event
		want   error
		last   string
	}{
		"what stands there counts": {events: []watch.Event{{Type: watch.Added, Object: object("done")}}},
		"a change is waited for":   {events: []watch.Event{added, {Type: watch.Modified, Object: object("done")}}},
		"deleted": {
			[]watch.Event{added, {Type: watch.Deleted, Object: object("last")}}, await.ErrDeleted, "last",
		},
		"the watch fails": {
			[]watch.Event{added, {Type: watch.Error, Object: &metav1.Status{}}}, await.ErrEnded, "first",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := await.For(t.Context(), watching(t, test.events...), &corev1.ConfigMapList{},
				object("given"), isDone)
			if test.want != nil {
				g.Expect(err).To(MatchError(test.want))
				g.Expect(got.Data["k"]).To(Equal(test.last), "as it was seen last")
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Data["k"]).To(Equal("done"))
		})
	}
}

func TestForEndsWithItsContext(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	given := object("done") // which counts only where it stands
	seen, err := await.For(ctx, watching(t), &corev1.ConfigMapList{}, given, isDone)
	g.Expect(errors.Is(err, context.Canceled)).To(BeTrue())
	g.Expect(seen).To(BeIdenticalTo(given), "it was not seen since")
}

func TestOutcome(t *testing.T) {
	g := NewWithT(t)
	late, err := await.Outcome(context.DeadlineExceeded)
	g.Expect(err).To(MatchError("no outcome in time; the request stands, and --timeout waits longer"))
	g.Expect(late).To(BeTrue())
	for _, ends := range []error{context.Canceled, await.ErrDeleted} {
		late, err = await.Outcome(ends)
		g.Expect(err).To(MatchError(ends))
		g.Expect(late).To(BeFalse())
	}
}

func TestStepTellsHowLongItTook(t *testing.T) {
	var out bytes.Buffer
	done := await.Step(&out, "reloading coder")
	NewWithT(t).Expect(out.String()).To(Equal("reloading coder ...\n"))
	done()
	NewWithT(t).Expect(out.String()).To(
		MatchRegexp(`^reloading coder \.\.\.\nreloading coder: done in \d+(\.\d)?m?s\n$`))
}
