package mcpserver

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/conditions"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/session"
)

// scope is what one pass knows. Each field says which phase sets it.
type scope struct {
	// These are set when the pass begins. server carries the status as this pass makes it, before is the object as it was
	// read.
	name           types.NamespacedName
	key            session.Key
	server, before *v1alpha1.MCPServer
	conds          conditions.Setter
	memory         *memory
	hash           string           // the config hash
	place          *configmap.Place // where the ConfigMap is

	// resolve sets these.
	wanted  *connect.Session // nil when the server is disabled or not accepted
	filter  catalog.Filter
	refused *connect.NotAccepted // why the declaration is not accepted
	stall   *problem             // why waiting will not help; connect and publish set it too

	// connect sets these.
	snapshot session.Snapshot

	// publish sets these.
	catalog catalogState
	offered *catalog.Catalog // what of it agents may be offered; nil without one
	write   writeState

	// report says whether finish writes status: connect allows it, publish may have it skipped.
	report  reportState
	requeue ctrl.Result
}

// catalogState tells whether there is a catalog of this configuration in the ConfigMap.
type catalogState int

const (
	noCatalog      catalogState = iota
	expiredCatalog              // it was confirmed too long ago to be offered
	validCatalog                // it may be offered
)

// writeState tells what became of the ConfigMap.
type writeState int

const (
	writeSettled    writeState = iota // it is as it is to be, or somebody must act
	writePending                      // it could not be written, and that is tried again soon
	writeSuperseded                   // the same, because it was changed meanwhile: the list was not judged to the end
)

// reportState tells whether this pass writes status.
type reportState int

const (
	skipStatus reportState = iota // nothing was learnt yet in this process
	writeStatus
)

func newScope(name types.NamespacedName, server *v1alpha1.MCPServer, memory *memory) *scope {
	s := &scope{
		name: name, key: session.Key(server.UID), server: server.DeepCopy(), before: server, memory: memory,
		place: catalogKind.Place(name, server.UID),
	}
	s.conds = conditions.For(s.server, &s.server.Status.Conditions)
	s.hash = connect.Hash(&server.Spec)
	return s
}

// problem is why a condition is not True, where a person must fix it or wait. It is no error of a reconcile.
type problem struct {
	reason, message string
	// final means that waiting will not help.
	final bool
}

// Error makes it travel as an error.
func (p *problem) Error() string { return p.message }

// stallFor notes why waiting will not help. The first cause is the one that is told.
func (s *scope) stallFor(reason, message string) {
	if s.stall == nil {
		s.stall = &problem{reason, message, true}
	}
}

// sameGeneration tells whether what stands in status speaks of the present spec.
func (s *scope) sameGeneration() bool {
	return s.before.Status.ObservedGeneration == s.before.Generation
}

// toldOfSession tells whether what stands in status speaks of a session under the present spec: there was none while
// the declaration was not accepted.
func (s *scope) toldOfSession() bool {
	return s.sameGeneration() && meta.IsStatusConditionTrue(s.before.Status.Conditions, v1alpha1.ConditionAccepted)
}

// lookAgain has the object looked at after a delay, if not before.
func (s *scope) lookAgain(delay time.Duration) {
	if s.requeue.RequeueAfter == 0 || delay < s.requeue.RequeueAfter {
		s.requeue.RequeueAfter = delay
	}
}
