package gateway

import (
	"fmt"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

const (
	callersTrace  = "0af7651916cd43dd8448eb211c80319c"
	callersSpan   = "b7ad6b7169203331"
	callersParent = "00-" + callersTrace + "-" + callersSpan + "-01"
)

// A call's span is in the caller's trace, however that is named, and the server and the log are told of it.
func TestTraces(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	w := newNamespace(t)
	w.startGatewayAs(cli.GatewaySettings{Tracer: provider.Tracer("test")})
	w.startManager()
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.DefaultTools()...)
	url := w.sessionURL("coder")
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"message":"m"}%s}}`
	for _, sent := range []answer{
		w.send(http.MethodPost, url, token, fmt.Sprintf(call, "mcp_fs_echo",
			`,"_meta":{"traceparent":"`+callersParent+`","x":1}`)),
		w.send(http.MethodPost, url, token, fmt.Sprintf(call, "mcp_fs_echo", ""), "Traceparent", callersParent),
		w.send(http.MethodPost, url, token, fmt.Sprintf(call, "no_such", ""), "Traceparent", callersParent),
	} {
		w.Expect(sent.status).To(Equal(http.StatusOK), sent.body)
	}
	got := spans.GetSpans()
	w.Expect(got).To(HaveLen(3))
	for _, span := range got {
		w.Expect(span.SpanContext.TraceID().String()).To(Equal(callersTrace))
		w.Expect(span.Parent.SpanID().String()).To(Equal(callersSpan))
	}
	w.Expect(got[0].Name).To(Equal("tools/call mcp_fs_echo"))
	w.Expect(got[0].Attributes).To(ContainElements(attribute.String("mcp.method.name", "tools/call"),
		attribute.String("gen_ai.tool.name", "mcp_fs_echo"), attribute.String("mooring.server", w.namespace+"/fs")))
	w.Expect(got[2].Name).To(Equal("tools/call"), "agents name no spans")
	w.Expect(got[2].Status.Code).To(Equal(codes.Error))
	for i, request := range server.Requests("tools/call") {
		w.Expect(string(request.Body)).To(ContainSubstring(
			`"traceparent":"00-` + callersTrace + `-` + got[i].SpanContext.SpanID().String() + `-01"`))
	}
	w.Expect(logs.String()).To(ContainSubstring(`"trace": "` + callersTrace + `"`))
}

// Without an exporter nothing is added to a call.
func TestWithoutTracesCallsStayAsTheyCame(t *testing.T) {
	w := newWorld(t)
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.DefaultTools()...)
	sent := w.send(http.MethodPost, w.sessionURL("coder"), token,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_fs_echo","arguments":{"message":"m"},`+
			`"_meta":{"traceparent":"`+callersParent+`"}}}`)
	w.Expect(sent.status).To(Equal(http.StatusOK), sent.body)
	got := string(server.Requests("tools/call")[0].Params)
	w.Expect(got).To(ContainSubstring(`"_meta":{"traceparent":"` + callersParent + `",`))
}

// Calls are counted by what came of them, and the series of a server end with it.
func TestCallMetrics(t *testing.T) {
	w := newWorld(t)
	server, token := w.serveFake(t, mcpfake.Legacy, mcpfake.DefaultTools()...)
	url := w.sessionURL("coder")
	w.call(url, token, "mcp_fs_echo", `{"message":"m"}`)
	w.call(url, token, "mcp_fs_echo", `{"message":"m"}`)
	w.call(url, token, "no_such", `{}`)
	server.Fault(mcpfake.Call, 1, mcpfake.Status(http.StatusForbidden, nil, ""))
	w.call(url, token, "mcp_fs_echo", `{"message":"m"}`)
	w.Expect(w.series("mooring_gateway_calls_total")).To(ConsistOf(
		`{class="",namespace="`+w.namespace+`",outcome="ok",server="fs",tool="mcp_fs_echo"} 2`,
		`{class="permission",namespace="`+w.namespace+`",outcome="rejected",server="fs",tool="mcp_fs_echo"} 1`,
	))
	w.Expect(w.series("mcp_server_operation_duration_seconds")).To(ConsistOf(
		`{error_type="",mcp_method_name="tools/call",namespace="`+w.namespace+`",server="fs"} 2`,
		`{error_type="permission",mcp_method_name="tools/call",namespace="`+w.namespace+`",server="fs"} 1`,
	))
	w.Expect(w.series("mooring_gateway_calls_in_flight")).To(ConsistOf(`{} 0`))
	fs := &v1alpha1.MCPServer{}
	fs.Namespace, fs.Name = w.namespace, "fs"
	w.Expect(admin.Delete(w.ctx, fs)).To(Succeed())
	w.Eventually(func() []string { return w.series("mooring_gateway_calls_total") }).Should(BeEmpty())
	w.Expect(w.series("mcp_server_operation_duration_seconds")).To(BeEmpty())
}

// series are the samples of a metric: of a histogram, how many values it has.
func (w *world) series(name string) (out []string) {
	w.t.Helper()
	families, err := w.metrics.Gather()
	w.Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := ""
			for _, label := range m.GetLabel() {
				labels += fmt.Sprintf(",%s=%q", label.GetName(), label.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			out = append(out, fmt.Sprintf("{%s} %v", labels[min(1, len(labels)):], value))
		}
	}
	return out
}
