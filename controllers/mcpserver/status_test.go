package mcpserver

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/kstatustest"
)

// began is when the faults of these tests began.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fault is a failure of this reason that began at began.
func fault(class failure.Class, phase failure.Phase, reason failure.Reason) *session.Fault {
	return &session.Fault{Failure: failure.Failure{Class: class, Phase: phase, Reason: reason}, Since: began}
}

// failing is the snapshot of a server that stands so because connections to it are refused.
func failing(state session.State) session.Snapshot {
	return session.Snapshot{
		State: state, Settled: true, Fault: fault(failure.Transport, failure.Connect, failure.ConnectFailed),
		NextAttempt: began.Add(time.Minute),
	}
}

func with(snapshot session.Snapshot, change func(*session.Snapshot)) session.Snapshot {
	change(&snapshot)
	return snapshot
}

// Status is a function of the spec, what status said before, the session's standing and the stored catalog. Every row
// keeps the laws of kstatus.
func TestStatus(t *testing.T) {
	type standings = map[string]string
	retired := func(kind session.Retirement, next time.Time) session.Snapshot {
		return with(failing(session.Retired), func(s *session.Snapshot) {
			s.Retirement, s.RetiredAt, s.NextAttempt = kind, began, next
		})
	}
	for _, row := range []struct {
		name   string
		server *builder.MCPServerBuilder // declared() when absent
		// stored: another process has published the one tool "old" under this very declaration, and told so.
		stored   bool
		snapshot session.Snapshot // without a state: nothing is known of the session yet
		want     standings
		verdict  status.Status
	}{
		{
			name: "new: connecting", verdict: status.InProgressStatus,
			want: standings{
				"Ready": "Unknown Connecting", "Reconciling": "True Progressing", "Accepted": "True Valid",
				"Connected": "Unknown Connecting", "CatalogPublished": "Unknown AwaitingConnection",
			},
		}, {
			name: "connected and listed", snapshot: connected("echo"), verdict: status.CurrentStatus,
			want: standings{
				"Ready": "True Ready", "Accepted": "True Valid", "Connected": "True Connected",
				"CatalogPublished": "True Published",
			},
		}, {
			name: "connected, the first attempt has not ended", verdict: status.InProgressStatus,
			snapshot: session.Snapshot{State: session.Connected},
			want: standings{
				"Ready": "Unknown Connecting", "Reconciling": "True Progressing", "Accepted": "True Valid",
				"Connected": "Unknown Connecting", "CatalogPublished": "Unknown AwaitingConnection",
			},
		}, {
			name: "a server without tools", snapshot: connected(), verdict: status.CurrentStatus,
			want: standings{
				"Ready": "True Ready", "Accepted": "True Valid", "Connected": "True Connected",
				"CatalogPublished": "True NoTools",
			},
		}, {
			name: "an empty list that is not believed yet, first", verdict: status.InProgressStatus,
			snapshot: session.Snapshot{State: session.Connected, Settled: true, EmptyUnconfirmed: true},
			want: standings{
				"Ready": "False EmptyCatalog", "Reconciling": "True Progressing", "Accepted": "True Valid",
				"Connected": "True Connected", "CatalogPublished": "False EmptyCatalog",
			},
		}, {
			name: "an empty list that is not believed yet, over a catalog", stored: true, verdict: status.CurrentStatus,
			snapshot: session.Snapshot{State: session.Connected, Settled: true, EmptyUnconfirmed: true},
			want: standings{
				"Ready": "True Ready", "Accepted": "True Valid", "Connected": "True Connected",
				"CatalogPublished": "False EmptyCatalog",
			},
		}, {
			name: "the first list fails", verdict: status.InProgressStatus,
			snapshot: session.Snapshot{
				State: session.Connected, Settled: true, ListFault: fault(failure.Server, failure.List, failure.ServerError),
			},
			want: standings{
				"Ready": "False ListToolsFailed", "Reconciling": "True ProgressingWithRetry", "Accepted": "True Valid",
				"Connected": "True Connected", "CatalogPublished": "False ListToolsFailed",
			},
		}, {
			name: "a later list fails", stored: true, verdict: status.CurrentStatus,
			snapshot: session.Snapshot{
				State: session.Connected, Settled: true, ListFault: fault(failure.Server, failure.List, failure.ServerError),
			},
			want: standings{
				"Ready": "True Ready", "Accepted": "True Valid", "Connected": "True Connected",
				"CatalogPublished": "False ListToolsFailed",
			},
		}, {
			name: "the first list takes too long", verdict: status.InProgressStatus,
			snapshot: session.Snapshot{
				State: session.Connected, Settled: true,
				ListFault: fault(failure.Timeout, failure.List, failure.ListToolsTimeout),
			},
			want: standings{
				"Ready": "False ListToolsTimeout", "Reconciling": "True ProgressingWithRetry", "Accepted": "True Valid",
				"Connected": "True Connected", "CatalogPublished": "False ListToolsTimeout",
			},
		}, {
			name: "the first list is above the limits", verdict: status.FailedStatus,
			snapshot: session.Snapshot{
				State: session.Connected, Settled: true,
				ListFault: fault(failure.Protocol, failure.List, failure.CatalogTooLarge),
			},
			want: standings{
				"Ready": "False CatalogTooLarge", "Stalled": "True CatalogTooLarge", "Accepted": "True Valid",
				"Connected": "True Connected", "CatalogPublished": "False CatalogTooLarge",
			},
		}, {
			name: "a later list is above the limits", stored: true, verdict: status.CurrentStatus,
			snapshot: session.Snapshot{
				State: session.Connected, Settled: true,
				ListFault: fault(failure.Protocol, failure.List, failure.CatalogTooLarge),
			},
			want: standings{
				"Ready": "True Ready", "Accepted": "True Valid", "Connected": "True Connected",
				"CatalogPublished": "False CatalogTooLarge",
			},
		}, {
			name: "waiting for the next attempt, first", snapshot: failing(session.Waiting), verdict: status.InProgressStatus,
			want: standings{
				"Ready": "False ConnectFailed", "Reconciling": "True ProgressingWithRetry", "Accepted": "True Valid",
				"Connected": "False ConnectFailed", "CatalogPublished": "Unknown AwaitingConnection",
			},
		}, {
			name: "waiting for the next attempt, over a catalog", stored: true, verdict: status.InProgressStatus,
			snapshot: failing(session.Waiting),
			want: standings{
				"Ready": "False ConnectFailed", "Reconciling": "True ProgressingWithRetry", "Accepted": "True Valid",
				"Connected": "False ConnectFailed", "CatalogPublished": "True Published",
			},
		}, {
			name: "quarantined", stored: true, verdict: status.InProgressStatus,
			snapshot: with(failing(session.Quarantined), func(s *session.Snapshot) {
				s.Strikes, s.QuarantinedUntil = 1, began.Add(time.Minute)
			}),
			want: standings{
				"Ready": "False ConnectFailed", "Reconciling": "True ProgressingWithRetry", "Accepted": "True Valid",
				"Connected": "False ConnectFailed", "Quarantined": "True ConnectFailed", "CatalogPublished": "True Published",
			},
		}, {
			name: "retired, refused", snapshot: retired(session.Refused, began.Add(time.Hour)),
			verdict: status.FailedStatus,
			want: standings{
				"Ready": "False ConnectFailed", "Stalled": "True ConnectFailed", "Accepted": "True Valid",
				"Connected": "False ConnectFailed", "Retired": "True ConnectFailed",
				"CatalogPublished": "Unknown AwaitingConnection",
			},
		}, {
			name: "retired, refused, never probed", snapshot: retired(session.Refused, time.Time{}),
			server: declared().ProbeInterval(0), verdict: status.FailedStatus,
			want: standings{
				"Ready": "False ConnectFailed", "Stalled": "True ConnectFailed", "Accepted": "True Valid",
				"Connected": "False ConnectFailed", "Retired": "True ConnectFailed",
				"CatalogPublished": "Unknown AwaitingConnection",
			},
		}, {
			name: "retired, exhausted, a probe is due", snapshot: retired(session.Exhausted, began.Add(time.Hour)),
			verdict: status.InProgressStatus,
			want: standings{
				"Ready": "False ConnectFailed", "Reconciling": "True ProgressingWithRetry", "Accepted": "True Valid",
				"Connected": "False ConnectFailed", "Retired": "True ConnectFailed",
				"CatalogPublished": "Unknown AwaitingConnection",
			},
		}, {
			name: "retired, exhausted, the probe is under way", snapshot: retired(session.Exhausted, time.Time{}),
			verdict: status.InProgressStatus,
			want: standings{
				"Ready": "False ConnectFailed", "Reconciling": "True ProgressingWithRetry", "Accepted": "True Valid",
				"Connected": "False ConnectFailed", "Retired": "True ConnectFailed",
				"CatalogPublished": "Unknown AwaitingConnection",
			},
		}, {
			name: "retired, exhausted, never probed", snapshot: retired(session.Exhausted, time.Time{}),
			server: declared().ProbeInterval(0), verdict: status.FailedStatus,
			want: standings{
				"Ready": "False ConnectFailed", "Stalled": "True ConnectFailed", "Accepted": "True Valid",
				"Connected": "False ConnectFailed", "Retired": "True ConnectFailed",
				"CatalogPublished": "Unknown AwaitingConnection",
			},
		}, {
			name: "disabled", server: declared().Disabled(), verdict: status.CurrentStatus,
			want: standings{
				"Ready": "True Disabled", "Accepted": "True Valid", "Connected": "Unknown Disabled",
				"CatalogPublished": "Unknown Disabled",
			},
		}, {
			name: "disabled and not accepted", server: declared().Disabled().Allow("[a"), verdict: status.FailedStatus,
			want: standings{
				"Ready": "False InvalidConfiguration", "Stalled": "True InvalidConfiguration",
				"Accepted": "False InvalidConfiguration", "Connected": "Unknown Disabled", "CatalogPublished": "Unknown Disabled",
			},
		}, {
			name: "not supported yet", verdict: status.FailedStatus,
			server: declared().Stdio("example.com/server:1").Mutate(func(s *v1alpha1.MCPServer) { s.Spec.HTTP = nil }),
			want: standings{
				"Ready": "False NotSupportedYet", "Stalled": "True NotSupportedYet", "Accepted": "False NotSupportedYet",
				"Connected": "Unknown Connecting", "CatalogPublished": "Unknown AwaitingConnection",
			},
		}, {
			name: "not supported yet, and disabled", verdict: status.CurrentStatus,
			server: declared().Stdio("example.com/server:1").Disabled().
				Mutate(func(s *v1alpha1.MCPServer) { s.Spec.HTTP = nil }),
			want: standings{
				"Ready": "True Disabled", "Accepted": "True Valid", "Connected": "Unknown Disabled",
				"CatalogPublished": "Unknown Disabled",
			},
		}, {
			name: "an undefined variable", server: declared().URL(testURL + "/$(ORG)"), verdict: status.FailedStatus,
			want: standings{
				"Ready": "False InvalidConfiguration", "Stalled": "True InvalidConfiguration",
				"Accepted": "False InvalidConfiguration", "Connected": "Unknown Connecting",
				"CatalogPublished": "Unknown AwaitingConnection",
			},
		}, {
			name: "an address that is not allowed", server: declared().URL("http://169.254.169.254/mcp"),
			verdict: status.FailedStatus,
			want: standings{
				"Ready": "False AddressNotAllowed", "Stalled": "True AddressNotAllowed",
				"Accepted": "False AddressNotAllowed", "Connected": "Unknown Connecting",
				"CatalogPublished": "Unknown AwaitingConnection",
			},
		}, {
			name: "a Secret that is not there", server: declared().Bearer("login", "token"), verdict: status.InProgressStatus,
			want: standings{
				"Ready": "False SecretNotFound", "Reconciling": "True Progressing", "Accepted": "False SecretNotFound",
				"Connected": "Unknown Connecting", "CatalogPublished": "Unknown AwaitingConnection",
			},
		}, {
			name: "a Secret that may not be read", server: declared().Bearer("denied", "token"),
			verdict: status.InProgressStatus,
			want: standings{
				"Ready": "False SecretAccessDenied", "Reconciling": "True Progressing",
				"Accepted": "False SecretAccessDenied", "Connected": "Unknown Connecting",
				"CatalogPublished": "Unknown AwaitingConnection",
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := row.server
			if server == nil {
				server = declared()
			}
			w := newWorld(t, server.Obj())
			denied := refs.Ref{Kind: refs.Secret, Namespace: testNamespace, Name: "denied", Key: "token"}
			w.references.errs = map[refs.Ref]error{denied: refs.AccessDeniedError{
				Kind: refs.Secret, Namespace: testNamespace, Grant: "kubectl create rolebinding",
			}}
			if row.stored {
				w.settle(connected("old"))
				w.restart()
			}
			w.pass()
			if row.snapshot.State != "" {
				w.sessions.Set(testKey, row.snapshot)
				w.pass()
			}
			got := w.get()
			w.Expect(standing(got)).To(Equal(row.want))
			w.Expect(kstatustest.Check(t, got)).To(Equal(row.verdict))
			w.Expect(got.Status.ObservedGeneration).To(Equal(got.Generation))
			w.Expect(w.catalog() != nil).To(Equal(row.stored || row.snapshot.Listing != nil))
		})
	}
}

// Whatever fails, its reason is on Connected and Ready with the words of the failure, and is never kept from people by
// what state follows from it.
func TestEveryFaultIsTold(t *testing.T) {
	for _, kind := range []struct {
		class  failure.Class
		phase  failure.Phase
		reason failure.Reason
		status int
	}{
		{failure.Auth, failure.Connect, failure.AuthenticationFailed, 401},
		{failure.Auth, failure.Connect, failure.TokenAcquisitionFailed, 400},
		{failure.Permission, failure.Connect, failure.PermissionDenied, 403},
		{failure.RateLimit, failure.Connect, failure.RateLimited, 429},
		{failure.SessionLost, failure.Stream, failure.SessionFlapping, 404},
		{failure.SessionLost, failure.Stream, failure.ConnectionLost, 404},
		{failure.Server, failure.List, failure.ServerError, 502},
		{failure.Transport, failure.Connect, failure.DNSError, 0},
		{failure.Transport, failure.Connect, failure.ConnectFailed, 0},
		{failure.Transport, failure.Probe, failure.ConnectionLost, 0},
		{failure.Transport, failure.Stream, failure.ProcessExited, 0},
		{failure.Timeout, failure.Connect, failure.ConnectTimeout, 0},
		{failure.Timeout, failure.List, failure.ListToolsTimeout, 0},
		{failure.Timeout, failure.Call, failure.CallTimeout, 0},
		{failure.Protocol, failure.Connect, failure.NotMCP, 200},
		{failure.Protocol, failure.Connect, failure.EndpointNotFound, 404},
		{failure.Protocol, failure.Connect, failure.UnsupportedProtocolVersion, 0},
		{failure.Protocol, failure.Connect, failure.TLSVerificationFailed, 0},
		{failure.Protocol, failure.Connect, failure.RedirectRefused, 302},
		{failure.Protocol, failure.Connect, failure.AddressNotAllowed, 0},
		{failure.Protocol, failure.List, failure.ProtocolError, 200},
		{failure.Protocol, failure.List, failure.CatalogTooLarge, 0},
		{failure.Unknown, failure.Connect, failure.UnknownFailure, 0},
	} {
		for _, state := range []struct {
			state      session.State
			retirement session.Retirement
			verdict    status.Status
		}{
			{session.Waiting, "", status.InProgressStatus},
			{session.Quarantined, "", status.InProgressStatus},
			{session.Retired, session.Exhausted, status.InProgressStatus},
			{session.Retired, session.Refused, status.FailedStatus},
		} {
			t.Run(string(kind.reason)+"/"+string(state.state)+string(state.retirement), func(t *testing.T) {
				w := newWorld(t, declared().Obj())
				trouble := fault(kind.class, kind.phase, kind.reason)
				trouble.HTTPStatus = kind.status
				w.settle(session.Snapshot{
					State: state.state, Retirement: state.retirement, Settled: true, Fault: trouble, Strikes: 2,
					QuarantinedUntil: began.Add(time.Minute), RetiredAt: began, NextAttempt: began.Add(time.Hour),
				})
				got := w.get()
				text := failure.Message(trouble.Failure, testURL)
				for _, condition := range []string{v1alpha1.ConditionConnected, v1alpha1.ConditionReady} {
					w.Expect(standing(got)).To(HaveKeyWithValue(condition, "False "+string(kind.reason)))
					w.Expect(message(got, condition)).To(Equal(text))
				}
				w.Expect(kstatustest.Check(t, got)).To(Equal(state.verdict))
				w.Expect(got.Status.Session.State).To(Equal(string(state.state)))
				w.Expect(*got.Status.Session.Strikes).To(BeEquivalentTo(2))
				w.Expect(got.Status.Session.QuarantinedUntil != nil).To(Equal(state.state == session.Quarantined))
				w.Expect(got.Status.Session.RetiredAt != nil).To(Equal(state.state == session.Retired))
				last := got.Status.Session.LastFailure
				w.Expect(last.Class).To(BeEquivalentTo(kind.class))
				w.Expect(last.Phase).To(BeEquivalentTo(kind.phase))
				w.Expect(last.Reason).To(BeEquivalentTo(kind.reason))
				w.Expect(last.Message).To(Equal(text))
				w.Expect(last.Since.Time).To(BeTemporally("==", began))
				w.Expect(last.HTTPStatus == nil).To(Equal(kind.status == 0))
			})
		}
	}
}

// The first condition that stands in the way is the one that Ready tells of, also where several need a person.
func TestReadyTellsTheFirstCause(t *testing.T) {
	foreign := builder.ConfigMap(testNamespace, "fs-mcp-tools").Key("mine", "value").Obj()
	foreign.Labels = map[string]string{v1alpha1.LabelManagedBy: "somebody"}
	t.Run("not accepted before a name conflict", func(t *testing.T) {
		w := newWorld(t, declared().URL(testURL+"/$(ORG)").Obj(), foreign.DeepCopy())
		w.pass()
		w.Expect(standing(w.get())).To(And(
			HaveKeyWithValue("Ready", "False InvalidConfiguration"), HaveKeyWithValue("Stalled", "True InvalidConfiguration"),
			HaveKeyWithValue("CatalogPublished", "False NameConflict")))
	})
	t.Run("refused before a name conflict", func(t *testing.T) {
		w := newWorld(t, declared().Obj(), foreign.DeepCopy())
		w.settle(session.Snapshot{
			State: session.Retired, Retirement: session.Refused, Settled: true, RetiredAt: began,
			Fault: fault(failure.Auth, failure.Connect, failure.AuthenticationFailed),
		})
		w.Expect(standing(w.get())).To(And(
			HaveKeyWithValue("Ready", "False AuthenticationFailed"),
			HaveKeyWithValue("Stalled", "True AuthenticationFailed"),
			HaveKeyWithValue("CatalogPublished", "False NameConflict")))
	})
	t.Run("a name conflict alone", func(t *testing.T) {
		w := newWorld(t, declared().Obj(), builder.ConfigMap(testNamespace, "fs-mcp-tools").Key("mine", "value").Obj())
		result := w.settle(connected("echo"))
		got := w.get()
		w.Expect(standing(got)).To(And(
			HaveKeyWithValue("Ready", "False NameConflict"), HaveKeyWithValue("Stalled", "True NameConflict"),
			HaveKeyWithValue("Connected", "True Connected")))
		w.Expect(kstatustest.Check(t, got)).To(Equal(status.FailedStatus))
		w.Expect(result.RequeueAfter).To(Equal(time.Minute), "what is not ours is not watched")
		w.Expect(w.catalog().Data).To(Equal(map[string]string{"mine": "value"}))
	})
}

// A session that is being connected keeps what was told under this generation, and nothing of an older one.
func TestConnectingKeepsWhatWasTold(t *testing.T) {
	t.Run("a rotated credential does not flap a good server", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.settle(connected("echo"))
		before := w.get()
		w.sessions.Set(testKey, with(connected("echo"), func(s *session.Snapshot) { s.State = session.Connecting }))
		w.pass()
		got := w.get()
		w.Expect(standing(got)).To(Equal(standing(before)))
		w.Expect(got.Status.Session.State).To(Equal(v1alpha1.SessionConnecting))
		kstatustest.Check(t, got)
	})
	t.Run("what failed stays failed", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.settle(failing(session.Waiting))
		before := w.get()
		w.sessions.Set(testKey, session.Snapshot{State: session.Connecting, Settled: true})
		w.pass()
		w.Expect(standing(w.get())).To(HaveKeyWithValue("Connected", standing(before)["Connected"]))
		kstatustest.Check(t, w.get())
	})
	t.Run("another generation begins anew", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.settle(connected("echo"))
		w.edit(func(s *v1alpha1.MCPServer) { s.Spec.HTTP.URL = "https://other.example.com/mcp" })
		w.pass()
		got := w.get()
		w.Expect(standing(got)).To(Equal(map[string]string{
			"Ready": "Unknown Connecting", "Reconciling": "True Progressing", "Accepted": "True Valid",
			"Connected": "Unknown Connecting", "CatalogPublished": "Unknown AwaitingConnection",
		}))
		w.Expect(message(got, "Connected")).To(Equal("connecting to https://other.example.com/mcp"))
		w.Expect(got.Status.ObservedGeneration).To(BeEquivalentTo(2))
		kstatustest.Check(t, got)
	})
}

// What a process that has learnt nothing yet finds in status stands; it writes only when an attempt has ended.
func TestStartWritesNothing(t *testing.T) {
	for _, former := range map[string]session.Snapshot{
		"ready": connected("echo"), "waiting": failing(session.Waiting),
	} {
		w := newWorld(t, declared().Obj())
		w.settle(former)
		before := w.get()
		writes := w.statusWrites
		w.restart()
		w.pass()
		w.sessions.Set(testKey, session.Snapshot{State: session.Waiting, Fault: fault("server", "connect", "ServerError")})
		w.pass()
		w.Expect(w.statusWrites).To(Equal(writes))
		w.Expect(w.get()).To(Equal(before))
		w.sessions.Set(testKey, connected("echo"))
		w.pass()
		w.Expect(standing(w.get())).To(HaveKeyWithValue("Ready", "True Ready"))
	}
}

// What was restored is told when an attempt has ended, and counted at once: with an hour between two probes nobody
// would know of the server otherwise.
func TestRestoredStandingIsCountedAndNotWritten(t *testing.T) {
	w := newWorld(t, declared().Obj())
	quarantined := with(failing(session.Quarantined), func(s *session.Snapshot) {
		s.Strikes, s.QuarantinedUntil = 1, began.Add(time.Minute)
	})
	w.settle(quarantined)
	before, writes := w.get(), w.statusWrites
	w.restart()
	later := with(quarantined, func(s *session.Snapshot) {
		s.Restored, s.QuarantinedUntil = true, began.Add(80*time.Second)
	})
	w.settle(later)
	w.Expect(w.statusWrites).To(Equal(writes))
	w.Expect(w.get()).To(Equal(before))
	w.Expect(w.metrics()).To(Equal(map[string]float64{"mooring_server_state": 1, "mooring_server_ready": 0}))
	later.Restored = false
	w.sessions.Set(testKey, later)
	w.pass()
	w.Expect(w.get().Status.Session.QuarantinedUntil.Time).To(BeTemporally("==", began.Add(80*time.Second)))
}

// A pass that learnt nothing new writes nothing.
func TestPassWithoutNewsWritesNothing(t *testing.T) {
	w := newWorld(t, declared().Obj())
	w.settle(connected("echo"))
	writes, stores := w.statusWrites, w.stores
	for range 3 {
		w.pass()
	}
	w.Expect(w.statusWrites).To(Equal(writes))
	w.Expect(w.stores).To(Equal(stores))
}

// The time at which a kind of failure began stands while it goes on, restarts included.
func TestFailureSince(t *testing.T) {
	later := began.Add(time.Hour)
	for name, test := range map[string]struct {
		change func(*session.Fault)
		since  time.Time
	}{
		"the same goes on":           {func(*session.Fault) {}, began},
		"with other details":         {func(f *session.Fault) { f.Detail = "connection refused" }, began},
		"another reason":             {func(f *session.Fault) { f.Reason = failure.DNSError }, later},
		"another class":              {func(f *session.Fault) { f.Class = failure.Unknown }, later},
		"another phase":              {func(f *session.Fault) { f.Phase = failure.Probe }, later},
		"the same with a status":     {func(f *session.Fault) { f.HTTPStatus = 500 }, later},
		"another fraction of second": {func(f *session.Fault) { f.Since = began.Add(time.Millisecond) }, began},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, declared().Obj())
			w.settle(failing(session.Waiting))
			w.restart()
			next := failing(session.Waiting)
			next.Fault.Since = later
			test.change(next.Fault)
			w.settle(next)
			w.Expect(w.get().Status.Session.LastFailure.Since.Time).To(BeTemporally("==", test.since))
		})
	}
	t.Run("a connection between ends it", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.settle(failing(session.Waiting))
		w.settle(connected("echo"))
		w.Expect(w.get().Status.Session.LastFailure).To(BeNil())
		next := failing(session.Waiting)
		next.Fault.Since = later
		w.settle(next)
		w.Expect(w.get().Status.Session.LastFailure.Since.Time).To(BeTemporally("==", later))
	})
}

// The words of a failure that another process met stand: its details did not survive, and without them less would be
// told.
func TestRestoredFailureKeepsItsWords(t *testing.T) {
	w := newWorld(t, declared().Obj())
	until := began.Add(time.Hour)
	first := with(failing(session.Quarantined), func(s *session.Snapshot) {
		s.Strikes, s.QuarantinedUntil, s.Fault.Detail = 1, until, "connection reset"
	})
	w.settle(first)
	before := w.get()
	w.Expect(message(before, "Connected")).To(ContainSubstring("(connection reset)"))
	w.restart()
	w.pass()
	config, _ := w.sessions.Config(testKey)
	restored := config.Restore.Failure
	w.Expect(restored.Detail).To(BeEmpty())
	w.sessions.Set(testKey, session.Snapshot{
		State: session.Quarantined, Settled: true, Strikes: 1, QuarantinedUntil: until, Fault: &restored,
	})
	w.pass()
	w.Expect(w.get().Status).To(Equal(before.Status))

	// The same trouble, met by this process, is told in its own words.
	w.sessions.Set(testKey, with(first, func(s *session.Snapshot) {
		s.Fault = fault(failure.Transport, failure.Connect, failure.ConnectFailed)
		s.Fault.Since, s.Fault.Detail = until, "no route to host"
	}))
	w.pass()
	w.Expect(message(w.get(), "Connected")).To(ContainSubstring("(no route to host)"))
	w.Expect(w.get().Status.Session.LastFailure.Since.Time).To(BeTemporally("==", began))
}

// What the server said of itself stands while it cannot be asked.
func TestServerInfo(t *testing.T) {
	w := newWorld(t, declared().Obj())
	w.settle(connected("echo"))
	want := &v1alpha1.ServerStatus{Name: "files", Title: "Files", Version: "1.2.3", ProtocolVersion: "2025-11-25"}
	w.Expect(w.get().Status.Server).To(Equal(want))
	w.restart()
	w.settle(failing(session.Waiting))
	w.Expect(w.get().Status.Server).To(Equal(want))
	w.settle(with(connected("echo"), func(s *session.Snapshot) { s.Info.Version = "2.0.0" }))
	w.Expect(w.get().Status.Server.Version).To(Equal("2.0.0"))
}

// Status echoes the annotation once an attempt under it has ended, and at once where there is no session to renew.
func TestReconnectIsAcknowledged(t *testing.T) {
	w := newWorld(t, declared().Reconnect("1").Obj())
	w.settle(connected("echo"))
	w.Expect(w.get().Status.LastHandledReconnectAt).To(BeEmpty(), "no attempt under it has ended")
	w.sessions.Set(testKey, with(connected("echo"), func(s *session.Snapshot) { s.HandledReconnect = "1" }))
	w.pass()
	w.Expect(w.get().Status.LastHandledReconnectAt).To(Equal("1"))
	w.edit(func(s *v1alpha1.MCPServer) {
		s.Annotations[v1alpha1.AnnotationReconnect] = "2"
		s.Spec.Disabled = true
	})
	w.pass()
	w.Expect(w.get().Status.LastHandledReconnectAt).To(Equal("2"))
}

// Status is quiet: nothing in it moves by itself, and no message has a clock or a count.
func TestMessagesHaveNoClock(t *testing.T) {
	w := newWorld(t, declared().Obj())
	w.settle(with(failing(session.Quarantined), func(s *session.Snapshot) {
		s.Strikes, s.QuarantinedUntil = 2, began.Add(time.Minute)
		s.Fault.RetryAfter, s.Fault.RetryAfterGiven = 37*time.Second, true
	}))
	for _, condition := range w.get().Status.Conditions {
		w.Expect(condition.Message).NotTo(MatchRegexp(`[0-9]+ ?(s|m|h|seconds|minutes)\b|37|2026`), condition.Type)
	}
}

// A message never grows beyond what the API takes.
func TestLongMessagesAreCut(t *testing.T) {
	w := newWorld(t, declared().URL("https://mcp.example.com/"+strings.Repeat("a", 1900)).Obj())
	w.settle(failing(session.Waiting))
	got := w.get()
	w.Expect(message(got, "Connected")).To(HaveLen(1024))
	w.Expect(got.Status.Session.LastFailure.Message).To(HaveLen(1024))
	kstatustest.Check(t, got)
}
