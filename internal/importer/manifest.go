package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/mooring-dev/mooring/internal/secret"
)

// AnnotationFillIn on a Secret names the keys that are to be added to it, separated by commas.
const AnnotationFillIn = "mooring.dev/fill-in"

// WithoutCredentials takes the values of credentials out, so that the manifests can be shown and stored.
func (r *Result) WithoutCredentials() {
	for _, entry := range r.Entries {
		if entry.Secret == nil {
			continue
		}
		for i := range entry.Secret.Keys {
			entry.Secret.Keys[i].Value = secret.Value{}
		}
	}
}

// YAML returns a stream of documents: of each entry the Secret, if it has one, and the MCPServer. A comment shows which
// keys are to be filled in, at the place where they go: stringData is a Secret's last field.
func (r *Result) YAML() ([]byte, error) {
	var documents []string
	for _, entry := range r.Entries {
		for _, manifest := range entry.manifests() {
			text, err := yaml.Marshal(manifest)
			if err != nil {
				return nil, err
			}
			document := string(text)
			if s, ok := manifest.(*corev1.Secret); ok {
				document += entry.Secret.fillIn(len(s.StringData) == 0)
			}
			documents = append(documents, document)
		}
	}
	return []byte(strings.Join(documents, "---\n")), nil
}

// fillIn is a comment that shows the keys without a value.
func (s *Secret) fillIn(alone bool) (comment string) {
	for _, key := range s.Keys {
		if key.Value.IsZero() {
			comment += fmt.Sprintf("#   %s: \"\"  # fill in: %s\n", key.Name, key.From)
		}
	}
	if comment != "" && alone {
		comment = "# stringData:\n" + comment
	}
	return comment
}

// JSON returns one List of the same objects.
func (r *Result) JSON() ([]byte, error) {
	items := []any{}
	for _, entry := range r.Entries {
		items = append(items, entry.manifests()...)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	return out.Bytes(), err
}

// manifests are the Secret of a translated entry, if it has one, and its MCPServer. A key that is to be filled in is
// absent from the Secret: an empty value would replace the one that a person added.
func (e *Entry) manifests() []any {
	switch {
	case e.Server == nil:
		return nil
	case e.Secret == nil:
		return []any{e.Server}
	}
	out := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: e.Secret.Name, Namespace: e.Server.Namespace},
		StringData: map[string]string{},
	}
	var names []string
	for _, key := range e.Secret.Keys {
		if key.Value.IsZero() {
			names = append(names, key.Name)
		} else {
			out.StringData[key.Name] = key.Value.Reveal()
		}
	}
	if len(names) > 0 {
		out.Annotations = map[string]string{AnnotationFillIn: strings.Join(names, ",")}
	}
	return []any{out, e.Server}
}
