package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// tool is a call of a tool.
func tool(name string) session.Call { return session.Call{Method: "tools/call", Tool: name} }

// me is the caller of most tests.
var me = session.Caller{Name: "me", Session: "s"}

// call calls the tool x of a.
func (r *rig) call() (session.Answer, error) { return r.Call(r.t.Context(), "a", me, tool("x")) }

// outcome is what a call in the background came to.
type outcome struct {
	answer session.Answer
	err    error
	took   time.Duration
}

// go calls in the background.
func (r *rig) background(ctx context.Context, key session.Key, from session.Caller, call session.Call) <-chan outcome {
	done := make(chan outcome, 1)
	started := time.Now()
	go func() {
		answer, err := r.Call(ctx, key, from, call)
		done <- outcome{answer, err, time.Since(started)}
	}()
	return done
}

// calling is a script in which the n-th call ends so; nil is an answer.
func calling(errs ...error) sessiontest.Script {
	return sessiontest.Script{
		Info: session.Info{HasSessionID: true},
		Call: func(_ context.Context, n int, _ session.Call) (session.Answer, error) {
			if n <= len(errs) && errs[n-1] != nil {
				return session.Answer{}, errs[n-1]
			}
			return session.Answer{Result: json.RawMessage(`{"ok":true}`)}, nil
		},
	}
}

// replaying permits every tool to be resent.
func replaying(server *sessiontest.Server) session.Config {
	cfg := config(server)
	cfg.Calls.Replay = func(string) bool { return true }
	return cfg
}

// answers asserts an answer.
func answers(t *testing.T, answer session.Answer, err error) {
	t.Helper()
	if err != nil || string(answer.Result) != `{"ok":true}` {
		t.Fatalf("got %s, %v", answer.Result, err)
	}
}

// refuses asserts a refusal.
func refuses(t *testing.T, err error, kind session.CallRefusedKind) *session.CallRefused {
	t.Helper()
	refusal := new(session.CallRefused)
	if !errors.As(err, &refusal) || refusal.Kind != kind {
		t.Fatalf("got %v, want %s", err, kind)
	}
	if errors.Is(err, session.ErrNotConnected) != (kind != session.Overloaded) {
		t.Fatalf("%v: ErrNotConnected is wrong", err)
	}
	return refusal
}

// fails asserts a failure and what became of the call.
func fails(t *testing.T, err error, reason failure.Reason, outcome failure.Outcome) failure.Failure {
	t.Helper()
	f := new(failure.Error)
	if !errors.As(err, &f) || f.Reason != reason || f.Outcome() != outcome {
		t.Fatalf("got %#v, want %s and %s", err, reason, outcome)
	}
	return f.Failure
}

func TestCallOpensASessionAndKeepsIt(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		_, err := r.call()
		refuses(t, err, session.Unavailable)
		server := sessiontest.NewServer(calling())
		r.Ensure("a", config(server))
		equal(t, "dials before a call", server.Counts().Dials, 0)
		for range 3 {
			answer, err := r.call()
			answers(t, answer, err)
		}
		other := session.Caller{Name: "me", Session: "other"}
		answer, err := r.Call(t.Context(), "a", other, tool("x"))
		answers(t, answer, err)
		equal(t, "requests", server.Counts(), sessiontest.Counts{Dials: 2, Calls: 4, Open: 2, MostOpen: 2})
		snapshot := r.is("a", session.Connected)
		equal(t, "settled", snapshot.Settled, true)
		equal(t, "listing", snapshot.Listing, nil)

		r.after(9 * time.Minute)
		answer, err = r.call()
		answers(t, answer, err)
		r.after(2 * time.Minute)
		equal(t, "open: the other was idle for ten minutes", server.Counts().Open, 1)
		r.after(10 * time.Minute)
		equal(t, "open", server.Counts().Open, 0)
		equal(t, "probes of call sessions", server.Counts().Probes, 0)
		answer, err = r.call()
		answers(t, answer, err)
	})
}

func TestCallBeforeRunIsRefused(t *testing.T) {
	s := session.New(gateway())
	s.Ensure("a", config(sessiontest.NewServer(calling())))
	_, err := s.Call(t.Context(), "a", me, tool("x"))
	refuses(t, err, session.Unavailable)
}

// B13: one handshake carries 20 parallel calls on a cold session.
func TestB13_OneHandshakeForAll(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Dial: func(context.Context, int) error { <-time.After(time.Second); return nil },
			Call: calling().Call,
		})
		r.Ensure("a", config(server))
		var all []<-chan outcome
		for range 20 {
			all = append(all, r.background(t.Context(), "a", me, tool("x")))
		}
		for _, done := range all {
			got := <-done
			answers(t, got.answer, got.err)
		}
		equal(t, "requests", server.Counts(), sessiontest.Counts{Dials: 1, Calls: 20, Open: 1, MostOpen: 1})
	})
}

func TestThreeAttemptsOfACallThatMayBeResent(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		var times []time.Duration
		server := sessiontest.NewServer(sessiontest.Script{
			Call: func(context.Context, int, session.Call) (session.Answer, error) {
				times = append(times, time.Since(r.start))
				return session.Answer{}, reset
			},
		})
		r.Ensure("a", replaying(server))
		_, err := r.call()
		fails(t, err, failure.ConnectionLost, failure.OutcomeUnknown)
		equal(t, "attempts", len(times), 3)
		between(t, "first delay", times[1]-times[0], 500*time.Millisecond, 550*time.Millisecond)
		between(t, "second delay", times[2]-times[1], time.Second, 1100*time.Millisecond)
		synctest.Wait()
		equal(t, "a fresh connection each", server.Counts().Dials, 3)
		equal(t, "open", server.Counts().Open, 0)
		snapshot := r.is("a", session.Quarantined)
		equal(t, "strikes", snapshot.Strikes, 1)

		// Callers are refused at once, with the rest of the cooldown.
		r.after(10 * time.Second)
		_, err = r.call()
		refusal := refuses(t, err, session.TemporarilyUnavailable)
		equal(t, "remaining", refusal.RetryAfter, time.Until(snapshot.QuarantinedUntil))
		equal(t, "because of", refusal.Failure.Reason, failure.ConnectionLost)
		equal(t, "requests", server.Counts().Calls, 3)
	})
}

func TestCallRetryAfterIsRespected(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(calling(told(500, "7")))
		r.Ensure("a", replaying(server))
		started := time.Now()
		answer, err := r.call()
		answers(t, answer, err)
		between(t, "waited", time.Since(started), 7*time.Second, 7700*time.Millisecond)
	})
}

// B67: a call whose outcome is not known is not sent again, unless a person said that it may be.
func TestB67_OutcomeUnknown(t *testing.T) {
	exit := failing(failure.Failure{Class: failure.Transport, Reason: failure.ProcessExited, Sent: true})
	for name, err := range map[string]error{
		"reset": reset, "500": status(500), "502": status(502), "504": status(504), "exit": exit,
		"503 with a time": told(503, "1"), "unknown": errors.New("odd"),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, gateway(), func(t *testing.T, r *rig) {
				server := sessiontest.NewServer(calling(err))
				r.Ensure("a", config(server))
				_, got := r.call()
				fails(t, got, failure.Classify(err).Reason, failure.OutcomeUnknown)
				equal(t, "executions", server.Counts().Calls, 1)

				again := sessiontest.NewServer(calling(err))
				cfg := config(again)
				cfg.Calls.Replay = func(tool string) bool { return tool == "x" }
				r.Ensure("a", cfg)
				r.after(2 * time.Second) // a told time passes
				cfg.Connection = "c2"
				r.Ensure("a", cfg)
				answer, got := r.call()
				answers(t, answer, got)
				equal(t, "executions", again.Counts().Calls, 2)
			})
		})
	}
}

func TestDialFailuresOfACallAreTriedAgain(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Dial: func(_ context.Context, n int) error {
				if n < 3 {
					return refused
				}
				return nil
			},
			Call: calling().Call,
		})
		r.Ensure("a", config(server))
		answer, err := r.call()
		answers(t, answer, err)
		equal(t, "executions", server.Counts().Calls, 1)
		equal(t, "strikes", r.snapshot("a").Strikes, 0)
	})
}

func TestConcurrentCallersShareOneRebuild(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Dial: func(context.Context, int) error { <-time.After(time.Second); return refused },
		})
		cfg := config(server)
		cfg.Calls.MaxConcurrent = 20
		r.Ensure("a", cfg)
		var all []<-chan outcome
		for range 20 {
			all = append(all, r.background(t.Context(), "a", me, tool("x")))
		}
		for _, done := range all {
			refusal := refuses(t, (<-done).err, session.TemporarilyUnavailable)
			equal(t, "because of", refusal.Failure.Reason, failure.ConnectFailed)
		}
		equal(t, "dials", server.Counts().Dials, 3)
		equal(t, "strikes", r.is("a", session.Quarantined).Strikes, 1)
	})
}

func TestRejectedCallsLeaveTheSessionUsable(t *testing.T) {
	for _, code := range []int{400, 403, 404, 405, 413, 422} {
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			server := sessiontest.NewServer(calling(status(code), status(code), status(code), status(code)))
			r.Ensure("a", replaying(server))
			for range 4 {
				_, err := r.call()
				f := fails(t, err, failure.FromStatus("", failure.Status{Code: code}, time.Now()).Reason, failure.Answered)
				equal(t, "status", f.HTTPStatus, code)
			}
			answer, err := r.call()
			answers(t, answer, err)
			equal(t, "requests", server.Counts(), sessiontest.Counts{Dials: 1, Calls: 5, Open: 1, MostOpen: 1})
		})
	}
}

// B71: an answer proves health, whatever it says.
func TestB71_AnswersNeverTripTheBreaker(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Call: func(_ context.Context, n int, _ session.Call) (session.Answer, error) {
				switch {
				case n <= 10:
					return session.Answer{Result: json.RawMessage(`{"isError":true}`)}, nil
				case n <= 20:
					return session.Answer{Error: json.RawMessage(`{"code":-32602}`)}, nil
				}
				return session.Answer{Result: json.RawMessage(`{"ok":true}`)}, nil
			},
		})
		r.Ensure("a", config(server))
		for range 20 {
			if _, err := r.call(); err != nil {
				t.Fatal(err)
			}
		}
		answer, err := r.call()
		answers(t, answer, err)
		equal(t, "strikes", r.is("a", session.Connected).Strikes, 0)
		equal(t, "sessions", server.Counts().Dials, 1)
	})
}

func TestBadBodyIsThatCallOnly(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		bad := failing(failure.Failure{Class: failure.Protocol, Reason: failure.ProtocolError, HTTPStatus: 200, Sent: true})
		server := sessiontest.NewServer(calling(bad, bad, bad, bad))
		r.Ensure("a", config(server))
		for range 4 {
			_, err := r.call()
			fails(t, err, failure.ProtocolError, failure.OutcomeUnknown)
		}
		answer, err := r.call()
		answers(t, answer, err)
		equal(t, "sessions", server.Counts().Dials, 1)
	})
}

// B01: a forgotten session is opened anew and the call sent again, once.
func TestB01_ForgottenSessionOfACall(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(calling(nil, lost()))
		r.Ensure("a", config(server))
		for range 2 {
			started := time.Now()
			answer, err := r.call()
			answers(t, answer, err)
			equal(t, "waited", time.Since(started), 0)
		}
		equal(t, "handshakes", server.Counts().Dials, 2)
		equal(t, "calls: one, one forgotten, one again", server.Counts().Calls, 3)
		equal(t, "failures", r.count(session.EventFailed), 0)
		equal(t, "rebuilt", r.count(session.EventRebuilt), 1)
	})
}

func TestSecondForgottenIsAnAnswer(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(calling(lost(), lost()))
		r.Ensure("a", config(server))
		_, err := r.call()
		fails(t, err, failure.EndpointNotFound, failure.Answered)
		answer, err := r.call()
		answers(t, answer, err)
		equal(t, "handshakes", server.Counts().Dials, 2)
	})
}

func TestFlappingCallSessionIsPaced(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Call: func(_ context.Context, n int, _ session.Call) (session.Answer, error) {
				if n%2 == 1 {
					return session.Answer{}, lost()
				}
				return calling().Call(nil, n, session.Call{})
			},
		})
		r.Ensure("a", config(server))
		for i, least := range []time.Duration{0, 0, 500 * time.Millisecond, time.Second, 2 * time.Second} {
			started := time.Now()
			answer, err := r.call()
			answers(t, answer, err)
			between(t, fmt.Sprint("call ", i), time.Since(started), least, least*11/10)
		}
	})
}

// B10: the token expires in the middle of a session.
func TestB10_TokenExpires(t *testing.T) {
	server := func() *sessiontest.Server { return sessiontest.NewServer(calling(nil, nil, nil, status(401))) }
	t.Run("the Secret holds another already", func(t *testing.T) {
		options := gateway()
		old, fresh := server(), sessiontest.NewServer(calling())
		options.Reread = func(context.Context, session.Key) (session.Config, error) {
			cfg := config(fresh)
			cfg.Connection, cfg.Wake = "c2", "w2"
			return cfg, nil
		}
		bubble(t, options, func(t *testing.T, r *rig) {
			r.Ensure("a", config(old))
			for range 4 {
				answer, err := r.call()
				answers(t, answer, err)
			}
			synctest.Wait()
			equal(t, "with the new one", fresh.Counts().Calls, 1)
			equal(t, "with the old one", old.Counts().Calls, 4)
			equal(t, "old sessions", old.Counts().Open, 0)
		})
	})
	t.Run("the reconciler was faster", func(t *testing.T) {
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			fresh := sessiontest.NewServer(calling())
			cfg := config(fresh)
			cfg.Connection = "c2"
			old := sessiontest.NewServer(sessiontest.Script{
				Call: func(context.Context, int, session.Call) (session.Answer, error) {
					r.Ensure("a", cfg)
					return session.Answer{}, status(401)
				},
			})
			r.Ensure("a", config(old))
			answer, err := r.call()
			answers(t, answer, err)
		})
	})
	t.Run("the Secret is the same", func(t *testing.T) {
		options := gateway()
		s := server()
		reads := 0
		options.Reread = func(context.Context, session.Key) (session.Config, error) {
			reads++
			return config(s), nil
		}
		bubble(t, options, func(t *testing.T, r *rig) {
			r.Ensure("a", config(s))
			for range 3 {
				answer, err := r.call()
				answers(t, answer, err)
			}
			s.Script(sessiontest.Script{
				Dial: func(context.Context, int) error { return status(401) },
				Call: calling(nil, nil, nil, status(401)).Call,
			})
			started := time.Now()
			_, err := r.call()
			fails(t, err, failure.AuthenticationFailed, failure.NotProcessed)
			equal(t, "call 4 took", time.Since(started), 0)
			synctest.Wait()
			equal(t, "one confirming connect", s.Counts().Dials, 2)
			_, err = r.call()
			refusal := refuses(t, err, session.TemporarilyUnavailable)
			equal(t, "because of", refusal.Failure.Reason, failure.AuthenticationFailed)
			between(t, "one cooldown", refusal.RetryAfter, 24*time.Second, 36*time.Second)
			equal(t, "requests of call 5", s.Counts(), sessiontest.Counts{Dials: 2, Calls: 4, Closes: 1, MostOpen: 1})
			equal(t, "reads", reads, 1)
			equal(t, "fault", r.snapshot("a").Fault.Reason, failure.AuthenticationFailed)
		})
	})
	t.Run("it cannot be read", func(t *testing.T) {
		options := gateway()
		options.Reread = func(context.Context, session.Key) (session.Config, error) {
			return session.Config{}, errors.New("the API cannot be reached")
		}
		bubble(t, options, func(t *testing.T, r *rig) {
			r.Ensure("a", config(sessiontest.NewServer(calling(status(401)))))
			_, err := r.call()
			fails(t, err, failure.AuthenticationFailed, failure.NotProcessed)
		})
	})
}

func TestOne401OnOneCallRetiresNothing(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(calling(status(401)))
		r.Ensure("a", config(server))
		synctest.Wait()
		_, err := r.call()
		fails(t, err, failure.AuthenticationFailed, failure.NotProcessed)
		answer, err := r.call()
		answers(t, answer, err)
		r.is("a", session.Connected)
		equal(t, "retirements", r.count(session.EventRetired), 0)
	})
}

func TestConfirmed401RetiresInAManager(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(calling(nil, status(401)))
		r.Ensure("a", config(server))
		synctest.Wait()
		answer, err := r.call()
		answers(t, answer, err)
		server.Script(sessiontest.Script{
			Dial: func(context.Context, int) error { return status(401) },
			Call: calling(nil, status(401)).Call,
		})
		_, err = r.call()
		fails(t, err, failure.AuthenticationFailed, failure.NotProcessed)
		synctest.Wait()
		equal(t, "kind", r.is("a", session.Retired).Retirement, session.Refused)
		_, err = r.call()
		refusal := refuses(t, err, session.Unavailable)
		between(t, "not before", refusal.RetryAfter, 30*time.Minute, 33*time.Minute)
		equal(t, "sessions left", server.Counts().Open, 0)
	})
}

// B11: a short 429 is waited out, a long one fails the call at once and keeps others away.
func TestB11_RateLimitedCall(t *testing.T) {
	t.Run("short", func(t *testing.T) {
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			server := sessiontest.NewServer(calling(told(429, "2")))
			r.Ensure("a", config(server))
			started := time.Now()
			answer, err := r.call()
			answers(t, answer, err)
			between(t, "waited", time.Since(started), 2*time.Second, 2200*time.Millisecond)
			equal(t, "requests", server.Counts().Calls, 2)
			equal(t, "strikes", r.snapshot("a").Strikes, 0)
		})
	})
	t.Run("long", func(t *testing.T) {
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			server := sessiontest.NewServer(calling(told(429, "600")))
			r.Ensure("a", config(server))
			started := time.Now()
			_, err := r.call()
			refusal := refuses(t, err, session.TemporarilyUnavailable)
			equal(t, "told", refusal.RetryAfter, 10*time.Minute)
			equal(t, "reason", refusal.Failure.Reason, failure.RateLimited)
			equal(t, "took", time.Since(started), 0)
			r.after(599 * time.Second)
			_, err = r.call()
			equal(t, "remaining", refuses(t, err, session.TemporarilyUnavailable).RetryAfter, time.Second)
			equal(t, "requests", server.Counts().Calls, 1)
			r.after(time.Second)
			answer, err := r.call()
			answers(t, answer, err)
		})
	})
	t.Run("beyond the caller's deadline", func(t *testing.T) {
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			r.Ensure("a", config(sessiontest.NewServer(calling(told(429, "20"), told(429, "20")))))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := r.Call(ctx, "a", me, tool("x"))
			refuses(t, err, session.TemporarilyUnavailable)
			equal(t, "took", time.Since(r.start), 0)
		})
	})
	t.Run("twice", func(t *testing.T) {
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			server := sessiontest.NewServer(calling(status(429), status(429)))
			r.Ensure("a", config(server))
			_, err := r.call()
			refuses(t, err, session.TemporarilyUnavailable)
			equal(t, "requests", server.Counts().Calls, 2)
		})
	})
}

// B69: who goes away is free at once; the connection hears of it by its context.
func TestB69_CancelledCall(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		told := make(chan time.Duration, 1)
		deaf := make(chan struct{})
		server := sessiontest.NewServer(sessiontest.Script{
			Call: func(ctx context.Context, n int, _ session.Call) (session.Answer, error) {
				if n > 1 {
					return calling().Call(ctx, n, session.Call{})
				}
				<-ctx.Done()
				told <- time.Since(r.start)
				<-deaf // and ignores it
				return session.Answer{Result: json.RawMessage(`"late"`)}, nil
			},
		})
		r.Ensure("a", config(server))
		ctx, cancel := context.WithCancel(t.Context())
		done := r.background(ctx, "a", me, tool("x"))
		r.after(time.Second)
		cancel()
		got := <-done
		if !errors.Is(got.err, context.Canceled) {
			t.Fatalf("got %v", got.err)
		}
		equal(t, "caller back after", got.took, time.Second)
		equal(t, "connection told after", <-told, time.Second)
		answer, err := r.call()
		answers(t, answer, err)
		close(deaf)
		equal(t, "sessions", server.Counts().Dials, 1)
		equal(t, "failures", r.count(session.EventFailed), 0)
	})
}

func TestCancelledProbeIsHandedOn(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(dialing(refused))
		r.Ensure("a", config(server))
		_, err := r.call()
		refuses(t, err, session.TemporarilyUnavailable)
		r.after(40 * time.Second)
		server.Script(sessiontest.Script{
			Call: func(ctx context.Context, n int, call session.Call) (session.Answer, error) {
				if n == 1 {
					return session.Answer{}, hang(ctx)
				}
				return calling().Call(ctx, n, call)
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := r.background(ctx, "a", me, tool("x"))
		synctest.Wait()
		_, err = r.call()
		equal(t, "beside the probe", refuses(t, err, session.TemporarilyUnavailable).RetryAfter, time.Second)
		cancel()
		<-done
		answer, err := r.call()
		answers(t, answer, err)
		equal(t, "strikes", r.snapshot("a").Strikes, 0)
		equal(t, "fault", r.is("a", session.Connected).Fault, nil)
	})
}

// B70: progress extends the deadline, but not for ever.
func TestB70_Progress(t *testing.T) {
	progressing := func(every, total time.Duration) sessiontest.Script {
		return sessiontest.Script{Call: func(ctx context.Context, n int, call session.Call) (session.Answer, error) {
			for range total / every {
				select {
				case <-time.After(every):
					call.Progress(json.RawMessage(`{"progress":1}`))
				case <-ctx.Done():
					return session.Answer{}, ctx.Err()
				}
			}
			return calling().Call(ctx, n, call)
		}}
	}
	t.Run("to the end", func(t *testing.T) {
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			r.Ensure("a", config(sessiontest.NewServer(progressing(50*time.Second, 5*time.Minute))))
			heard := 0
			call := tool("x")
			call.Progress = func(json.RawMessage) { heard++ }
			answer, err := r.Call(t.Context(), "a", me, call)
			answers(t, answer, err)
			equal(t, "took", time.Since(r.start), 5*time.Minute)
			equal(t, "progress heard", heard, 6)
		})
	})
	t.Run("for ever", func(t *testing.T) {
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			server := sessiontest.NewServer(progressing(50*time.Second, 24*time.Hour))
			r.Ensure("a", config(server))
			_, err := r.call()
			fails(t, err, failure.CallTimeout, failure.OutcomeUnknown)
			equal(t, "took", time.Since(r.start), 15*time.Minute)
		})
	})
	t.Run("none", func(t *testing.T) {
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			server := sessiontest.NewServer(sessiontest.Script{
				Call: func(ctx context.Context, _ int, _ session.Call) (session.Answer, error) {
					return session.Answer{}, hang(ctx)
				},
			})
			r.Ensure("a", config(server))
			_, err := r.call()
			fails(t, err, failure.CallTimeout, failure.OutcomeUnknown)
			equal(t, "took", time.Since(r.start), time.Minute)
		})
	})
}

func TestTimeoutCountsOnlyWhenTheServerWasSilent(t *testing.T) {
	for name, alive := range map[string]bool{"silent": false, "heard": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, gateway(), func(t *testing.T, r *rig) {
				server := sessiontest.NewServer(sessiontest.Script{})
				server.Script(sessiontest.Script{
					Call: func(ctx context.Context, _ int, _ session.Call) (session.Answer, error) {
						<-time.After(time.Second)
						if alive {
							server.Newest().Observer.Alive()
						}
						return session.Answer{}, hang(ctx)
					},
				})
				r.Ensure("a", config(server))
				for range 3 {
					_, err := r.call()
					fails(t, err, failure.CallTimeout, failure.OutcomeUnknown)
				}
				if alive {
					equal(t, "sessions", server.Counts().Dials, 1)
					equal(t, "quarantines", r.count(session.EventQuarantined), 0)
				} else {
					equal(t, "sessions", server.Counts().Dials, 3)
					r.is("a", session.Quarantined)
				}
			})
		})
	}
}

// B73: one call at a time where a server can do no more, and one hung call holds up nobody else.
func TestB73_ParallelCalls(t *testing.T) {
	t.Run("serial", func(t *testing.T) {
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			var mu sync.Mutex
			inFlight := 0
			server := sessiontest.NewServer(sessiontest.Script{
				Call: func(ctx context.Context, n int, call session.Call) (session.Answer, error) {
					mu.Lock()
					inFlight++
					overlapping := inFlight > 1
					mu.Unlock()
					if overlapping {
						return session.Answer{}, hang(ctx)
					}
					<-time.After(time.Second)
					mu.Lock()
					inFlight--
					mu.Unlock()
					return calling().Call(ctx, n, call)
				},
			})
			cfg := config(server)
			cfg.Calls.MaxConcurrent = 1
			r.Ensure("a", cfg)
			var all []<-chan outcome
			for range 20 {
				all = append(all, r.background(t.Context(), "a", me, tool("x")))
			}
			for _, done := range all {
				got := <-done
				answers(t, got.answer, got.err)
			}
			equal(t, "took", time.Since(r.start), 20*time.Second)
		})
	})
	t.Run("one hung", func(t *testing.T) {
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			server := sessiontest.NewServer(sessiontest.Script{
				Call: func(ctx context.Context, n int, call session.Call) (session.Answer, error) {
					if n == 2 {
						return session.Answer{}, hang(ctx)
					}
					return calling().Call(ctx, n, call)
				},
			})
			r.Ensure("a", config(server))
			var all []<-chan outcome
			for range 8 {
				all = append(all, r.background(t.Context(), "a", me, tool("x")))
			}
			synctest.Wait()
			ended := 0
			for _, done := range all {
				select {
				case got := <-done:
					answers(t, got.answer, got.err)
					ended++
				default:
				}
			}
			equal(t, "answered at once", ended, 7)
		})
	})
}

func TestFourCallsAtOnceAcrossSessions(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		var mu sync.Mutex
		inFlight, most := 0, 0
		server := sessiontest.NewServer(sessiontest.Script{
			Info: session.Info{HasSessionID: true},
			Call: func(ctx context.Context, n int, call session.Call) (session.Answer, error) {
				mu.Lock()
				inFlight++
				most = max(most, inFlight)
				mu.Unlock()
				<-time.After(time.Second)
				mu.Lock()
				inFlight--
				mu.Unlock()
				return calling().Call(ctx, n, call)
			},
		})
		r.Ensure("a", config(server))
		var all []<-chan outcome
		for i := range 40 {
			name := fmt.Sprint(i % 10)
			all = append(all, r.background(t.Context(), "a", session.Caller{Name: name, Session: name}, tool("x")))
		}
		for _, done := range all {
			got := <-done
			answers(t, got.answer, got.err)
		}
		equal(t, "most at once", most, 4)
		equal(t, "took", time.Since(r.start), 10*time.Second)
		equal(t, "sessions", server.Counts().Dials, 10)
	})
}

// A server that gives no session ids keeps nothing apart: one connection carries the calls of all sessions, from the
// moment that it is known.
func TestOneConnectionWithoutSessionIDs(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		script := calling()
		script.Info.HasSessionID = false
		server := sessiontest.NewServer(script)
		r.Ensure("a", config(server))
		for i := range 10 {
			name := fmt.Sprint(i)
			got := <-r.background(t.Context(), "a", session.Caller{Name: name, Session: name}, tool("x"))
			answers(t, got.answer, got.err)
		}
		equal(t, "connections", server.Counts().Dials, 1)
	})
}

// Sessions that are ended are closed when their calls are answered; the next call opens others.
func TestEndCalls(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(calling())
		r.Ensure("a", config(server))
		call := func(name string) {
			got := <-r.background(t.Context(), "a", session.Caller{Name: name, Session: name}, tool("x"))
			answers(t, got.answer, got.err)
		}
		call("one")
		call("two")
		r.EndCalls(func(session string) bool { return session == "one" })
		synctest.Wait()
		equal(t, "open", server.Counts().Open, 1)
		call("one")
		equal(t, "dials", server.Counts().Dials, 3)
	})
}

func TestOverloadedIsPerCallerAndQueueTimeCounts(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		deaf := make(chan struct{}) // holds its place until it is closed
		defer close(deaf)
		server := sessiontest.NewServer(sessiontest.Script{
			Call: func(context.Context, int, session.Call) (session.Answer, error) {
				<-deaf
				return session.Answer{}, reset
			},
		})
		cfg := config(server)
		cfg.Calls.MaxConcurrent = 1
		r.Ensure("a", cfg)
		var all []<-chan outcome
		for range 65 {
			all = append(all, r.background(t.Context(), "a", me, tool("x")))
			synctest.Wait()
		}
		_, err := r.call()
		equal(t, "text", refuses(t, err, session.Overloaded).Error(), "overloaded")
		other := r.background(t.Context(), "a", session.Caller{Name: "other", Session: "other"}, tool("x"))
		fails(t, (<-all[0]).err, failure.CallTimeout, failure.OutcomeUnknown)
		for _, done := range all[1:] {
			got := <-done
			fails(t, got.err, failure.CallTimeout, failure.NotProcessed)
			equal(t, "waited", got.took, time.Minute)
		}
		fails(t, (<-other).err, failure.CallTimeout, failure.NotProcessed)
		equal(t, "requests", server.Counts().Calls, 1)
	})
}

func TestPlacesComeBackFromRefusedAndCancelledCalls(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Dial: func(context.Context, int) error { <-time.After(time.Second); return refused },
		})
		cfg := config(server)
		cfg.Calls.MaxConcurrent = 1
		r.Ensure("a", cfg)
		var all []<-chan outcome
		for range 10 { // the breaker opens while most of them wait for the one place
			all = append(all, r.background(t.Context(), "a", me, tool("x")))
		}
		for _, done := range all {
			refuses(t, (<-done).err, session.TemporarilyUnavailable)
		}
		server.Script(sessiontest.Script{
			Dial: func(context.Context, int) error { <-time.After(time.Second); return nil },
			Call: calling().Call,
		})
		cfg.Wake = "w2"
		r.Ensure("a", cfg)
		ctx, cancel := context.WithCancel(t.Context())
		gone := r.background(ctx, "a", me, tool("x")) // goes away while its session is opened
		synctest.Wait()
		cancel()
		if err := (<-gone).err; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		for range 3 {
			answer, err := r.call()
			answers(t, answer, err)
		}
		equal(t, "dials", server.Counts().Dials, 4)
		r.after(11 * time.Minute)
		equal(t, "open after the idle time", server.Counts().Open, 0)
	})
}

func TestOneFailureIsNotItsSiblings(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Call: func(ctx context.Context, n int, call session.Call) (session.Answer, error) {
				if n == 1 {
					select {
					case <-time.After(10 * time.Second):
						return calling().Call(ctx, n, call)
					case <-ctx.Done():
						return session.Answer{}, ctx.Err()
					}
				}
				return session.Answer{}, reset
			},
		})
		r.Ensure("a", config(server))
		slow := r.background(t.Context(), "a", me, tool("x"))
		synctest.Wait()
		_, err := r.call()
		fails(t, err, failure.ConnectionLost, failure.OutcomeUnknown)
		equal(t, "the connection stays for the slow one", server.Counts().Open, 1)
		got := <-slow
		answers(t, got.answer, got.err)
		synctest.Wait()
		equal(t, "then it is closed", server.Counts().Open, 0)
	})
}

func TestLostLineIsOneFailureForAllItsCalls(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Call: func(ctx context.Context, n int, call session.Call) (session.Answer, error) {
				if n <= 4 {
					return session.Answer{}, hang(ctx)
				}
				return calling().Call(ctx, n, call)
			},
		})
		r.Ensure("a", config(server))
		var all []<-chan outcome
		for range 4 {
			all = append(all, r.background(t.Context(), "a", me, tool("x")))
		}
		synctest.Wait()
		server.Newest().Observer.Lost(nil)
		for _, done := range all {
			fails(t, (<-done).err, failure.ConnectionLost, failure.OutcomeUnknown)
		}
		answer, err := r.call()
		answers(t, answer, err)
		equal(t, "strikes", r.snapshot("a").Strikes, 0)
		equal(t, "sessions", server.Counts().Dials, 2)
		server.Newest().Observer.Lost(nil) // idle: closed, and opened again by the next call
		synctest.Wait()
		equal(t, "open", server.Counts().Open, 0)
		answer, err = r.call()
		answers(t, answer, err)
	})
}

func TestPanicInACallIsAValue(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Call: func(ctx context.Context, n int, call session.Call) (session.Answer, error) {
				if n == 1 {
					panic("CANARY")
				}
				return calling().Call(ctx, n, call)
			},
		})
		r.Ensure("a", config(server))
		_, err := r.call()
		fails(t, err, failure.UnknownFailure, failure.OutcomeUnknown)
		answer, err := r.call()
		answers(t, answer, err)
	})
}

func TestGatewayNeverRetires(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(dialing(refused))
		cfg := config(server)
		r.Ensure("a", cfg)
		var cooldowns []time.Duration
		for range 6 {
			_, err := r.call()
			refuses(t, err, session.TemporarilyUnavailable)
			snapshot := r.is("a", session.Quarantined)
			cooldowns = append(cooldowns, time.Until(snapshot.QuarantinedUntil))
			r.after(cooldowns[len(cooldowns)-1])
		}
		for i, base := range []time.Duration{30, 60, 120, 120, 120, 120} {
			between(t, "cooldown", cooldowns[i], base*time.Second*8/10, base*time.Second*12/10)
		}
		equal(t, "dials: a round, then one probe each", server.Counts().Dials, 8)
		equal(t, "quarantines told", r.count(session.EventQuarantined), 6)
		equal(t, "strikes", r.snapshot("a").Strikes, 3)

		_, err := r.call()
		refuses(t, err, session.TemporarilyUnavailable)
		server.Script(calling())
		cfg.Wake = "the server's condition Connected became True"
		r.Ensure("a", cfg)
		answer, err := r.call()
		answers(t, answer, err)
		equal(t, "strikes", r.is("a", session.Connected).Strikes, 0)
	})
}

func TestGatewayRefusesWhatTheManagerRetiredAsRefused(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(calling())
		cfg := config(server)
		cfg.Refused = true
		r.Ensure("a", cfg)
		_, err := r.call()
		equal(t, "text", refuses(t, err, session.Unavailable).Error(), "unavailable")
		equal(t, "dials", server.Counts().Dials, 0)
		cfg.Refused = false
		r.Ensure("a", cfg)
		answer, err := r.call()
		answers(t, answer, err)
	})
}

func TestProbeThatIsRejectedClosesTheBreaker(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(calling(reset, reset, reset, status(403)))
		r.Ensure("a", config(server))
		for range 3 {
			_, err := r.call()
			fails(t, err, failure.ConnectionLost, failure.OutcomeUnknown)
		}
		r.is("a", session.Quarantined)
		r.after(36 * time.Second)
		_, err := r.call()
		fails(t, err, failure.PermissionDenied, failure.Answered)
		answer, err := r.call()
		answers(t, answer, err)
		equal(t, "fault", r.is("a", session.Connected).Fault, nil)
	})
}

func TestProbeThatIsRateLimited(t *testing.T) {
	for code, open := range map[int]bool{429: false, 503: true} { // the first was not processed, so it was read
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			server := sessiontest.NewServer(sessiontest.Script{
				Dial: func(_ context.Context, n int) error {
					if n <= 3 {
						return refused
					}
					return nil
				},
				Call: calling(told(code, "60")).Call,
			})
			cfg := config(server)
			r.Ensure("a", cfg)
			_, err := r.call()
			refuses(t, err, session.TemporarilyUnavailable)
			r.after(36 * time.Second)
			_, err = r.call()
			if err == nil {
				t.Fatal("answered")
			}
			equal(t, "open", r.snapshot("a").State == session.Quarantined, open)
			_, err = r.call()
			equal(t, "told", refuses(t, err, session.TemporarilyUnavailable).RetryAfter, time.Minute)
			r.after(time.Minute)
			answer, err := r.call()
			answers(t, answer, err)
		})
	}
}

func TestManagerAndCallsShareOneBreaker(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(calling(reset, reset, reset))
		r.Ensure("a", config(server))
		synctest.Wait()
		for range 3 {
			_, err := r.call()
			fails(t, err, failure.ConnectionLost, failure.OutcomeUnknown)
		}
		synctest.Wait()
		snapshot := r.is("a", session.Quarantined)
		equal(t, "next attempt", snapshot.NextAttempt, snapshot.QuarantinedUntil)
		equal(t, "fault", snapshot.Fault.Phase, failure.Call)
		equal(t, "open sessions", server.Counts().Open, 0)
		equal(t, "tools stay", len(snapshot.Listing.Tools), 1)
		lists := server.Counts().Lists
		r.after(36 * time.Second)
		snapshot = r.is("a", session.Connected)
		equal(t, "the probe is a list", server.Counts().Lists, lists+1)
		equal(t, "strikes", snapshot.Strikes, 0)
		answer, err := r.call()
		answers(t, answer, err)
	})
}

func TestCallsAreRefusedWhileDiscoveryProbes(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(dialing(refused))
		r.Ensure("a", config(server))
		r.after(2 * time.Second)
		until := r.is("a", session.Quarantined).QuarantinedUntil
		server.Script(sessiontest.Script{Dial: func(_ context.Context, n int) error {
			if n == 4 {
				<-time.After(time.Second) // a probe takes a second
			}
			return nil
		}, Call: calling().Call})
		r.after(time.Until(until) + 500*time.Millisecond)
		equal(t, "one probe", server.Counts().Dials, 4)
		_, err := r.call()
		refuses(t, err, session.TemporarilyUnavailable)
		r.after(time.Second)
		r.is("a", session.Connected)
	})
}
