package transport

import (
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// On HTTP+SSE a response that cannot be read whole is told apart by its beginning, so that it costs its request alone.

// overflow ends the request whose response is too large, and reports whether the response's beginning tells which one
// that is.
func (o *LegacySSE) overflow(head []byte, err error) bool {
	w, told := o.addressee(head)
	if w != nil {
		f := unanswered(w.request.Phase, err)
		f.Cause = err
		o.settle(w.request.ID, outcome{err: f})
	}
	return told
}

// parse reads the messages of an event, and of a list that nests too deep what can be read of it.
func (o *LegacySSE) parse(data []byte) ([]rpc.Message, error) {
	messages, err := rpc.Parse(data)
	if err == nil {
		return messages, nil
	}
	w, _ := o.addressee(data)
	if w != nil && (w.request.Phase == failure.List || w.request.Phase == failure.Probe) {
		return rpc.ParseList(data)
	}
	return nil, err
}

// addressee is the request that a response answers whose beginning alone can be read; nil when none is waiting.
// It reports whether the beginning tells.
func (o *LegacySSE) addressee(head []byte) (*waiter, bool) {
	id, told := rpc.LeadingID(head)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waiting[id], told
}
