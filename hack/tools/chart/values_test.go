package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// typed reads an object as T; a field that T does not know is an error.
func typed[T any](t *testing.T, o *unstructured.Unstructured) *T {
	t.Helper()
	if o == nil {
		t.Fatal("the object is not rendered")
	}
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, out, true); err != nil {
		t.Fatal(err)
	}
	return out
}

func deployment(t *testing.T, rendered objects) *appsv1.Deployment {
	t.Helper()
	return typed[appsv1.Deployment](t, rendered["Deployment mooring-system/mooring-manager"])
}

func TestFlags(t *testing.T) {
	cases := map[string]struct {
		values string
		args   []string
		grace  int64
	}{
		"default":             {"", []string{"manager"}, 80},
		"a minute is default": {"drainTimeout: 1m", []string{"manager"}, 80},
		"no drain":            {"drainTimeout: 0s", []string{"manager", "--drain-timeout=0s"}, 20},
		"no metrics":          {"metrics: {enabled: false}", []string{"manager", "--metrics-bind-address=0"}, 80},
		"everything": {everything, []string{
			"manager", "--watch-namespaces=team-a,team-b", "--egress-allow=10.0.0.0/8,fd00::/8,invalid,*.example.org",
			"--egress-deny=10.1.2.3", "--allow-cross-namespace-services", "--drain-timeout=120s", "--verbose=1",
			"--workers=2",
		}, 140},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod := deployment(t, render(t, c.values)).Spec.Template.Spec
			if diff := gocmp.Diff(c.args, pod.Containers[0].Args); diff != "" {
				t.Errorf("args (-want +got):\n%s", diff)
			}
			if *pod.TerminationGracePeriodSeconds != c.grace {
				t.Errorf("grace %d s, want %d s", *pod.TerminationGracePeriodSeconds, c.grace)
			}
		})
	}
}

func TestImage(t *testing.T) {
	for values, want := range map[string]string{
		"": "mooring:latest",
		"image: {repository: images.example.com/a, tag: v1}": "images.example.com/a:v1",
		"image: {tag: v1, digest: 'sha256:" + digest + "'}":  "mooring@sha256:" + digest,
	} {
		if got := deployment(t, render(t, values)).Spec.Template.Spec.Containers[0].Image; got != want {
			t.Errorf("%q gives %s, want %s", values, got, want)
		}
	}
}

func TestProxyGetsNothingOfTheCluster(t *testing.T) {
	const inside = ".svc,.svc.cluster.local,$(KUBERNETES_SERVICE_HOST)"
	cases := map[string]struct {
		values string
		want   []corev1.EnvVar
	}{
		"no proxy": {"extraEnv: [{name: TZ, value: UTC}]", []corev1.EnvVar{{Name: "TZ", Value: "UTC"}}},
		"proxy": {
			"extraEnv: [{name: HTTPS_PROXY, value: 'http://proxy.example.com:3128'}]",
			[]corev1.EnvVar{
				{Name: "HTTPS_PROXY", Value: "http://proxy.example.com:3128"}, {Name: "NO_PROXY", Value: inside},
			},
		},
		"lower case": {
			"extraEnv: [{name: http_proxy, value: 'http://proxy.example.com:3128'}]",
			[]corev1.EnvVar{
				{Name: "http_proxy", Value: "http://proxy.example.com:3128"}, {Name: "NO_PROXY", Value: inside},
			},
		},
		"exceptions of one's own": {
			"extraEnv: [{name: HTTPS_PROXY, value: 'http://p:1'}, {name: no_proxy, value: example.com}]",
			[]corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://p:1"}, {Name: "no_proxy", Value: "example.com"}},
		},
		"from a Secret": {
			"extraEnv: [{name: HTTPS_PROXY, valueFrom: {secretKeyRef: {name: proxy, key: url}}}]",
			[]corev1.EnvVar{
				{Name: "HTTPS_PROXY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
					LocalObjectReference: corev1.LocalObjectReference{Name: "proxy"}, Key: "url",
				}}},
				{Name: "NO_PROXY", Value: inside},
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := deployment(t, render(t, c.values)).Spec.Template.Spec.Containers[0].Env
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWatchedNamespacesHaveTheOnlyBindings(t *testing.T) {
	rendered := render(t, "watchNamespaces: [team-a, team-b]\nserviceAccount: {name: moor}")
	if rendered["ClusterRoleBinding mooring-manager"] != nil {
		t.Error("the manager's role is bound in the cluster")
	}
	for _, name := range []string{
		"RoleBinding team-a/mooring-manager", "RoleBinding team-b/mooring-manager",
		"RoleBinding mooring-system/mooring-leader-election", "ClusterRoleBinding mooring-namespace-reader",
	} {
		if rendered[name] == nil {
			t.Fatalf("no %s among %q", name, rendered.names())
		}
		subjects, _, _ := unstructured.NestedSlice(rendered[name].Object, "subjects")
		want := []any{map[string]any{"kind": "ServiceAccount", "name": "moor", "namespace": namespace}}
		if diff := gocmp.Diff(want, subjects); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if rendered["ServiceAccount mooring-system/moor"] == nil {
		t.Errorf("no service account among %q", rendered.names())
	}
}

// What belongs to the namespace default stays there, wherever the release is.
func TestAnotherNamespace(t *testing.T) {
	released, err := template(t, load(t), "", func(i *action.Install) { i.Namespace = "tools" })
	if err != nil {
		t.Fatal(err)
	}
	rendered := decode(t, released.Manifest())
	var namespaced []string
	for _, name := range rendered.names() {
		o := rendered[name]
		if o.GetNamespace() != "" {
			namespaced = append(namespaced, name)
		}
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		want := []any{map[string]any{"kind": "ServiceAccount", "name": "mooring-manager", "namespace": "tools"}}
		if diff := gocmp.Diff(want, subjects); len(subjects) > 0 && diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	want := []string{
		"Deployment tools/mooring-manager",
		"Role default/mooring-api-server-reader", "Role tools/mooring-leader-election",
		"RoleBinding default/mooring-api-server-reader", "RoleBinding tools/mooring-leader-election",
		"Service tools/mooring-manager-metrics", "ServiceAccount tools/mooring-manager",
	}
	if diff := gocmp.Diff(want, namespaced); diff != "" {
		t.Errorf("objects in namespaces (-want +got):\n%s", diff)
	}
}

func TestSecretsOfTheWholeClusterByChoice(t *testing.T) {
	for name, o := range render(t, "") {
		role, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
		if role == "mooring-secret-reader" {
			t.Errorf("by default %s lets the manager read Secrets", name)
		}
	}
	binding := render(t, "secretReader: {clusterWide: true}")["ClusterRoleBinding mooring-secret-reader"]
	if binding == nil {
		t.Fatal("no ClusterRoleBinding")
	}
	role, _, _ := unstructured.NestedStringMap(binding.Object, "roleRef")
	want := map[string]string{
		"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mooring-secret-reader",
	}
	if diff := gocmp.Diff(want, role); diff != "" {
		t.Errorf("role (-want +got):\n%s", diff)
	}
}

func TestAggregationIsAChoice(t *testing.T) {
	rendered := render(t, "rbac: {aggregateToDefaultRoles: false}")
	for name, o := range rendered {
		for label := range o.GetLabels() {
			if strings.Contains(label, "aggregate") {
				t.Errorf("%s has the label %s", name, label)
			}
		}
	}
	if diff := gocmp.Diff(render(t, "").names(), rendered.names()); diff != "" {
		t.Errorf("objects with (-) and without (+):\n%s", diff)
	}
}

func TestServiceMonitor(t *testing.T) {
	const name = "ServiceMonitor mooring-system/mooring-manager"
	if render(t, "")[name] != nil {
		t.Error("by default there is one, which clusters without the Prometheus operator refuse")
	}
	rendered := render(t, `
metrics: {serviceMonitor: {enabled: true, labels: {release: p}, interval: 30s, scrapeTimeout: 5s}}`)
	monitor := typed[monitoringv1.ServiceMonitor](t, rendered[name])
	if monitor.Labels["release"] != "p" {
		t.Errorf("labels %v", monitor.Labels)
	}
	want := []monitoringv1.Endpoint{{Port: "metrics", Interval: "30s", ScrapeTimeout: "5s"}}
	if diff := gocmp.Diff(want, monitor.Spec.Endpoints); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	service := typed[corev1.Service](t, rendered["Service mooring-system/mooring-manager-metrics"])
	for label, value := range monitor.Spec.Selector.MatchLabels {
		if service.Labels[label] != value {
			t.Errorf("the monitor selects %s=%s, the Service has %q", label, value, service.Labels[label])
		}
	}
	if service.Spec.Ports[0].Name != "metrics" {
		t.Errorf("the Service's port is %q", service.Spec.Ports[0].Name)
	}
}

func TestDisruptionBudget(t *testing.T) {
	const name = "PodDisruptionBudget mooring-system/mooring-manager"
	if render(t, "")[name] != nil {
		t.Error("there is one by default")
	}
	for value, want := range map[string]intstr.IntOrString{"1": intstr.FromInt32(1), "50%": intstr.FromString("50%")} {
		rendered := render(t, "podDisruptionBudget: {enabled: true, maxUnavailable: "+value+"}")
		budget := typed[policyv1.PodDisruptionBudget](t, rendered[name])
		if diff := gocmp.Diff(&want, budget.Spec.MaxUnavailable); diff != "" {
			t.Errorf("most unavailable (-want +got):\n%s", diff)
		}
		selected, err := metav1.LabelSelectorAsMap(budget.Spec.Selector)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(deployment(t, rendered).Spec.Selector.MatchLabels, selected); diff != "" {
			t.Errorf("selectors of Deployment (-) and budget (+):\n%s", diff)
		}
	}
}

func TestUserOfThePodIsLeftToOpenShift(t *testing.T) {
	rendered := render(t, "podSecurityContext: {runAsUser: null, runAsGroup: null}")
	context := deployment(t, rendered).Spec.Template.Spec.SecurityContext
	if context.RunAsUser != nil || context.RunAsGroup != nil || !*context.RunAsNonRoot {
		t.Errorf("security context %v", context)
	}
}

func TestRefusals(t *testing.T) {
	cases := map[string]struct{ values, want string }{
		"unknown key":          {"replicaCount: 2", "additional properties 'replicaCount' not allowed"},
		"unknown key below":    {"egress: {alow: []}", "at '/egress': additional properties 'alow' not allowed"},
		"unknown key, metrics": {"metrics: {port: 1}", "at '/metrics': additional properties 'port' not allowed"},
		"wrong type":           {"replicas: two", "at '/replicas': got string, want integer"},
		"drain timeout without unit": {
			"drainTimeout: '90'", "at '/drainTimeout': '90' does not match pattern '^[0-9]{1,5}[sm]$'",
		},
		"list in a list": {
			"egress: {allow: ['10.0.0.0/8,example.com']}",
			"at '/egress/allow/0': '10.0.0.0/8,example.com' does not match pattern",
		},
		"namespace":          {"watchNamespaces: [Team]", "at '/watchNamespaces/0': 'Team' does not match pattern"},
		"namespace twice":    {"watchNamespaces: [a, a]", "at '/watchNamespaces': items at 0 and 1 are equal"},
		"digest":             {"image: {digest: abc}", "at '/image/digest': 'abc' does not match pattern"},
		"a budget of none":   {"podDisruptionBudget: {maxUnavailable: 0}", "at '/podDisruptionBudget/maxUnavailable'"},
		"selector's label":   {"podLabels: {app.kubernetes.io/name: x}", "podLabels has app.kubernetes.io/name, which"},
		"Secrets everywhere": {"{secretReader: {clusterWide: true}, secretNamespaces: [a]}", "leave secretNamespaces empty"},
		"Secrets beyond the watched": {
			"{secretReader: {clusterWide: true}, watchNamespaces: [a]}", "name namespaces in secretNamespaces instead",
		},
		"Secrets unwatched": {
			"{secretNamespaces: [b], watchNamespaces: [a]}",
			`secretNamespaces has "b", which watchNamespaces leaves out`,
		},
		"monitor without metrics": {
			"metrics: {enabled: false, serviceMonitor: {enabled: true}}",
			"metrics.serviceMonitor.enabled needs metrics.enabled",
		},
		"credentials of a proxy": {
			"extraEnv: [{name: https_proxy, value: 'http://u:canary@proxy.example.com'}]",
			"extraEnv: https_proxy holds credentials, for all to read: take it by valueFrom.secretKeyRef",
		},
		"flag with a value": {
			"extraArgs: ['--drain-timeout=5m']", "extraArgs has --drain-timeout: use drainTimeout, which gives the pod",
		},
		"flag alone": {"extraArgs: ['--leader-elect']", "extraArgs has --leader-elect: use nothing"},
		"no flag":    {"extraArgs: [version]", "at '/extraArgs/0': 'version' does not match pattern"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := template(t, load(t), c.values)
			if err == nil {
				t.Fatal("rendered")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want %q in it", err, c.want)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error quotes a credential: %v", err)
			}
		})
	}
}

func TestExamplesOfTheReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chartDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(examples) != 6 {
		t.Errorf("%d examples, want 6", len(examples))
	}
	plain := render(t, "")
	for _, example := range examples {
		if gocmp.Equal(plain, render(t, example[1])) {
			t.Errorf("changes nothing:\n%s", example[1])
		}
	}
}

// A parent chart hands down `global`, whatever the schema of its dependency.
func TestAsDependency(t *testing.T) {
	parent := &chart.Chart{Metadata: &chart.Metadata{
		APIVersion: chart.APIVersionV2, Name: "platform", Version: "1.0.0",
	}}
	parent.AddDependency(load(t))
	rendered, err := template(t, parent, "{global: {team: a}, mooring: {drainTimeout: 2m}}")
	if err != nil {
		t.Fatal(err)
	}
	pod := deployment(t, decode(t, rendered.Manifest())).Spec.Template.Spec
	if *pod.TerminationGracePeriodSeconds != 140 {
		t.Errorf("grace %d s, want 140 s", *pod.TerminationGracePeriodSeconds)
	}
}

func TestNotesSayTheNextStep(t *testing.T) {
	const grant = "kubectl create rolebinding mooring-secret-reader --clusterrole=mooring-secret-reader"
	cases := map[string]struct{ values, want, without string }{
		"default": {"", grant + " \\\n    --serviceaccount=mooring-system:mooring-manager -n NAMESPACE", "looks at"},
		"first server": {
			"", "kubectl apply -n default -f - <<EOF\n  apiVersion: mooring.dev/v1alpha1\n  kind: MCPServer", "%!",
		},
		"service account":     {"serviceAccount: {name: moor}", "=mooring-system:moor -n NAMESPACE", ":mooring-manager"},
		"granted":             {"secretNamespaces: [team-a]", "It may read the Secrets of: team-a.", grant},
		"granted, first one":  {"secretNamespaces: [team-a]", "kubectl apply -n team-a -f -", "-n default"},
		"granted everywhere":  {"secretReader: {clusterWide: true}", "every Secret of the cluster", grant},
		"watched":             {"watchNamespaces: [a, b]", "It looks at MCPServers in: a, b.", "-n default"},
		"watched, first one":  {"watchNamespaces: [a, b]", "kubectl wait -n a --for=condition=Ready", "-n b"},
		"watched and granted": {"{watchNamespaces: [a, b], secretNamespaces: [b]}", "kubectl apply -n b", grant},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rendered, err := template(t, load(t), c.values)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(rendered.Notes(), c.want) || strings.Contains(rendered.Notes(), c.without) {
				t.Errorf("want %q and not %q in\n%s", c.want, c.without, rendered.Notes())
			}
		})
	}
}
