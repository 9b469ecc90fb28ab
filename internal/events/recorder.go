package events

import (
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/internal/text"
)

// Recorder emits events. It is safe for concurrent use; New makes one.
type Recorder struct{ sink events.EventRecorder }

// New returns a Recorder that emits through sink, which a controller-runtime manager's GetEventRecorder gives.
func New(sink events.EventRecorder) *Recorder { return &Recorder{sink: sink} }

// Emit tells about obj, which must be of a kind that the sink's scheme knows.
func (r *Recorder) Emit(obj client.Object, event Event) {
	r.sink.Eventf(obj, nil, event.Type, event.Reason, event.Action, "%s", text.Fit(event.Message, maxMessage))
}
