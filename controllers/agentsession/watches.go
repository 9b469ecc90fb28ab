package agentsession

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/wake"
)

// Wakes knows who is offered which server, and wakes them when it has news. The zero value is ready.
type Wakes struct {
	// Feed is the controller's source of wakes.
	Feed wake.Feed

	mu      sync.Mutex
	guarded struct {
		of     map[types.NamespacedName]following
		byKey  map[session.Key]sets.Set[types.NamespacedName]
		byName map[types.NamespacedName]sets.Set[types.NamespacedName]
	}
}

// following is whom one object follows: sessions, and names of servers, also such as are not there.
type following struct {
	keys  []session.Key
	names []types.NamespacedName
}

// Notify wakes all who follow a session; it never blocks.
func (w *Wakes) Notify(key session.Key) {
	w.mu.Lock()
	followers := w.guarded.byKey[key].UnsortedList()
	w.mu.Unlock()
	for _, follower := range followers {
		w.Feed.Wake(follower)
	}
}

// follow replaces whom an object follows.
func (w *Wakes) follow(who types.NamespacedName, whom following) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := &w.guarded
	if g.of == nil {
		g.of = map[types.NamespacedName]following{}
		g.byKey = map[session.Key]sets.Set[types.NamespacedName]{}
		g.byName = map[types.NamespacedName]sets.Set[types.NamespacedName]{}
	}
	w.release(who)
	g.of[who] = whom
	for _, key := range whom.keys {
		enter(g.byKey, key, who)
	}
	for _, name := range whom.names {
		enter(g.byName, name, who)
	}
}

// unfollow is for an object that is gone.
func (w *Wakes) unfollow(who types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.release(who)
	delete(w.guarded.of, who)
}

// release takes an object out of the indexes; the caller holds the lock.
func (w *Wakes) release(who types.NamespacedName) {
	before := w.guarded.of[who]
	for _, key := range before.keys {
		leave(w.guarded.byKey, key, who)
	}
	for _, name := range before.names {
		leave(w.guarded.byName, name, who)
	}
}

// named are all who follow a server of this name, whether or not it is there.
func (w *Wakes) named(server types.NamespacedName) sets.Set[types.NamespacedName] {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.guarded.byName[server].Clone()
}

func enter[K comparable](index map[K]sets.Set[types.NamespacedName], key K, who types.NamespacedName) {
	if index[key] == nil {
		index[key] = sets.New[types.NamespacedName]()
	}
	index[key].Insert(who)
}

func leave[K comparable](index map[K]sets.Set[types.NamespacedName], key K, who types.NamespacedName) {
	index[key].Delete(who)
	if index[key].Len() == 0 {
		delete(index, key)
	}
}

// choosers are those whose choice a change of a server may touch: all of its namespace, whose selectors may match it
// now or have matched it before, and those elsewhere that name it.
func (r *Reconciler) choosers(ctx context.Context, server client.Object) []reconcile.Request {
	found := r.Wakes.named(client.ObjectKeyFromObject(server))
	if found == nil {
		found = sets.New[types.NamespacedName]()
	}
	found.Insert(r.sessionsOf(ctx, server.GetNamespace(), func(*v1alpha1.AgentSession) bool { return true })...)
	return requests(found.UnsortedList())
}

// children are those that may have the session among their parents.
func (r *Reconciler) children(ctx context.Context, parent client.Object) []reconcile.Request {
	return requests(r.sessionsOf(ctx, parent.GetNamespace(), func(s *v1alpha1.AgentSession) bool {
		return s.Spec.ParentRef != nil && s.Name != parent.GetName()
	}))
}

// inhabitants are those of a namespace, whose labels decide which servers of other namespaces they may use.
func (r *Reconciler) inhabitants(ctx context.Context, namespace client.Object) []reconcile.Request {
	return requests(r.sessionsOf(ctx, namespace.GetName(), func(s *v1alpha1.AgentSession) bool {
		return s.Spec.Servers != nil && len(s.Spec.Servers.Refs) > 0 || s.Spec.ParentRef != nil
	}))
}

func (r *Reconciler) sessionsOf(
	ctx context.Context, namespace string, wanted func(*v1alpha1.AgentSession) bool,
) []types.NamespacedName {
	if r.Watches != nil && !r.Watches(namespace) {
		return nil
	}
	list := &v1alpha1.AgentSessionList{}
	if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "agent sessions of a namespace not listed", "namespace", namespace)
		return nil
	}
	var out []types.NamespacedName
	for i := range list.Items {
		if wanted(&list.Items[i]) {
			out = append(out, client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return out
}

func requests(names []types.NamespacedName) []reconcile.Request {
	out := make([]reconcile.Request, 0, len(names))
	for _, name := range names {
		out = append(out, reconcile.Request{NamespacedName: name})
	}
	return out
}
