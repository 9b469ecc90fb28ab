package chart

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// patience bounds the wait for what must happen; a test fails after it. It is no measurement.
const patience = 3 * time.Minute

// What all tests of the package share.
var (
	admin *rest.Config
	// adminFile is a kubeconfig of the same.
	adminFile string
	warned    = &warnings{}
)

// warnings keeps what the API server warns of, pod security included.
type warnings struct {
	mu   sync.Mutex
	said []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, code int, agent, text string) {
	w.HandleWarningHeader(code, agent, text)
}

// take returns the warnings since it was called last.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	return said
}

func TestMain(m *testing.M) {
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		status = 1
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	ctrllog.SetLogger(logr.Discard())
	assets := cmp.Or(os.Getenv("KUBEBUILDER_ASSETS"), filepath.Join("..", "..", "..", "bin"))
	if _, err := os.Stat(filepath.Join(assets, "kube-apiserver")); err != nil {
		return 1, fmt.Errorf("no control plane in %s (`make controlplane` makes one): %w", assets, err)
	}
	plane := &envtest.Environment{BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: patience}
	plane.ControlPlane.GetAPIServer().Path = filepath.Join(assets, "kube-apiserver")
	plane.ControlPlane.Etcd = &envtest.Etcd{Path: filepath.Join(assets, "etcd")}
	defer func() {
		if stopErr := plane.Stop(); stopErr != nil && err == nil { // also after a failed start: it leaves etcd behind
			err = stopErr
		}
	}()
	if admin, err = plane.Start(); err != nil {
		return 1, err
	}
	admin.WarningHandler, admin.WarningHandlerWithContext = warned, warned
	dir, err := os.MkdirTemp("", "mooring-chart-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	adminFile = filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(adminFile, plane.KubeConfig, 0o600); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func newClient(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(admin, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// helm is the configuration of Helm's actions in a namespace.
func helm(t *testing.T, namespace string) *action.Configuration {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &adminFile, &namespace
	flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.WarningHandler, c.WarningHandlerWithContext = warned, warned
		return c
	}
	quiet := slog.NewTextHandler(io.Discard, nil)
	configuration := action.NewConfiguration(action.ConfigurationSetLogger(quiet))
	if err := configuration.Init(flags, namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	return configuration
}

// install is `helm install mooring charts/mooring`.
func install(t *testing.T, namespace, text string, change ...func(*action.Install)) error {
	t.Helper()
	do := action.NewInstall(helm(t, namespace))
	do.ReleaseName, do.Namespace = "mooring", namespace
	// Nothing runs pods here, so no Deployment would ever be ready.
	do.WaitStrategy, do.Timeout = kube.HookOnlyStrategy, patience
	for _, c := range change {
		c(do)
	}
	_, err := do.RunWithContext(t.Context(), load(t), values(t, text))
	return err
}

// upgrade is `helm upgrade mooring charts/mooring`, with --force-conflicts when told.
func upgrade(t *testing.T, text string, force bool) error {
	t.Helper()
	do := action.NewUpgrade(helm(t, namespace))
	do.Namespace, do.WaitStrategy, do.Timeout = namespace, kube.HookOnlyStrategy, patience
	do.ForceConflicts = force
	_, err := do.RunWithContext(t.Context(), "mooring", load(t), values(t, text))
	return err
}

// uninstall is `helm uninstall mooring`.
func uninstall(t *testing.T) error {
	t.Helper()
	do := action.NewUninstall(helm(t, namespace))
	do.WaitStrategy, do.Timeout = kube.HookOnlyStrategy, patience
	_, err := do.Run("mooring")
	return err
}

// eventually waits until the condition holds, and fails with what it last said.
func eventually(t *testing.T, condition func(context.Context) (done bool, state string)) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true,
		func(ctx context.Context) (done bool, err error) {
			done, last = condition(ctx)
			return done, nil
		})
	if err != nil {
		t.Fatalf("%v; last: %s", err, last)
	}
}

// sorted puts those first that others need, as Helm does.
func sorted(o objects) []*unstructured.Unstructured {
	order := []string{"Namespace", "CustomResourceDefinition", "ServiceAccount"}
	rank := func(name string) int {
		at := slices.Index(order, o[name].GetKind())
		if at < 0 {
			return len(order)
		}
		return at
	}
	names := o.names()
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	out := make([]*unstructured.Unstructured, 0, len(names))
	for _, name := range names {
		out = append(out, o[name])
	}
	return out
}
