package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// Calls are counted by what came of them until their server is gone; what is no call of a tool has a duration alone.
func TestGatewayCounts(t *testing.T) {
	registry := prometheus.NewRegistry()
	g, err := NewGateway(registry)
	if err != nil {
		t.Fatal(err)
	}
	ended := g.Began()
	if got := testutil.ToFloat64(g.inFlight); got != 1 {
		t.Errorf("%v in flight", got)
	}
	ended()
	if got := testutil.ToFloat64(g.inFlight); got != 0 {
		t.Errorf("%v in flight after the end", got)
	}
	call := Call{Method: "tools/call", Namespace: "n", Server: "s", Tool: "t", Outcome: "ok", Took: time.Second}
	g.Called(call)
	call.Outcome = "error"
	g.Called(call)
	call.Method, call.Tool, call.Class = "prompts/get", "", "server"
	g.Called(call)
	calls, durations := testutil.CollectAndCount(g.calls), testutil.CollectAndCount(g.duration)
	if calls != 2 || durations != 3 {
		t.Errorf("%d series of calls, %d of durations", calls, durations)
	}
	g.Forget("n", "s")
	if left := testutil.CollectAndCount(g.calls) + testutil.CollectAndCount(g.duration); left != 0 {
		t.Errorf("%d series are left", left)
	}
	if _, err := NewGateway(registry); err == nil {
		t.Error("the same metrics were registered twice")
	}
}
