package agentsession

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/controllers/agentsession/selection"
	"github.com/mooring-dev/mooring/internal/backoff"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/conditions"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/session"
)

// scope is what one pass knows. Each field says which phase sets it.
type scope struct {
	// These are set when the pass begins. session carries the status as this pass makes it, before is the object as it
	// was read.
	name            types.NamespacedName
	session, before *v1alpha1.AgentSession
	conds           conditions.Setter
	memory          *memory
	now             time.Time

	// resolve sets these.
	place   *configmap.Place // where the ConfigMap is
	stored  storedCatalog
	chosen  selection.Result
	servers []server

	// startup sets these.
	gate     gateState
	decision gate.Decision

	// agents is what agents have; its document is nil when nothing of this object's. resolve sets it, and publish when it
	// writes.
	agents lastPublished

	// publish sets these.
	write   writeState
	reduced reduced
	stall   *stall

	// report says whether finish writes status: resolve allows it, startup and publish may have it skipped.
	report reportState
	// again is when to look again, zero: when something happens; priority is that of the next pass.
	again    time.Time
	priority int
}

// storedCatalog is the catalog ConfigMap as it was found.
type storedCatalog = configmap.Found[*sessioncatalog.Document]

// gateState tells whether what is published from now on is the whole catalog.
type gateState int

const (
	gateHeld gateState = iota
	gateOpen
)

// writeState tells what became of the ConfigMap.
type writeState int

const (
	writeSettled writeState = iota // it is as it is to be, or somebody must act
	writePending                   // it could not be written, and that is tried again soon
)

// reportState tells whether this pass writes status.
type reportState int

const (
	skipStatus reportState = iota
	writeStatus
)

// stall is why nothing was published, and waiting will not help; or may, where it is tried again.
type stall struct {
	ready, reason, message string
	retried                bool
}

// server is one choice and what is known of it.
type server struct {
	selection.Choice
	key       session.Key
	snapshot  *session.Snapshot
	entry     *catalogstore.Entry
	readiness gate.Readiness
	seen      time.Time                   // when it first matched
	offered   *sessioncatalog.ServerEntry // what is offered of it, set by publish
}

func newScope(name types.NamespacedName, object *v1alpha1.AgentSession, memory *memory) *scope {
	s := &scope{
		name: name, session: object.DeepCopy(), before: object, memory: memory, now: time.Now(),
		place: catalogKind.Place(name, object.UID),
	}
	s.conds = conditions.For(s.session, &s.session.Status.Conditions)
	return s
}

// lookAgain has the pass repeated at a time, if nothing happens before. The earliest counts.
func (s *scope) lookAgain(at time.Time) {
	if !at.IsZero() && (s.again.IsZero() || at.Before(s.again)) {
		s.again = at
	}
}

// result is when the next pass is due. A time that has passed while this one went on is due at once. The priority is
// given also when it is the usual one: the queue would keep that of a pass of low priority.
func (s *scope) result() ctrl.Result {
	if s.again.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(time.Until(s.again), atOnce), Priority: &s.priority}
}

// atOnce is the shortest time after which a pass can be asked for.
const atOnce = time.Millisecond

// reload is the annotation that asks for the catalog to be built anew.
func (s *scope) reload() string { return s.before.Annotations[v1alpha1.AnnotationReload] }

// reloads tells whether somebody waits for the outcome of a reload.
func (s *scope) reloads() bool {
	return s.reload() != "" && s.reload() != s.before.Status.LastHandledReloadAt
}

// ref is the agent session in the words of catalogs.
func (s *scope) ref() catalog.Ref { return catalog.Ref{Namespace: s.name.Namespace, Name: s.name.Name} }

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

	configMap     configmap.Owned[*sessioncatalog.Document]
	basis         basis         // of the ConfigMap
	lastPublished lastPublished // whatever became of the ConfigMap
	selections    map[catalog.Ref]toolSelection
	conflicts     int // writes in a row that met a newer version

	// joined and flips limit status writes: all that servers caused, and those that Ready flips with.
	joined, flips backoff.Bucket
}

// lastPublished is what agents have, and how it is encoded in the ConfigMap.
type lastPublished struct {
	document *sessioncatalog.Document
	encoding string
}

// basis is what the ConfigMap of one version was made of: also the filters, and of which generation the declaration of
// each server was.
type basis struct {
	version     string
	desired     desiredCatalog
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
			configMap:  configmap.NewOwned[*sessioncatalog.Document](),
			selections: map[catalog.Ref]toolSelection{},
			joined:     backoff.Bucket{Size: 1, Refill: joinInterval},
			flips:      backoff.Bucket{Size: flipBurst, Refill: flipInterval},
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
		if server.readiness.State != gate.Pending || m.met[server.key] {
			met[server.key] = true
		}
	}
	m.seen, m.met = present, met
	maps.DeleteFunc(m.selections, func(ref catalog.Ref, _ toolSelection) bool {
		_, still := present[ref]
		return !still
	})
}
