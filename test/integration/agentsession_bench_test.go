package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// BenchmarkStartupGate tells how much longer than the gate an agent waits for its ConfigMap: 50 agent sessions, one
// after the other or all at once, over eight servers, of which one hangs with a stored catalog, so that the gate always
// runs its length. It prints ratios to the gate of 250 ms, from the first reconcile and from the creation.
func BenchmarkStartupGate(b *testing.B) {
	const agents = 50
	for name, together := range map[string]int{"one by one": 1, "at once": agents} {
		b.Run(name, func(b *testing.B) {
			w := newGateWorld(b)
			published, err := admin.Watch(w.ctx, &corev1.ConfigMapList{}, client.InNamespace(w.namespace),
				client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentSessionCatalog})
			w.Expect(err).NotTo(HaveOccurred())
			defer published.Stop()
			var fromCreation []time.Duration
			b.ResetTimer()
			for round := range b.N * agents / together {
				fromCreation = append(fromCreation, w.publications(published, round, together)...)
			}
			b.StopTimer()
			var fromReconcile []time.Duration
			w.Eventually(func() int { fromReconcile = w.firstPublications(); return len(fromReconcile) }).
				Should(Equal(len(fromCreation)))
			report(b, "creation", fromCreation)
			report(b, "reconcile", fromReconcile)
		})
	}
}

// newGateWorld has seven servers that answer and one that hangs with a stored catalog.
func newGateWorld(b *testing.B) *world {
	b.Helper()
	w := newWorld(b)
	w.fleetOf(7)
	hung := mcpfake.New(b, mcpfake.WithTools(tools("h", 2)...))
	w.apply(builder.MCPServer("hung").URL(hung.URL()).Obj())
	for i := range 7 {
		w.ready(fmt.Sprintf("s-%d", i))
	}
	w.ready("hung")
	w.manager.stop()
	hung.Freeze()
	w.startManager()
	w.Eventually(func() float64 { return w.gauge("mooring_server_ready") }).Should(BeNumerically(">=", 7))
	return w
}

// publications creates agent sessions at once and returns how long each one's ConfigMap took.
func (w *world) publications(published watch.Interface, round, count int) []time.Duration {
	w.t.Helper()
	var created sync.Map
	var creators sync.WaitGroup
	for i := range count {
		creators.Go(func() {
			name := fmt.Sprintf("agent-%d-%d", round, i)
			created.Store(name+"-mcp-catalog", time.Now())
			w.apply(builder.AgentSession(name).Obj())
		})
	}
	var out []time.Duration
	for len(out) < count {
		var event watch.Event
		w.Eventually(published.ResultChan(), patience).WithPolling(time.Millisecond).Should(Receive(&event))
		since, first := created.LoadAndDelete(event.Object.(client.Object).GetName())
		if first {
			out = append(out, time.Since(since.(time.Time)))
		}
	}
	creators.Wait()
	return out
}

// report prints two percentiles as ratios to the gate.
func report(b *testing.B, from string, all []time.Duration) {
	slices.Sort(all)
	for _, percentile := range []int{50, 95} {
		at := all[(len(all)*percentile+99)/100-1]
		b.ReportMetric(float64(at)/float64(v1alpha1.DefaultStartupTimeout), fmt.Sprintf("p%d-from-%s/gate", percentile, from))
	}
}

// firstPublications are the times from an agent session's first reconcile to its ConfigMap, as the manager logged them.
func (w *world) firstPublications() []time.Duration {
	w.t.Helper()
	var out []time.Duration
	for line := range strings.Lines(logs.String()) {
		_, fields, found := strings.Cut(line, "first catalog published\t")
		if !found || !strings.Contains(fields, `"namespace": "`+w.namespace+`"`) {
			continue
		}
		var logged struct{ After string }
		w.Expect(json.Unmarshal([]byte(fields), &logged)).To(Succeed())
		after, err := time.ParseDuration(logged.After)
		w.Expect(err).NotTo(HaveOccurred())
		out = append(out, after)
	}
	return out
}
