package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
)

// maxErrorBody (bytes) and errorBodyTimeout bound what is read of the body of an error answer: the status is known, and
// a body that does not come must not make a deadline of it.
const (
	maxErrorBody     = 64 << 10
	errorBodyTimeout = 2 * time.Second
)

// Rejection is the cause of a fault that an HTTP answer made: what its body said, for those who must understand it.
// It is never shown.
type Rejection struct{ Body []byte }

// Error implements error without a word of the body.
func (*Rejection) Error() string { return "rejected by an HTTP answer" }

// BodyOf returns the body of the answer that err was made of, nil if there was none.
func BodyOf(err error) []byte {
	var rejection *Rejection
	if errors.As(err, &rejection) {
		return rejection.Body
	}
	return nil
}

// fault names an error of an exchange that brought no answer.
func (c *Client) fault(ctx context.Context, r *Request, sent bool, err error) error {
	var known *failure.Error
	waited := errors.As(err, &known) && known.Reason == failure.TokenAcquisitionFailed // that is what took the time
	if ctx.Err() != nil && !waited {
		return Ended(ctx, r.Phase, sent, "")
	}
	if c.sockets.life.Err() != nil {
		return lost(r.Phase, sent, "the connection was closed", err)
	}
	f := failure.ClassifyAt(r.Phase, err)
	if f.Class == failure.Unknown && known == nil { // whatever it was, no answer came
		f.Class, f.Reason = failure.Transport, failure.ConnectionLost
	}
	f.Sent = sent
	return &failure.Error{Failure: f, Cause: err}
}

// Ended names the end of an exchange by its context. A deadline is our own: class timeout. A cause that is itself a
// failure is told again, of this phase. Any other cause is wrapped: the one who cancelled knows why.
func Ended(ctx context.Context, phase failure.Phase, sent bool, detail string) error {
	cause := context.Cause(ctx)
	if f := failure.In(cause); f.Class != "" {
		f.Phase, f.Sent = phase, sent
		return &failure.Error{Failure: f, Cause: cause}
	}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(cause, context.DeadlineExceeded) {
		return fmt.Errorf("%s ended: %w", phase, cause)
	}
	f := failure.ClassifyAt(phase, context.DeadlineExceeded)
	f.Sent, f.Detail = sent, detail
	return &failure.Error{Failure: f, Cause: cause}
}

// lost is a connection that went away.
func lost(phase failure.Phase, sent bool, detail string, cause error) error {
	return &failure.Error{Failure: failure.Failure{
		Class: failure.Transport, Phase: phase, Reason: failure.ConnectionLost, Sent: sent, Detail: detail,
	}, Cause: cause}
}

// badAnswer is an answer that breaks the protocol. While connecting it may be no MCP server at all.
func badAnswer(phase failure.Phase, status int, detail string, cause error) error {
	reason := failure.ProtocolError
	if phase == failure.Connect {
		reason = failure.NotMCP
	}
	bad := failure.BadAnswer(phase, reason, detail)
	bad.HTTPStatus, bad.Cause = status, cause
	return bad
}

// statusFault names an answer by its status. A little of its body goes along as a Rejection.
func statusFault(ctx context.Context, r *Request, resp *http.Response) error {
	timer := time.AfterFunc(errorBodyTimeout, func() { _ = resp.Body.Close() })
	body, err := readBounded(resp.Body, maxErrorBody)
	timer.Stop()
	_ = resp.Body.Close()
	left := ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	if err != nil && left { // the caller left: what the server said no longer matters
		return Ended(ctx, r.Phase, true, "")
	}
	f := failure.FromStatus(r.Phase, failure.Status{
		Code: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After"), WithSession: r.Session, Body: body,
	}, time.Now())
	return &failure.Error{Failure: f, Cause: &Rejection{Body: body}}
}
