package mcpserver

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/session"
)

// condition is one of these words: "Type Status Reason".
type condition struct {
	kind, status, reason string
}

func saying(digest string, conditions ...condition) *v1alpha1.MCPServer {
	server := declared().Obj()
	if digest != "" {
		server.Status.Catalog = &v1alpha1.CatalogStatus{ConfigMap: "fs-mcp-tools", Digest: digest}
	}
	for _, c := range conditions {
		server.Status.Conditions = append(server.Status.Conditions, metav1.Condition{
			Type: c.kind, Status: metav1.ConditionStatus(c.status), Reason: c.reason, Message: c.kind + " says so",
		})
	}
	return server
}

func TestTransitions(t *testing.T) {
	var (
		accepted  = condition{v1alpha1.ConditionAccepted, "True", "Valid"}
		connected = condition{v1alpha1.ConditionConnected, "True", "Connected"}
		published = condition{v1alpha1.ConditionCatalogPublished, "True", "Published"}
		refused   = condition{v1alpha1.ConditionConnected, "False", "ConnectFailed"}
	)
	for _, test := range []struct {
		name          string
		before, after *v1alpha1.MCPServer
		want          []string
	}{
		{"nothing before, nothing bad", saying(""), saying("", accepted), nil},
		{"connected", saying("", accepted), saying("", accepted, connected), []string{"Normal Connected Connect"}},
		{"connected and published", saying(""), saying("a", connected, published),
			[]string{"Normal Connected Connect", "Normal Published Publish"}},
		{"other tools", saying("a", connected), saying("b", connected), []string{"Normal Published Publish"}},
		{"the same tools", saying("a", connected), saying("a", connected), nil},
		{"refused", saying("", connected), saying("", refused), []string{"Warning ConnectFailed Connect"}},
		{"still refused", saying("", refused), saying("", refused), nil},
		{"refused otherwise", saying("", refused),
			saying("", condition{v1alpha1.ConditionConnected, "False", "DNSError"}), []string{"Warning DNSError Connect"}},
		{"back", saying("", refused), saying("", connected), []string{"Normal Connected Connect"}},
		{"not known is no trouble", saying("", connected),
			saying("", condition{v1alpha1.ConditionConnected, "Unknown", "Connecting"}), nil},
		{"not accepted", saying(""), saying("", condition{v1alpha1.ConditionAccepted, "False", "SecretNotFound"}),
			[]string{"Warning SecretNotFound Resolve"}},
		{"a list failed", saying("a", published),
			saying("a", condition{v1alpha1.ConditionCatalogPublished, "False", "ListToolsFailed"}),
			[]string{"Warning ListToolsFailed Publish"}},
		{"quarantined: one warning, the weightiest", saying("", connected),
			saying("", refused, condition{v1alpha1.ConditionQuarantined, "True", "ConnectFailed"}),
			[]string{"Warning ConnectFailed Connect"}},
		{"quarantined after it was told as refused", saying("", refused),
			saying("", refused, condition{v1alpha1.ConditionQuarantined, "True", "ConnectFailed"}),
			[]string{"Warning ConnectFailed Connect"}},
		{"the quarantine goes on", saying("", refused, condition{v1alpha1.ConditionQuarantined, "True", "ConnectFailed"}),
			saying("", refused, condition{v1alpha1.ConditionQuarantined, "True", "ConnectFailed"}), nil},
		{"everything at once is one warning", saying(""), saying("",
			condition{v1alpha1.ConditionAccepted, "False", "InvalidConfiguration"}, refused,
			condition{v1alpha1.ConditionRetired, "True", "AuthenticationFailed"},
			condition{v1alpha1.ConditionCatalogPublished, "False", "NameConflict"}),
			[]string{"Warning AuthenticationFailed Connect"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, event := range transitions(test.before, test.after) {
				got = append(got, event.Type+" "+event.Reason+" "+event.Action)
				NewWithT(t).Expect(event.Message).NotTo(BeEmpty())
			}
			NewWithT(t).Expect(got).To(Equal(test.want))
		})
	}
}

// A server that refuses the credential is one Warning, however often it is looked at, and through a restart.
func TestOneWarningForA401(t *testing.T) {
	w := newWorld(t, declared().Obj())
	refused := session.Snapshot{
		State: session.Retired, Retirement: session.Refused, Settled: true, RetiredAt: began,
		Fault: fault(failure.Auth, failure.Connect, failure.AuthenticationFailed),
	}
	w.settle(refused)
	w.Expect(w.told.take()).To(Equal([]string{"Warning AuthenticationFailed Connect"}))
	w.settle(refused)
	w.restart()
	w.settle(refused)
	w.Expect(w.told.take()).To(BeEmpty())

	// Mended, connected, and refused once more: that is news.
	w.settle(connected("echo"))
	w.Expect(w.told.take()).To(Equal([]string{"Normal Connected Connect", "Normal Published Publish"}))
	w.settle(refused)
	w.Expect(w.told.take()).To(Equal([]string{"Warning AuthenticationFailed Connect"}))
}

// A fault that comes back is told again, also where its end has no event of its own.
func TestAFaultThatComesBackIsToldAgain(t *testing.T) {
	login := refs.Ref{Kind: refs.Secret, Namespace: testNamespace, Name: "login", Key: "token"}
	w := newWorld(t, declared().Bearer("login", "token").Obj())
	for range 3 {
		delete(w.references.values, login)
		w.pass()
		w.Expect(w.told.take()).To(ContainElement("Warning SecretNotFound Resolve"))
		w.references.values[login] = "first"
		w.settle(connected("echo"))
		w.told.take()
	}
	for range 3 {
		w.settle(with(connected("echo"), func(s *session.Snapshot) {
			s.ListFault = fault(failure.Timeout, failure.List, failure.ListToolsTimeout)
		}))
		w.Expect(w.told.take()).To(Equal([]string{"Warning ListToolsTimeout Publish"}))
		w.settle(connected("echo"))
		w.Expect(w.told.take()).To(BeEmpty())
	}
}

// An event tells of what stands in status: a write that was refused tells nothing, the one that succeeds does.
func TestEventsFollowTheWrite(t *testing.T) {
	w := newWorld(t, declared().Obj())
	w.pass()
	w.told.take()
	w.sessions.Set(testKey, failing(session.Waiting))
	w.statusErrors = []error{conflict()}
	w.Expect(w.pass().RequeueAfter).To(Equal(conflictDelay))
	w.Expect(w.told.take()).To(BeEmpty())
	w.pass()
	w.Expect(w.told.take()).To(Equal([]string{corev1.EventTypeWarning + " ConnectFailed Connect"}))
}
