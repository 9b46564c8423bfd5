// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/program"
)

// Tracing sends spans of requests, of the work that they start and of the calls of BMCs to an
// OpenTelemetry collector. A nil Tracing sends nothing.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// traceparent is the format of span references in HTTP headers and in nodes' records.
var traceparent propagation.TraceContext

// CollectorURL parses the value of -otlp. Its error is a usage error that does not repeat the value, which may have a
// password.
func CollectorURL(value string) (*url.URL, error) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, program.Usagef("-otlp: want the URL of a collector without a user, such as http://127.0.0.1:4318")
	}
	return u, nil
}

// NewTracing returns the tracing of the conductor with a name. It returns nil if neither endpoint, the value of -otlp,
// nor the environment names a collector.
func NewTracing(ctx context.Context, endpoint, name string, log *slog.Logger) (*Tracing, error) {
	var options []otlptracehttp.Option
	switch {
	case endpoint != "":
		u, err := CollectorURL(endpoint)
		if err != nil {
			return nil, err
		}
		options = append(options, otlptracehttp.WithEndpointURL(u.JoinPath("v1", "traces").String()))
	case os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "":
		return nil, nil
	}
	if name == "" {
		name, _ = os.Hostname() // as the conductor does
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, err
	}
	self, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "ironstate-conductor"), attribute.String("service.instance.id", name)),
		resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("spans could not be sent", "error", err) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(self))
	return &Tracing{provider, provider.Tracer("github.com/ironstate/ironstate/cmd/ironstate")}, nil
}

// flushTimeout bounds the flush of the last spans when the program ends.
const flushTimeout = 3 * time.Second

// Close sends the remaining spans.
func (t *Tracing) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}

// Around wraps the API with a span for each request.
func (t *Tracing) Around(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return otelhttp.NewHandler(next, "",
		otelhttp.WithTracerProvider(t.provider), otelhttp.WithPropagators(traceparent),
		otelhttp.WithFilter(func(r *http.Request) bool { return r.URL.Path != "/metrics" }),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return method(r.Method) + " " + route(r.URL.Path) }))
}

var word = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

// route returns a path of the API with {} in place of names that clients have chosen.
func route(path string) string {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for i, segment := range segments {
		if i == 2 && segment != "detail" || !word.MatchString(segment) {
			segments[i] = "{}"
		}
	}
	return "/" + strings.Join(segments, "/")
}

// Tracer returns the tracer of the conductor: a nil interface for a nil Tracing, not an interface that holds a
// nil pointer.
func (t *Tracing) Tracer() conductor.Tracer {
	if t == nil {
		return nil
	}
	return t
}

// Origin implements [conductor.Tracer].
func (t *Tracing) Origin(request context.Context) string {
	carrier := propagation.MapCarrier{}
	traceparent.Inject(request, carrier)
	return carrier.Get("traceparent")
}

// Trace implements [conductor.Tracer]. Operations that no request has started, such as the reads of
// the power sync, have no span.
func (t *Tracing) Trace(ctx context.Context, o conductor.Operation, do func(context.Context) error) {
	if o.Origin != "" {
		ctx = traceparent.Extract(ctx, propagation.MapCarrier{"traceparent": o.Origin})
	}
	if !trace.SpanContextFromContext(ctx).IsValid() {
		_ = do(ctx) // the conductor has the error
		return
	}
	ctx, span := t.tracer.Start(ctx, o.Name, trace.WithAttributes(
		attribute.String("node.uuid", o.Node.UUID), attribute.String("node.driver", o.Node.Driver),
		attribute.String("node.provision_state", o.Node.ProvisionState.String()),
	))
	defer span.End()
	if err := do(ctx); err != nil && !errors.Is(err, conductor.ErrWait) {
		span.SetStatus(codes.Error, masked.Text(err.Error()))
	}
}
