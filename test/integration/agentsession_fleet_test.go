package integration

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
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

// A hundred agents over a hundred servers: idle, nothing is written; nor when a manager starts over them. One server
// that flaps costs no ConfigMap a write, and each agent a few of its status.
func TestFleetOfAgentsIsQuiet(t *testing.T) {
	const count = 100
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
		30*time.Second, 5*time.Second).Should(Equal(versions))
	w.Expect(all.status.Load()-status).To(BeZero(), "status writes while idle")
	w.Expect(all.configMaps.Load()-maps).To(BeZero(), "ConfigMap writes while idle")

	agents := all.agents.Load()
	for flap := time.Now(); time.Since(flap) < time.Minute; {
		w.Expect(fakes[7].Refuse()).To(Succeed())
		fakes[7].CutConnections(true)
		w.pause(2500 * time.Millisecond)
		w.Expect(fakes[7].Restore()).To(Succeed())
		w.pause(2500 * time.Millisecond)
	}
	w.Expect(all.offers.Load()).To(BeNumerically("<=", maps), "no ConfigMap of an agent is written")
	w.Expect(all.configMaps.Load()).To(Equal(maps))
	perAgent := float64(all.agents.Load()-agents) / count
	w.Expect(perAgent).To(BeNumerically("<=", 6))
	w.Expect(perAgent).To(BeNumerically(">", 0))

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
