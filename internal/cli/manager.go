package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/mooring-dev/mooring/controllers"
	"github.com/mooring-dev/mooring/internal/cli/lease"
	"github.com/mooring-dev/mooring/internal/cli/logging"
)

// Settings are what every command that runs the controllers can be told.
type Settings struct {
	// MetricsAddress, ProbeAddress and PprofAddress are listen addresses; "0" turns an endpoint off.
	MetricsAddress, ProbeAddress, PprofAddress string
	LeaderElect                                bool
	// LeaderNamespace is the namespace of the lease; empty is the pod's own.
	LeaderNamespace string
	// WatchNamespaces are the only ones looked at; none is all.
	WatchNamespaces []string
	// Workers is how many MCPServers are reconciled, and how many catalogs of AgentSessions encoded, at a time.
	Workers int
	// DrainTimeout is how long calls in flight may go on when a session is replaced.
	DrainTimeout           time.Duration
	AllowLoopback          bool
	CrossNamespaceServices bool
	// EgressAllow and EgressDeny hold CIDRs and host suffixes.
	EgressAllow, EgressDeny []string
	// GatewayURL is where agents reach the gateway; empty where there is none.
	GatewayURL string
	// Gateway serves agents in the same process; nil for no gateway.
	Gateway *GatewaySettings
	// Verbosity is 0 for transitions and 1 for every pass.
	Verbosity int
	// Registry takes the metrics; nil is the one that the metrics endpoint serves. A second manager in one process
	// needs its own.
	Registry prometheus.Registerer
}

func (o *Settings) register(flags *pflag.FlagSet) {
	o.registerProcess(flags)
	o.registerEgress(flags)
	flags.BoolVar(&o.LeaderElect, "leader-elect", true,
		"hold a lease, so that one of several replicas is active")
	flags.StringVar(&o.LeaderNamespace, "leader-election-namespace", "",
		"namespace of the lease (default: the pod's own)")
	flags.IntVar(&o.Workers, "workers", 4,
		"MCPServers reconciled, and catalogs of AgentSessions encoded, at a time")
	flags.StringVar(&o.GatewayURL, "gateway-url", "",
		"URL at which agents reach the gateway, for status.endpoint and mcp.json (default: neither is written)")
}

// registerProcess adds what managers and gateways have in common.
func (o *Settings) registerProcess(flags *pflag.FlagSet) {
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8080",
		"address of the metrics endpoint; 0 turns it off")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081",
		"address of /healthz and /readyz; 0 turns them off")
	flags.StringVar(&o.PprofAddress, "pprof-bind-address", "0",
		"address of the profiles of package net/http/pprof; 0 turns them off")
	flags.StringSliceVar(&o.WatchNamespaces, "watch-namespaces", nil,
		"look at MCPServers of these namespaces only (default: all)")
	flags.DurationVar(&o.DrainTimeout, "drain-timeout", time.Minute,
		"how long calls in flight may go on when a session is replaced or the process ends")
	flags.IntVarP(&o.Verbosity, "verbose", "v", 0, "0 logs transitions, 1 every pass")
}

// registerEgress adds what says where servers may be.
func (o *Settings) registerEgress(flags *pflag.FlagSet) {
	flags.BoolVar(&o.AllowLoopback, "allow-loopback", false, "allow servers on loopback addresses")
	flags.BoolVar(&o.CrossNamespaceServices, "allow-cross-namespace-services", false,
		"allow an MCPServer to name a Service of another namespace")
	flags.StringSliceVar(&o.EgressAllow, "egress-allow", nil,
		"CIDRs and host suffixes that servers may have (default: any)")
	flags.StringSliceVar(&o.EgressDeny, "egress-deny", nil,
		"CIDRs and host suffixes that servers may not have")
}

func newManager() *cobra.Command {
	o := &Settings{}
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Run the controllers",
		Args:  wantArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := ctrl.GetConfig()
			if clientcmd.IsEmptyConfig(err) { // its own text names a variable that is not read here
				err = errors.New("none was found, and this is no pod")
			}
			if err != nil {
				return fmt.Errorf("kubeconfig: %w; set KUBECONFIG, or try `%s dev`, which needs none", err, programName(cmd))
			}
			where := target{host: config.Host}
			return (&process{Settings: o, config: config, target: where, progress: newProgress(cmd.ErrOrStderr())}).
				run(cmd.Context())
		},
	}
	o.register(cmd.Flags())
	return cmd
}

// newRun is the one-process shape: everything that Mooring has, without replicas.
func newRun() *cobra.Command {
	o, cluster, alongside := &Settings{Gateway: &GatewaySettings{}}, &clusterFlags{}, false
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run everything in one process against the current kubeconfig",
		Long: `Runs everything in one process against the current kubeconfig, with the rights of its user, until Ctrl-C.

Where another manager is active, it waits until that ends: of two, each would hold a session to every server and
overwrite the status that the other writes. One that was killed counts as active for up to ` +
			lease.Longest.String() + `.
One that was suspended for longer does not notice that another has begun meanwhile; end one of the two then.`,
		Args: wantArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen, err := cluster.choose()
			if errors.Is(err, errNoKubeconfig) {
				err = fmt.Errorf("%w, or try `%s dev`, which needs none", err, programName(cmd))
			}
			if err != nil {
				return err
			}
			p := &process{
				Settings: o, config: chosen.config, target: chosen.target, progress: newProgress(cmd.ErrOrStderr()),
				exclusive: !alongside && !o.LeaderElect,
			}
			p.progress.note("cluster: %s", chosen.target)
			p.progress.note("stop:    Ctrl-C")
			return p.run(cmd.Context())
		},
	}
	o.register(cmd.Flags())
	o.Gateway.register(cmd.Flags(), LocalGateway)
	cmd.Flags().BoolVar(&o.Gateway.Anonymous, "allow-anonymous-loopback", false,
		"take requests of agents without a token, as those of a developer who may use everything")
	cluster.registerCluster(cmd.Flags())
	cmd.Flags().BoolVar(&alongside, "alongside", false,
		"do not wait for another manager; for one that looks at other namespaces (--watch-namespaces)")
	o.set(cmd.Flags(), "leader-elect", "false")
	o.set(cmd.Flags(), "allow-loopback", "true")
	return cmd
}

// set gives a flag another default for one command, in its value and in its help.
func (*Settings) set(flags *pflag.FlagSet, name, value string) {
	flag := flags.Lookup(name)
	_ = flag.Value.Set(value) // a literal of the flag's own type
	flag.DefValue = value
}

// process is one that runs the controllers.
type process struct {
	*Settings
	config   *rest.Config
	target   target
	progress *progress
	// exclusive has it wait until no other manager runs.
	exclusive bool
}

// run runs the controllers until ctx ends and every session is closed.
func (p *process) run(ctx context.Context) error {
	ctrl.SetLogger(logging.New(os.Stderr, p.Verbosity))
	if err := awaitInstalled(ctx, p.config, p.progress.note); err != nil {
		return p.target.explain(err)
	}
	var keeper *lease.Keeper
	if !p.LeaderElect {
		var err error
		if keeper, err = p.keeper(ctx); err != nil {
			return err
		}
		defer keeper.Release(context.WithoutCancel(ctx)) // also where the manager does not come to start it
	}
	manager, err := NewManager(ctx, p.config, p.Settings)
	if err != nil {
		return err
	}
	if keeper != nil {
		if err := manager.Add(keeper); err != nil {
			return fmt.Errorf("lease: %w", err)
		}
	}
	return manager.Start(ctx)
}

// keeper tells that this manager runs, as the Lease of an elected one does.
func (p *process) keeper(ctx context.Context) (*lease.Keeper, error) {
	c, err := client.New(p.config, client.Options{Scheme: newScheme()}) // the manager's own would watch every Lease
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	host, _ := os.Hostname() // only people read it
	keeper := &lease.Keeper{
		Client: c, Namespaces: lease.Namespaces(p.LeaderNamespace), Identity: host + "_" + string(uuid.NewUUID()),
		Log: ctrl.Log.WithName("lease"),
	}
	if !p.exclusive {
		return keeper, nil
	}
	return keeper, keeper.Claim(ctx, func(other lease.Holder) {
		p.progress.note("another manager is active (on %s, heard of %s ago; Lease %s in namespace %s); "+
			"waiting until it ends, --alongside does not",
			other.Host, duration.HumanDuration(time.Since(other.Heard)), other.Lease, other.Namespace)
	})
}

// NewManager returns a manager with every controller, ready to be started. It asks the API server who it is.
func NewManager(ctx context.Context, config *rest.Config, o *Settings) (ctrl.Manager, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1 // API priority and fairness is the limit
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        newScheme(),
		Cache:                         controllers.CacheOptions(o.WatchNamespaces),
		Client:                        controllers.ClientOptions(o.WatchNamespaces),
		Controller:                    ctrlconfig.Controller{SkipNameValidation: ptr.To(o.Registry != nil)},
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:        o.ProbeAddress,
		PprofBindAddress:              o.PprofAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              lease.Elected,
		LeaderElectionNamespace:       o.LeaderNamespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       ptr.To(o.DrainTimeout + shutdownGrace),
	})
	if err != nil {
		return nil, fmt.Errorf("manager: %w", err)
	}
	if err := installed(manager.GetRESTMapper()); err != nil {
		return nil, err
	}
	if err := addProbes(manager); err != nil {
		return nil, err
	}
	policy, err := o.egressPolicy(config)
	if err != nil {
		return nil, err
	}
	if err := followAPIServer(manager, config, policy); err != nil {
		return nil, err
	}
	if o.Gateway.enabled() {
		if err := o.Gateway.listen(); err != nil {
			return nil, err
		}
		o.GatewayURL = cmp.Or(o.GatewayURL, o.Gateway.url())
	}
	dependencies, err := o.dependencies(ctx, config, policy, manager.GetClient())
	if err != nil {
		return nil, err
	}
	if err := controllers.SetupAll(manager, dependencies); err != nil {
		return nil, err
	}
	if o.Gateway.enabled() {
		return manager, o.serveAgents(ctx, manager, dependencies.Sessions)
	}
	return manager, nil
}

// shutdownGrace is what closing the sessions may take after the calls in flight have ended or had their time.
const shutdownGrace = 15 * time.Second

// addProbes serves /healthz and /readyz. Readiness needs synced caches and no MCP server.
func addProbes(manager ctrl.Manager) error {
	if err := manager.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("health probe: %w", err)
	}
	if err := manager.AddReadyzCheck("caches", controllers.CachesSynced(manager)); err != nil {
		return fmt.Errorf("readiness probe: %w", err)
	}
	return nil
}
