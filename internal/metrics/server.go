package metrics

import "github.com/prometheus/client_golang/prometheus"

// ServerState says which state a server is in. A state that New was not told of leaves all known ones at 0.
func (m *Metrics) ServerState(namespace, name, state string) {
	for _, known := range m.states {
		m.serverState.WithLabelValues(namespace, name, known).Set(oneIf(known == state))
	}
}

// ServerReady says whether a server's condition Ready is True.
func (m *Metrics) ServerReady(namespace, name string, ready bool) {
	m.serverReady.WithLabelValues(namespace, name).Set(oneIf(ready))
}

// ServerTools says how many tools a server's published catalog has.
func (m *Metrics) ServerTools(namespace, name string, tools int) {
	m.serverTools.WithLabelValues(namespace, name).Set(float64(tools))
}

// Forget ends all series of a server that was deleted.
func (m *Metrics) Forget(namespace, name string) {
	server := prometheus.Labels{"namespace": namespace, "name": name}
	for _, gauge := range []*prometheus.GaugeVec{m.serverState, m.serverReady, m.serverTools} {
		gauge.DeletePartialMatch(server)
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
