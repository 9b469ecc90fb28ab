package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession"
	"github.com/mooring-dev/mooring/controllers/mcpserver"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/events"
	"github.com/mooring-dev/mooring/internal/metrics"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/session"
)

// Dependencies are what the controllers need besides the manager.
type Dependencies struct {
	// Sessions supervises the discovery sessions. It notifies Servers and is run by whoever leads.
	Sessions *session.Supervisor
	// Servers binds sessions to MCPServers; it is what Sessions notifies.
	Servers *mcpserver.Keys
	// References follows Secrets and ConfigMaps; it wakes Servers.
	References *refs.Tracker
	// Connector makes of an MCPServer the session that it asks for.
	Connector *connect.Connector
	Metrics   *metrics.Metrics
	// Namespaces are the only ones that the manager's cache holds; none means all.
	Namespaces []string
	// Gateway is the URL at which agents reach the gateways, without a path; empty where there is none.
	Gateway string
	// Workers is how many MCPServers are reconciled, and how many catalogs of AgentSessions encoded, at a time.
	Workers int
}

// CacheOptions keep only those ConfigMaps in memory that Mooring wrote, and only objects of the namespaces; none means
// all.
func CacheOptions(namespaces []string) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{v1alpha1.LabelManagedBy: v1alpha1.LabelManagedByValue})
	options := cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Label: ours}}}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// ClientOptions have a read wait for the writes that this process made before it, so that no pass decides on what it
// has itself already changed. The library cannot do that over several caches of one kind; then a pass that decided on
// something old meets a conflict.
func ClientOptions(namespaces []string) client.Options {
	return client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(len(namespaces) < 2)}}
}

// CachesSynced is ready when the manager's caches are: no MCP server has a say in readiness.
func CachesSynced(m ctrl.Manager) healthz.Checker {
	return func(request *http.Request) error {
		if !m.GetCache().WaitForCacheSync(request.Context()) {
			return errors.New("caches are not synced")
		}
		return nil
	}
}

// SetupAll adds every controller, the supervisor and the reference tracker to the manager.
func SetupAll(m ctrl.Manager, d Dependencies) error {
	offers := &catalogstore.Store{Sessions: d.Sessions}
	if err := d.setupSessions(m, offers); err != nil {
		return fmt.Errorf("controller agentsession: %w", err)
	}
	servers := &mcpserver.Reconciler{
		Client:     m.GetClient(),
		Live:       m.GetAPIReader(),
		Keys:       d.Servers,
		Sessions:   d.Sessions,
		References: d.References,
		Connector:  d.Connector,
		Events:     events.New(m.GetEventRecorder("mooring")),
		Metrics:    d.Metrics,
		Catalogs:   offers,
		Workers:    d.Workers,
	}
	if err := servers.SetupWithManager(m); err != nil {
		return fmt.Errorf("controller mcpserver: %w", err)
	}
	if err := m.Add(led(d.Sessions.Run)); err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	if err := m.Add(d.References); err != nil {
		return fmt.Errorf("references: %w", err)
	}
	return nil
}

// setupSessions adds the controller of AgentSessions, which learns of servers from the catalog store alone.
func (d *Dependencies) setupSessions(m ctrl.Manager, offers *catalogstore.Store) error {
	sessions := &agentsession.Reconciler{
		Client:     m.GetClient(),
		Live:       m.GetAPIReader(),
		Servers:    offers,
		Wakes:      &agentsession.Wakes{},
		Sessions:   d.Sessions,
		ConfigHash: connect.Hash,
		Target:     connect.Target,
		Watches: func(namespace string) bool {
			return len(d.Namespaces) == 0 || slices.Contains(d.Namespaces, namespace)
		},
		Gateway: d.Gateway,
		Events:  events.New(m.GetEventRecorder("mooring")),
		Workers: d.Workers,
	}
	d.Servers.Also, offers.Changed = offers.Notify, sessions.ServerChanged
	return sessions.SetupWithManager(m)
}

// led runs under the lease: only the leader holds sessions.
type led func(context.Context) error

// Start runs until the context ends.
func (run led) Start(ctx context.Context) error { return run(ctx) }

// NeedLeaderElection is true: two processes with sessions to the same servers would be one too many.
func (led) NeedLeaderElection() bool { return true }
