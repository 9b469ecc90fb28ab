package gateway

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// FailureKey is where the _meta of a result says what failed, for programs.
const FailureKey = "mooring.dev/failure"

// notice is what an agent is told instead of an answer.
type notice struct {
	text       string
	result     string
	failure    failure.Failure
	retryable  bool
	retryAfter time.Duration
}

// toolFailure is the member FailureKey of _meta.
type toolFailure struct {
	Class             failure.Class `json:"class,omitempty"`
	HTTPStatus        int           `json:"httpStatus,omitempty"`
	Retryable         bool          `json:"retryable"`
	RetryAfterSeconds int           `json:"retryAfterSeconds,omitempty"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// toolResult is a tool's answer of ours.
type toolResult struct {
	ResultType string         `json:"resultType,omitempty"`
	Content    []textContent  `json:"content"`
	IsError    bool           `json:"isError,omitempty"`
	Meta       map[string]any `json:"_meta,omitempty"`
}

// tells answers with a notice: a call of a tool with a result that the model reads, any other request with an error.
func (c *call) tells(n notice) *outcome {
	details := toolFailure{
		Class: n.failure.Class, HTTPStatus: n.failure.HTTPStatus, Retryable: n.retryable,
		RetryAfterSeconds: seconds(n.retryAfter),
	}
	out := &outcome{result: n.result, failure: n.failure}
	if c.Message.Method != methodCall {
		fault := map[string]any{"code": internalError, "message": n.text, "data": map[string]any{FailureKey: details}}
		out.body = rpc.Fail(c.ID, object(fault))
		return out
	}
	result := toolResult{
		Content: []textContent{{Type: "text", Text: n.text}}, IsError: true, Meta: map[string]any{FailureKey: details},
	}
	if c.modern {
		result.ResultType = "complete"
	}
	out.body = rpc.Reply(c.ID, object(result))
	return out
}

const internalError = -32603

// seconds are full, so that nobody comes too early.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// refusedNotice is for a call that the server did not process.
func refusedNotice(refused *session.CallRefused, server string) notice {
	n := notice{
		result: resultFailed, failure: refused.Failure, retryAfter: refused.RetryAfter,
		retryable: refused.Kind != session.Unavailable,
	}
	cause := because(refused.Failure)
	switch after := seconds(refused.RetryAfter); {
	case refused.Kind == session.Overloaded:
		n.text = "Too many of your calls to server " + server + " are waiting. This one was not sent; try again when some " +
			"have ended."
	case refused.Kind == session.TemporarilyUnavailable && after > 0:
		n.text = fmt.Sprintf("Server %s is temporarily unavailable%s. The call was not carried out; try again in about %d s.",
			server, cause, after)
	case refused.Kind == session.TemporarilyUnavailable:
		n.text = fmt.Sprintf("Server %s is temporarily unavailable%s. The call was not carried out; try again later.",
			server, cause)
	case after > 0:
		n.text = fmt.Sprintf("Server %s is unavailable%s. The call was not carried out, and the server is not tried again "+
			"before %d s have passed.", server, cause, after)
	default:
		n.text = fmt.Sprintf("Server %s is unavailable%s. The call was not carried out; do not try again before somebody "+
			"has repaired it.", server, cause)
	}
	return n
}

// failedNotice is for a call that the server refused, or of which nobody knows whether it was carried out.
func failedNotice(f failure.Failure, server string) notice {
	n := notice{result: resultFailed, failure: f, retryAfter: f.RetryAfter}
	cause := because(f)
	switch outcome := f.Outcome(); {
	case f.Class == failure.Auth:
		n.text = fmt.Sprintf("Server %s rejected the call%s. It was not carried out; somebody must correct the credential "+
			"that the server is declared with. Other servers are not affected.", server, cause)
	case f.Policy().Gates:
		n.retryable = true
		n.text = fmt.Sprintf("Server %s limits its callers%s. The call was not carried out; try again in about %d s.",
			server, cause, seconds(f.RetryAfter))
	case outcome == failure.Answered:
		n.result = resultRejected
		n.text = fmt.Sprintf("Server %s rejected the call%s. Check the arguments and what you are permitted to do; the "+
			"tool is still available.", server, cause)
	case outcome == failure.NotProcessed:
		n.retryable = true
		n.text = fmt.Sprintf("Server %s is temporarily unavailable%s. The call was not carried out; try again later.",
			server, cause)
	default:
		n.text = fmt.Sprintf("Server %s gave no answer%s. The call may have been carried out: find out before you make it "+
			"again.", server, cause)
	}
	return n
}

// because is what happened, in the words of a condition's message, without what its operator is to do.
func because(f failure.Failure) string {
	if f.Class == "" {
		return ""
	}
	what, _, _ := strings.Cut(failure.Message(f, "the server"), "; ")
	return ": " + what
}
