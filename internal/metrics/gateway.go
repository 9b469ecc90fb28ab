package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Gateway are the series of a process that serves agents. NewGateway makes them.
type Gateway struct {
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// NewGateway registers the metrics. The error tells of the first one that the registry did not take. Durations go by
// OpenTelemetry's semantic conventions for MCP; the server is part of them, and its tools, which agents could name at
// will, are counted only.
func NewGateway(registry prometheus.Registerer) (*Gateway, error) {
	g := &Gateway{
		calls: counter("gateway_calls_total", "Calls of published tools, by what came of them: ok, error (the server's), "+
			"failed, rejected or cancelled; class is the failure's.", "namespace", "server", "tool", "outcome", "class"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "mcp_server_operation_duration_seconds",
			Help:    "Time from an agent's request to the end of its answer.",
			Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"mcp_method_name", "namespace", "server", "error_type"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "gateway_calls_in_flight", Help: "Calls that are being carried, for autoscaling.",
		}),
	}
	for _, c := range []prometheus.Collector{g.calls, g.duration, g.inFlight} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Began counts a call in until what it returns is called.
func (g *Gateway) Began() (ended func()) {
	g.inFlight.Inc()
	return g.inFlight.Dec
}

// Call is what came of a call to a server.
type Call struct {
	Method, Namespace, Server string
	// Tool is empty for what is no call of a tool.
	Tool string
	// Outcome is ok, error, failed, rejected or cancelled; Class is the failure's, empty for none.
	Outcome, Class string
	Took           time.Duration
}

// Called notes a call.
func (g *Gateway) Called(c Call) {
	problem := c.Class
	if problem == "" && c.Outcome != "ok" {
		problem = c.Outcome
	}
	g.duration.WithLabelValues(c.Method, c.Namespace, c.Server, problem).Observe(c.Took.Seconds())
	if c.Tool != "" {
		g.calls.WithLabelValues(c.Namespace, c.Server, c.Tool, c.Outcome, c.Class).Inc()
	}
}

// Forget ends the series of a server that is gone.
func (g *Gateway) Forget(namespace, server string) {
	labels := prometheus.Labels{"namespace": namespace, "server": server}
	g.calls.DeletePartialMatch(labels)
	g.duration.DeletePartialMatch(labels)
}
