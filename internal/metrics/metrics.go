package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "mooring"

// Metrics are all series of one process. New makes them.
type Metrics struct {
	states []string

	serverState *prometheus.GaugeVec
	serverReady *prometheus.GaugeVec
	serverTools *prometheus.GaugeVec

	failures    *prometheus.CounterVec
	quarantines prometheus.Counter
	retirements *prometheus.CounterVec
	rebuilds    prometheus.Counter
	connect     prometheus.Histogram
	list        prometheus.Histogram
}

// New registers the metrics. states are all values that the label state may take. The error tells of each metric that
// the registry did not take.
func New(registry prometheus.Registerer, states ...string) (*Metrics, error) {
	m := &Metrics{
		states: states,
		serverState: gauge("server_state", "1 for the state that the server's discovery session is in, 0 for others.",
			"namespace", "name", "state"),
		serverReady: gauge("server_ready", "1 while the server's condition Ready is True, else 0.", "namespace", "name"),
		serverTools: gauge("server_tools", "Tools in the server's published catalog.", "namespace", "name"),
		failures: counter("session_failures_total",
			"Failures of sessions, by failure class and by what was being done.", "class", "phase"),
		quarantines: plainCounter("quarantines_total", "Breakers that opened for a cooldown."),
		retirements: counter("retirements_total",
			"Servers that are no longer tried but for a slow probe, by kind: refused or exhausted.", "kind"),
		rebuilds: plainCounter("rebuilds_total", "Sessions that took the place of a lost one."),
		connect:  histogram("connect_duration_seconds", "Time that a successful handshake took."),
		list:     histogram("list_duration_seconds", "Time that a complete tools/list took, all pages."),
	}
	var refused []error
	for _, c := range m.collectors() {
		refused = append(refused, registry.Register(c))
	}
	return m, errors.Join(refused...)
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.serverState, m.serverReady, m.serverTools,
		m.failures, m.quarantines, m.retirements, m.rebuilds, m.connect, m.list,
	}
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func plainCounter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

// histogram covers what the timeouts of the API allow: 5 ms (a server beside us) to 80 s (a list of many pages), each
// bucket twice the one before. A scraper that asks for native histograms gets finer ones.
func histogram(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace:                      namespace,
		Name:                           name,
		Help:                           help,
		Buckets:                        prometheus.ExponentialBuckets(0.005, 2, 15),
		NativeHistogramBucketFactor:    1.1,
		NativeHistogramMaxBucketNumber: 100,
	})
}
