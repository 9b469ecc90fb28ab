package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
// after the other, over eight servers, of which one hangs with a stored catalog, so that the gate always runs its
// length. It prints ratios to the gate of 250 ms, from the first reconcile and from the creation.
func BenchmarkStartupGate(b *testing.B) {
	const agents = 50
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
	published, err := admin.Watch(w.ctx, &corev1.ConfigMapList{}, client.InNamespace(w.namespace),
		client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentSessionCatalog})
	w.Expect(err).NotTo(HaveOccurred())
	defer published.Stop()
	var fromCreation []time.Duration
	b.ResetTimer()
	for round := range b.N {
		for i := range agents {
			name := fmt.Sprintf("agent-%d-%d", round, i)
			created := time.Now()
			w.apply(builder.AgentSession(name).Obj())
			w.Eventually(published.ResultChan(), patience).Should(Receive(WithTransform(
				func(event watch.Event) string { return event.Object.(client.Object).GetName() }, Equal(name+"-mcp-catalog"))))
			fromCreation = append(fromCreation, time.Since(created))
		}
	}
	b.StopTimer()
	fromReconcile := w.firstPublications()
	w.Expect(len(fromReconcile)).To(Equal(len(fromCreation)))
	report(b, "creation", fromCreation)
	report(b, "reconcile", fromReconcile)
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
