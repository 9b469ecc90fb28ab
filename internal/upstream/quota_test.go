package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

const usedUp = `{"code":"insufficient_quota"}`

// quotas are the answers of a server whose quota is used up.
var quotas = map[string]mcpfake.Fault{
	"402": mcpfake.Status(http.StatusPaymentRequired, nil, canary),
	"429": mcpfake.Status(http.StatusTooManyRequests, nil, `{"error":{"type":"billing_not_active"}}`),
	"429 of two minutes": mcpfake.Status(http.StatusTooManyRequests,
		mcpfake.Headers{"Retry-After": "120"}, `{"error":`+usedUp+`}`),
	"JSON-RPC": mcpfake.RPC(-32000, canary, usedUp),
}

// held is a session under a supervisor, of a server on a real socket.
type held struct {
	*session.Supervisor
	t       *testing.T
	changed chan struct{}
}

func hold(t *testing.T, server *mcpfake.Server) held {
	t.Helper()
	h := held{t: t, changed: make(chan struct{}, 1)}
	h.Supervisor = session.New(session.Options{Discover: true, DrainTimeout: -1, Notify: func(session.Key) {
		select {
		case h.changed <- struct{}{}:
		default:
		}
	}})
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() { end(); _ = await(t, "end of the supervisor", done) })
	h.Ensure("a", sessiontest.Config(session.Config{
		Dialer: dialer(t, config(t, server.URL())), Connection: "c", Catalog: "c", HealthInterval: 100 * time.Millisecond,
	}))
	return h
}

// until waits for a snapshot.
func (h held) until(what string, ok func(session.Snapshot) bool) session.Snapshot {
	h.t.Helper()
	for {
		if shot, _ := h.Snapshot("a"); ok(shot) {
			return shot
		}
		await(h.t, what, h.changed)
	}
}

func (h held) ready() session.Snapshot {
	return h.until("list", func(s session.Snapshot) bool { return s.State == session.Connected && s.Listing != nil })
}

// call calls a tool, and reports why it was refused, nil if it was not.
func (h held) call() (session.Answer, *session.CallRefused, error) {
	answer, err := h.Call(h.t.Context(), "a", session.Caller{Name: "me", Session: "s"}, call("echo", `{}`))
	var refused *session.CallRefused
	errors.As(err, &refused)
	return answer, refused, err
}

// gated demands that calls are refused with the reason and the time that is left.
func (h held) gated(want time.Duration) {
	h.t.Helper()
	_, refused, err := h.call()
	if refused == nil || refused.Failure.Reason != failure.QuotaExceeded {
		h.t.Fatalf("the next call came to %v, %+v", err, refused)
	}
	h.told(refused.RetryAfter, want)
}

// told demands a time: what was asked for, less what has passed since, and with jitter.
func (h held) told(got, want time.Duration) {
	h.t.Helper()
	if got < want-patience || got > want+want/5 {
		h.t.Errorf("tried again after %s, want %s", got, want)
	}
}

// wait is what a quota is waited for: as long as told, or ten minutes.
func wait(name string) time.Duration {
	if strings.Contains(name, "two minutes") {
		return 2 * time.Minute
	}
	return 10 * time.Minute
}

func TestQuotaExceededAtConnect(t *testing.T) {
	for name, fault := range quotas {
		t.Run(name, func(t *testing.T) {
			server := mcpfake.New(t)
			server.Fault(mcpfake.Any, mcpfake.Forever, fault)
			h := hold(t, server)
			shot := h.until("failure", func(s session.Snapshot) bool { return s.Fault != nil })
			if shot.Fault.Class != failure.Quota || shot.Fault.Reason != failure.QuotaExceeded || shot.Strikes != 0 ||
				shot.State != session.Waiting {
				t.Errorf("%s, %d strikes, %+v", shot.State, shot.Strikes, shot.Fault)
			}
			h.told(time.Until(shot.NextAttempt), wait(name))
			if message := failure.Message(shot.Fault.Failure, "x"); strings.Contains(message, canary) {
				t.Errorf("the message repeats what the server said: %s", message)
			}
		})
	}
}

func TestQuotaExceededAtListKeepsTools(t *testing.T) {
	for name, fault := range quotas {
		t.Run(name, func(t *testing.T) {
			server := mcpfake.New(t)
			h := hold(t, server)
			h.ready()
			server.Fault(mcpfake.List, mcpfake.Forever, fault)
			h.Refresh("a")
			shot := h.until("failed list", func(s session.Snapshot) bool { return s.ListFault != nil })
			if shot.ListFault.Reason != failure.QuotaExceeded || shot.State != session.Connected || shot.Listing == nil ||
				shot.Strikes != 0 {
				t.Errorf("%s, %d strikes, %+v", shot.State, shot.Strikes, shot.ListFault)
			}
			h.gated(wait(name))
		})
	}
}

func TestQuotaExceededAtProbeKeepsTheSession(t *testing.T) {
	for name, fault := range quotas {
		t.Run(name, func(t *testing.T) {
			server := mcpfake.New(t)
			h := hold(t, server)
			h.ready()
			server.Fault(mcpfake.Ping, mcpfake.Forever, fault)
			server.Await(t, func(st mcpfake.Stats) bool { return st.Phase(mcpfake.Ping) > 0 })
			for refused := (*session.CallRefused)(nil); refused == nil; { // its answer is on the way
				_, refused, _ = h.call()
			}
			h.gated(wait(name))
			if shot := h.ready(); shot.Fault != nil || shot.Strikes != 0 {
				t.Errorf("%d strikes, %+v", shot.Strikes, shot.Fault)
			}
		})
	}
}

// A JSON-RPC error to a call passes unchanged; a status fails the call with the reason. Either way it was sent once,
// and the next call is refused.
func TestQuotaExceededAtCall(t *testing.T) {
	for name, fault := range quotas {
		t.Run(name, func(t *testing.T) {
			server := mcpfake.New(t)
			h := hold(t, server)
			h.ready()
			before := server.Count("tools/call")
			server.Fault(mcpfake.Call, mcpfake.Forever, fault)
			answer, refused, err := h.call()
			var said struct{ Data json.RawMessage }
			if name == "JSON-RPC" {
				if err != nil || json.Unmarshal(answer.Error, &said) != nil || string(said.Data) != usedUp {
					t.Errorf("the answer is %s, %v", answer.Error, err)
				}
			} else if f := failureOf(t, err); f.Reason != failure.QuotaExceeded || refused != nil {
				t.Errorf("the call came to %v", err)
			}
			h.gated(wait(name))
			if sent := server.Count("tools/call") - before; sent != 1 {
				t.Errorf("the call was sent %d times", sent)
			}
			if shot := h.ready(); shot.Strikes != 0 {
				t.Errorf("%d strikes", shot.Strikes)
			}
		})
	}
}
