package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/mooring-dev/mooring/internal/importer"
)

// AnnotationFillIn on a Secret names the keys that somebody must add to it, separated by commas.
const AnnotationFillIn = "mooring.dev/fill-in"

// Options say what is written.
type Options struct {
	// Placeholders leaves out the values of credentials, so that the manifests can be shown and stored.
	Placeholders bool
}

// object is a Secret as its manifest has it.
type object struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metadata          `json:"metadata"`
	StringData map[string]string `json:"stringData,omitempty"`
}

type metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// secretOf returns the manifest of an entry's Secret, and the keys that are to be filled in.
func (o Options) secretOf(entry *importer.Entry) (object, []importer.SecretKey) {
	out := object{APIVersion: "v1", Kind: "Secret", Metadata: metadata{
		Name: entry.Secret.Name, Namespace: entry.Server.Namespace,
	}}
	var wanted []importer.SecretKey
	var names []string
	for _, key := range entry.Secret.Keys {
		if key.Value.IsZero() || o.Placeholders {
			wanted, names = append(wanted, key), append(names, key.Name)
			continue
		}
		if out.StringData == nil {
			out.StringData = map[string]string{}
		}
		out.StringData[key.Name] = key.Value.Reveal()
	}
	if len(names) > 0 {
		out.Metadata.Annotations = map[string]string{AnnotationFillIn: strings.Join(names, ",")}
	}
	return out, wanted
}

// YAML returns a stream of documents: of each entry the Secret, if it has one, and the MCPServer.
func (o Options) YAML(result *importer.Result) ([]byte, error) {
	var out bytes.Buffer
	for _, entry := range result.Entries {
		if entry.Server == nil {
			continue
		}
		if entry.Secret != nil {
			manifest, wanted := o.secretOf(entry)
			if err := document(&out, manifest); err != nil {
				return nil, err
			}
			comment(&out, wanted, len(manifest.StringData) > 0)
		}
		if err := document(&out, entry.Server); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

func document(out *bytes.Buffer, manifest any) error {
	text, err := yaml.Marshal(manifest)
	if err != nil {
		return err
	}
	if out.Len() > 0 {
		out.WriteString("---\n")
	}
	out.Write(text)
	return nil
}

// comment shows which keys are to be filled in, at the place where they go: stringData is a Secret's last field.
func comment(out *bytes.Buffer, wanted []importer.SecretKey, open bool) {
	if len(wanted) > 0 && !open {
		out.WriteString("# stringData:\n")
	}
	for _, key := range wanted {
		fmt.Fprintf(out, "#   %s: \"\"  # fill in: %s\n", key.Name, key.From)
	}
}

// JSON returns one List of the same objects.
func (o Options) JSON(result *importer.Result) ([]byte, error) {
	list := struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Items      []any  `json:"items"`
	}{APIVersion: "v1", Kind: "List", Items: []any{}}
	for _, entry := range result.Entries {
		if entry.Server == nil {
			continue
		}
		if entry.Secret != nil {
			manifest, _ := o.secretOf(entry)
			list.Items = append(list.Items, manifest)
		}
		list.Items = append(list.Items, entry.Server)
	}
	text, err := json.MarshalIndent(list, "", "  ")
	return append(text, '\n'), err
}
