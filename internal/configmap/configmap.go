package configmap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
)

// FieldOwner is whose fields ours are, in ConfigMaps and in status.
const FieldOwner = client.FieldOwner("mooring")

var (
	// ErrSuperseded says that the ConfigMap is no longer the one that was read. The next pass reads it again.
	ErrSuperseded = errors.New("catalog was changed meanwhile")
	// ErrTaken is ErrSuperseded where there was to be none: there is one, somebody's.
	ErrTaken = fmt.Errorf("%w: it exists", ErrSuperseded)
	// ErrEnding says that the namespace is being deleted, and everything in it with it.
	ErrEnding = errors.New("namespace is being deleted")
)

// Owner is the declared object that a ConfigMap belongs to. The UID of one that is gone may be unknown, and is empty
// then.
type Owner struct {
	Kind, Name string
	UID        types.UID
}

// Owns tells whether the owner, or a former one of its name, controls the object.
func (o Owner) Owns(object client.Object) bool {
	reference := metav1.GetControllerOf(object)
	if reference == nil || reference.Kind != o.Kind || reference.Name != o.Name {
		return false
	}
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	return err == nil && version.Group == v1alpha1.GroupVersion.Group
}

// WrittenAt is when we last wrote the ConfigMap, as far as the API server tells: at least when it came into being.
func WrittenAt(object *corev1.ConfigMap) time.Time {
	written := object.CreationTimestamp.Time
	for _, fields := range object.ManagedFields {
		if fields.Manager == string(FieldOwner) && fields.Time != nil && fields.Time.After(written) {
			written = fields.Time.Time
		}
	}
	return written
}

// Content is a ConfigMap as it is to be. Labels and annotations of others stay beside ours.
type Content struct {
	Place
	// Annotations: an empty value stands for one that is not to be there.
	Annotations map[string]string
	Encoded     catalog.Encoded
}

// Matches tells whether the object is as it is to be.
func (c *Content) Matches(object *corev1.ConfigMap) bool {
	reference := metav1.GetControllerOf(object)
	return c.Owner.Owns(object) && reference.UID == c.Owner.UID &&
		holds(object.Labels, c.Labels) && holds(object.Annotations, c.Annotations) &&
		c.Encoded.Same(object.Data, object.BinaryData)
}

// holds tells whether all that is wanted is there.
func holds(have, wanted map[string]string) bool {
	for key, value := range wanted {
		if have[key] != value {
			return false
		}
	}
	return true
}

// over is the object that is to replace another one, nil where there is none.
func (c *Content) over(before *corev1.ConfigMap) *corev1.ConfigMap {
	object := &corev1.ConfigMap{Data: c.Encoded.Data, BinaryData: c.Encoded.BinaryData}
	if before != nil {
		before.ObjectMeta.DeepCopyInto(&object.ObjectMeta)
		object.Immutable = before.Immutable
	}
	object.Namespace, object.Name = c.Namespace, c.Name
	object.Labels = merged(object.Labels, c.Labels)
	object.Annotations = merged(object.Annotations, c.Annotations)
	references := []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: c.Owner.Kind, Name: c.Owner.Name, UID: c.Owner.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(false),
	}}
	for _, reference := range object.OwnerReferences {
		if !ptr.Deref(reference.Controller, false) {
			references = append(references, reference)
		}
	}
	object.OwnerReferences = references
	return object
}

func merged(have, wanted map[string]string) map[string]string {
	out := maps.Clone(have)
	for key, value := range wanted {
		if value == "" {
			delete(out, key)
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out
}

// Store writes through the Kubernetes API.
type Store struct {
	// Client reads from the cache and writes; Live reads from the API server.
	Client client.Client
	Live   client.Reader
}

// Write makes the ConfigMap what the content says and returns its new resourceVersion. before is the one that was
// read and judged to be the owner's, nil where there is none. It fails with ErrSuperseded, ErrEnding, a WriteRejected,
// or what else the API fails with.
func (s *Store) Write(ctx context.Context, c *Content, before *corev1.ConfigMap) (version string, err error) {
	object := c.over(before)
	if before == nil {
		err = s.Client.Create(ctx, object, FieldOwner)
	} else {
		err = s.Client.Update(ctx, object, FieldOwner)
	}
	switch {
	case apierrors.IsAlreadyExists(err):
		return "", ErrTaken
	case apierrors.IsConflict(err), before != nil && apierrors.IsNotFound(err):
		return "", ErrSuperseded
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "", ErrEnding
	case isFinal(err):
		return "", &WriteRejected{
			ConfigMap: c.Name, Until: time.Now().Add(RetryInterval), Err: err, content: c.Encoded, before: before,
		}
	case err != nil:
		return "", fmt.Errorf("catalog: %w", err)
	}
	return object.ResourceVersion, nil
}

// Remove deletes the ConfigMap of an owner that is gone, if it is the owner's. Without a known UID the owner went away
// while nobody watched, so the API server is asked whether it really did; owned is an object of the kind to read it
// into.
func (s *Store) Remove(ctx context.Context, at *Place, owned client.Object) error {
	object := &corev1.ConfigMap{}
	err := s.Client.Get(ctx, at.NamespacedName, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	if orphan, err := s.orphaned(ctx, object, at.Owner, owned); err != nil || !orphan {
		return err
	}
	err = s.Client.Delete(ctx, object, client.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("catalog: %w", err)
	}
	return nil
}

// orphaned tells whether a ConfigMap belonged to the owner that is gone.
func (s *Store) orphaned(
	ctx context.Context, object *corev1.ConfigMap, owner Owner, owned client.Object,
) (bool, error) {
	switch {
	case !owner.Owns(object):
		return false, nil
	case owner.UID != "":
		return metav1.GetControllerOf(object).UID == owner.UID, nil
	}
	err := s.Live.Get(ctx, types.NamespacedName{Namespace: object.Namespace, Name: owner.Name}, owned)
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}
