package connect

import (
	"errors"
	"fmt"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/refs"
)

// NotAccepted says why a declaration is not accepted: a mistake or a lack that a person must fix. It becomes the
// condition Accepted, never an error of a reconcile.
type NotAccepted struct {
	Reason, Message string
	// Final means that waiting will not help.
	Final bool
}

// Error makes it travel as an error.
func (n *NotAccepted) Error() string { return n.Message }

// Invalid is a mistake in the spec.
func Invalid(format string, arguments ...any) *NotAccepted {
	return &NotAccepted{v1alpha1.ReasonInvalidConfiguration, fmt.Sprintf(format, arguments...), true}
}

// badValue is a value of a Secret that cannot be used.
func badValue(format string, arguments ...any) *NotAccepted {
	return &NotAccepted{v1alpha1.ReasonInvalidSecretValue, fmt.Sprintf(format, arguments...), true}
}

// notRead turns what a person must fix into a *NotAccepted; other errors pass.
func notRead(err error) error {
	var (
		missing    refs.NotFoundError
		missingKey refs.KeyNotFoundError
		denied     refs.AccessDeniedError
	)
	switch {
	case errors.As(err, &missing):
		reason := v1alpha1.ReasonSecretNotFound
		if missing.Kind == refs.ConfigMap {
			reason = v1alpha1.ReasonConfigMapNotFound
		}
		return &NotAccepted{reason, err.Error() + "; create it, or correct the reference", false}
	case errors.As(err, &missingKey):
		reason := v1alpha1.ReasonSecretKeyNotFound
		if missingKey.Kind == refs.ConfigMap {
			reason = v1alpha1.ReasonConfigMapNotFound
		}
		return &NotAccepted{reason, err.Error() + "; add the key, or correct the reference", false}
	case errors.As(err, &denied):
		return &NotAccepted{v1alpha1.ReasonSecretAccessDenied, err.Error(), false}
	}
	return err
}
