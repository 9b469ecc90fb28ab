package connect

import (
	"context"
	"fmt"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
)

// Refusal is a mistake or a lack that a person must mend: it becomes a condition, never an error of a reconcile.
type Refusal struct {
	Reason, Message string
	// Final means that waiting will not help.
	Final bool
}

// Error makes a refusal travel as an error.
func (r *Refusal) Error() string { return r.Message }

// Invalid is a mistake in the spec.
func Invalid(format string, arguments ...any) *Refusal {
	return &Refusal{v1alpha1.ReasonInvalidConfiguration, fmt.Sprintf(format, arguments...), true}
}

// Resolve gathers everything that a dialer needs of a server that has spec.http. A *Refusal says what is to be mended.
func Resolve(
	ctx context.Context, values Values, namespace string, spec *v1alpha1.MCPServerSpec,
) (*Config, error) {
	reader := &reader{values: values, namespace: namespace, versions: map[refs.Ref]string{}}
	known, err := reader.variables(ctx, spec)
	if err != nil {
		return nil, err
	}
	address, err := expandURL(spec.HTTP.URL, known)
	if err != nil {
		return nil, Invalid("spec.http.url: %v", err)
	}
	endpoint := &Config{
		Namespace: namespace, URL: secret.New(address), Target: Target(spec),
		Protocol: string(spec.HTTP.TransportProtocol()), ProxyURL: spec.HTTP.ProxyURL,
		ProtocolVersion: spec.ProtocolVersion, Timeouts: Timeouts(spec),
	}
	for _, part := range []func(context.Context, *v1alpha1.HTTPTransport, *Config, variables) error{
		reader.headers, reader.auth, reader.tls,
	} {
		if err := part(ctx, spec.HTTP, endpoint, known); err != nil {
			return nil, err
		}
	}
	endpoint.References = versionsHash(reader.versions)
	return endpoint, nil
}

// Timeouts are the spec's, or the defaults.
func Timeouts(spec *v1alpha1.MCPServerSpec) session.Timeouts {
	return session.Timeouts{
		Connect: spec.ConnectTimeout(), List: spec.ListTimeout(), Call: spec.CallTimeout(), CallMax: spec.CallMax(),
	}
}
