package agentsession

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/controllers/agentsession/selection"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/session"
)

// resolve reads what is published, chooses the servers, finds out where each one stands, and sets ServersResolved. Whom
// to follow is declared before anything is looked at, so that what happens meanwhile wakes this object again.
func (r *Reconciler) resolve(ctx context.Context, s *scope) error {
	if err := r.loadCatalog(ctx, s); err != nil {
		return err
	}
	world, err := r.world(ctx, s)
	if err != nil {
		return err
	}
	s.chosen = selection.Resolve(world.World, s.before)
	if s.chosen.Fault != nil && s.agents.document != nil {
		s.chosen = selection.Remainder(world.World, s.before, s.chosen.Fault, given(s.agents.document))
	}
	if world.err != nil {
		return world.err
	}
	r.Wakes.follow(s.name, follows(&s.chosen))
	for _, choice := range s.chosen.Choices {
		s.servers = append(s.servers, r.observe(choice, s))
	}
	s.memory.see(s.servers, s.now)
	s.session.Status.NativeKeys = s.chosen.NativeKeys
	setResolved(s)
	s.report = writeStatus
	return nil
}

// lookup is a World whose functions read from the cache; err is the first read that failed.
type lookup struct {
	*selection.World
	err error
}

func (r *Reconciler) world(ctx context.Context, s *scope) (*lookup, error) {
	list := &v1alpha1.MCPServerList{}
	err := r.Client.List(ctx, list, client.InNamespace(s.name.Namespace), client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	w := &lookup{World: &selection.World{}}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			w.Servers = append(w.Servers, &list.Items[i])
		}
	}
	w.Session = func(name string) *v1alpha1.AgentSession {
		parent := &v1alpha1.AgentSession{}
		if !w.get(ctx, r.Client, types.NamespacedName{Namespace: s.name.Namespace, Name: name}, parent) {
			return nil
		}
		return parent
	}
	w.Foreign = func(namespace, name string) *v1alpha1.MCPServer {
		server := &v1alpha1.MCPServer{}
		visible := r.Watches == nil || r.Watches(namespace)
		if !visible || !w.get(ctx, r.Client, types.NamespacedName{Namespace: namespace, Name: name}, server) {
			return nil
		}
		return server
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if w.get(ctx, r.Client, types.NamespacedName{Name: s.name.Namespace}, namespace) {
		w.Labels = labels.Set(namespace.Labels)
	}
	return w, nil
}

// get reads an object; what is missing or being deleted is not there.
func (w *lookup) get(ctx context.Context, from client.Reader, key types.NamespacedName, into client.Object) bool {
	err := from.Get(ctx, key, into, client.UnsafeDisableDeepCopy)
	if err != nil && !apierrors.IsNotFound(err) && w.err == nil {
		w.err = fmt.Errorf("%s: %w", key, err)
	}
	return err == nil && into.GetDeletionTimestamp().IsZero()
}

// follows are the sessions and names of all servers that were chosen.
func follows(chosen *selection.Result) following {
	var whom following
	for _, choice := range chosen.Choices {
		whom.names = append(whom.names, types.NamespacedName{Namespace: choice.Namespace, Name: choice.Name})
		if choice.Server != nil {
			whom.keys = append(whom.keys, session.Key(choice.Server.UID))
		}
	}
	return whom
}

// given are the servers whose tools agents have, by name and UID, and those of which they are told why not.
func given(document *sessioncatalog.Document) map[catalog.Ref]string {
	servers := map[catalog.Ref]string{}
	for _, failed := range document.Errors {
		if failed.Server != (catalog.Ref{}) {
			servers[failed.Server] = ""
		}
	}
	for i := range document.Servers {
		servers[document.Servers[i].Ref] = document.Servers[i].UID
	}
	return servers
}

// observe gathers what is known of one server.
func (r *Reconciler) observe(choice selection.Choice, s *scope) server {
	v := server{Choice: choice}
	if choice.State != "" || choice.Server == nil {
		v.readiness = gate.Evaluate(gate.Observation{Missing: missing(choice)}, s.now)
		return v
	}
	declared := choice.Server
	v.key = session.Key(declared.UID)
	known := r.Servers.Get(v.key)
	v.snapshot, v.entry = known.Snapshot, known.Entry
	v.readiness = gate.Evaluate(gate.Observation{
		Created: declared.CreationTimestamp.Time, Generation: declared.Generation,
		ConfigHash: r.ConfigHash(&declared.Spec), NeverProbed: declared.Spec.ProbeInterval() == 0,
		Snapshot: v.snapshot, Entry: v.entry,
	}, s.now)
	return v
}

// missing is the reason of a server that cannot be looked at.
func missing(choice selection.Choice) string {
	if choice.State == v1alpha1.ServerNotPermitted {
		return v1alpha1.ReasonRefNotPermitted
	}
	return v1alpha1.ReasonRefNotFound
}

func setResolved(s *scope) {
	const condition = v1alpha1.ConditionServersResolved
	if !s.before.Spec.Enabled() {
		s.conds.Unknown(condition, v1alpha1.ReasonDisabled, "spec.mcp is Disabled: no servers are looked for")
		return
	}
	if fault := s.chosen.Fault; fault != nil {
		s.conds.False(condition, fault.Reason, fault.Message)
		if fault.Final {
			s.stall = &stall{ready: v1alpha1.ReasonDiscoveryFailed, reason: fault.Reason, message: fault.Message}
		}
		return
	}
	for _, problem := range []struct{ state, reason string }{
		{v1alpha1.ServerNotPermitted, v1alpha1.ReasonRefNotPermitted},
		{v1alpha1.ServerNotFound, v1alpha1.ReasonRefNotFound},
	} {
		if messages := messagesOf(s.servers, problem.state); len(messages) > 0 {
			s.conds.False(condition, problem.reason, strings.Join(messages, "; also: "))
			return
		}
	}
	s.conds.True(condition, v1alpha1.ReasonResolved, "the servers are known")
}

// messagesOf says of the first few servers in a state what is wrong with them.
func messagesOf(servers []server, state string) []string {
	const most = 3
	var out []string
	for i := range servers {
		if servers[i].State == state && len(out) < most {
			out = append(out, servers[i].Message)
		}
	}
	return out
}
