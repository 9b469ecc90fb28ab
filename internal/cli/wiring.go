package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers"
	"github.com/mooring-dev/mooring/controllers/mcpserver"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/metrics"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/session"
)

// registry is where metrics are registered.
func (o *Settings) registry() prometheus.Registerer {
	if o.Registry != nil {
		return o.Registry
	}
	return ctrlmetrics.Registry
}

// dependencies makes what the controllers need: the supervisor, the reference tracker and the connector.
func (o *Settings) dependencies(
	ctx context.Context, config *rest.Config, policy *egress.Policy, objects client.Reader,
) (controllers.Dependencies, error) {
	none := controllers.Dependencies{}
	servers := &mcpserver.Keys{}
	references, err := newReferences(ctx, config, servers.Feed.Wake)
	if err != nil {
		return none, err
	}
	series, err := metrics.New(o.registry(), mcpserver.States()...)
	if err != nil {
		return none, fmt.Errorf("metrics: %w", err)
	}
	connector := connect.New(connect.Options{
		Values: references, Egress: policy, UserAgent: "mooring/" + buildVersion(),
	})
	sessions := session.New(session.Options{
		Discover:     true,
		Reread:       rereader(servers, objects, connector),
		Notify:       servers.Notify,
		Observe:      observer(ctrl.Log.WithName("session"), servers.Name, series),
		DrainTimeout: o.DrainTimeout,
	})
	return controllers.Dependencies{
		Sessions: sessions, Servers: servers, References: references, Connector: connector, Metrics: series,
		Namespaces: o.WatchNamespaces, Workers: o.Workers, Gateway: o.GatewayURL,
	}, nil
}

// rereader makes the configuration of a server anew, with its credentials as they are now.
func rereader(
	servers *mcpserver.Keys, objects client.Reader, connector *connect.Connector,
) func(context.Context, session.Key) (session.Config, error) {
	return func(ctx context.Context, key session.Key) (session.Config, error) {
		name, _ := servers.Name(key)
		server := &v1alpha1.MCPServer{}
		if err := objects.Get(ctx, name, server); err != nil {
			return session.Config{}, fmt.Errorf("server: %w", err)
		}
		wanted, err := connector.Session(ctx, server)
		if err != nil || wanted == nil {
			return session.Config{}, errors.Join(err, errors.New("server is not held"))
		}
		return wanted.Config, nil
	}
}

func newReferences(
	ctx context.Context, config *rest.Config, wake func(types.NamespacedName),
) (*refs.Tracker, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	watcher, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("metadata client: %w", err)
	}
	identity, err := refs.Identity(ctx, kube)
	if err != nil {
		return nil, fmt.Errorf("who am I: %w", err)
	}
	return refs.New(refs.Options{
		Kube: kube, Metadata: watcher, Wake: wake, Identity: identity, Log: ctrl.Log.WithName("references"),
	}), nil
}

// egressPolicy is the flags' policy; the API server is never an MCP server, under whichever address we know it.
func (o *Settings) egressPolicy(config *rest.Config) (*egress.Policy, error) {
	policy, err := egress.NewPolicy(egress.Options{
		AllowLoopback: o.AllowLoopback, AllowCrossNamespaceServices: o.CrossNamespaceServices,
		Allow: o.EgressAllow, Deny: o.EgressDeny, APIServers: apiServers(config.Host),
	})
	if err != nil {
		return nil, fmt.Errorf("flags: %w", err)
	}
	return policy, nil
}

// observer turns a session's events into metrics and log lines. A failure is a debug line: its first occurrence shows
// in status and events anyway. A line names the server, unless its object is gone already.
func observer(
	root logr.Logger, server func(session.Key) (types.NamespacedName, bool), series *metrics.Metrics,
) func(session.Event) {
	return func(event session.Event) {
		log := root.WithValues("session", event.Key)
		if name, bound := server(event.Key); bound {
			log = log.WithValues("namespace", name.Namespace, "name", name.Name)
		}
		switch event.Kind {
		case session.EventConnected:
			series.Connected(event.Duration)
			log.V(1).Info("session connected")
		case session.EventListed:
			series.Listed(event.Duration)
		case session.EventFailed:
			series.Failed(event.Failure.Class, event.Failure.Phase)
			log.V(1).Info("session failure", "class", event.Failure.Class, "phase", event.Failure.Phase,
				"reason", event.Failure.Reason, "httpStatus", event.Failure.HTTPStatus)
		case session.EventQuarantined:
			series.Quarantined()
			log.Info("server quarantined", "reason", event.Failure.Reason)
		case session.EventRetired:
			series.Retired(string(event.Retirement))
			log.Info("server retired", "reason", event.Failure.Reason, "retirement", event.Retirement)
		case session.EventRebuilt:
			series.Rebuilt()
			log.V(1).Info("session rebuilt")
		case session.EventPanicked:
			log.Error(nil, "session panicked; it is rebuilt", "stack", event.Stack)
		case session.EventCloseTimedOut:
			log.Info("sessions did not end in time")
		case session.EventClosed:
			log.V(1).Info("session closed")
		}
	}
}
