package cli

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/mooring-dev/mooring/controllers"
	"github.com/mooring-dev/mooring/controllers/mcpserver"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/metrics"
	"github.com/mooring-dev/mooring/internal/oauth"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream"
)

// dependencies makes what the controllers need: the supervisor, the reference tracker and the dialers.
func (o *Settings) dependencies(
	ctx context.Context, config *rest.Config, policy *egress.Policy,
) (controllers.Dependencies, error) {
	none := controllers.Dependencies{}
	servers := &mcpserver.Keys{}
	references, err := newReferences(ctx, config, servers)
	if err != nil {
		return none, err
	}
	registry := o.Registry
	if registry == nil {
		registry = ctrlmetrics.Registry
	}
	series, err := metrics.New(registry, mcpserver.States()...)
	if err != nil {
		return none, fmt.Errorf("metrics: %w", err)
	}
	sessions := session.New(session.Options{
		Discover:     true,
		Notify:       servers.Notify,
		Observe:      observer(ctrl.Log.WithName("session"), servers.Name, series),
		DrainTimeout: o.DrainTimeout,
	})
	dialers := &dialers{policy: policy, eras: upstream.NewEraMemory(), tokens: oauth.NewSources()}
	return controllers.Dependencies{
		Sessions: sessions, Servers: servers, References: references, Dial: dialers.dial,
		Eras: eras{dialers.eras}, CheckHost: dialers.check, Metrics: series, Namespaces: o.WatchNamespaces,
		Workers: o.Workers,
	}, nil
}

func newReferences(ctx context.Context, config *rest.Config, servers *mcpserver.Keys) (*refs.Tracker, error) {
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
		Kube: kube, Metadata: watcher, Wake: servers.Feed.Wake, Identity: identity, Log: ctrl.Log.WithName("references"),
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

// dialers makes dialers that share what the process knows: the egress policy, the protocol eras of servers and the
// access tokens.
type dialers struct {
	policy *egress.Policy
	eras   *upstream.EraMemory
	tokens *oauth.Sources
}

func (d *dialers) check(namespace, host string) error {
	return d.policy.ForNamespace(namespace).CheckLiteral(host)
}

func (d *dialers) dial(resolved connect.Config) (session.Dialer, error) {
	config := upstream.Config{
		URL:             resolved.URL,
		Protocol:        upstream.Protocol(resolved.Protocol),
		Bearer:          resolved.Bearer,
		CABundle:        []byte(resolved.CABundle),
		ServerName:      resolved.ServerName,
		ProxyURL:        secret.New(resolved.ProxyURL),
		ProtocolVersion: resolved.ProtocolVersion,
		Timeouts:        resolved.Timeouts,
		Egress:          d.policy.ForNamespace(resolved.Namespace),
		Eras:            d.eras,
		EraKey:          resolved.EraKey,
		UserAgent:       "mooring/" + buildVersion(),
	}
	for _, header := range resolved.Headers {
		config.Headers = append(config.Headers, upstream.Header{Name: header.Name, Value: header.Value})
	}
	if !resolved.ClientCertificate.IsZero() {
		pair, err := tls.X509KeyPair(
			[]byte(resolved.ClientCertificate.Reveal()), []byte(resolved.ClientKey.Reveal()))
		if err != nil { // it was judged before; the error's text may quote the key
			return nil, fmt.Errorf("client certificate of %s is not a pair", resolved.Target)
		}
		config.ClientCertificate = &pair
	}
	if resolved.OAuth != nil {
		tokens, err := d.source(&resolved, config.UserAgent)
		if err != nil {
			return nil, err
		}
		config.TokenSource = tokens
	}
	return upstream.NewDialer(config)
}

// source gets the access tokens of a server, from the same memory at each pass of its reconciler.
func (d *dialers) source(resolved *connect.Config, userAgent string) (*oauth.Source, error) {
	grant := resolved.OAuth
	return d.tokens.For(oauth.Config{
		Namespace:    resolved.Namespace,
		TokenURL:     grant.TokenURL,
		ClientID:     grant.ClientID,
		ClientSecret: grant.ClientSecret,
		Scopes:       grant.Scopes,
		Audience:     grant.Audience,
		CABundle:     []byte(resolved.CABundle),
		Egress:       d.policy.ForNamespace(resolved.Namespace),
		UserAgent:    userAgent,
	})
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

// eras shows the dialers' memory to the controller, which stores what is confirmed.
type eras struct{ *upstream.EraMemory }

func (e eras) Confirmed(key string) (string, bool) {
	era, ok := e.EraMemory.Confirmed(key)
	return string(era), ok
}

func (e eras) Confirm(key, era string) { e.EraMemory.Confirm(key, upstream.Era(era)) }
