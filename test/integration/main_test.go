package integration

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/config"
)

// What all tests of the package share.
var (
	plane *envtest.Environment
	admin client.WithWatch
	// kubeconfigFile is an administrator's, for kubectl.
	kubeconfigFile string
	// assetsDir is where etcd, kube-apiserver and kubectl are.
	assetsDir = cmp.Or(os.Getenv("KUBEBUILDER_ASSETS"), filepath.Join("..", "..", "bin"))
)

// atOnce is how many tests run at once: each has a namespace and a manager of its own, and mostly waits.
const atOnce = "12"

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", atOnce) // the flag exists
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		status = 1
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	assets := assetsDir
	if !fileExists(filepath.Join(assets, "kube-apiserver")) {
		return 1, fmt.Errorf("no control plane in %s: run `make controlplane`", assets)
	}
	ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(logs)))
	plane = &envtest.Environment{
		BinaryAssetsDirectory:    assets,
		ControlPlaneStartTimeout: patience,
		ControlPlaneStopTimeout:  time.Minute,
	}
	plane.ControlPlane.GetAPIServer().Path = filepath.Join(assets, "kube-apiserver")
	plane.ControlPlane.Etcd = &envtest.Etcd{Path: filepath.Join(assets, "etcd")}
	root, err := plane.Start()
	defer func() {
		if stopErr := plane.Stop(); stopErr != nil && err == nil { // also after a failed start: it leaves etcd behind
			err = fmt.Errorf("stop: %w", stopErr)
		}
	}()
	if err != nil {
		return 1, fmt.Errorf("start: %w", err)
	}
	if err := install(root); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "mooring-integration-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	kubeconfigFile = filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfigFile, plane.KubeConfig, 0o600); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// kubectlPath is the pinned kubectl, or the path's where the control plane is the user's own.
func kubectlPath() string {
	if path := filepath.Join(assetsDir, "kubectl"); fileExists(path) {
		return path
	}
	return "kubectl"
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// install puts the shipped CRDs and RBAC onto the control plane.
func install(root *rest.Config) error {
	if err := v1alpha1.AddToScheme(scheme.Scheme); err != nil {
		return err
	}
	var err error
	if admin, err = client.NewWithWatch(root, client.Options{Scheme: scheme.Scheme}); err != nil {
		return err
	}
	definitions, err := config.CRDs()
	if err != nil {
		return err
	}
	if _, err := envtest.InstallCRDs(root, envtest.CRDInstallOptions{CRDs: definitions}); err != nil {
		return err
	}
	access, err := config.Access()
	if err != nil {
		return err
	}
	for _, object := range access {
		err := retry.OnError(retry.DefaultBackoff, func(error) bool { return true }, func() error {
			return client.IgnoreAlreadyExists(admin.Create(context.Background(), object))
		})
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// addingUser guards the control plane's authority, which numbers its certificates: managers of parallel tests start
// together.
var addingUser sync.Mutex

// managerConfig is the client configuration of the manager's service account.
func managerConfig() (*rest.Config, error) {
	addingUser.Lock()
	defer addingUser.Unlock()
	name := "system:serviceaccount:" + config.Namespace + ":" + config.ManagerServiceAccount
	user, err := plane.AddUser(envtest.User{
		Name:   name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + config.Namespace},
	}, nil)
	if err != nil {
		return nil, err
	}
	return user.Config(), nil
}
