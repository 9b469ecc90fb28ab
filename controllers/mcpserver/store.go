package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/connect"
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

// labelled tells whether it carries our label; one that lost it is not found where the cache is read.
func (c *storedCatalog) labelled() bool {
	return c.object.Labels[v1alpha1.LabelManagedBy] == v1alpha1.LabelManagedByValue
}

// good tells whether a catalog listed under this config hash stands.
func (c *storedCatalog) good(hash string) bool {
	return c.exists && !c.foreign && c.document != nil && c.document.ConfigHash == hash
}

// catalogName is the name of a server's catalog ConfigMap.
func catalogName(server string) string { return server + "-mcp-tools" }

// loadCatalog reads the catalog ConfigMap. The cache only holds those that carry our label, so where there is
// something to write, or something was, and the cache has none, the API server is asked whether somebody else's has
// the name.
func (r *Reconciler) loadCatalog(ctx context.Context, s *scope) (*storedCatalog, error) {
	stored := &storedCatalog{name: catalogName(s.name.Name)}
	key := types.NamespacedName{Namespace: s.name.Namespace, Name: stored.name}
	object := &corev1.ConfigMap{}
	err := r.Client.Get(ctx, key, object)
	if apierrors.IsNotFound(err) && (s.snapshot.Listing != nil || s.before.Status.Catalog != nil) {
		err = r.Live.Get(ctx, key, object)
	}
	if apierrors.IsNotFound(err) {
		return stored, nil
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	stored.exists, stored.version, stored.object = true, object.ResourceVersion, object
	stored.foreign = !owner(s.name, s.server.UID).Owns(object)
	if !stored.foreign {
		stored.document, stored.approved = r.catalogs.of(s.key).decode(object)
	}
	return stored, nil
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
// for a while, without asking it again.
func (r *Reconciler) replaceCatalog(
	ctx context.Context, s *scope, stored *storedCatalog, content *configmap.Content,
) (written bool, err error) {
	seen := r.catalogs.of(s.key)
	if !s.reconnected() { // else somebody waits for it
		if seen.refused.Stands(time.Now(), content.Encoded, stored.object) {
			return false, s.refuse(seen.refused)
		}
		if delay := seen.delay(stored.exists); delay > 0 {
			s.requeue.RequeueAfter = delay
			return false, s.outstanding(seen)
		}
	}
	version, err := r.store().Write(ctx, content, stored.object)
	switch {
	case errors.As(err, &seen.refused):
		return false, s.refuse(seen.refused)
	case err != nil:
		return false, err
	}
	stored.version, seen.refused = version, nil
	return true, nil
}

// outstanding is what is told while a write waits for its turn: a refusal of what was to stand before it still counts.
func (s *scope) outstanding(seen *seenCatalog) error {
	if seen.refused == nil {
		return nil
	}
	return &problem{reason: v1alpha1.ReasonPublishFailed, message: seen.refused.Error()}
}

// refuse is what a person must fix, and has it tried again.
func (s *scope) refuse(refused *configmap.RefusedError) *problem {
	s.requeue.RequeueAfter = time.Until(refused.Until)
	return &problem{reason: v1alpha1.ReasonPublishFailed, message: refused.Error()}
}

// content is the ConfigMap as it is to stand, an unknown era being "".
func (s *scope) content(stored *storedCatalog, encoded catalog.Encoded, era string) *configmap.Content {
	return &configmap.Content{
		NamespacedName: types.NamespacedName{Namespace: s.name.Namespace, Name: stored.name},
		Owner:          owner(s.name, s.server.UID),
		Labels: map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.LabelManagedByValue,
			v1alpha1.LabelComponent: v1alpha1.ComponentServerCatalog,
			v1alpha1.LabelServer:    s.name.Name,
		},
		Annotations: map[string]string{v1alpha1.AnnotationProtocolEra: era},
		Encoded:     encoded,
	}
}

func (r *Reconciler) store() *configmap.Store {
	return &configmap.Store{Client: r.Client, Live: r.Live}
}

// owner is a server as the owner of its catalog.
func owner(name types.NamespacedName, uid types.UID) configmap.Owner {
	return configmap.Owner{Kind: kind, Name: name.Name, UID: uid}
}

// removeCatalog deletes the ConfigMap of an object that is gone.
func (r *Reconciler) removeCatalog(ctx context.Context, gone types.NamespacedName, key session.Key) error {
	name := types.NamespacedName{Namespace: gone.Namespace, Name: catalogName(gone.Name)}
	return r.store().Remove(ctx, name, owner(gone, types.UID(key)), &v1alpha1.MCPServer{})
}

// recallEra reads the era that stands beside the stored catalog of this configuration, when this process has not
// learnt one itself.
func (r *Reconciler) recallEra(ctx context.Context, s *scope) error {
	if _, known := s.wanted.Era.Confirmed(); known {
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
	if era == "" || !owner(s.name, s.server.UID).Owns(object) {
		return nil
	}
	if document, _ := r.catalogs.of(s.key).decode(object); document != nil && document.ConfigHash == s.hash {
		s.wanted.Era.Confirm(connect.Era(era))
	}
	return nil
}

// era is what is to stand beside the catalog: what this process knows for sure, or what stands there under the same
// configuration.
func (s *scope) era(stored *storedCatalog) string {
	if s.wanted != nil {
		if era, known := s.wanted.Era.Confirmed(); known {
			return string(era)
		}
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
