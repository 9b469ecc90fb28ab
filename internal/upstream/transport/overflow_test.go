package transport

import (
	"errors"
	"testing"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
)

// A response that is too large ends its own request; where its beginning does not tell whose it is, the stream is lost.
func TestOverflowIsOneRequestsFault(t *testing.T) {
	tooLarge := &failure.Error{Failure: failure.Failure{
		Class: failure.Protocol, Phase: failure.Stream, Reason: failure.ProtocolError, Detail: "an event larger than 16 MiB",
	}, Cause: mcphttp.ErrTooLarge}
	waiting := &waiter{request: &Request{Phase: failure.List, ID: "m-1"}, done: make(chan outcome, 1)}
	sibling := &waiter{request: &Request{Phase: failure.Call, ID: "m-2"}, done: make(chan outcome, 1)}
	o := &LegacySSE{waiting: map[string]*waiter{"m-1": waiting, "m-2": sibling}}
	for head, told := range map[string]bool{
		``: false, `{"jsonrpc":"2.0","result":{"tools":[`: false, `{"id":7,"result":{`: false,
		`{"id":"m-9","result":{`: true, // late, or nobody's
	} {
		if o.overflow([]byte(head), tooLarge) != told || len(waiting.done)+len(sibling.done) != 0 {
			t.Errorf("%s: want told %v, and no request ended", head, told)
		}
	}
	if !o.overflow([]byte(`{"jsonrpc":"2.0","id":"m-1","result":{"tools":[`), tooLarge) || len(sibling.done) != 0 {
		t.Error("the request is told by its id, and alone")
	}
	var f *failure.Error
	if err := (<-waiting.done).err; !errors.As(err, &f) || !errors.Is(err, mcphttp.ErrTooLarge) ||
		f.Class != failure.Protocol || f.Phase != failure.List || !f.Sent || f.Detail != tooLarge.Detail {
		t.Errorf("error = %+v", err)
	}
}
