package directory

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// decoded remembers what was made of an object, for as long as it is made of the same. The zero value is empty.
type decoded[V any] struct {
	mu      sync.Mutex
	guarded map[types.NamespacedName]*result[V]
}

type result[V any] struct {
	from any
	once sync.Once
	made V
}

// of returns what was made of from, which is comparable, making it once however many ask.
func (d *decoded[V]) of(key types.NamespacedName, from any, read func() V) V {
	d.mu.Lock()
	known := d.guarded[key]
	if known == nil || known.from != from {
		known = &result[V]{from: from}
		if d.guarded == nil {
			d.guarded = map[types.NamespacedName]*result[V]{}
		}
		d.guarded[key] = known
	}
	d.mu.Unlock()
	known.once.Do(func() { known.made = read() })
	return known.made
}

func (d *decoded[V]) drop(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.guarded, key)
}
