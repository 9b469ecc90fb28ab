package agentsession

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/controllers/agentsession/throttle"
	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/session"
)

// Two writes of one ConfigMap may follow each other at once, then one per refillInterval.
const (
	writeBurst     = 2
	refillInterval = 10 * time.Second
)

// memories are what is remembered of each object from pass to pass.
type memories struct {
	mu      sync.Mutex
	guarded map[types.NamespacedName]*memory
}

// memory is of one object. One object is reconciled by one worker at a time, so it needs no lock.
type memory struct {
	uid types.UID

	// run is the present run of the gate, nil before the first and after the last; reload is the annotation that it
	// acts on, or that was acted on last; begun is when the last one began, zero before the first pass.
	run     *gate.Run
	reload  string
	outcome string // of the last run in this process
	begun   time.Time
	lost    bool // it was not known at the last pass which servers there are

	// seen is when each server first matched; met are those of which an attempt has ended in this process.
	seen map[catalog.Ref]time.Time
	met  map[session.Key]bool

	budget  backoff.Bucket // of writes of the ConfigMap
	decoded decoded
	cut     map[catalog.Ref]cutSlice
	last    published
	writes  throttle.Writes
	good    good
	taken   bool // the ConfigMap's name was taken when it was to be created
	// conflicts counts the writes in a row that met a newer version.
	conflicts int
	refused   *configmap.RefusedError // what the API server said when it refused to store the catalog
}

// decoded is what the ConfigMap of one version holds; document is nil when that is not what it should be.
type decoded struct {
	version  string
	document *sessioncatalog.Document
}

// good is what was published last, whatever became of the ConfigMap.
type good struct {
	document *sessioncatalog.Document
	encoding string
}

// cutSlice is the part of a slice that passes the filters.
type cutSlice struct {
	whole    *sessioncatalog.ServerEntry
	patterns string
	part     *sessioncatalog.ServerEntry
}

// published is what the ConfigMap of one version was made of: also the filters, and of which generation the declaration
// of each server was.
type published struct {
	version     string
	slices      []*sessioncatalog.ServerEntry
	errors      []sessioncatalog.Error
	reduced     reduced
	patterns    string
	generations map[catalog.Ref]int64
}

// reduced are the servers of which not everything is offered that was to be.
type reduced struct {
	// dropped: their tools did not fit. collisions: some of their tools have names of another server's.
	dropped, collisions []catalog.Ref
}

// of returns the memory of an object; a new object of an old name starts without one.
func (m *memories) of(name types.NamespacedName, uid types.UID) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.guarded == nil {
		m.guarded = map[types.NamespacedName]*memory{}
	}
	if known := m.guarded[name]; known == nil || known.uid != uid {
		m.guarded[name] = &memory{
			uid: uid, seen: map[catalog.Ref]time.Time{}, met: map[session.Key]bool{},
			budget: backoff.Bucket{Size: writeBurst, Refill: refillInterval}, cut: map[catalog.Ref]cutSlice{},
		}
	}
	return m.guarded[name]
}

// drop forgets an object, and returns its UID if it was known.
func (m *memories) drop(name types.NamespacedName) types.UID {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.guarded[name]
	delete(m.guarded, name)
	if known == nil {
		return ""
	}
	return known.uid
}

// see notes the servers that match now, and forgets those that do not any more, or are left out.
func (m *memory) see(servers []server, now time.Time) {
	present := make(map[catalog.Ref]time.Time, len(servers))
	met := make(map[session.Key]bool, len(servers))
	for i := range servers {
		server := &servers[i]
		if !server.Selected() {
			continue
		}
		since, known := m.seen[server.Ref]
		if !known {
			since = now
		}
		present[server.Ref], server.seen = since, since
		if server.standing.State != gate.Pending || m.met[server.key] {
			met[server.key] = true
		}
	}
	m.seen, m.met = present, met
	maps.DeleteFunc(m.cut, func(ref catalog.Ref, _ cutSlice) bool {
		_, still := present[ref]
		return !still
	})
}

// pass cuts a slice down to what passes. What was cut before is not cut again.
func (m *memory) pass(
	ref catalog.Ref, whole *sessioncatalog.ServerEntry, passes toolFilter,
) *sessioncatalog.ServerEntry {
	if passes.patterns == "" {
		delete(m.cut, ref)
		return whole
	}
	if was := m.cut[ref]; was.whole == whole && was.patterns == passes.patterns {
		return was.part
	}
	part := *whole
	part.Tools = nil
	for i := range whole.Tools {
		if passes.allows(&whole.Tools[i]) {
			part.Tools = append(part.Tools, whole.Tools[i])
		}
	}
	m.cut[ref] = cutSlice{whole: whole, patterns: passes.patterns, part: &part}
	return &part
}
