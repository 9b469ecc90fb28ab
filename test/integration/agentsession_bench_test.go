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
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

// BenchmarkStartupGate tells how much longer than the gate an agent waits for its ConfigMap: 50 agent sessions, one
// after the other or all at once. Of their eight servers one refuses and never worked, and one hangs with a stored
// catalog, so that the gate always runs its length. It prints ratios to the gate of 250 ms, from the first reconcile
// and from the creation.
func BenchmarkStartupGate(b *testing.B) {
	const agents = 50
	for name, together := range map[string]int{"one by one": 1, "at once": agents} {
		b.Run(name, func(b *testing.B) {
			w := newGateWorld(b)
			watch := w.newStopwatch()
			defer watch.events.Stop()
			var fromCreation []time.Duration
			b.ResetTimer()
			for round := range b.N * agents / together {
				fromCreation = append(fromCreation, w.publications(watch, round, together)...)
			}
			b.StopTimer()
			var fromReconcile []time.Duration
			w.Eventually(func() int { fromReconcile = w.firstPublications(); return len(fromReconcile) }).
				Should(Equal(len(fromCreation)))
			report(b, "creation", fromCreation, v1alpha1.DefaultStartupTimeout, "gate")
			report(b, "reconcile", fromReconcile, v1alpha1.DefaultStartupTimeout, "gate")
		})
	}
}

// newGateWorld has six servers that answer, one that hangs with a stored catalog, and one that refuses.
func newGateWorld(b *testing.B) *world {
	b.Helper()
	w := newWorld(b)
	w.fleetOf(6)
	hung, refusing := mcpfake.New(b, mcpfake.WithTools(tools("h", 2)...)), mcpfake.New(b)
	w.Expect(refusing.Refuse()).To(Succeed())
	w.apply(builder.MCPServer("hung").URL(hung.URL()).ConnectTimeout(5*time.Minute).Obj(),
		builder.MCPServer("refusing").URL(refusing.URL()).Obj())
	for i := range 6 {
		w.ready(fmt.Sprintf("s-%d", i))
	}
	w.ready("hung")
	w.await("refusing", v1alpha1.ConditionReady, "False ConnectFailed")
	w.manager.stop()
	hung.Freeze()
	w.startManager()
	w.Eventually(func() float64 { return w.gauge("mooring_server_ready") }).Should(BeNumerically(">=", 6))
	return w
}

// publications creates agent sessions at once and returns how long each one's ConfigMap took.
func (w *world) publications(watch *stopwatch, round, count int) []time.Duration {
	w.t.Helper()
	var creators sync.WaitGroup
	for i := range count {
		creators.Go(func() {
			name := fmt.Sprintf("agent-%d-%d", round, i)
			watch.start(name)
			w.apply(builder.AgentSession(name).Obj())
		})
	}
	defer creators.Wait()
	return watch.laps(count, func(*corev1.ConfigMap) bool { return true })
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

// stopwatch measures how long it takes until the ConfigMap of an agent session shows something.
type stopwatch struct {
	w       *world
	events  watch.Interface
	started sync.Map // time.Time by the name of the ConfigMap
}

func (w *world) newStopwatch() *stopwatch {
	w.t.Helper()
	events, err := admin.Watch(w.ctx, &corev1.ConfigMapList{}, client.InNamespace(w.namespace),
		client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentSessionCatalog})
	w.Expect(err).NotTo(HaveOccurred())
	return &stopwatch{w: w, events: events}
}

func (s *stopwatch) start(agent string) { s.started.Store(agent+"-mcp-catalog", time.Now()) }

// laps waits until count agents for which the watch was started have a ConfigMap that shows it, and returns how long
// each one took. What has shown it is not measured again before another start.
func (s *stopwatch) laps(count int, shows func(*corev1.ConfigMap) bool) []time.Duration {
	s.w.t.Helper()
	var out []time.Duration
	for len(out) < count {
		var event watch.Event
		s.w.Eventually(s.events.ResultChan(), patience).WithPolling(time.Millisecond).Should(Receive(&event))
		object := event.Object.(*corev1.ConfigMap)
		if !shows(object) {
			continue
		}
		if since, first := s.started.LoadAndDelete(object.Name); first {
			out = append(out, time.Since(since.(time.Time)))
		}
	}
	return out
}

// report prints two percentiles in milliseconds, and as ratios to what is promised.
func report(b *testing.B, from string, all []time.Duration, promise time.Duration, unit string) {
	b.Helper()
	slices.Sort(all)
	for _, percentile := range []int{50, 95} {
		at := all[(len(all)*percentile+99)/100-1]
		b.ReportMetric(float64(at)/float64(time.Millisecond), fmt.Sprintf("p%d-from-%s-ms", percentile, from))
		b.ReportMetric(float64(at)/float64(promise), fmt.Sprintf("p%d-from-%s/%s", percentile, from, unit))
	}
}

// BenchmarkChangedTool tells how long it takes from the notification of one server in eight that its tools have changed
// to the ConfigMap of the agent that is offered them: 50 changes, one each 100 ms. A second of that the notification is
// held back, so that many of them cost one list. It prints ratios to the 2 s that are promised.
func BenchmarkChangedTool(b *testing.B) {
	const agents, pace = 50, 100 * time.Millisecond
	var all []time.Duration
	for range b.N {
		b.StopTimer()
		w := newWorld(b)
		fakes := w.agentsWithAServerEach(agents)
		watch := w.newStopwatch()
		b.StartTimer()
		go func() {
			for i, fake := range fakes {
				fake.SetTools(mcpfake.RawTool(`{"name":"t-0","title":"new","inputSchema":{"type":"object"}}`))
				watch.start(fmt.Sprintf("a-%d", i))
				fake.NotifyListChanged()
				w.pause(pace)
			}
		}()
		all = append(all, watch.laps(agents, func(object *corev1.ConfigMap) bool {
			return strings.Contains(object.Data[catalog.CatalogKey], `"title":"new"`)
		})...)
		w.manager.stop()
	}
	report(b, "notification", all, 2*time.Second, "2s")
}

// BenchmarkWithdrawnTools tells how long an agent is still offered the tools of a server that was taken away from it:
// 50 times, one after the other. It prints ratios to the 5 s that are promised.
func BenchmarkWithdrawnTools(b *testing.B) {
	for name, withdraw := range map[string]func(w *world, server string){
		"disabled": func(w *world, server string) {
			w.change(server, func(s *v1alpha1.MCPServer) { s.Spec.Disabled = true })
		},
		"deselected": func(w *world, server string) {
			w.changeAgent(server, func(s *v1alpha1.AgentSession) {
				s.Spec.Servers.Exclude = []v1alpha1.ServerExclusion{{Name: server}}
			})
		},
		"deleted": func(w *world, server string) {
			w.Expect(admin.Delete(w.ctx, w.get(server))).To(Succeed())
		},
	} {
		b.Run(name, func(b *testing.B) {
			const agents = 50
			var all []time.Duration
			for range b.N {
				b.StopTimer()
				w := newWorld(b)
				w.agentsWithAServerEach(agents)
				watch := w.newStopwatch()
				b.StartTimer()
				for i := range agents {
					agent := fmt.Sprintf("a-%d", i)
					watch.start(agent)
					withdraw(w, agent)
					all = append(all, watch.laps(1, func(object *corev1.ConfigMap) bool {
						return !strings.Contains(object.Data[catalog.CatalogKey], "mcp_"+agent+"_")
					})...)
				}
				w.manager.stop()
			}
			report(b, "withdrawal", all, 5*time.Second, "5s")
		})
	}
}

// agentsWithAServerEach has agents of eight servers: seven that all share, and one of their name that each has for
// itself. It returns what stands behind these.
func (w *world) agentsWithAServerEach(count int) []*mcpfake.Server {
	w.t.Helper()
	w.fleetOf(7)
	var fakes []*mcpfake.Server
	for i := range count {
		name := fmt.Sprintf("a-%d", i)
		fake := mcpfake.New(w.t, mcpfake.WithTools(tools("t", 2)...), mcpfake.WithRecordLimit(20))
		fakes = append(fakes, fake)
		agent := builder.AgentSession(name).Ref(name)
		for shared := range 7 {
			agent.Ref(fmt.Sprintf("s-%d", shared))
		}
		w.apply(builder.MCPServer(name).URL(fake.URL()).Obj(), agent.Obj())
	}
	w.agentVersions(count, "True AllServersAvailable")
	for _, fake := range fakes {
		fake.Await(w.t, func(s mcpfake.Stats) bool { return s.Streams == 1 })
	}
	return fakes
}
