package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/mooring-dev/mooring/config"
	"github.com/mooring-dev/mooring/internal/cli/devstate"
	"github.com/mooring-dev/mooring/internal/cli/logging"
)

// managerUser is who the manager is on the embedded control plane: the service account of config/, so that it works
// under the very RBAC that a cluster gives it.
const managerUser = "system:serviceaccount:" + config.Namespace + ":" + config.ManagerServiceAccount

type devOptions struct {
	manager    Settings
	dir        string
	assets     string
	kubeconfig string
}

func newDev() *cobra.Command {
	o := devOptions{manager: Settings{Gateway: &GatewaySettings{Anonymous: true}}}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run Mooring on an embedded control plane, for trying things out",
		Long: `Starts etcd and kube-apiserver on loopback, installs the CRDs and the shipped RBAC, runs the manager, and
prints the path of a kubeconfig for an administrator. Secrets of the namespace "default" may be read; grant others
as the condition SecretAccessDenied says. Ctrl-C stops everything that was started; the state stays in --dir.`,
		Args: wantArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), newProgress(cmd.ErrOrStderr()))
		},
	}
	o.manager.register(cmd.Flags())
	o.manager.Gateway.register(cmd.Flags(), LocalGateway)
	cmd.Flags().StringVar(&o.dir, "dir", filepath.Join(".mooring", "dev"),
		"directory for the control plane's state; delete it to start afresh")
	cmd.Flags().StringVar(&o.assets, "assets", "",
		"directory with etcd and kube-apiserver (default: $KUBEBUILDER_ASSETS, or ./bin)")
	cmd.Flags().StringVar(&o.kubeconfig, "kubeconfig-out", "", "where to write the kubeconfig (default: <dir>/kubeconfig)")
	o.manager.set(cmd.Flags(), "leader-elect", "false")
	o.manager.set(cmd.Flags(), "allow-loopback", "true")
	o.manager.set(cmd.Flags(), "metrics-bind-address", "0") // nobody's port is in the way
	o.manager.set(cmd.Flags(), "health-probe-bind-address", "0")
	return cmd
}

func (o *devOptions) run(ctx context.Context, progress *progress) (err error) {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	assets, err := o.findAssets()
	if err != nil {
		return err
	}
	unlock, err := takeOver(ctx, dir, progress)
	if err != nil {
		return err
	}
	defer unlock()
	runtime.LockOSThread() // what is tethered to this thread lives as long as it
	defer runtime.UnlockOSThread()
	environment, err := environment(dir, assets)
	if err != nil {
		return err
	}
	// controller-runtime complains, at length, when a slow start has no logger for 30 s
	ctrl.SetLogger(logging.New(os.Stderr, o.manager.Verbosity))
	done := progress.step("starting etcd and kube-apiserver")
	admin, err := environment.Start()
	defer func() { err = errors.Join(err, environment.Stop()) }() // also after a failed start: it leaves etcd behind
	if err != nil {
		return fmt.Errorf("embedded control plane: %w", err)
	}
	done()
	path, err := o.writeKubeconfig(dir, environment.KubeConfig)
	if err != nil {
		return err
	}
	done = progress.step("installing the CRDs and the manager's rights")
	if err := installInto(ctx, admin); err != nil {
		return err
	}
	done()
	manager, err := managerConfig(environment, admin)
	if err != nil {
		return err
	}
	progress.note("kubeconfig: %s", path)
	progress.note("try:        export KUBECONFIG=%s; kubectl get mcpservers", path)
	if err := o.noteGateway(progress); err != nil {
		return err
	}
	progress.note("stop:       Ctrl-C")
	p := &process{Settings: &o.manager, config: manager, target: target{host: manager.Host}, progress: progress}
	return p.run(ctx)
}

// noteGateway opens the gateway's listener and says how an agent connects.
func (o *devOptions) noteGateway(progress *progress) error {
	gateway := o.manager.Gateway
	if !gateway.enabled() {
		return nil
	}
	if err := gateway.listen(); err != nil {
		return err
	}
	progress.note("agents:     claude mcp add --transport http mooring %s/sessions/default/NAME/mcp  "+
		"(NAME of an AgentSession)", gateway.url())
	return nil
}

// takeOver makes the state directory this process's own: nobody else runs on it, and what a run that was killed left
// behind is ended.
func takeOver(ctx context.Context, dir string, progress *progress) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	unlock, err = devstate.Lock(dir)
	if err != nil {
		return nil, err
	}
	err = devstate.End(ctx, dir, progress.note)
	if err == nil {
		err = devstate.CheckFree(ctx, dir)
	}
	if err == nil { // certificates hold for a week, and are made anew where there are none
		err = devstate.Empty(dir, devstate.Certificates)
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// findAssets returns the directory that has etcd and kube-apiserver.
func (o *devOptions) findAssets() (string, error) {
	assets := cmp.Or(o.assets, os.Getenv("KUBEBUILDER_ASSETS"), "bin")
	for _, program := range []string{"etcd", "kube-apiserver"} {
		if !exists(filepath.Join(assets, program)) {
			return "", fmt.Errorf("%s is not in %s; run `make controlplane`, or give --assets", program, assets)
		}
	}
	return assets, nil
}

// environment describes a control plane whose data outlives it, and that does not outlive this process.
func environment(dir, assets string) (*envtest.Environment, error) {
	environment := &envtest.Environment{
		BinaryAssetsDirectory:    assets,
		ControlPlaneStartTimeout: 2 * time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	data := filepath.Join(dir, devstate.EtcdData)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	etcd, err := devstate.Tether(dir, filepath.Join(assets, "etcd"))
	if err != nil {
		return nil, err
	}
	apiServer, err := devstate.Tether(dir, filepath.Join(assets, "kube-apiserver"))
	if err != nil {
		return nil, err
	}
	environment.ControlPlane.Etcd = &envtest.Etcd{Path: etcd, DataDir: data}
	environment.ControlPlane.GetAPIServer().Path = apiServer
	environment.ControlPlane.GetAPIServer().CertDir = filepath.Join(dir, devstate.Certificates)
	return environment, nil
}

func (o *devOptions) writeKubeconfig(dir string, content []byte) (string, error) {
	path := cmp.Or(o.kubeconfig, filepath.Join(dir, "kubeconfig"))
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("kubeconfig: %w", err)
	}
	return path, nil
}

// managerConfig is a client configuration for managerUser.
func managerConfig(environment *envtest.Environment, admin *rest.Config) (*rest.Config, error) {
	user, err := environment.AddUser(envtest.User{
		Name:   managerUser,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:mooring-system", "system:authenticated"},
	}, rest.AnonymousClientConfig(admin))
	if err != nil {
		return nil, fmt.Errorf("manager's user: %w", err)
	}
	return user.Config(), nil
}

// exists tells whether there is a file of this name.
func exists(path string) bool {
	_, err := os.Stat(path) //nolint:gosec // the user names their own files
	return err == nil
}
