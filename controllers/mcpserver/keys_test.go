package mcpserver

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mooring-dev/mooring/internal/session"
)

func TestKeys(t *testing.T) {
	g := NewWithT(t)
	keys := &Keys{}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	g.Expect(keys.Feed.Start(t.Context(), queue)).To(Succeed())
	woken := func() (names []string) {
		for queue.Len() > 0 {
			request, _ := queue.Get()
			queue.Done(request)
			names = append(names, request.Name)
		}
		return names
	}
	name := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }

	keys.Notify("one")
	g.Expect(woken()).To(BeEmpty(), "what is bound to nothing wakes nobody")
	_, known := keys.unbind(name("a"))
	g.Expect(known).To(BeFalse())

	_, replaced := keys.bind(name("a"), "one")
	g.Expect(replaced).To(BeFalse(), "the first")
	_, replaced = keys.bind(name("a"), "one")
	g.Expect(replaced).To(BeFalse(), "the same again")
	_, replaced = keys.bind(name("b"), "two")
	g.Expect(replaced).To(BeFalse(), "another name")
	keys.Notify("one")
	keys.Notify("two")
	g.Expect(woken()).To(Equal([]string{"a", "b"}))

	owner, bound := keys.Name("one")
	g.Expect(bound).To(BeTrue())
	g.Expect(owner).To(Equal(name("a")))

	former, replaced := keys.bind(name("a"), "three")
	g.Expect(replaced).To(BeTrue())
	g.Expect(former).To(Equal(session.Key("one")))
	keys.Notify("one")
	g.Expect(woken()).To(BeEmpty(), "the object of the old key is gone")
	_, bound = keys.Name("one")
	g.Expect(bound).To(BeFalse())
	keys.Notify("three")
	g.Expect(woken()).To(Equal([]string{"a"}))

	former, known = keys.unbind(name("a"))
	g.Expect(known).To(BeTrue())
	g.Expect(former).To(Equal(session.Key("three")))
	keys.Notify("three")
	keys.Notify("two")
	g.Expect(woken()).To(Equal([]string{"b"}))
}
