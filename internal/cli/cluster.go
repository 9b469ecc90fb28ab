package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// errNoKubeconfig is that there is no kubeconfig.
var errNoKubeconfig = errors.New("none was found")

// newScheme knows the kinds of Kubernetes and of Mooring.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// cluster is how a command finds its cluster and namespace.
type cluster interface {
	// register adds the flags that choose them.
	register(flags *pflag.FlagSet)
	// connect returns a client and the namespace to look into.
	connect() (client.WithWatch, string, error)
}

// clusterFlags choose cluster, user and namespace as kubectl's flags do.
type clusterFlags struct {
	path      string
	overrides clientcmd.ConfigOverrides
	all       bool
}

func (f *clusterFlags) register(flags *pflag.FlagSet) {
	f.registerCluster(flags)
	flags.StringVarP(&f.overrides.Context.Namespace, "namespace", "n", "", "namespace (default: the context's)")
}

// registerCluster adds those that choose the cluster alone.
func (f *clusterFlags) registerCluster(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "kubeconfig", "", "path of the kubeconfig file")
	flags.StringVar(&f.overrides.CurrentContext, "context", "", "name of the kubeconfig context")
}

func (f *clusterFlags) connect() (client.WithWatch, string, error) {
	chosen, err := f.choose()
	if err != nil {
		return nil, "", err
	}
	c, err := client.NewWithWatch(chosen.config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, "", fmt.Errorf("cluster: %w", err)
	}
	return c, chosen.namespace, chosen.target.explain(installed(c.RESTMapper()))
}

// choice is a cluster and a namespace of it.
type choice struct {
	config    *rest.Config
	namespace string
	target    target
}

// choose tells how to reach the cluster: as the kubeconfig says or, where there is none, as a pod does.
func (f *clusterFlags) choose() (*choice, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.path
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &f.overrides)
	known, err := loader.RawConfig()
	if err != nil {
		return nil, unknownCluster(err, rules)
	}
	if err := f.checkContext(&known); err != nil {
		return nil, err
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, unknownCluster(err, rules)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, unknownCluster(err, rules)
	}
	context := cmp.Or(f.overrides.CurrentContext, known.CurrentContext)
	return &choice{
		config: config, namespace: namespace,
		target: target{host: config.Host, context: context, choice: len(known.Contexts) > 1},
	}, nil
}

// checkContext refuses a context that the kubeconfig does not have, and none where there is a choice.
func (f *clusterFlags) checkContext(known *clientcmdapi.Config) error {
	wanted := cmp.Or(f.overrides.CurrentContext, known.CurrentContext)
	contexts := slices.Sorted(maps.Keys(known.Contexts))
	switch {
	case known.Contexts[wanted] != nil || len(contexts) == 0 && f.overrides.CurrentContext == "":
		return nil
	case len(contexts) == 0:
		return fmt.Errorf("kubeconfig: no context %q, and no other", wanted)
	case wanted == "":
		return fmt.Errorf("kubeconfig: no current context; give --context, one of %s", strings.Join(contexts, ", "))
	default:
		return fmt.Errorf("kubeconfig: no context %q; there are %s", wanted, strings.Join(contexts, ", "))
	}
}

// unknownCluster says what to do about a kubeconfig that leads nowhere.
func unknownCluster(err error, rules *clientcmd.ClientConfigLoadingRules) error {
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		err = fmt.Errorf("%s: %w", file.Path, file.Err)
	case clientcmd.IsEmptyConfig(err): // its own text names a variable that is not read here
		err = fmt.Errorf("%w at %s", errNoKubeconfig, strings.Join(rules.GetLoadingPrecedence(), ", "))
	}
	return fmt.Errorf("kubeconfig: %w; set KUBECONFIG, or give --kubeconfig", err)
}
