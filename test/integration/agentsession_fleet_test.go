package integration

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/pace"
)

// agentVersions waits until all agent sessions say what is wanted, and returns the resource version of each and of its
// ConfigMap.
func (w *world) agentVersions(count int, wanted string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	w.Eventually(func() int {
		list := &v1alpha1.AgentSessionList{}
		w.Expect(admin.List(w.ctx, list, client.InNamespace(w.namespace))).To(Succeed())
		ready := 0
		for i := range list.Items {
			session := &list.Items[i]
			out[session.Name] = session.ResourceVersion
			if sessionSays(session, v1alpha1.ConditionReady) == wanted {
				ready++
			}
		}
		return ready
	}).Should(Equal(count))
	return out
}

// versionsOf collects what objects of a list's kind look like now and after each change, until the context ends; seen
// returns those that came so far.
func versionsOf[T client.Object](ctx context.Context, w *world, list client.ObjectList) (seen func() []T) {
	w.t.Helper()
	stream, err := admin.Watch(ctx, list, client.InNamespace(w.namespace))
	w.Expect(err).NotTo(HaveOccurred())
	var (
		mu  sync.Mutex
		all []T
	)
	go func() {
		for event := range stream.ResultChan() {
			if version, ok := event.Object.(T); ok && event.Type != watch.Deleted {
				mu.Lock()
				all = append(all, version)
				mu.Unlock()
			}
		}
	}()
	return func() []T {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// awaitVersion waits until a resource version is among those seen, and returns all of them.
func awaitVersion[T client.Object](w *world, seen func() []T, version string) []T {
	w.t.Helper()
	w.Eventually(func() bool {
		return slices.ContainsFunc(seen(), func(object T) bool { return object.GetResourceVersion() == version })
	}).Should(BeTrue(), "the watch sees version %s", version)
	return seen()
}

// A fleet of agents over as many servers, a hundred in `make soak`: while it is idle nothing is written, nor when a
// manager starts over it. One server that flaps costs no ConfigMap a write, and each agent a few of its status.
func TestFleetOfAgentsIsQuiet(t *testing.T) {
	t.Parallel() // it mostly waits, and so do those beside it
	count := pace.Pick(15, 100)
	w := newWorld(t)
	fakes := w.fleetOf(count)
	for i := range count {
		w.apply(builder.AgentSession(fmt.Sprintf("agent-%d", i)).Obj())
	}
	w.agentVersions(count, "True AllServersAvailable")
	w.settleWrites()
	versions := w.agentVersions(count, "True AllServersAvailable")
	all := w.manager.writes
	status, maps := all.status.Load(), all.configMaps.Load()
	w.Consistently(func() map[string]string { return w.agentVersions(count, "True AllServersAvailable") },
		idle(), idle()/24).Should(Equal(versions))
	w.Expect(all.status.Load()-status).To(BeZero(), "status writes while idle")
	w.Expect(all.configMaps.Load()-maps).To(BeZero(), "ConfigMap writes while idle")

	w.flap(fakes[7], count)
	w.Expect(all.configMaps.Load()).To(Equal(maps), "no ConfigMap is written, of an agent or a server")

	w.Eventually(func() string { return says(w.get("s-7"), v1alpha1.ConditionReady) }).Should(Equal("True Ready"))
	w.agentVersions(count, "True AllServersAvailable")
	w.settleWrites()
	versions = w.agentVersions(count, "True AllServersAvailable")
	w.manager.stop()
	w.startManager()
	w.Eventually(func() float64 { return w.gauge("mooring_server_ready") }).Should(BeEquivalentTo(count))
	w.settleWrites()
	w.Expect(w.agentVersions(count, "True AllServersAvailable")).To(Equal(versions))
	w.Expect(w.manager.writes.agents.Load()).To(BeZero(), "status writes of a start")
	w.Expect(w.manager.writes.offers.Load()).To(BeZero(), "ConfigMap writes of a start")
}

// flap has a server go away and come back every 5 s, for a minute in `make soak`, and until each agent's status has
// told of it. It checks what that costs each agent.
func (w *world) flap(fake *mcpfake.Server, agents int) {
	w.t.Helper()
	watching, end := context.WithCancel(w.ctx)
	defer end()
	seen := versionsOf[*v1alpha1.AgentSession](watching, w, &v1alpha1.AgentSessionList{})
	count := func() map[string]int {
		writes := map[string]int{}
		for _, version := range seen() {
			writes[version.Name]++
		}
		return writes
	}
	told := func() (agents int) {
		for _, versions := range count() {
			if versions > 1 {
				agents++
			}
		}
		return agents
	}
	begun, least := time.Now(), pace.Pick(15*time.Second, time.Minute)
	for time.Since(begun) < least || told() < agents && time.Since(begun) < pace.Patience {
		w.Expect(fake.Refuse()).To(Succeed())
		fake.CutConnections(true)
		w.pause(2500 * time.Millisecond)
		w.Expect(fake.Restore()).To(Succeed())
		w.pause(2500 * time.Millisecond)
	}
	writes, minutes := count(), 1+int((time.Since(begun)-least)/time.Minute)
	w.Expect(writes).To(HaveLen(agents))
	for name, versions := range writes {
		w.Expect(versions-1).To(And(BeNumerically(">", 0), BeNumerically("<=", 6*minutes)), "status writes of %s", name)
	}
}

// settleWrites waits until a while has passed without any write: as long as edges are joined.
func (w *world) settleWrites() {
	w.t.Helper()
	last, since := int64(-1), time.Now()
	w.Eventually(func() time.Duration {
		if now := w.manager.writes.status.Load() + w.manager.writes.configMaps.Load(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since)
	}).WithTimeout(2 * patience).Should(BeNumerically(">", 12*time.Second))
}

// pause is what a server of this scenario takes between two of its moods.
func (w *world) pause(d time.Duration) {
	w.t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.ctx.Done():
	}
}
