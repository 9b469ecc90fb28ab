package agentsession

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/offer"
)

const kind = "AgentSession"

// conflictDelay is how long a pass that met a newer version of something waits before it looks again. The newer version
// normally wakes the controller before that.
const conflictDelay = 500 * time.Millisecond

// conflictRecheck is how often it is looked whether somebody else's object still has the name of ours.
const conflictRecheck = time.Minute

// storedCatalog is the catalog ConfigMap as it was found.
type storedCatalog struct {
	name    string
	object  *corev1.ConfigMap // nil when there is none
	foreign bool              // it is not ours to write
}

// version is the resourceVersion, empty when there is no ConfigMap.
func (c *storedCatalog) version() string {
	if c.object == nil {
		return ""
	}
	return c.object.ResourceVersion
}

// catalogName is the name of an agent session's catalog ConfigMap.
func catalogName(session string) string { return session + "-mcp-catalog" }

// loadCatalog reads the catalog ConfigMap from the cache, which only holds those that carry our label, and what this
// object published there.
func (r *Reconciler) loadCatalog(ctx context.Context, s *scope) error {
	s.stored = &storedCatalog{name: catalogName(s.name.Name)}
	return r.read(ctx, s, r.Client)
}

func (r *Reconciler) read(ctx context.Context, s *scope, from client.Reader) error {
	object := &corev1.ConfigMap{}
	err := from.Get(ctx, types.NamespacedName{Namespace: s.name.Namespace, Name: s.stored.name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("catalog: %w", err)
	}
	owner := controllerOf(object)
	s.stored.object, s.stored.foreign = object, owner == nil || owner.Name != s.name.Name
	if !s.stored.foreign && owner.UID == s.before.UID {
		s.document = s.memory.decode(object)
	}
	return nil
}

// decode reads what was published, proving it once for each version of the ConfigMap; nil when it is damaged.
func (m *memory) decode(object *corev1.ConfigMap) *offer.Document {
	if m.decoded.version != object.ResourceVersion {
		m.decoded = decoded{version: object.ResourceVersion}
		if document, err := offer.Decode(object.Data, object.BinaryData); err == nil {
			m.decoded.document = &document
		}
	}
	return m.decoded.document
}

func isOurGroup(apiVersion string) bool {
	version, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && version.Group == v1alpha1.GroupVersion.Group
}

var (
	// errSuperseded says that the ConfigMap is no longer the one that was read. The next pass reads it again.
	errSuperseded = errors.New("catalog was changed meanwhile")
	// errEnding says that the namespace is being deleted, and everything in it with it.
	errEnding = errors.New("namespace is being deleted")
)

// write replaces the ConfigMap whole, by server-side apply, so that no reader ever sees a part of it. An existing one
// is only replaced in the version that was judged to be ours; a new one is applied without force, so that an object
// that came into being meanwhile under another owner is met with a conflict. It returns the new resourceVersion.
func (r *Reconciler) write(ctx context.Context, s *scope, encoded catalog.Encoded) (version string, err error) {
	config := corev1apply.ConfigMap(s.stored.name, s.name.Namespace).
		WithLabels(map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.LabelManagedByValue,
			v1alpha1.LabelComponent: v1alpha1.ComponentSessionCatalog,
			v1alpha1.LabelSession:   s.name.Name,
		}).
		WithOwnerReferences(metav1apply.OwnerReference().
			WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind(kind).WithName(s.name.Name).
			WithUID(s.before.UID).WithController(true).WithBlockOwnerDeletion(false)).
		WithData(encoded.Data).
		WithBinaryData(encoded.BinaryData)
	options := []client.ApplyOption{fieldOwner}
	if s.stored.object != nil {
		config.WithResourceVersion(s.stored.version())
		options = append(options, client.ForceOwnership)
	}
	switch err := r.Client.Apply(ctx, config, options...); {
	case apierrors.IsConflict(err):
		return "", errSuperseded
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "", errEnding
	case err != nil:
		return "", fmt.Errorf("catalog: %w", err)
	}
	if config.ResourceVersion != nil {
		version = *config.ResourceVersion
	}
	return version, nil
}

// removeCatalog deletes the ConfigMap of an object that is gone, if it is ours and the very version that was judged to
// be. Without a known UID the object went away while nobody watched, so the API server is asked whether it really did.
func (r *Reconciler) removeCatalog(ctx context.Context, gone types.NamespacedName, uid types.UID) error {
	object := &corev1.ConfigMap{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: gone.Namespace, Name: catalogName(gone.Name)}, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	if orphan, err := r.orphaned(ctx, object, gone, uid); err != nil || !orphan {
		return err
	}
	err = r.Client.Delete(ctx, object, client.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("catalog: %w", err)
	}
	return nil
}

// orphaned tells whether a ConfigMap belonged to the object that is gone.
func (r *Reconciler) orphaned(
	ctx context.Context, object *corev1.ConfigMap, gone types.NamespacedName, uid types.UID,
) (bool, error) {
	owner := controllerOf(object)
	switch {
	case owner == nil || owner.Name != gone.Name:
		return false, nil
	case uid != "":
		return owner.UID == uid, nil
	}
	err := r.Live.Get(ctx, gone, &v1alpha1.AgentSession{})
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}
