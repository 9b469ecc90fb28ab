package gateway

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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/config"
	"github.com/mooring-dev/mooring/internal/cli"
	"github.com/mooring-dev/mooring/test/pace"
)

const patience = pace.Patience

// What all tests of the package share.
var (
	plane *envtest.Environment
	root  *rest.Config
	admin client.WithWatch
	kube  kubernetes.Interface
)

// atOnce is how many tests run at once: each has a namespace, a manager and a gateway of its own, and mostly waits.
const atOnce = "6"

// asProgram has the test's program be Mooring's.
const asProgram = "MOORING_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main())
	}
	flag.Parse()
	_ = flag.Set("test.parallel", atOnce) // the flag exists
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		status = 1
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	assets := cmp.Or(os.Getenv("KUBEBUILDER_ASSETS"), filepath.Join("..", "..", "bin"))
	ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(logs)))
	plane = &envtest.Environment{
		BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: time.Minute,
	}
	root, err = plane.Start()
	defer func() {
		if stopErr := plane.Stop(); stopErr != nil && err == nil { // also after a failed start: it leaves etcd behind
			err = fmt.Errorf("stop: %w", stopErr)
		}
	}()
	if err != nil {
		return 1, fmt.Errorf("start: %w; run `make controlplane`", err)
	}
	if err := install(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// install puts the shipped CRDs and roles onto the control plane.
func install() error {
	if err := v1alpha1.AddToScheme(scheme.Scheme); err != nil {
		return err
	}
	var err error
	if admin, err = client.NewWithWatch(root, client.Options{Scheme: scheme.Scheme}); err != nil {
		return err
	}
	if kube, err = kubernetes.NewForConfig(root); err != nil {
		return err
	}
	definitions, err := config.CRDs()
	if err != nil {
		return err
	}
	if _, err := envtest.InstallCRDs(root, envtest.CRDInstallOptions{CRDs: definitions}); err != nil {
		return err
	}
	for _, roles := range []func() ([]*unstructured.Unstructured, error){config.Access, config.GatewayAccess} {
		access, err := roles()
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
	}
	return nil
}

// addingUser guards the control plane's authority, which numbers its certificates.
var addingUser sync.Mutex

// configOf is the client configuration of one of our service accounts.
func configOf(account string) (*rest.Config, error) {
	addingUser.Lock()
	defer addingUser.Unlock()
	user, err := plane.AddUser(envtest.User{
		Name:   "system:serviceaccount:" + config.Namespace + ":" + account,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + config.Namespace},
	}, nil)
	if err != nil {
		return nil, err
	}
	return user.Config(), nil
}
