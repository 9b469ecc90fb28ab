package mcpserver

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
)

// ensured is the configuration that one pass over the object declares to the supervisor.
func ensured(t *testing.T, server *v1alpha1.MCPServer) session.Config {
	t.Helper()
	w := newWorld(t, server)
	w.pass()
	config, ok := w.sessions.Config(testKey)
	w.Expect(ok).To(BeTrue())
	return config
}

func TestConfigFollowsTheSpec(t *testing.T) {
	g := NewWithT(t)
	config := ensured(t, declared().Generation(7).Reconnect("now").ConnectTimeout(time.Second).ListTimeout(2*time.Second).
		CallTimeout(3*time.Second).CallMax(4*time.Second).Attempts(5).Cooldown(6*time.Second).Strikes(7).
		ProbeInterval(8*time.Minute).HealthInterval(9*time.Second).RefreshInterval(10*time.Second).
		Mutate(func(s *v1alpha1.MCPServer) {
			s.Spec.Calls = &v1alpha1.Calls{MaxConcurrent: 11}
			s.Spec.Sessions = &v1alpha1.Sessions{IdleTimeout: &metav1.Duration{Duration: 12 * time.Second}}
		}).Obj())
	g.Expect(config.Generation).To(BeEquivalentTo(7))
	g.Expect(config.Reconnect).To(Equal("now"))
	g.Expect(config.Timeouts).To(Equal(session.Timeouts{
		Connect: time.Second, List: 2 * time.Second, Call: 3 * time.Second, CallMax: 4 * time.Second,
	}))
	g.Expect(config.Recovery).To(Equal(session.Recovery{
		Attempts: 5, Cooldown: 6 * time.Second, Strikes: 7, ProbeInterval: 8 * time.Minute,
	}))
	g.Expect(config.Calls).To(Equal(session.Calls{MaxConcurrent: 11, IdleTimeout: 12 * time.Second}))
	g.Expect(config.HealthInterval).To(Equal(9 * time.Second))
	g.Expect(config.RefreshInterval).To(Equal(10 * time.Second))
	g.Expect(config.Address).To(Equal("mcp.example.com:443"))
	g.Expect(config.Dialer).NotTo(BeNil())
	g.Expect(config.Restore).To(BeZero())
}

func TestConfigOfAnEmptySpecHasTheDefaults(t *testing.T) {
	g := NewWithT(t)
	config := ensured(t, declared().Obj())
	g.Expect(config.Timeouts).To(Equal(session.Timeouts{
		Connect: 30 * time.Second, List: time.Minute, Call: time.Minute, CallMax: 15 * time.Minute,
	}))
	g.Expect(config.Recovery).To(Equal(session.Recovery{
		Attempts: 3, Cooldown: 30 * time.Second, Strikes: 3, ProbeInterval: 5 * time.Minute,
	}))
	g.Expect(config.Calls).To(Equal(session.Calls{MaxConcurrent: 4, IdleTimeout: 10 * time.Minute}))
	g.Expect(config.HealthInterval).To(Equal(time.Minute))
	g.Expect(config.RefreshInterval).To(Equal(10 * time.Minute))
}

// The API's "0s" is never; the supervisor's zero would be the default.
func TestProbeIntervalOfZeroIsNever(t *testing.T) {
	config := ensured(t, declared().ProbeInterval(0).Obj())
	NewWithT(t).Expect(config.Recovery.ProbeInterval).To(BeNumerically("<", 0))
}

// A new connection is made when what it is made of changed, a wake is given when anything did, and a list stands for
// another as long as it decides on the same tools.
func TestWhatAChangeMeansToTheSession(t *testing.T) {
	login := refs.Ref{Kind: refs.Secret, Namespace: testNamespace, Name: "login", Key: "token"}
	for name, test := range map[string]struct {
		change                    func(w *world)
		connection, catalog, wake bool
	}{
		"nothing": {func(*world) {}, false, false, false},
		"a note": {func(w *world) {
			w.edit(func(s *v1alpha1.MCPServer) { s.Spec.Notes = "for files" })
		}, false, false, true},
		"a timeout": {func(w *world) {
			w.edit(func(s *v1alpha1.MCPServer) {
				s.Spec.Timeouts = &v1alpha1.Timeouts{List: &metav1.Duration{Duration: time.Second}}
			})
		}, false, false, true},
		"a credential": {func(w *world) { w.references.values[login] = "second" }, true, false, true},
		"white space around a credential": {func(w *world) {
			w.references.values[login] = " first\n"
		}, false, false, false},
		"the address": {func(w *world) {
			w.edit(func(s *v1alpha1.MCPServer) { s.Spec.HTTP.URL = testURL + "/v2" })
		}, true, true, true},
		"an annotation of somebody else's": {func(w *world) {
			server := w.get()
			server.Annotations = map[string]string{"example.com/owner": "me"}
			w.Expect(w.api.Update(w.t.Context(), server)).To(Succeed())
		}, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, declared().Bearer("login", "token").Obj())
			w.references.values[login] = "first"
			w.pass()
			before, _ := w.sessions.Config(testKey)
			test.change(w)
			w.pass()
			after, _ := w.sessions.Config(testKey)
			w.Expect(after.Connection != before.Connection).To(Equal(test.connection), "connection")
			w.Expect(after.Catalog != before.Catalog).To(Equal(test.catalog), "catalog")
			w.Expect(after.Wake != before.Wake).To(Equal(test.wake), "wake")
		})
	}
}

// remembered is an object whose status tells of a session that stood so under the generation observed.
func remembered(observed int64, change func(*v1alpha1.SessionStatus)) *builder.MCPServerBuilder {
	at := metav1.NewTime(began)
	return declared().Generation(2).Mutate(func(s *v1alpha1.MCPServer) {
		s.Status.ObservedGeneration = observed
		s.Status.Session = &v1alpha1.SessionStatus{
			Strikes: ptr.To(int32(2)),
			LastFailure: &v1alpha1.FailureStatus{
				Class: "server", Phase: "list", Reason: "ServerError", HTTPStatus: ptr.To(int32(502)), Since: &at,
				Message: "what happened",
			},
		}
		change(s.Status.Session)
	})
}

// What status remembers is restored, so that a new leader neither forgets nor doubles; but not under another spec,
// which may have mended the cause.
func TestRestored(t *testing.T) {
	until, retiredAt := metav1.NewTime(began.Add(time.Hour)), metav1.NewTime(began.Add(-time.Hour))
	trouble := session.Fault{Since: began, Failure: failure.Failure{
		Class: failure.Server, Phase: failure.List, Reason: failure.ServerError, HTTPStatus: 502,
	}}
	quarantined := func(s *v1alpha1.SessionStatus) {
		s.State, s.QuarantinedUntil = v1alpha1.SessionQuarantined, &until
	}
	for name, test := range map[string]struct {
		server *v1alpha1.MCPServer
		want   session.Restored
	}{
		"a quarantine": {
			remembered(2, quarantined).Obj(),
			session.Restored{Strikes: 2, QuarantinedUntil: until.Time, Failure: trouble},
		},
		"a refusal": {
			remembered(2, func(s *v1alpha1.SessionStatus) {
				s.State, s.Retirement, s.RetiredAt = v1alpha1.SessionRetired, v1alpha1.RetirementRefused, &retiredAt
			}).Obj(),
			session.Restored{Strikes: 2, RetiredAt: retiredAt.Time, Retirement: session.Refused, Failure: trouble},
		},
		"an exhaustion": {
			remembered(2, func(s *v1alpha1.SessionStatus) {
				s.State, s.Retirement, s.RetiredAt = v1alpha1.SessionRetired, v1alpha1.RetirementExhausted, &retiredAt
			}).Obj(),
			session.Restored{Strikes: 2, RetiredAt: retiredAt.Time, Retirement: session.Exhausted, Failure: trouble},
		},
		"a retirement that somebody wrote by hand": {
			remembered(2, func(s *v1alpha1.SessionStatus) {
				s.State, s.Retirement, s.RetiredAt = v1alpha1.SessionRetired, v1alpha1.RetirementRefused, &retiredAt
				s.LastFailure = nil
			}).Obj(),
			session.Restored{Strikes: 2},
		},
		"a failure that no condition could tell": {
			remembered(2, func(s *v1alpha1.SessionStatus) {
				s.State, s.QuarantinedUntil = v1alpha1.SessionQuarantined, &until
				s.LastFailure.Reason = "not a reason!"
			}).Obj(),
			session.Restored{Strikes: 2, QuarantinedUntil: until.Time, Failure: session.Fault{
				Since: began, Failure: failure.Failure{
					Class: failure.Unknown, Phase: failure.List, Reason: failure.UnknownFailure, HTTPStatus: 502,
				},
			}},
		},
		"strikes of a server that is tried again": {
			remembered(2, func(s *v1alpha1.SessionStatus) { s.State = v1alpha1.SessionWaiting }).Obj(),
			session.Restored{Strikes: 2, Failure: trouble},
		},
		"a healthy session": {
			remembered(2, func(s *v1alpha1.SessionStatus) {
				*s = v1alpha1.SessionStatus{State: v1alpha1.SessionConnected}
			}).Obj(),
			session.Restored{},
		},
		"a kind of retirement that this version does not know": {
			remembered(2, func(s *v1alpha1.SessionStatus) { s.Retirement = "Novel" }).Obj(),
			session.Restored{Strikes: 2, Failure: trouble},
		},
		"the spec has changed since": {remembered(1, quarantined).Obj(), session.Restored{}},
		"status was never written":   {remembered(-1, quarantined).Obj(), session.Restored{}},
		"a reconnect was asked for while nobody watched": {
			remembered(2, quarantined).Reconnect("now").Obj(),
			session.Restored{Strikes: 2, Failure: trouble},
		},
		"a reconnect was asked for and made before": {
			remembered(2, quarantined).Reconnect("then").
				Mutate(func(s *v1alpha1.MCPServer) { s.Status.LastHandledReconnectAt = "then" }).Obj(),
			session.Restored{Strikes: 2, QuarantinedUntil: until.Time, Failure: trouble},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ensured(t, test.server).Restore
			for _, at := range []*time.Time{&got.QuarantinedUntil, &got.RetiredAt, &got.Failure.Since} {
				*at = at.UTC() // the same instant; where a clock stands is not compared
			}
			NewWithT(t).Expect(got).To(Equal(test.want))
		})
	}
}

// What was mended in a referenced object while nobody watched is tried at once; what stands as it did is not.
func TestRestoredWhereAReferenceWasMended(t *testing.T) {
	login := refs.Ref{Kind: refs.Secret, Namespace: testNamespace, Name: "login", Key: "token"}
	for name, test := range map[string]struct {
		present string
		want    session.Retirement
	}{
		"as it was": {"first", session.Refused},
		"mended":    {"second", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, declared().Bearer("login", "token").Obj())
			w.references.values[login] = "first"
			w.settle(connected("echo"))
			w.Expect(w.get().Status.Session.References).To(BeEmpty(), "of a healthy server it is not kept")
			w.settle(session.Snapshot{
				State: session.Retired, Retirement: session.Refused, Settled: true, RetiredAt: began, Strikes: 2,
				Fault: fault(failure.Auth, failure.Connect, failure.AuthenticationFailed),
			})
			w.Expect(w.get().Status.Session.References).To(MatchRegexp("^[0-9a-f]{16}$"))
			w.restart()
			w.references.values[login] = test.present
			w.pass()
			config, _ := w.sessions.Config(testKey)
			w.Expect(config.Restore.Retirement).To(Equal(test.want))
			w.Expect(config.Restore.Strikes).To(Equal(2))
		})
	}
}
