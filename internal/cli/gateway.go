package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers"
	"github.com/mooring-dev/mooring/controllers/mcpserver"
	"github.com/mooring-dev/mooring/internal/cli/logging"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/gateway"
	"github.com/mooring-dev/mooring/internal/gateway/directory"
	"github.com/mooring-dev/mooring/internal/gateway/identity"
	"github.com/mooring-dev/mooring/internal/gateway/servers"
	"github.com/mooring-dev/mooring/internal/metrics"
	"github.com/mooring-dev/mooring/internal/session"
)

// LocalGateway is where the gateway of `run` and `dev` listens.
const LocalGateway = "127.0.0.1:8330"

// GatewaySettings are what every command that serves agents can be told.
type GatewaySettings struct {
	// Address is a listen address; "0" turns the gateway off.
	Address string
	// Listener, when not nil, takes the place of Address.
	Listener          net.Listener
	CertFile, KeyFile string
	// InsecureHTTP allows plain HTTP elsewhere than on loopback.
	InsecureHTTP bool
	// Anonymous takes requests without a token, on loopback alone.
	Anonymous                    bool
	AllowedHosts, AllowedOrigins []string
	InflightMiB                  int64
	// Tracer, when not nil, takes the place of that of the environment's exporter.
	Tracer trace.Tracer
}

func (o *GatewaySettings) register(flags *pflag.FlagSet, address string) {
	flags.StringVar(&o.Address, "gateway-bind-address", address, "address at which agents are served; 0 turns it off")
	flags.StringVar(&o.CertFile, "tls-cert-file", "",
		"PEM file with the gateway's certificate; read again when it changes")
	flags.StringVar(&o.KeyFile, "tls-key-file", "", "PEM file with the key of --tls-cert-file")
	flags.BoolVar(&o.InsecureHTTP, "insecure-http", false,
		"allow plain HTTP elsewhere than on loopback: tokens are sent in clear")
	flags.StringSliceVar(&o.AllowedHosts, "allowed-hosts", nil,
		"names by which agents reach the gateway, besides loopback and the names of the Service mooring-gateway")
	flags.StringSliceVar(&o.AllowedOrigins, "allowed-origins", nil,
		"origins of pages whose requests are taken (default: none)")
	flags.Int64Var(&o.InflightMiB, "max-inflight-mib", 256, "MiB of requests and results that are held at one time")
}

// enabled tells whether agents are to be served.
func (o *GatewaySettings) enabled() bool { return o != nil && (o.Listener != nil || o.Address != "0") }

// listen opens the listener, which must be on loopback where it is neither encrypted nor allowed to be plain.
func (o *GatewaySettings) listen() error {
	if o.Listener == nil {
		listener, err := net.Listen("tcp", o.Address)
		if err != nil {
			return fmt.Errorf("gateway: %w; --gateway-bind-address chooses another address", err)
		}
		o.Listener = listener
	}
	address, ok := o.Listener.Addr().(*net.TCPAddr)
	loopback := ok && address.IP.IsLoopback()
	switch {
	case (o.CertFile == "") != (o.KeyFile == ""):
		return errors.New("gateway: --tls-cert-file and --tls-key-file belong together")
	case !loopback && o.Anonymous:
		return errors.New("gateway: requests without a token are taken on loopback only")
	case !loopback && o.CertFile == "" && !o.InsecureHTTP:
		return errors.New("gateway: give --tls-cert-file and --tls-key-file, or --insecure-http for plain HTTP")
	}
	return nil
}

// url is where the gateway is reached on this machine.
func (o *GatewaySettings) url() string {
	scheme := "http"
	if o.CertFile != "" {
		scheme = "https"
	}
	return scheme + "://" + o.Listener.Addr().String()
}

// newGateway is the gateway as a process of its own.
func newGateway() *cobra.Command {
	o, g := &Settings{}, &GatewaySettings{}
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Serve agents: carry their tool calls to the servers",
		Long: `Serves MCP to agents and carries their tool calls to the servers, with the servers' credentials and under the
same supervision as the manager's sessions. An agent connects to /sessions/NAMESPACE/NAME/mcp with a Kubernetes token of
audience "mooring", and needs the verb "use" on that agentsession (ClusterRole mooring-agent).`,
		Args: wantArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := ctrl.GetConfig()
			if err != nil {
				return fmt.Errorf("kubeconfig: %w; set KUBECONFIG", err)
			}
			ctrl.SetLogger(logging.New(os.Stderr, o.Verbosity))
			where := target{host: config.Host}
			if err := awaitInstalled(cmd.Context(), config, newProgress(cmd.ErrOrStderr()).note); err != nil {
				return where.explain(err)
			}
			manager, err := NewGateway(cmd.Context(), config, o, g)
			if err != nil {
				return where.explain(err)
			}
			return manager.Start(cmd.Context())
		},
	}
	o.registerProcess(cmd.Flags())
	o.registerEgress(cmd.Flags())
	g.register(cmd.Flags(), ":8443")
	return cmd
}

// NewGateway returns a manager that serves agents and runs no controller of the manager, ready to be started.
func NewGateway(ctx context.Context, config *rest.Config, o *Settings, g *GatewaySettings) (ctrl.Manager, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1 // API priority and fairness is the limit
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  newScheme(),
		Cache:                   controllers.CacheOptions(o.WatchNamespaces),
		Controller:              ctrlconfig.Controller{SkipNameValidation: ptr.To(o.Registry != nil)},
		Metrics:                 metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:  o.ProbeAddress,
		PprofBindAddress:        o.PprofAddress,
		GracefulShutdownTimeout: ptr.To(2*o.DrainTimeout + shutdownGrace),
	})
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if err := installed(manager.GetRESTMapper()); err != nil {
		return nil, err
	}
	policy, err := o.egressPolicy(config)
	if err != nil {
		return nil, err
	}
	if err := followAPIServer(manager, config, policy); err != nil {
		return nil, err
	}
	held, sessions, err := o.holdServers(ctx, manager, config, policy)
	if err != nil {
		return nil, err
	}
	if err := g.listen(); err != nil {
		return nil, err
	}
	server, err := g.server(ctx, manager, sessions, held.Hold, o.registry())
	if err != nil {
		return nil, err
	}
	server.Drain = o.DrainTimeout
	return manager, manager.Add(&servingProcess{server: server, sessions: sessions})
}

// holdServers has a supervisor without discovery sessions know every server.
func (o *Settings) holdServers(
	ctx context.Context, manager ctrl.Manager, config *rest.Config, policy *egress.Policy,
) (*servers.Reconciler, *session.Supervisor, error) {
	held := &servers.Reconciler{Client: manager.GetClient(), SkipNameValidation: o.Registry != nil}
	references, err := newReferences(ctx, config, held.Feed.Wake)
	if err != nil {
		return nil, nil, err
	}
	series, err := metrics.New(o.registry())
	if err != nil {
		return nil, nil, fmt.Errorf("metrics: %w", err)
	}
	log := ctrl.Log.WithName("gateway")
	sessions := session.New(session.Options{
		Reread: held.Reread, DrainTimeout: o.DrainTimeout,
		Observe: observer(log.WithName("session"), held.Name, series),
	})
	held.Sessions, held.References = sessions, references
	held.Connector = connect.New(connect.Options{
		Values: references, Egress: policy, UserAgent: "mooring/" + buildVersion(),
	})
	if err := errors.Join(held.SetupWithManager(manager), manager.Add(references)); err != nil {
		return nil, nil, fmt.Errorf("gateway: %w", err)
	}
	return held, sessions, nil
}

// serveAgents adds the gateway to a manager, whose sessions carry the calls: one breaker serves both.
func (o *Settings) serveAgents(ctx context.Context, manager ctrl.Manager, sessions *session.Supervisor) error {
	server, err := o.Gateway.server(ctx, manager, sessions, nil, o.registry())
	if err != nil {
		return err
	}
	server.Drain, server.Led = o.DrainTimeout, true
	return manager.Add(server)
}

// servingProcess ends the sessions after the last request that they may have to carry.
type servingProcess struct {
	server   *gateway.Server
	sessions *session.Supervisor
}

// Start serves until ctx ends, and then until all is closed.
func (p *servingProcess) Start(ctx context.Context) error {
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	closed := make(chan error, 1)
	go func() { closed <- p.sessions.Run(base) }()
	err := p.server.Start(ctx)
	end()
	return errors.Join(err, <-closed)
}

// server returns the gateway over the manager's cache, to be started, with its readiness among the manager's.
func (o *GatewaySettings) server(
	ctx context.Context, manager ctrl.Manager, sessions *session.Supervisor,
	hold func(context.Context, *v1alpha1.MCPServer) error, registry prometheus.Registerer,
) (*gateway.Server, error) {
	series, err := metrics.NewGateway(registry)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	tracer := o.Tracer
	if tracer == nil {
		if tracer, err = newTracer(ctx, manager); err != nil {
			return nil, err
		}
	}
	kube, err := kubernetes.NewForConfig(manager.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	known := directory.New(directory.Options{
		Approve:      mcpserver.Approve,
		SessionEnded: func(uid types.UID) { sessions.EndCalls(gateway.SessionsOf(uid)) },
		ServerGone:   func(name types.NamespacedName) { series.Forget(name.Namespace, name.Name) },
	})
	if err := known.Follow(ctx, manager.GetCache()); err != nil {
		return nil, err
	}
	server := &gateway.Server{Listener: o.Listener, Gateway: gateway.New(gateway.Options{
		Identity: identity.New(kube), Directory: known, Sessions: sessions, Hold: hold, Anonymous: o.Anonymous,
		AllowedHosts: o.AllowedHosts, AllowedOrigins: o.AllowedOrigins, MaxInflightBytes: o.InflightMiB << 20,
		Version: buildVersion(), Log: ctrl.Log.WithName("gateway"),
		Metrics: series, Tracer: tracer,
	})}
	if o.CertFile != "" {
		certificates, err := certwatcher.New(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("gateway: %w", err)
		}
		if err := manager.Add(certificates); err != nil {
			return nil, fmt.Errorf("gateway: %w", err)
		}
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificates.GetCertificate}
	}
	return server, errors.Join(
		manager.AddHealthzCheck("gateway", healthz.Ping),
		manager.AddReadyzCheck("gateway", func(*http.Request) error {
			if !known.Synced() {
				return errors.New("watches are not synced")
			}
			return nil
		}))
}
