package cel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/pace"
)

// namespace holds every object of these tests.
const namespace = "cel"

var (
	// crdDir holds the CRDs as they are shipped.
	crdDir = filepath.Join("..", "..", "config", "crd", "bases")

	// restConfig and k8s reach the API server as its administrator. k8s asks for strict field validation, as kubectl
	// does.
	restConfig *rest.Config
	k8s        client.Client

	// kubectlPath and kubeconfigText let a test speak to the API server as a person does.
	kubectlPath    string
	kubeconfigText []byte
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	assets, err := controlPlane()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: pace.Patience,
		CRDDirectoryPaths:     []string{crdDir},
		ErrorIfCRDPathMissing: true,
	}
	// Start leaves its processes behind when it fails half way.
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the control plane:", err)
			code = 1
		}
	}()
	if restConfig, err = env.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "start the control plane:", err)
		return 1
	}
	kubectlPath, kubeconfigText = filepath.Join(assets, "kubectl"), env.KubeConfig
	if err := connect(); err != nil {
		fmt.Fprintln(os.Stderr, "connect to the control plane:", err)
		return 1
	}
	return m.Run()
}

func connect() error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(mooringv1alpha1.AddToScheme(scheme))
	restConfig.QPS, restConfig.Burst = -1, -1
	direct, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	k8s = client.WithFieldValidation(direct, metav1.FieldValidationStrict)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	return k8s.Create(context.Background(), ns)
}

// controlPlane finds the folder that holds etcd, kube-apiserver and kubectl: KUBEBUILDER_ASSETS, or bin/ of the
// repository.
func controlPlane() (string, error) {
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		dir = filepath.Join("..", "..", "bin")
	}
	for _, binary := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if _, err := os.Stat(filepath.Join(dir, binary)); err != nil {
			return "", fmt.Errorf("no control plane for the tests in %s: run `make controlplane`, "+
				"or set KUBEBUILDER_ASSETS: %w", dir, err)
		}
	}
	return dir, nil
}
