package events

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Recorder emits events, each transition once. It is safe for concurrent use; New makes one.
type Recorder struct {
	sink events.EventRecorder

	mu sync.Mutex
	// told is the last event of each action, by the UID of the object.
	told map[types.UID]map[string]Event
}

// New returns a Recorder that emits through sink, which a controller-runtime manager's GetEventRecorder gives.
func New(sink events.EventRecorder) *Recorder {
	return &Recorder{sink: sink, told: map[types.UID]map[string]Event{}}
}

// Emit tells about obj unless that was the last thing told of this action, and reports whether it did. obj must be of a
// kind that the sink's scheme knows.
func (r *Recorder) Emit(obj client.Object, event Event) (emitted bool) {
	event.Message = fit(event.Message)
	if !r.isNews(obj.GetUID(), event) {
		return false
	}
	r.sink.Eventf(obj, nil, event.Type, event.Reason, event.Action, "%s", event.Message)
	return true
}

// Forget drops what was told of an object that is gone.
func (r *Recorder) Forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.told, uid)
}

// isNews also remembers the event.
func (r *Recorder) isNews(uid types.UID, event Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told[uid] == nil {
		r.told[uid] = map[string]Event{}
	}
	last, known := r.told[uid][event.Action]
	r.told[uid][event.Action] = event
	return !known || last != event
}
