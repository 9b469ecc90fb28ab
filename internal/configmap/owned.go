package configmap

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/catalog"
)

// Two writes of one ConfigMap may follow each other at once, then one per RefillInterval.
const (
	WriteBurst     = 2
	RefillInterval = 10 * time.Second
)

// Owned is what one process knows of the ConfigMap of one object, which decodes to a D. It serves one pass at a time.
// NewOwned makes one.
type Owned[D any] struct {
	version   string // of the ConfigMap that decoded was read from, or written as
	decoded   D
	budget    backoff.Bucket
	rejected  *WriteRejected
	nameTaken bool // by somebody's, when it was to be created
}

// NewOwned is for an object of which nothing is known yet.
func NewOwned[D any]() Owned[D] {
	return Owned[D]{budget: backoff.Bucket{Size: WriteBurst, Refill: RefillInterval}}
}

// Found is the ConfigMap of an object as a pass found it, and what became of it in this pass.
type Found[D any] struct {
	Name string
	// Version is the resourceVersion; empty: there is none. A write changes it.
	Version string
	// Object is what was read, nil when there was none.
	Object *corev1.ConfigMap
	// Foreign: it is not ours to write.
	Foreign bool
	// Document is what it holds; the zero D when it is foreign or damaged.
	Document D
}

// Labelled tells whether the object carries our label; one that lost it is not found where the cache is read.
func (f *Found[D]) Labelled() bool {
	return f.Object != nil && f.Object.Labels[v1alpha1.LabelManagedBy] == v1alpha1.LabelManagedByValue
}

// Read finds the ConfigMap and decodes it, once for each version. The cache only holds those that carry our label:
// where it has none although one is expected, or the name was taken when one was to be created, the API server is
// asked.
func (o *Owned[D]) Read(
	ctx context.Context, store *Store, at *Place, expected bool, decode func(*corev1.ConfigMap) D,
) (Found[D], error) {
	found, object := Found[D]{Name: at.Name}, &corev1.ConfigMap{}
	err := store.Client.Get(ctx, at.NamespacedName, object)
	if apierrors.IsNotFound(err) && (expected || o.nameTaken) {
		err = store.Live.Get(ctx, at.NamespacedName, object)
		o.nameTaken = err == nil
	}
	switch {
	case apierrors.IsNotFound(err):
		return found, nil
	case err != nil:
		return found, fmt.Errorf("catalog: %w", err)
	}
	found.Object, found.Version, found.Foreign = object, object.ResourceVersion, !at.Owner.Owns(object)
	if !found.Foreign {
		if o.version != object.ResourceVersion {
			o.version, o.decoded = object.ResourceVersion, decode(object)
		}
		found.Document = o.decoded
	}
	return found, nil
}

// Write replaces what was found with content, which decodes to document, unless it is the same. One that is not urgent
// draws on the budget of writes, and waits while there is none left. What was rejected is not sent again until it is
// worth it; while another content waits, the rejection of the last one still counts.
func (o *Owned[D]) Write(
	ctx context.Context, store *Store, content *Content, found *Found[D], document D, urgent bool,
) (wait time.Duration, err error) {
	now := time.Now()
	switch {
	case found.Object != nil && content.Matches(found.Object):
		o.rejected = nil
		return 0, nil
	case o.rejected.Applies(now, content.Encoded, found.Object):
		return 0, o.rejected
	case !urgent:
		if wait = o.budget.Take(now); wait > 0 {
			return wait, o.Rejection()
		}
	}
	version, err := store.Write(ctx, content, found.Object)
	o.nameTaken = o.nameTaken || errors.Is(err, ErrTaken)
	if errors.As(err, &o.rejected); err != nil {
		return 0, err
	}
	o.version, o.decoded, o.rejected = version, document, nil
	found.Version, found.Document = version, document
	return 0, nil
}

// Rejection is the last write's, nil when it was not rejected.
func (o *Owned[D]) Rejection() error {
	if o.rejected == nil {
		return nil
	}
	return o.rejected
}

// Retry has what was rejected sent again with the next write.
func (o *Owned[D]) Retry() { o.rejected = nil }

// Place is where the ConfigMap of an object is, and whose it is.
type Place struct {
	types.NamespacedName
	Owner  Owner
	Labels map[string]string
}

// Place is where the ConfigMap of an owner of this kind is.
func (k Kind) Place(owner types.NamespacedName, uid types.UID) *Place {
	return &Place{
		NamespacedName: types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name + k.Suffix},
		Owner:          Owner{Kind: k.Name, Name: owner.Name, UID: uid},
		Labels: map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.LabelManagedByValue,
			v1alpha1.LabelComponent: k.Component,
			k.OwnerLabel:            owner.Name,
		},
	}
}

// Kind is what the ConfigMaps of one kind of owner have in common.
type Kind struct {
	// Name is the owners' kind; Suffix follows an owner's name in that of its ConfigMap.
	Name, Suffix string
	// Component is what the ConfigMap holds, and OwnerLabel the label that names its owner.
	Component, OwnerLabel string
}

// RetryInterval is how often the API server is asked again for what it refused, and somebody else's object looked at
// that has the name of ours: what such answers go by is seldom changed, and nothing tells when it is.
const RetryInterval = time.Minute

// WriteRejected says that the API server refuses to store a ConfigMap, for a reason that does not pass by itself: a
// quota, an admission policy, a missing permission, or that somebody made the ConfigMap immutable.
type WriteRejected struct {
	ConfigMap string
	// Until is when it is worth asking again.
	Until time.Time
	Err   error

	content catalog.Encoded
	before  *corev1.ConfigMap
}

func (e *WriteRejected) Error() string {
	if e.before != nil && ptr.Deref(e.before.Immutable, false) && apierrors.IsInvalid(e.Err) {
		return fmt.Sprintf("ConfigMap %q was made immutable, so that it cannot be written; delete it, and it is written anew",
			e.ConfigMap)
	}
	return fmt.Sprintf("the API server refused to store ConfigMap %q (%v); change what it goes by, such as a quota, an "+
		"admission policy or the manager's role; it is tried again every minute", e.ConfigMap, e.Err)
}

// Unwrap returns the API server's answer.
func (e *WriteRejected) Unwrap() error { return e.Err }

// Applies tells whether it is too early to ask again for the same: this content in the place of this ConfigMap, nil
// where there is none. No rejection, nil, never applies.
func (e *WriteRejected) Applies(now time.Time, content catalog.Encoded, before *corev1.ConfigMap) bool {
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
