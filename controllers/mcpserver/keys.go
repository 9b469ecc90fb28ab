package mcpserver

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/wake"
)

// Keys binds sessions, which are keyed by UID, to the objects that declare them, and wakes the controller for an
// object when its session has news. A name that is declared again under another UID is another session.
type Keys struct {
	// Feed is the controller's source of wakes.
	Feed wake.Feed
	// Also is told of every key besides, for others who look at sessions. It must not block. It is set before the first
	// use.
	Also func(session.Key)

	mu      sync.Mutex
	guarded struct {
		names map[session.Key]types.NamespacedName
		keys  map[types.NamespacedName]session.Key
	}
}

// Notify wakes the object that the session belongs to; it never blocks. Keys that are bound to nothing are dropped:
// their object is gone.
func (k *Keys) Notify(key session.Key) {
	if name, bound := k.Name(key); bound {
		k.Feed.Wake(name)
	}
	if k.Also != nil {
		k.Also(key)
	}
}

// Name is the object that the session belongs to; none when it is gone.
func (k *Keys) Name(key session.Key) (types.NamespacedName, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name, bound := k.guarded.names[key]
	return name, bound
}

// bind notes that name is declared with key, and returns the key of the object that had the name before, if any.
func (k *Keys) bind(name types.NamespacedName, key session.Key) (former session.Key, replaced bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.guarded.names == nil {
		k.guarded.names = map[session.Key]types.NamespacedName{}
		k.guarded.keys = map[types.NamespacedName]session.Key{}
	}
	former, had := k.guarded.keys[name]
	if had && former == key {
		return "", false
	}
	delete(k.guarded.names, former)
	k.guarded.names[key] = name
	k.guarded.keys[name] = key
	return former, had
}

// unbind forgets name and returns the key that it was bound to.
func (k *Keys) unbind(name types.NamespacedName) (session.Key, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, ok := k.guarded.keys[name]
	delete(k.guarded.keys, name)
	delete(k.guarded.names, key)
	return key, ok
}
