package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
)

// resolve makes the endpoint from the spec and its references, and sets Accepted. References are declared first, so
// that one that is missing now wakes this object when it comes.
func (r *Reconciler) resolve(ctx context.Context, s *scope) error {
	r.References.Track(s.name, references(s.name.Namespace, &s.server.Spec))
	endpoint, err := r.accept(ctx, s)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		s.say.False(v1alpha1.ConditionAccepted, refused.reason, refused.message)
		if refused.final {
			s.stall = refused
		}
		return nil
	case err != nil:
		return err
	}
	s.endpoint = endpoint
	s.say.True(v1alpha1.ConditionAccepted, v1alpha1.ReasonValid, "the configuration is valid")
	return nil
}

// accept returns the endpoint, nil for a disabled server, or a refusal. A disabled server's references are not read:
// it needs none.
func (r *Reconciler) accept(ctx context.Context, s *scope) (*Endpoint, error) {
	spec := &s.server.Spec
	if spec.HTTP == nil {
		return nil, &refusal{v1alpha1.ReasonNotSupportedYet,
			"spec.stdio is not supported by this version of Mooring; serve the command over HTTP and use spec.http", true}
	}
	if err := r.checkAddress(s.name.Namespace, spec); err != nil {
		return nil, err
	}
	if err := s.readFilter(); err != nil {
		return nil, err
	}
	if spec.Disabled {
		return nil, nil //nolint:nilnil // no endpoint is what a disabled server has
	}
	reader := &reader{References: r.References, namespace: s.name.Namespace}
	variables, err := reader.variables(ctx, spec)
	if err != nil {
		return nil, err
	}
	return reader.endpoint(ctx, spec, variables)
}

// checkAddress refuses what can be judged without any reference: a URL that does not parse once its variables are
// taken out, and a literal address that may never be dialled.
func (r *Reconciler) checkAddress(namespace string, spec *v1alpha1.MCPServerSpec) error {
	parsed, err := url.Parse(variablePattern.ReplaceAllString(spec.HTTP.URL, "x"))
	if err != nil || parsed.Host == "" {
		return invalid("spec.http.url is not a URL; write it as https://host[:port]/path")
	}
	if err := r.CheckHost(namespace, parsed.Host); err != nil {
		refused := failure.Classify(err)
		return &refusal{v1alpha1.ReasonAddressNotAllowed, failure.Message(refused, target(spec)), true}
	}
	return nil
}

// endpoint gathers everything that a dialer needs.
func (f *reader) endpoint(ctx context.Context, spec *v1alpha1.MCPServerSpec, values variables) (*Endpoint, error) {
	http := spec.HTTP
	address, err := expandURL(http.URL, values)
	if err != nil {
		return nil, invalid("spec.http.url: %v", err)
	}
	endpoint := &Endpoint{
		Namespace: f.namespace, URL: secret.New(address), Target: target(spec),
		Protocol: string(http.TransportProtocol()), ProxyURL: http.ProxyURL,
		ProtocolVersion: spec.ProtocolVersion, Timeouts: timeouts(spec),
	}
	for _, part := range []func(context.Context, *v1alpha1.HTTPTransport, *Endpoint, variables) error{
		f.headers, f.auth, f.tls,
	} {
		if err := part(ctx, http, endpoint, values); err != nil {
			return nil, err
		}
	}
	return endpoint, nil
}

// invalid is a mistake in the spec.
func invalid(format string, arguments ...any) *refusal {
	return &refusal{v1alpha1.ReasonInvalidConfiguration, fmt.Sprintf(format, arguments...), true}
}

// readFilter compiles the globs of spec.tools.
func (s *scope) readFilter() (err error) {
	var allow, deny []string
	if tools := s.server.Spec.Tools; tools != nil {
		allow, deny = tools.Allow, tools.Deny
	}
	if s.filter, err = catalog.NewFilter(allow, deny); err != nil {
		return invalid("spec.tools: %v", err)
	}
	return nil
}
