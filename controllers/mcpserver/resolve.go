package mcpserver

import (
	"context"
	"errors"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/connect"
)

// resolve makes of the spec and its references the session to hold, and sets Accepted. References are declared first,
// so that one that is missing now wakes this object when it comes.
func (r *Reconciler) resolve(ctx context.Context, s *scope) error {
	r.References.Track(s.name, connect.References(s.name.Namespace, &s.server.Spec))
	wanted, err := r.accept(ctx, s)
	var refused *connect.NotAccepted
	switch {
	case errors.As(err, &refused):
		s.conds.False(v1alpha1.ConditionAccepted, refused.Reason, refused.Message)
		s.refused = refused
		if refused.Final {
			s.stallFor(refused.Reason, refused.Message)
		}
		return nil
	case err != nil:
		return err
	}
	s.wanted = wanted
	s.conds.True(v1alpha1.ConditionAccepted, v1alpha1.ReasonValid, "the configuration is valid")
	return nil
}

// accept returns the session to hold, nil for a disabled server, or why the declaration is not accepted.
func (r *Reconciler) accept(ctx context.Context, s *scope) (*connect.Session, error) {
	if err := r.Connector.Check(s.server); err != nil {
		return nil, err
	}
	if err := s.readFilter(); err != nil {
		return nil, err
	}
	return r.Connector.Session(ctx, s.before)
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
