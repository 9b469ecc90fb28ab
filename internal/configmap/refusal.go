package configmap

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RetryInterval is how often the API server is asked again for what it refused, and somebody else's object looked at
// that has the name of ours: what such answers go by is seldom changed, and nothing tells when it is.
const RetryInterval = time.Minute

// RefusedError says that the API server refuses to store a ConfigMap, for a reason that does not pass by itself: a
// quota, an admission policy, a missing permission.
type RefusedError struct {
	ConfigMap string
	// Until is when it is worth asking again.
	Until time.Time
	Err   error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the API server refused to store ConfigMap %q (%v); change what it goes by, such as a quota, an "+
		"admission policy or the manager's role; it is tried again every minute", e.ConfigMap, e.Err)
}

// Unwrap returns the API server's answer.
func (e *RefusedError) Unwrap() error { return e.Err }

// Stands tells whether it is too early to ask again. No refusal, nil, does not stand.
func (e *RefusedError) Stands(now time.Time) bool { return e != nil && now.Before(e.Until) }

// isFinal tells whether an error is the API server's last word on a write: an answer of 4xx, other than those that pass
// by themselves or speak of us.
func isFinal(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	switch code := answer.Status().Code; code {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict,
		http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}
