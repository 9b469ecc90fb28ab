package agentsession

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/controllers/agentsession/selection"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/conditions"
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
	stored  *storedCatalog
	chosen  selection.Result
	servers []server

	// startup sets these.
	open         bool // the gate is open: what is published from now on is the whole catalog
	decision     gate.Decision
	skipStatus   bool // nothing is to be told yet
	writePending bool // what was to be published could not be written, and is tried again soon
	lowPriority  bool // the next pass is for status alone, and lets others' catalogs go first

	// document is what agents have, nil when nothing of this object's, and encoding how it stands in the ConfigMap.
	// resolve sets them, and publish when it writes.
	document *sessioncatalog.Document
	encoding string

	// publish sets these.
	reduced reduced
	stall   *stall

	again time.Time // when to look again; zero: when something happens
}

// stall is why nothing was published, and waiting will not help; or may, where it is tried again.
type stall struct {
	ready, reason, message string
	retried                bool
}

// server is one choice and what is known of it.
type server struct {
	selection.Choice
	key      session.Key
	snapshot *session.Snapshot
	entry    *catalogstore.Entry
	standing gate.Standing
	seen     time.Time                   // when it first matched
	slice    *sessioncatalog.ServerEntry // what is offered of it, set by publish
}

func newScope(name types.NamespacedName, object *v1alpha1.AgentSession, memory *memory) *scope {
	s := &scope{
		name: name, session: object.DeepCopy(), before: object, memory: memory, now: time.Now(),
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

// result is when the next pass is due. A time that has passed while this one went on is due at once.
func (s *scope) result() ctrl.Result {
	if s.again.IsZero() {
		return ctrl.Result{}
	}
	priority := 0 // said also when it is the usual one: the queue would keep that of a pass that yielded
	if s.lowPriority {
		priority = handler.LowPriority
	}
	return ctrl.Result{RequeueAfter: max(time.Until(s.again), atOnce), Priority: &priority}
}

// atOnce is the shortest time after which a pass can be asked for.
const atOnce = time.Millisecond

// reload is the annotation that asks for the catalog to be put together anew.
func (s *scope) reload() string { return s.before.Annotations[v1alpha1.AnnotationReload] }

// reloads tells whether somebody waits for the outcome of a reload.
func (s *scope) reloads() bool {
	return s.reload() != "" && s.reload() != s.before.Status.LastHandledReloadAt
}
