package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// errNotInstalled is what a cluster without the CRDs amounts to.
var errNotInstalled = errors.New("the CRDs of Mooring are not installed in this cluster; " +
	"run: kubectl apply -k config/crd (or config/default, with the manager)")

// checkInstalled returns errNotInstalled when the cluster does not know our kinds.
func checkInstalled(mapper meta.RESTMapper) error {
	for _, kind := range []string{"MCPServer", "AgentSession"} {
		_, err := mapper.RESTMapping(v1alpha1.GroupVersion.WithKind(kind).GroupKind(), v1alpha1.GroupVersion.Version)
		if meta.IsNoMatchError(err) {
			return errNotInstalled
		}
		if err != nil {
			return fmt.Errorf("the API server's kinds: %w", err)
		}
	}
	return nil
}

// newScheme knows the kinds of Kubernetes and of Mooring.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// clusterFlags choose cluster, user and namespace as kubectl's flags do.
type clusterFlags struct {
	path      string
	overrides clientcmd.ConfigOverrides
	all       bool
}

// Register adds the flags.
func (f *clusterFlags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "kubeconfig", "", "path of the kubeconfig file")
	flags.StringVar(&f.overrides.CurrentContext, "context", "", "name of the kubeconfig context")
	flags.StringVarP(&f.overrides.Context.Namespace, "namespace", "n", "", "namespace (default: the context's)")
}

// Connect returns a client, and the namespace to look into.
func (f *clusterFlags) Connect() (client.WithWatch, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.path
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &f.overrides)
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", unknownCluster(err)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", unknownCluster(err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, "", fmt.Errorf("cluster: %w", err)
	}
	return c, namespace, checkInstalled(c.RESTMapper())
}

// unknownCluster says what to do about a kubeconfig that leads nowhere.
func unknownCluster(err error) error {
	if clientcmd.IsEmptyConfig(err) { // its own text names a variable that is not read here
		err = errors.New("none was found")
	}
	return fmt.Errorf("kubeconfig: %w; set KUBECONFIG, or give --kubeconfig", err)
}
