package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
	"github.com/mooring-dev/mooring/controllers/mcpserver/endpoint"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/session"
)

const kind = "MCPServer"

// storedCatalog is what the catalog ConfigMap of a server says of itself.
type storedCatalog struct {
	name, version string
	exists        bool
	// foreign: an object of this name is not ours to write.
	foreign bool
	object  *corev1.ConfigMap
	// document is what it holds, nil when the data is not what it should be; approved likewise, and when nothing was.
	document *catalog.ServerDocument
	approved *catalog.Baseline
}

// same tells whether this very content stands under the present owner, beside the same era.
func (c *storedCatalog) same(encoded catalog.Encoded, era string, uid types.UID) bool {
	if !c.exists || c.era() != era || !encoded.Same(c.object.Data, c.object.BinaryData) {
		return false
	}
	owner := metav1.GetControllerOf(c.object)
	return owner != nil && owner.UID == uid
}

// good tells whether a catalog listed under this config hash stands.
func (c *storedCatalog) good(hash string) bool {
	return c.exists && !c.foreign && c.document != nil && c.document.ConfigHash == hash
}

// catalogName is the name of a server's catalog ConfigMap.
func catalogName(server string) string { return server + "-mcp-tools" }

// loadCatalog reads the catalog ConfigMap. The cache only holds those that carry our label, so where there is
// something to write and the cache has none, the API server is asked whether somebody else's has the name.
func (r *Reconciler) loadCatalog(ctx context.Context, s *scope) (*storedCatalog, error) {
	stored := &storedCatalog{name: catalogName(s.name.Name)}
	key := types.NamespacedName{Namespace: s.name.Namespace, Name: stored.name}
	object := &corev1.ConfigMap{}
	err := r.Client.Get(ctx, key, object)
	if apierrors.IsNotFound(err) && s.snapshot.Listing != nil {
		err = r.Live.Get(ctx, key, object)
	}
	if apierrors.IsNotFound(err) {
		return stored, nil
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	stored.exists, stored.version, stored.object = true, object.ResourceVersion, object
	stored.foreign = !ours(object, s.name.Name)
	if !stored.foreign {
		stored.document, stored.approved = r.catalogs.of(s.key).decode(object)
	}
	return stored, nil
}

// ours tells whether the object has a controller reference to an MCPServer of this name: to the present one, or to
// one that is no more, whose name it took over.
func ours(object *corev1.ConfigMap, server string) bool {
	owner := metav1.GetControllerOf(object)
	if owner == nil || owner.Kind != kind || owner.Name != server {
		return false
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && version.Group == v1alpha1.GroupVersion.Group
}

// decode reads a stored catalog and what was approved of it, proving them once for each version of the object.
func (c *seenCatalog) decode(object *corev1.ConfigMap) (*catalog.ServerDocument, *catalog.Baseline) {
	if c.decoded.version != object.ResourceVersion {
		c.decoded = decoded{version: object.ResourceVersion}
		if document, err := catalog.Decode(object.Data, object.BinaryData); err == nil {
			c.decoded.document = &document
		}
		if approved, err := catalog.DecodeBaseline(object.Data, object.BinaryData); err == nil {
			c.decoded.approved = &approved
		}
	}
	return c.decoded.document, c.decoded.approved
}

// replaceCatalog writes the catalog, unless it is too early for that. What the API server refused to store is a refusal
// for a while, without asking it again: what it goes by, such as a quota or a policy, is seldom changed.
func (r *Reconciler) replaceCatalog(
	ctx context.Context, s *scope, stored *storedCatalog, encoded catalog.Encoded, era string,
) (written bool, err error) {
	seen := r.catalogs.of(s.key)
	if wait := time.Until(seen.refusedUntil); wait > 0 {
		s.requeue.RequeueAfter = wait
		return false, seen.refusal
	}
	if delay := seen.delay(stored.exists); delay > 0 {
		s.requeue.RequeueAfter = delay
		return false, nil
	}
	err = r.writeCatalog(ctx, s, stored, encoded, era)
	if refusesToStore(err) {
		seen.refusedUntil = time.Now().Add(conflictRecheck)
		seen.refusal = &endpoint.Refusal{Reason: v1alpha1.ReasonPublishFailed, Message: fmt.Sprintf(
			"the API server refused to store ConfigMap %q (%v); change what it goes by, such as a quota, an admission "+
				"policy or the manager's role; it is tried again every minute", stored.name, errors.Unwrap(err))}
		s.requeue.RequeueAfter = conflictRecheck
		return false, seen.refusal
	}
	return err == nil, err
}

// refusesToStore tells whether an error is the API server's last word on a write: an answer of 4xx, other than those
// that pass by themselves or speak of us.
func refusesToStore(err error) bool {
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

// writeCatalog replaces the ConfigMap whole, by server-side apply. An existing one is only replaced in the version
// that was judged to be ours; a new one is applied without force, so that an object that came into being meanwhile
// under another owner is met with a conflict.
func (r *Reconciler) writeCatalog(
	ctx context.Context, s *scope, stored *storedCatalog, encoded catalog.Encoded, era string,
) error {
	config := corev1apply.ConfigMap(stored.name, s.name.Namespace).
		WithLabels(map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.LabelManagedByValue,
			v1alpha1.LabelComponent: v1alpha1.ComponentServerCatalog,
			v1alpha1.LabelServer:    s.name.Name,
		}).
		WithOwnerReferences(metav1apply.OwnerReference().
			WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind(kind).WithName(s.name.Name).
			WithUID(s.server.UID).WithController(true).WithBlockOwnerDeletion(false)).
		WithData(encoded.Data).
		WithBinaryData(encoded.BinaryData)
	if era != "" {
		config.WithAnnotations(map[string]string{v1alpha1.AnnotationProtocolEra: era})
	}
	options := []client.ApplyOption{fieldOwner}
	if stored.exists {
		config.WithResourceVersion(stored.version)
		options = append(options, client.ForceOwnership)
	}
	switch err := r.Client.Apply(ctx, config, options...); {
	case apierrors.IsConflict(err):
		return errSuperseded
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return errEnding
	case err != nil:
		return fmt.Errorf("catalog: %w", err)
	}
	if config.ResourceVersion != nil {
		stored.version = *config.ResourceVersion
	}
	return nil
}

var (
	// errSuperseded says that the ConfigMap is no longer the one that was read. The next pass reads it again.
	errSuperseded = errors.New("catalog was changed meanwhile")
	// errEnding says that the namespace is being deleted, and everything in it with it.
	errEnding = errors.New("namespace is being deleted")
)

// removeCatalog deletes the ConfigMap of an object that is gone, if it is ours and the very version that was judged to
// be. Without a known key the object went away while nobody watched, so the API server is asked whether it really did.
func (r *Reconciler) removeCatalog(ctx context.Context, gone types.NamespacedName, key session.Key) error {
	object := &corev1.ConfigMap{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: gone.Namespace, Name: catalogName(gone.Name)}, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	owner := metav1.GetControllerOf(object)
	if !ours(object, gone.Name) || key != "" && owner.UID != types.UID(key) {
		return nil
	}
	if key == "" {
		err := r.Live.Get(ctx, gone, &v1alpha1.MCPServer{})
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	err = r.Client.Delete(ctx, object, client.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("catalog: %w", err)
	}
	return nil
}

// Eras is what the process knows of the protocol eras that servers speak. An era that a server told by a clear answer
// outlives the process beside the catalog, so that one bad answer after a restart does not leave a server on the wrong
// one.
type Eras interface {
	// Confirmed returns the era that a clear answer told, if any.
	Confirmed(key string) (era string, ok bool)
	// Confirm remembers an era.
	Confirm(key, era string)
	// Forget removes what is known of a server.
	Forget(key string)
}

// eraKey names a server under one configuration in the memory of eras.
func (s *scope) eraKey() string { return string(s.key) + "/" + s.hash }

// recallEra reads the era that stands beside the stored catalog of this configuration, when this process has not
// learnt one itself.
func (r *Reconciler) recallEra(ctx context.Context, s *scope) error {
	if seen := r.catalogs.of(s.key); seen.eraKey != s.eraKey() {
		r.Eras.Forget(seen.eraKey) // of a configuration that is no more
		seen.eraKey = s.eraKey()
	}
	if _, known := r.Eras.Confirmed(s.eraKey()); known {
		return nil
	}
	object := &corev1.ConfigMap{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: s.name.Namespace, Name: catalogName(s.name.Name)}, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	era := object.Annotations[v1alpha1.AnnotationProtocolEra]
	if era == "" || !ours(object, s.name.Name) {
		return nil
	}
	if document, _ := r.catalogs.of(s.key).decode(object); document != nil && document.ConfigHash == s.hash {
		r.Eras.Confirm(s.eraKey(), era)
	}
	return nil
}

// era is what is to stand beside the catalog: what this process knows for sure, or what stands there under the same
// configuration.
func (r *Reconciler) era(s *scope, stored *storedCatalog) string {
	if era, known := r.Eras.Confirmed(s.eraKey()); known {
		return era
	}
	if stored.good(s.hash) {
		return stored.era()
	}
	return ""
}

func (c *storedCatalog) era() string {
	if c.object == nil {
		return ""
	}
	return c.object.Annotations[v1alpha1.AnnotationProtocolEra]
}
