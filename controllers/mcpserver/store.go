package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/connect"
)

// catalogKind is what the ConfigMaps of servers' catalogs have in common.
var catalogKind = configmap.Kind{
	Name: "MCPServer", Suffix: "-mcp-tools",
	Component: v1alpha1.ComponentServerCatalog, OwnerLabel: v1alpha1.LabelServer,
}

// contents is what a catalog ConfigMap holds: document is nil when the data is not what it should be, approved
// likewise, and when nothing was approved.
type contents struct {
	document *catalog.ServerDocument
	approved *catalog.Baseline
}

func decode(object *corev1.ConfigMap) (found contents) {
	if document, err := catalog.Decode(object.Data, object.BinaryData); err == nil {
		found.document = &document
	}
	if approved, err := catalog.DecodeBaseline(object.Data, object.BinaryData); err == nil {
		found.approved = &approved
	}
	return found
}

// storedCatalog is the catalog ConfigMap of a server, as a pass found it or wrote it.
type storedCatalog struct {
	configmap.Found[contents]
}

// good tells whether it holds a catalog that was listed under this config hash.
func (c *storedCatalog) good(hash string) bool {
	return c.Document.document != nil && c.Document.document.ConfigHash == hash
}

// era is the protocol era that is noted beside the catalog, "" when none is.
func (c *storedCatalog) era() string {
	if c.Object == nil {
		return ""
	}
	return c.Object.Annotations[v1alpha1.AnnotationProtocolEra]
}

func (r *Reconciler) store() *configmap.Store {
	return &configmap.Store{Client: r.Client, Live: r.Live}
}

// loadCatalog reads the catalog ConfigMap; expected tells whether there should be one.
func (r *Reconciler) loadCatalog(ctx context.Context, s *scope, expected bool) (*storedCatalog, error) {
	found, err := s.memory.configMap.Read(ctx, r.store(), s.place, expected, decode)
	return &storedCatalog{found}, err
}

// storeCatalog has a document be in the ConfigMap and returns how it is encoded there, "" when it is not there yet: it
// is too early to write, or the error says why.
func (r *Reconciler) storeCatalog(
	ctx context.Context, s *scope, stored *storedCatalog, document *catalog.ServerDocument,
) (encoding string, err error) {
	encoded, err := document.Encode()
	if errors.Is(err, catalog.ErrTooLarge) {
		return "", &problem{reason: v1alpha1.ReasonCatalogTooLarge, message: "the server's tools do not fit into " +
			"a ConfigMap (900 KiB compressed); have the server offer fewer or smaller tools"}
	}
	if err != nil {
		return "", fmt.Errorf("catalog: %w", err)
	}
	if s.reconnected() { // somebody waits for it
		s.memory.configMap.Retry()
	}
	content := &configmap.Content{
		Place: *s.place, Annotations: map[string]string{v1alpha1.AnnotationProtocolEra: s.era(stored)}, Encoded: encoded,
	}
	urgent := stored.Version == "" || s.reconnected()
	wait, err := s.memory.configMap.Write(
		ctx, r.store(), content, &stored.Found, contents{document, document.Approved}, urgent)
	var rejected *configmap.WriteRejected
	switch {
	case errors.As(err, &rejected):
		if wait == 0 {
			wait = time.Until(rejected.Until)
		}
		s.requeue.RequeueAfter = wait
		return "", &problem{reason: v1alpha1.ReasonPublishFailed, message: rejected.Error()}
	case err != nil:
		return "", err
	case wait > 0:
		s.requeue.RequeueAfter = wait
		return "", nil
	}
	return encoded.Encoding, nil
}

// recallEra reads the era that is noted beside the stored catalog of this configuration, when this process has not
// learnt one itself.
func (r *Reconciler) recallEra(ctx context.Context, s *scope) error {
	if _, known := s.wanted.Era.Confirmed(); known {
		return nil
	}
	stored, err := r.loadCatalog(ctx, s, false)
	if err != nil {
		return err
	}
	if era := stored.era(); era != "" && stored.good(s.hash) {
		s.wanted.Era.Confirm(connect.Era(era))
	}
	return nil
}

// era is what is to be noted beside the catalog: what this process knows for sure, or what is noted there under the
// same configuration.
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
