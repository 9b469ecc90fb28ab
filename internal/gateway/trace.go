package gateway

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// Attributes of OpenTelemetry's semantic conventions for MCP and generative AI.
const (
	attributeMethod  = attribute.Key("mcp.method.name")
	attributeVersion = attribute.Key("mcp.protocol.version")
	attributeTool    = attribute.Key("gen_ai.tool.name")
	attributeError   = attribute.Key("error.type")
	attributeServer  = attribute.Key("mooring.server")
)

var traceContext = propagation.TraceContext{}

// traceCarrier is the _meta object of a request, which carries the trace context (MCP, SEP-414).
type traceCarrier struct{ meta rpc.Object }

func (c *traceCarrier) Get(key string) (value string) {
	_ = json.Unmarshal(c.meta.Get(key), &value) // what is no text is none
	return value
}

func (c *traceCarrier) Set(key, value string) { c.meta = c.meta.With(key, object(value)) }

func (c *traceCarrier) Keys() []string { return traceContext.Fields() }

// trace begins the span of a call, in the trace that its _meta or its headers name, and has the server told. Without an
// exporter there is no span, and params stay as they came.
func (g *Gateway) trace(ctx context.Context, c *call) (context.Context, trace.Span) {
	if g.options.Tracer == nil {
		return ctx, trace.SpanFromContext(ctx)
	}
	meta, _ := rpc.ParseObject(c.params.Get("_meta")) // what is no object carries nothing
	carrier := &traceCarrier{meta: meta}
	ctx = traceContext.Extract(ctx, propagation.HeaderCarrier(c.Header))
	ctx = traceContext.Extract(ctx, carrier)
	ctx, span := g.options.Tracer.Start(ctx, c.Message.Method, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attributeMethod.String(c.Message.Method)))
	if version := c.Header.Get("Mcp-Protocol-Version"); version != "" {
		span.SetAttributes(attributeVersion.String(version))
	}
	traceContext.Inject(ctx, carrier)
	c.params = c.params.With("_meta", carrier.meta.Encode())
	return ctx, span
}

// endSpan says what a call came to. A tool that is not published names no span.
func endSpan(span trace.Span, c *call, out *outcome) {
	if c.server != nil {
		span.SetAttributes(attributeServer.String(c.server.Namespace + "/" + c.server.Name))
		if c.tool != "" {
			span.SetName(c.Message.Method + " " + c.tool)
			span.SetAttributes(attributeTool.String(c.tool))
		}
	}
	if out.result != resultOK {
		span.SetAttributes(attributeError.String(errorType(out)))
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// errorType is why a call was not ok, in one word.
func errorType(out *outcome) string {
	if out.failure.Class != "" {
		return string(out.failure.Class)
	}
	return out.result
}
