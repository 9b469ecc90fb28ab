package agentsession

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/configmap"
)

const kind = "AgentSession"

// conflictDelay is how long a pass that met a newer version of something waits before it looks again. The newer version
// normally wakes the controller before that.
const conflictDelay = 500 * time.Millisecond

// storedCatalog is the catalog ConfigMap as it was found.
type storedCatalog struct {
	name    string
	object  *corev1.ConfigMap // nil when there is none
	foreign bool              // it is not ours to write
	// legible: agents can read in it what was published. intact: it carries our label, too.
	legible, intact bool
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

// loadCatalog reads what this object published. The cache only holds ConfigMaps that carry our label: where it has none
// although something was published, or the name was taken when it was to be, the API server is asked. What was
// published stands also while the ConfigMap is gone or damaged: it is put right.
func (r *Reconciler) loadCatalog(ctx context.Context, s *scope) error {
	m := s.memory
	s.stored = &storedCatalog{name: catalogName(s.name.Name)}
	if err := r.read(ctx, s, r.Client); err != nil {
		return err
	}
	published := m.good.document != nil || s.before.Status.Catalog != nil
	if s.stored.object == nil && (published || m.taken) {
		if err := r.read(ctx, s, r.Live); err != nil {
			return err
		}
		m.taken = s.stored.object != nil
	}
	if s.document == nil && !s.stored.foreign {
		s.document, s.encoding = m.good.document, m.good.encoding
	}
	return nil
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
	self := owner(s.name, s.before.UID)
	s.stored.object, s.stored.foreign = object, !self.Owns(object)
	if s.stored.foreign || metav1.GetControllerOf(object).UID != self.UID {
		return nil
	}
	if document := r.decode(s.memory, object); document != nil {
		s.document, s.encoding = document, catalog.EncodingOf(object.BinaryData)
		s.memory.good = good{document, s.encoding}
		s.stored.legible = true
		s.stored.intact = object.Labels[v1alpha1.LabelManagedBy] == v1alpha1.LabelManagedByValue
	}
	return nil
}

// decode reads what was published, proving it once for each version of the ConfigMap; nil when it is damaged.
func (r *Reconciler) decode(m *memory, object *corev1.ConfigMap) *sessioncatalog.Document {
	if m.decoded.version != object.ResourceVersion {
		defer r.encodeSlot()()
		m.decoded = decoded{version: object.ResourceVersion}
		if document, err := sessioncatalog.Decode(object.Data, object.BinaryData); err == nil {
			m.decoded.document = &document
		}
	}
	return m.decoded.document
}

// content is the ConfigMap as it is to stand.
func (s *scope) content(encoded catalog.Encoded) *configmap.Content {
	return &configmap.Content{
		NamespacedName: types.NamespacedName{Namespace: s.name.Namespace, Name: s.stored.name},
		Owner:          owner(s.name, s.before.UID),
		Labels: map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.LabelManagedByValue,
			v1alpha1.LabelComponent: v1alpha1.ComponentSessionCatalog,
			v1alpha1.LabelSession:   s.name.Name,
		},
		Encoded: encoded,
	}
}

// write replaces the ConfigMap and returns the new resourceVersion.
func (r *Reconciler) write(ctx context.Context, s *scope, content *configmap.Content) (version string, err error) {
	m := s.memory
	version, err = r.store().Write(ctx, content, s.stored.object)
	errors.As(err, &m.refused)
	if errors.Is(err, configmap.ErrTaken) {
		m.taken = true
		s.lookAgain(s.now)
	}
	return version, err
}

func (r *Reconciler) store() *configmap.Store {
	return &configmap.Store{Client: r.Client, Live: r.Live}
}

// owner is an agent session as the owner of its catalog.
func owner(name types.NamespacedName, uid types.UID) configmap.Owner {
	return configmap.Owner{Kind: kind, Name: name.Name, UID: uid}
}

// removeCatalog deletes the ConfigMap of an object that is gone; its UID is empty where it was not known.
func (r *Reconciler) removeCatalog(ctx context.Context, gone types.NamespacedName, uid types.UID) error {
	name := types.NamespacedName{Namespace: gone.Namespace, Name: catalogName(gone.Name)}
	return r.store().Remove(ctx, name, owner(gone, uid), &v1alpha1.AgentSession{})
}
