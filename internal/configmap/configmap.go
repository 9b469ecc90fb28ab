package configmap

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
)

// FieldOwner is whose fields ours are, in ConfigMaps and in status.
const FieldOwner = client.FieldOwner("mooring")

var (
	// ErrSuperseded says that the ConfigMap is no longer the one that was read. The next pass reads it again.
	ErrSuperseded = errors.New("catalog was changed meanwhile")
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

// Content is a ConfigMap as it is to stand.
type Content struct {
	types.NamespacedName
	Owner               Owner
	Labels, Annotations map[string]string
	Encoded             catalog.Encoded
	// Replaces is the resourceVersion that was judged to be the owner's; empty where there is no ConfigMap.
	Replaces string
}

// Store writes through the Kubernetes API.
type Store struct {
	// Client reads from the cache and writes; Live reads from the API server.
	Client client.Client
	Live   client.Reader
}

// Apply replaces the ConfigMap whole, by server-side apply, and returns its new resourceVersion. It fails with
// ErrSuperseded, ErrEnding, a RefusedError, or what else the API fails with.
func (s *Store) Apply(ctx context.Context, c *Content) (version string, err error) {
	config := corev1apply.ConfigMap(c.Name, c.Namespace).
		WithLabels(c.Labels).
		WithAnnotations(c.Annotations).
		WithOwnerReferences(metav1apply.OwnerReference().
			WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind(c.Owner.Kind).WithName(c.Owner.Name).
			WithUID(c.Owner.UID).WithController(true).WithBlockOwnerDeletion(false)).
		WithData(c.Encoded.Data).
		WithBinaryData(c.Encoded.BinaryData)
	options := []client.ApplyOption{FieldOwner}
	if c.Replaces != "" {
		config.WithResourceVersion(c.Replaces)
		options = append(options, client.ForceOwnership)
	}
	switch err := s.Client.Apply(ctx, config, options...); {
	case apierrors.IsConflict(err):
		return "", ErrSuperseded
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "", ErrEnding
	case isFinal(err):
		return "", &RefusedError{ConfigMap: c.Name, Until: time.Now().Add(RetryInterval), Err: err}
	case err != nil:
		return "", fmt.Errorf("catalog: %w", err)
	}
	if config.ResourceVersion != nil {
		version = *config.ResourceVersion
	}
	return version, nil
}

// Remove deletes the ConfigMap of an owner that is gone, if it is the owner's. Without a known UID the owner went away
// while nobody watched, so the API server is asked whether it really did; owned is an object of the kind to read it
// into.
func (s *Store) Remove(ctx context.Context, name types.NamespacedName, owner Owner, owned client.Object) error {
	object := &corev1.ConfigMap{}
	err := s.Client.Get(ctx, name, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	if orphan, err := s.orphaned(ctx, object, owner, owned); err != nil || !orphan {
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
