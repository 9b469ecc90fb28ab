package configmap

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/internal/catalog"
)

// RetryInterval is how often the API server is asked again for what it refused, and somebody else's object looked at
// that has the name of ours: what such answers go by is seldom changed, and nothing tells when it is.
const RetryInterval = time.Minute

// RefusedError says that the API server refuses to store a ConfigMap, for a reason that does not pass by itself: a
// quota, an admission policy, a missing permission, or that somebody made the ConfigMap immutable.
type RefusedError struct {
	ConfigMap string
	// Until is when it is worth asking again.
	Until time.Time
	Err   error

	content catalog.Encoded
	before  *corev1.ConfigMap
}

func (e *RefusedError) Error() string {
	if e.before != nil && ptr.Deref(e.before.Immutable, false) && apierrors.IsInvalid(e.Err) {
		return fmt.Sprintf("ConfigMap %q was made immutable, so that it cannot be written; delete it, and it is written anew",
			e.ConfigMap)
	}
	return fmt.Sprintf("the API server refused to store ConfigMap %q (%v); change what it goes by, such as a quota, an "+
		"admission policy or the manager's role; it is tried again every minute", e.ConfigMap, e.Err)
}

// Unwrap returns the API server's answer.
func (e *RefusedError) Unwrap() error { return e.Err }

// Stands tells whether it is too early to ask again for the same: this content in the place of this ConfigMap, nil
// where there is none. No refusal, nil, does not stand.
func (e *RefusedError) Stands(now time.Time, content catalog.Encoded, before *corev1.ConfigMap) bool {
	return e != nil && now.Before(e.Until) && versionOf(before) == versionOf(e.before) &&
		content.Same(e.content.Data, e.content.BinaryData)
}

func versionOf(object *corev1.ConfigMap) string {
	if object == nil {
		return ""
	}
	return object.ResourceVersion
}

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
