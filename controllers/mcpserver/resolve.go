package mcpserver

import (
	"context"
	"errors"
	"net/url"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/failure"
)

// resolve makes the endpoint from the spec and its references, and sets Accepted. References are declared first, so
// that one that is missing now wakes this object when it comes.
func (r *Reconciler) resolve(ctx context.Context, s *scope) error {
	r.References.Track(s.name, connect.References(s.name.Namespace, &s.server.Spec))
	resolved, err := r.accept(ctx, s)
	var refused *connect.Refusal
	switch {
	case errors.As(err, &refused):
		s.say.False(v1alpha1.ConditionAccepted, refused.Reason, refused.Message)
		s.refused = refused
		if refused.Final {
			s.stallFor(refused.Reason, refused.Message)
		}
		return nil
	case err != nil:
		return err
	}
	s.endpoint = resolved
	s.say.True(v1alpha1.ConditionAccepted, v1alpha1.ReasonValid, "the configuration is valid")
	return nil
}

// accept returns the endpoint, nil for a disabled server, or a refusal. A disabled server's references are not read:
// it needs none.
func (r *Reconciler) accept(ctx context.Context, s *scope) (*connect.Config, error) {
	spec := &s.server.Spec
	switch {
	case spec.HTTP != nil:
		if err := r.checkAddress(s.name.Namespace, spec); err != nil {
			return nil, err
		}
	case !spec.Disabled: // what the API has and this version cannot serve is refused, rather than to do without it
		return nil, &connect.Refusal{Reason: v1alpha1.ReasonNotSupportedYet, Final: true, Message: "spec.stdio is not " +
			"supported by this version of Mooring; serve the command over HTTP and use spec.http"}
	}
	if err := s.readFilter(); err != nil {
		return nil, err
	}
	if spec.Disabled {
		return nil, nil //nolint:nilnil // no endpoint is what a disabled server has
	}
	resolved, err := connect.Resolve(ctx, r.References, s.name.Namespace, spec)
	if err != nil {
		return nil, err
	}
	resolved.EraKey = s.eraKey()
	if s.dialer, err = r.Dial(*resolved); err != nil {
		return nil, connect.Invalid(
			"the server cannot be dialled as declared: %v; correct spec.http or spec.protocolVersion", err)
	}
	return resolved, nil
}

// checkAddress refuses what can be judged without any reference: a URL that does not parse once its variables are
// taken out, and a literal address that may never be dialled, the token endpoint's included.
func (r *Reconciler) checkAddress(namespace string, spec *v1alpha1.MCPServerSpec) error {
	parsed, err := url.Parse(connect.WithoutVariables(spec.HTTP.URL))
	if err != nil || parsed.Host == "" {
		return connect.Invalid("spec.http.url is not a URL; write it as https://host[:port]/path")
	}
	if err := r.CheckHost(namespace, parsed.Host); err != nil {
		return &connect.Refusal{Reason: v1alpha1.ReasonAddressNotAllowed, Final: true,
			Message: failure.Message(failure.Classify(err), connect.Target(spec))}
	}
	if auth := spec.HTTP.Auth; auth != nil && auth.OAuthClientCredentials != nil {
		return r.checkTokenURL(namespace, auth.OAuthClientCredentials.TokenURL)
	}
	return nil
}

func (r *Reconciler) checkTokenURL(namespace, declared string) error {
	parsed, err := url.Parse(declared)
	if err != nil || parsed.Host == "" {
		return connect.Invalid("spec.http.auth.oauthClientCredentials.tokenURL is not a URL; " +
			"write it as https://host[:port]/path")
	}
	if err := r.CheckHost(namespace, parsed.Host); err != nil {
		target := url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}
		return &connect.Refusal{Reason: v1alpha1.ReasonAddressNotAllowed, Final: true,
			Message: failure.Message(failure.Classify(err), target.String())}
	}
	return nil
}

// readFilter compiles the globs of spec.tools.
func (s *scope) readFilter() (err error) {
	var allow, deny []string
	if tools := s.server.Spec.Tools; tools != nil {
		allow, deny = tools.Allow, tools.Deny
	}
	if s.filter, err = catalog.NewFilter(allow, deny); err != nil {
		return connect.Invalid(
			"spec.tools: %v; correct it, or put a backslash before a character that is meant literally", err)
	}
	return nil
}
