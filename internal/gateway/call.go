package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/gateway/directory"
	"github.com/mooring-dev/mooring/internal/metrics"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// call is one request on its way to a server.
type call struct {
	*message
	reply *reply
	relay relay
	span  trace.Span
	// tool is the exposed name; empty for what is no call of a tool.
	tool   string
	params rpc.Object
	// dispatched: the client called dispatchTool.
	dispatched bool
	// token is the client's progress token, nil where it wants no progress.
	token  json.RawMessage
	server *v1alpha1.MCPServer
	began  time.Time
	cancel context.CancelFunc
}

// outcome is what a call came to: the bytes of its answer, and how it is told in the log.
type outcome struct {
	body     []byte
	result   string
	failure  failure.Failure
	upstream bool // the server answered
	status   int  // of HTTP; 0 is 200
}

// The words for a call's result in the log.
const (
	resultOK       = "ok"
	resultError    = "error"
	resultFailed   = "failed"
	resultRejected = "rejected"
	resultGone     = "cancelled"
)

const requestCancelled = -32800

// call carries a request to a server and answers with what came of it.
func (g *Gateway) call(w http.ResponseWriter, m *message) {
	c := &call{message: m, reply: newReply(w, m.accepts), began: time.Now()}
	c.relay.reply = c.reply
	if fault := c.read(); fault != "" {
		c.reply.finish(http.StatusOK, rpc.Refusal(m.ID, rpc.InvalidParams, fault))
		return
	}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(m.Context())
	defer c.cancel()
	defer g.calls.add(c)()
	defer g.options.Metrics.Began()()
	ctx, c.span = g.trace(ctx, c)
	if out := c.dispatch(); out != nil {
		g.finish(c, out)
		return
	}
	quiet := c.reply.keepAlive()
	out := g.carry(ctx, c)
	c.relay.stop()
	quiet()
	g.finish(c, out)
}

// read opens params. It returns what is wrong with them.
func (c *call) read() string {
	var err error
	if c.params, err = rpc.ParseObject(c.Params); err != nil {
		return "params must be an object"
	}
	if meta, err := rpc.ParseObject(c.params.Get("_meta")); err == nil {
		c.token = progressToken(meta.Get("progressToken"))
	}
	if c.Message.Method != methodCall {
		return ""
	}
	return c.readCall()
}

// progressToken is a token of a kind that there is, nil for what is none.
func progressToken(raw json.RawMessage) json.RawMessage {
	if len(raw) > 0 && bytes.IndexByte([]byte(`"-0123456789`), raw[0]) >= 0 {
		return raw
	}
	return nil
}

// readCall opens the params of a tool's call.
func (c *call) readCall() string {
	if ambiguous(c.params, "name") || ambiguous(c.params, "arguments") {
		return "params must have name and arguments once each, in lower case"
	}
	if json.Unmarshal(c.params.Get("name"), &c.tool) != nil || c.tool == "" {
		return "params.name must name a tool"
	}
	switch arguments := bytes.TrimSpace(c.params.Get("arguments")); {
	case len(arguments) == 0 || string(arguments) == "null":
		c.params = c.params.With("arguments", json.RawMessage(`{}`))
	case arguments[0] != '{':
		return "params.arguments must be an object"
	}
	return ""
}

// ambiguous tells whether some servers read another member as the one of a name than we do: of two they take the first,
// or they do not tell upper from lower case. What was permitted must be what is called.
func ambiguous(params rpc.Object, name string) bool {
	seen := 0
	for _, member := range params {
		switch {
		case member.Name == name:
			seen++
		case strings.EqualFold(member.Name, name):
			return true
		}
	}
	return seen > 1
}

// carry finds the server and has it answer.
func (g *Gateway) carry(ctx context.Context, c *call) *outcome {
	target, refused := c.find(ctx)
	if refused != nil {
		return refused
	}
	c.server = target.Server
	if fault := checkParamHeaders(c, target.Definition); fault != "" && !c.dispatched {
		return &outcome{
			body: rpc.Refusal(c.ID, rpc.HeaderMismatch, fault), result: resultRejected, status: http.StatusBadRequest,
		}
	}
	if err := g.hold(ctx, c.server); err != nil {
		return c.unavailable("its declaration is not accepted")
	}
	request := session.Call{Method: c.Message.Method, Tool: target.Tool, Params: c.params.Encode()}
	if c.Message.Method == methodCall && target.Tool != c.tool {
		request.Params = c.params.With("name", object(target.Tool)).Encode()
	}
	if c.token != nil {
		request.Progress = c.pass
	}
	request.Message = func(params json.RawMessage) {
		c.relay.pass(rpc.Notification("notifications/message", params))
	}
	answer, err := g.options.Sessions.Call(ctx, session.Key(c.server.UID), c.from(), request)
	switch {
	case err != nil:
		return c.failed(ctx, err)
	case answer.Error != nil:
		return &outcome{
			body: rpc.Fail(c.ID, answer.Error), result: resultError, upstream: true, status: c.statusOf(answer.Error),
		}
	}
	return &outcome{body: rpc.Reply(c.ID, answer.Result), result: resultOK, upstream: true}
}

// statusOf is the HTTP status of an error, which the stateless protocol lays down for some (MCP 2026-07-28, Streamable
// HTTP, Error Responses).
func (c *call) statusOf(fault json.RawMessage) int {
	answer := rpc.Message{Error: fault}
	known, _ := answer.Fault()
	switch {
	case !c.modern:
	case known.Code == rpc.MethodNotFound:
		return http.StatusNotFound
	case known.Code == rpc.HeaderMismatch, known.Code == rpc.MissingCapability, known.Code == rpc.UnsupportedVersion:
		return http.StatusBadRequest
	}
	return 0
}

func (g *Gateway) hold(ctx context.Context, server *v1alpha1.MCPServer) error {
	if g.options.Hold == nil {
		return nil
	}
	return g.options.Hold(ctx, server)
}

// find looks the tool up, waiting for its server's tools no longer than for an answer.
func (c *call) find(ctx context.Context) (directory.Target, *outcome) {
	if c.tool == "" {
		return c.offer.Whole(), nil
	}
	waiting, cancel := context.WithTimeout(ctx, c.offer.Patience(c.tool))
	defer cancel()
	target, finding := c.offer.Find(waiting, c.tool)
	switch {
	case ctx.Err() != nil:
		return target, &outcome{result: resultGone}
	case finding == directory.Found:
		return target, nil
	case finding == directory.Unknown:
		return target, &outcome{result: resultRejected, body: rpc.Refusal(c.ID, rpc.InvalidParams,
			"there is no tool "+c.tool+"; list the tools again")}
	case finding == directory.Withdrawn:
		return target, c.tells(notice{
			text:   "The tool " + c.tool + " was withdrawn; list the tools again.",
			result: resultRejected,
		})
	}
	c.server = target.Server
	return target, c.tells(notice{
		text: "The tool " + c.tool + " is temporarily unavailable: the tools of server " + target.Server.Name +
			" are being listed. Nothing was sent; try again later.",
		result: resultFailed, retryable: true,
	})
}

// from says on whose behalf the call is made, and whose session carries it.
func (c *call) from() session.Caller {
	of := string(c.offer.UID) + " "
	from := session.Caller{Name: of + c.caller.Key(), Session: of + c.offer.Reload + " " + c.caller.Key()}
	if c.server.Spec.Sharing() == v1alpha1.SharingShared {
		from.Session = "shared"
	}
	return from
}

// SessionsOf matches the sessions that carry calls of an AgentSession, or of those who call an MCPServer directly.
func SessionsOf(uid types.UID) func(session string) bool {
	return func(session string) bool { return strings.HasPrefix(session, string(uid)+" ") }
}

// pass hands a server's progress on under the client's token.
func (c *call) pass(params json.RawMessage) {
	members, err := rpc.ParseObject(params)
	if err != nil {
		return
	}
	c.relay.pass(rpc.Notification("notifications/progress", members.With("progressToken", c.token).Encode()))
}

// failed tells the agent why the server gave no answer.
func (c *call) failed(ctx context.Context, err error) *outcome {
	if ctx.Err() != nil {
		return &outcome{result: resultGone}
	}
	var refused *session.CallRefused
	if errors.As(err, &refused) {
		return c.tells(refusedNotice(refused, c.server.Name))
	}
	return c.tells(failedNotice(failure.Classify(err), c.server.Name))
}

func (c *call) unavailable(why string) *outcome {
	return c.tells(notice{
		text: "Server " + c.server.Name + " is unavailable: " + why + ". Nothing was sent; do not try again before " +
			"somebody has repaired it.",
		result: resultFailed,
	})
}

// finish answers the client and tells the log.
func (g *Gateway) finish(c *call, out *outcome) {
	if out.body == nil { // cancelled; who is still there waits for an answer
		out.body = rpc.Refusal(c.ID, requestCancelled, "the request was cancelled")
	}
	if c.Context().Err() == nil {
		release, ok := g.inflight.take(int64(len(out.body)))
		if !ok {
			out = c.tells(notice{text: "The gateway is overloaded and could not hold the answer; the tool may have run.",
				result: resultFailed})
		} else {
			defer release()
		}
		c.reply.finish(cmp.Or(out.status, http.StatusOK), out.body)
	}
	g.record(c, out)
}

// record has metrics, the trace and the access log tell of a call. None holds an argument or a result.
func (g *Gateway) record(c *call, out *outcome) {
	took := time.Since(c.began)
	if c.server != nil {
		g.options.Metrics.Called(metrics.Call{
			Method: c.Message.Method, Namespace: c.server.Namespace, Server: c.server.Name, Tool: c.tool,
			Outcome: out.result, Class: string(out.failure.Class), Took: took,
		})
	}
	endSpan(c.span, c, out)
	line := []any{
		"request", g.requests.Add(1), "user", c.caller.User(), "pod", c.caller.Pod(), string(c.offer.Kind), c.offer.Name,
		"method", c.Message.Method, "outcome", out.result, "seconds", took.Seconds(),
		"bytesIn", c.ContentLength, "bytesOut", c.reply.bytes,
	}
	if c.server != nil { // so the tool is one that is published
		line = append(line, "server", c.server.Namespace+"/"+c.server.Name, "tool", c.tool)
	}
	if out.failure.Class != "" {
		line = append(line, "class", out.failure.Class, "reason", out.failure.Reason, "httpStatus", out.failure.HTTPStatus)
	}
	if traced := c.span.SpanContext(); traced.IsValid() {
		line = append(line, "trace", traced.TraceID().String())
	}
	g.options.Log.Info("call", line...)
}
