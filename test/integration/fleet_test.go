package integration

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/pace"
)

// eras are the two that streamable HTTP has.
var eras = map[string]mcpfake.Era{"legacy": mcpfake.Legacy, "modern": mcpfake.Modern}

func seconds(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Second}
}

// One server that accepts and never answers holds up nobody, even with one worker.
func TestB19_HungServerDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *cli.Settings) { s.Workers = 1 })
	hung := mcpfake.New(t)
	hung.Freeze()
	w.apply(builder.MCPServer("hung").URL(hung.URL()).Obj())
	hung.Await(t, func(s mcpfake.Stats) bool { return s.Accepted > 0 })
	for i := range 19 {
		w.apply(builder.MCPServer(fmt.Sprintf("good-%d", i)).URL(mcpfake.New(t).URL()).Obj())
	}
	for i := range 19 {
		w.ready(fmt.Sprintf("good-%d", i))
	}
	w.Expect(says(w.get("hung"), v1alpha1.ConditionConnected)).To(Equal("Unknown Connecting"), "it still hangs")
}

// A slow server is not a hung one: the wait for an answer to the question for the era takes nothing from the time of
// the handshake.
func TestB19_SlowHandshakeHasItsWholeTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pace.Within(t, 3*time.Second, func(limit time.Duration) error {
		slow, name := mcpfake.New(t), fmt.Sprintf("slow-%d", limit/time.Second)
		slow.Fault(mcpfake.Discover, mcpfake.Forever, mcpfake.Hang()) // for a third of the time
		slow.Fault(mcpfake.Initialize, mcpfake.Forever, mcpfake.Delay(limit*5/6))
		w.apply(builder.MCPServer(name).URL(slow.URL()).ConnectTimeout(limit).Attempts(1).Obj())
		w.Eventually(func() string { return says(w.get(name), v1alpha1.ConditionConnected) }).WithTimeout(2 * patience).
			Should(MatchRegexp("^(True|False) "))
		if server := w.get(name); says(server, v1alpha1.ConditionConnected) != "True Connected" {
			return errors.New(describe(server))
		}
		w.ready(name)
		w.Expect(slow.Count("initialize")).To(Equal(1))
		return nil
	})
}

// idle is how long a fleet is watched that nobody touches: longer than edges are joined, and in `make soak` longer than
// health probes are apart.
func idle() time.Duration { return pace.Pick(15*time.Second, 2*time.Minute) }

// Healthy servers that nobody touches cause no write, and a manager that starts over them neither.
func TestB57_IdleFleetWritesNothing(t *testing.T) {
	t.Parallel()
	count := pace.Pick(20, 50)
	w := newWorld(t)
	for i := range count {
		era := mcpfake.Legacy
		if i%2 == 1 {
			era = mcpfake.Modern
		}
		fake := mcpfake.New(t, mcpfake.WithEra(era), mcpfake.WithRecordLimit(10))
		w.apply(builder.MCPServer(fmt.Sprintf("s-%d", i)).URL(fake.URL()).Obj())
	}
	versions := w.versions(count)
	status, maps := w.manager.writes.status.Load(), w.manager.writes.configMaps.Load()
	w.Consistently(func() map[string]string { return w.versions(count) }, idle(), idle()/12).
		Should(Equal(versions))
	w.Expect(w.passes()).To(And(BeNumerically(">=", count), BeNumerically("<=", 4*count)), "passes")
	w.Expect(w.manager.writes.status.Load()-status).To(BeZero(), "status writes")
	w.Expect(w.manager.writes.configMaps.Load()-maps).To(BeZero(), "ConfigMap writes")

	w.manager.stop()
	fleet := w.versions(count)
	w.startManager()
	w.Eventually(func() float64 { return w.gauge("mooring_server_ready") }).Should(BeEquivalentTo(count))
	w.Expect(w.versions(count)).To(Equal(fleet))
	w.Expect(w.manager.writes.status.Load()).To(BeZero(), "status writes of a start")
	w.Expect(w.manager.writes.configMaps.Load()).To(BeZero(), "ConfigMap writes of a start")
}

// versions waits until all servers are Ready and returns the resource version of each.
func (w *world) versions(count int) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	w.Eventually(func() int {
		list := &v1alpha1.MCPServerList{}
		w.Expect(admin.List(w.ctx, list, client.InNamespace(w.namespace))).To(Succeed())
		ready := 0
		for i := range list.Items {
			out[list.Items[i].Name] = list.Items[i].ResourceVersion
			if says(&list.Items[i], v1alpha1.ConditionReady) == "True Ready" {
				ready++
			}
		}
		return ready
	}).Should(Equal(count))
	return out
}

// gauge is the sum of a metric's series.
func (w *world) gauge(name string) float64 {
	w.t.Helper()
	families, err := w.manager.series.Gather()
	w.Expect(err).NotTo(HaveOccurred())
	sum := 0.0
	for _, family := range families {
		if family.GetName() == name {
			for _, metric := range family.GetMetric() {
				sum += metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// A status write that meets a newer version is tried again quietly.
func TestB61_ConflictsConverge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t)
	w.manager.writes.refuse.Store(5)
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
	w.ready("fs")
	w.Expect(w.manager.writes.refuse.Load()).To(BeNumerically("<", 0), "all five were met")
	w.Expect(fake.Count("initialize")).To(Equal(1))
	w.Expect(w.warnings("fs")).To(BeEmpty())
}
