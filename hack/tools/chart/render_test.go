// Package chart tests the Helm chart with Helm itself: what it renders, what it refuses, and that a cluster takes it
// and Mooring works as it was installed. It is part of the tool module so that Mooring itself depends on no Helm.
package chart

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	chartDir  = "../../../charts/mooring"
	configDir = "../../../config"
	namespace = "mooring-system"
)

// values are those of a YAML text, as a file given by `helm install -f`.
func values(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// template is `helm template mooring charts/mooring -n mooring-system -f` of the values.
func template(t *testing.T, c *chart.Chart, text string, change ...func(*action.Install)) (release.Accessor, error) {
	t.Helper()
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy = action.DryRunClient
	install.ReleaseName, install.Namespace, install.KubeVersion = "mooring", namespace, oldest(t)
	for _, c := range change {
		c(install)
	}
	rendered, err := install.Run(c, values(t, text))
	if err != nil {
		return nil, err
	}
	return release.NewAccessor(rendered)
}

// oldest is the oldest Kubernetes that the chart is for.
func oldest(t *testing.T) *common.KubeVersion {
	t.Helper()
	version, err := common.ParseKubeVersion("v1.29.0")
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// objects by "Kind namespace/name".
type objects map[string]*unstructured.Unstructured

func (o objects) names() []string { return slices.Sorted(maps.Keys(o)) }

func render(t *testing.T, text string) objects {
	t.Helper()
	rendered, err := template(t, load(t), text)
	if err != nil {
		t.Fatalf("render: %v", err)
	}
	return decode(t, rendered.Manifest())
}

// decode is strict: a key that a template writes twice is an error.
func decode(t *testing.T, manifest string) objects {
	t.Helper()
	out := objects{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(o.Object) == 0 {
			continue
		}
		if out[key(o)] != nil {
			t.Errorf("%s is rendered twice", key(o))
		}
		out[key(o)] = o
	}
}

func key(o *unstructured.Unstructured) string {
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	return o.GetKind() + " " + name
}

// everything turns on all that can be turned on, but for what contradicts it.
const everything = `
image: {repository: images.example.com/mooring, digest: "sha256:` + digest + `"}
imagePullSecrets: [{name: images}]
replicas: 2
serviceAccount: {name: moor, annotations: {example.com/role: mooring}}
watchNamespaces: [team-a, team-b]
secretNamespaces: [team-a]
egress:
  allow: [10.0.0.0/8, "fd00::/8", invalid, "*.example.org"]
  deny: [10.1.2.3]
  allowCrossNamespaceServices: true
drainTimeout: 2m
verbosity: 1
extraArgs: ["--workers=2"]
extraEnv:
  - {name: HTTPS_PROXY, valueFrom: {secretKeyRef: {name: proxy, key: url}}}
podAnnotations: {example.com/note: a}
podLabels: {example.com/team: platform}
priorityClassName: system-cluster-critical
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: dedicated, operator: Exists}]
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector: {matchLabels: {app.kubernetes.io/name: mooring}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app.kubernetes.io/name: mooring}}
podDisruptionBudget: {enabled: true}
`

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestLint(t *testing.T) {
	for name, text := range map[string]string{"default": "", "everything": everything} {
		t.Run(name, func(t *testing.T) {
			result := lint.RunAll(chartDir, values(t, text), namespace, lint.WithKubeVersion(oldest(t)))
			for _, message := range result.Messages {
				// An icon is wanted from charts in a public catalog.
				if message.Severity > support.InfoSev {
					t.Error(message)
				}
			}
		})
	}
}
