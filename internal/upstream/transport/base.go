package transport

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// errClosed is the cause of everything that Close ends.
var errClosed = &failure.Error{Failure: failure.Failure{
	Class: failure.Transport, Reason: failure.ConnectionLost, Detail: "the session was closed",
}}

// base is what both transports share: their life, and the way they deal with what a server says unasked.
type base struct {
	watch session.Observer
	// reply sends a response to the server; nil where the protocol knows no responses of clients.
	reply func(ctx context.Context, body []byte) error

	life    context.Context
	end     context.CancelCauseFunc
	replies chan struct{}
	lost    sync.Once

	gate    sync.Mutex
	over    bool // nothing starts any more
	running sync.WaitGroup
}

func newBase(watch session.Observer) *base {
	life, end := context.WithCancelCause(context.Background())
	return &base{watch: watch, life: life, end: end, replies: make(chan struct{}, maxReplies)}
}

// bind returns a context that ends with ctx or with the life of the transport. After free it no longer ends with ctx:
// what is left to do when the caller has its answer is not the caller's.
func (b *base) bind(ctx context.Context) (bound context.Context, free func() bool, cancel context.CancelFunc) {
	bound, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(b.life, func() { end(context.Cause(b.life)) })
	free = context.AfterFunc(ctx, func() { end(ending(ctx)) })
	return bound, free, func() {
		free()
		stop()
		end(nil)
	}
}

// ending is why ctx ended, in a form that tells a deadline from a cancellation.
func ending(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(cause, context.DeadlineExceeded) {
		return errors.Join(cause, context.DeadlineExceeded)
	}
	return cause
}

// answerTime is how long the answer to r is read: as long as ctx, but where it may bring a session id for lingerTimeout
// longer, unless the time of ctx is up.
func answerTime(ctx context.Context, r *Request) (context.Context, context.CancelFunc) {
	if !opensSession(r) {
		return ctx, func() {}
	}
	longer, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			_ = pause(longer, lingerTimeout)
		}
		end(ending(ctx))
	})
	return longer, func() {
		stop()
		end(nil)
	}
}

// run starts a goroutine that Close waits for. After Close it starts nothing, and reports so.
func (b *base) run(work func()) bool {
	b.gate.Lock()
	defer b.gate.Unlock()
	if b.over {
		return false
	}
	b.running.Go(func() {
		defer func() {
			if recover() != nil { // what was thrown is not told: it may hold anything
				b.tellLost(&failure.Error{
					Failure: failure.Failure{
						Class: failure.Unknown, Phase: failure.Stream, Reason: failure.UnknownFailure,
						Detail: "internal error",
					},
					Cause: &session.PanicError{Stack: string(debug.Stack())},
				})
			}
		}()
		work()
	})
	return true
}

// tellLost tells the observer, once and not of our own closing, that the connection is dead.
func (b *base) tellLost(err error) {
	if b.life.Err() == nil {
		b.lost.Do(func() { b.watch.Lost(err) })
	}
}

// finish ends the life and waits for what it ran.
func (b *base) finish() {
	b.gate.Lock()
	b.over = true
	b.gate.Unlock()
	b.end(errClosed)
	b.running.Wait()
}

// receive deals with a message that is no response. r is the request on whose exchange it came, or which it names; nil
// if there is none. The error ends that request.
func (b *base) receive(m rpc.Message, r *Request) error {
	if m.IsRequest() {
		b.serve(m)
		return nil
	}
	switch m.Method {
	case "notifications/tools/list_changed":
		b.watch.ListChanged()
	case "notifications/progress", "notifications/message":
		if r != nil {
			r.notify(m)
		}
	case "notifications/cancelled":
		if r != nil && names(m.Params, "requestId", r.ID) {
			return failure.BadAnswer(r.Phase, failure.ProtocolError, "the server cancelled the request")
		}
	}
	return nil
}

// notify hands on what the server says while it works on the request.
func (r *Request) notify(m rpc.Message) {
	switch {
	case m.Method == "notifications/message":
		if r.Message != nil {
			r.Message(m.Params)
		}
	case r.Progress != nil && names(m.Params, "progressToken", r.ID):
		r.Progress(m.Params)
	}
}

// serve answers a server's request. Mooring offers nothing that a server could ask for, but it is there.
func (b *base) serve(m rpc.Message) {
	if b.reply == nil {
		return
	}
	body := rpc.Refusal(m.ID, rpc.MethodNotFound, "method not found")
	if m.Method == "ping" {
		body = rpc.Reply(m.ID, json.RawMessage(`{}`))
	}
	select {
	case b.replies <- struct{}{}:
	default:
		return
	}
	b.run(func() {
		defer func() { <-b.replies }()
		ctx, cancel := context.WithTimeout(b.life, replyTimeout)
		defer cancel()
		_ = b.reply(ctx, body) // a server that does not take an answer has its own trouble
	})
}

// abandon tells the server, while nobody waits for it, that a call is no longer waited for: its caller's ctx ended.
// Whatever the server answers to that, the call is over.
func (b *base) abandon(ctx context.Context, r *Request, err error, notify notifier) {
	var f *failure.Error
	if err == nil || ctx.Err() == nil || r.Phase != failure.Call || errors.As(err, &f) && !f.Sent {
		return
	}
	params := `{"requestId":"` + r.ID + `","reason":"the caller no longer waits"}`
	b.run(func() {
		ctx, cancel := context.WithTimeout(b.life, cancelTimeout)
		defer cancel()
		_ = notify(ctx, failure.Call, rpc.Notification("notifications/cancelled", json.RawMessage(params)))
	})
}

// notifier is the method Notify of a transport.
type notifier func(ctx context.Context, phase failure.Phase, body []byte) error

// names reports whether a member of params is this text.
func names(params json.RawMessage, member, text string) bool {
	o, err := rpc.ParseObject(params)
	if err != nil {
		return false
	}
	var got string
	return json.Unmarshal(o.Get(member), &got) == nil && got == text
}

// sessionLost reports whether a fault says that the server forgot the session.
func sessionLost(err error) bool {
	return failure.In(err).Policy().Loses
}
