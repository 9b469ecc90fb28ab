package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// flushTimeout is how long spans may take to leave when the process ends.
const flushTimeout = 5 * time.Second

// newTracer returns a tracer that exports spans by OTLP over HTTP, where the standard variables of OpenTelemetry say
// (OTEL_EXPORTER_OTLP_ENDPOINT and its kin); nil where they do not. What was recorded is flushed when the manager ends.
func newTracer(ctx context.Context, m ctrl.Manager) (trace.Tracer, error) {
	if cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")) == "" {
		return nil, nil //nolint:nilnil // no exporter, no tracer
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w; correct the variables OTEL_EXPORTER_OTLP_*", err)
	}
	attributes, err := resource.New(ctx, resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, fmt.Errorf("traces: %w; correct OTEL_RESOURCE_ATTRIBUTES", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(attributes))
	return provider.Tracer("github.com/mooring-dev/mooring"), m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		flushing, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		return provider.Shutdown(flushing)
	}))
}
