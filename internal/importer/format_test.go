package importer

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// extensions is a format that shares nothing with the others: another syntax, another place, other names.
type extensions struct{}

func (extensions) expected() string { return "extensions (Example)" }

func (extensions) clients() []client {
	return []client{{provider: "example", httpOrSSE: true, places: []place{{
		end: ".config/example/config.yaml", level: v1alpha1.LevelUser,
		syntax: func(text []byte) (any, error) {
			json, err := yaml.YAMLToJSON(text)
			if err != nil {
				return nil, err
			}
			return decode(json)
		},
	}}}}
}

func (extensions) find(f *file) {
	names := map[string]string{"cmd": "command", "uri": "url"}
	for name, member := range f.root.object("extensions").all() {
		fields := &object{values: map[string]any{}}
		extension, _ := member.(*object)
		for key, value := range extension.all() {
			if usual, other := names[key]; other {
				key = usual
			}
			fields.keys, fields.values[key] = append(fields.keys, key), value
		}
		f.add(declaration{name: name, fields: fields, provider: f.provider, level: f.level})
	}
}

// A format is one file that implements format, and its line: this one needs no other change.
func TestFormatIsOneFile(t *testing.T) {
	before := formats
	t.Cleanup(func() { formats = before })
	formats = append(before[:len(before):len(before)], extensions{})
	g := NewWithT(t)
	origin := Origin{Path: "/home/ada/.config/example/config.yaml", Home: "/home/ada"}
	result, err := Import([]byte("extensions:\n"+
		"  issues: {type: streamable_http, uri: https://issues.example/mcp}\n"+
		"  files: {cmd: npx, args: [-y, files-mcp], enabled: false}\n"), Options{Origin: origin})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Entries).To(HaveLen(2))
	files, issues := result.Entries[0].Server.Spec, result.Entries[1].Server.Spec
	g.Expect(files).To(And(HaveField("Provider", "example"), HaveField("Level", v1alpha1.LevelUser),
		HaveField("Disabled", true), HaveField("Stdio.Args", []string{"-y", "files-mcp"})))
	g.Expect(issues).To(HaveField("HTTP", &v1alpha1.HTTPTransport{URL: "https://issues.example/mcp"}), "http or SSE")

	_, err = Import([]byte("{}"), Options{})
	g.Expect(err).To(MatchError(HaveSuffix("registry's server.json, or extensions (Example)")))
}

// Which format comes first does not matter: each place is found as what it is.
func TestPlacesDoNotOverlap(t *testing.T) {
	for _, f := range formats {
		for _, c := range f.clients() {
			for _, at := range c.places {
				file := Origin{Path: "/src/engine/" + strings.Replace(at.end, "*", "engine", 1)}
				provider, found := file.locate()
				NewWithT(t).Expect(provider+" "+found.end).To(Equal(c.provider+" "+at.end), file.Path)
			}
		}
	}
}
