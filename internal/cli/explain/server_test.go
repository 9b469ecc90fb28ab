package explain_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/cli/lease"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/test/builder"
)

var update = flag.Bool("update", false, "write the golden files anew")

// now is the instant of all explanations.
var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(now.Add(-d))) }

// server is one in which Ready says what is given, for three minutes.
func server(status metav1.ConditionStatus, reason, message string) *v1alpha1.MCPServer {
	s := builder.MCPServer("github").Namespace("agents").URL("https://mcp.example.com/mcp").Generation(2).Obj()
	s.Status.ObservedGeneration = 2
	say(s, v1alpha1.ConditionReady, status, reason, message)
	return s
}

func say(s *v1alpha1.MCPServer, condition string, status metav1.ConditionStatus, reason, message string) {
	s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: message, ObservedGeneration: 2,
		LastTransitionTime: *ago(3 * time.Minute),
	})
}

const (
	refused      = "connection to https://mcp.example.com/mcp was refused; check that the server runs and listens there"
	unauthorized = "https://mcp.example.com/mcp answered 401 Unauthorized; " +
		"check that the referenced Secret holds a credential that the server accepts"
)

func published(s *v1alpha1.MCPServer) {
	s.Status.Catalog = &v1alpha1.CatalogStatus{
		ConfigMap: "github-mcp-tools", ToolCount: ptr.To[int32](12), ConfirmedAt: ago(30*24*time.Hour - time.Second),
	}
}

func failing(s *v1alpha1.MCPServer, state, phase string) *v1alpha1.SessionStatus {
	s.Status.Session = &v1alpha1.SessionStatus{State: state, LastFailure: &v1alpha1.FailureStatus{
		Phase: phase, Since: ago(4 * time.Minute),
	}}
	return s.Status.Session
}

// listing is a server that is connected and whose tools are not published, for the reason given.
func listing(status metav1.ConditionStatus, reason, message string) *v1alpha1.MCPServer {
	s := server(status, reason, message)
	say(s, v1alpha1.ConditionCatalogPublished, status, reason, message)
	s.Status.Session = &v1alpha1.SessionStatus{State: v1alpha1.SessionConnected}
	return s
}

// withholding is a server that is ready and whose tools are not all offered, for the reason given.
func withholding(reason, message string) *v1alpha1.MCPServer {
	s := server(metav1.ConditionTrue, v1alpha1.ReasonReady, "connected, and the catalog is published")
	say(s, v1alpha1.ConditionToolsDrifted, metav1.ConditionTrue, reason, message)
	s.Status.Session = &v1alpha1.SessionStatus{State: v1alpha1.SessionConnected}
	published(s)
	return s
}

// stalled is a server that waits for somebody to act on what Ready says.
func stalled(s *v1alpha1.MCPServer) *v1alpha1.MCPServer {
	ready := s.Status.Conditions[0]
	say(s, v1alpha1.ConditionStalled, metav1.ConditionTrue, ready.Reason, ready.Message)
	return s
}

// refusal is what is said when the API server refuses to store a catalog.
func refusal(name string) string {
	return (&configmap.WriteRejected{ConfigMap: name, Err: errors.New("exceeded quota: objects")}).Error()
}

func TestServer(t *testing.T) {
	cases := map[string]func() *v1alpha1.MCPServer{
		"connected": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionTrue, v1alpha1.ReasonReady, "connected, and the catalog is published")
			s.Status.Session = &v1alpha1.SessionStatus{State: v1alpha1.SessionConnected}
			s.Status.Server = &v1alpha1.ServerStatus{Name: "gh", Version: "1.2", ProtocolVersion: "2025-11-25"}
			published(s)
			return s
		},
		"refresh-failed": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionTrue, v1alpha1.ReasonReady, "connected, and the catalog is published")
			say(s, v1alpha1.ConditionCatalogPublished, metav1.ConditionFalse, v1alpha1.ReasonListToolsTimeout,
				"https://mcp.example.com/mcp did not list its tools in time; the last good catalog stays published")
			s.Status.Session = &v1alpha1.SessionStatus{State: v1alpha1.SessionConnected}
			published(s)
			s.Status.Warnings = []v1alpha1.Warning{{Type: "ToolTooLarge", Tool: "dump", Message: "300 KiB, withheld"}}
			s.Status.WarningCount = ptr.To[int32](7)
			return s
		},
		"tools-changed": func() *v1alpha1.MCPServer {
			return withholding(v1alpha1.ReasonToolsChanged, "withheld, because not as approved: search (changed), create "+
				"(added); look at them, and approve them by setting spec.tools.approvedDigest to status.catalog.digest")
		},
		"awaiting-approval": func() *v1alpha1.MCPServer {
			s := withholding(v1alpha1.ReasonAwaitingApproval, "what the server lists was not approved, so that no tools are "+
				"offered; look at them, and approve them by setting spec.tools.approvedDigest to status.catalog.digest")
			s.Status.Catalog.ToolCount = ptr.To[int32](0)
			return s
		},
		"changed-and-down": func() *v1alpha1.MCPServer {
			s := withholding(v1alpha1.ReasonToolsChanged, "withheld, because not as approved: search (changed); look at them")
			s.Status.Conditions[0].Status, s.Status.Conditions[0].Message = metav1.ConditionFalse, refused
			s.Status.Conditions[0].Reason = v1alpha1.ReasonConnectFailed
			failing(s, v1alpha1.SessionWaiting, "connect")
			return s
		},
		"connecting": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionUnknown, v1alpha1.ReasonConnecting, "connecting to https://mcp.example.com/mcp")
			s.Status.Session = &v1alpha1.SessionStatus{State: v1alpha1.SessionConnecting}
			return s
		},
		"unlisted": func() *v1alpha1.MCPServer {
			return listing(metav1.ConditionFalse, v1alpha1.ReasonListToolsTimeout,
				"https://mcp.example.com/mcp did not list its tools in time; check that the server answers tools/list")
		},
		"awaiting-the-list": func() *v1alpha1.MCPServer {
			return listing(metav1.ConditionUnknown, v1alpha1.ReasonAwaitingConnection,
				"the tools are listed once the server is connected")
		},
		"empty": func() *v1alpha1.MCPServer {
			return listing(metav1.ConditionFalse, v1alpha1.ReasonEmptyCatalog,
				"the server listed no tools, which is asked again before it is believed; if it should have some, look into its "+
					"own logs")
		},
		"too-large": func() *v1alpha1.MCPServer {
			return stalled(listing(metav1.ConditionFalse, v1alpha1.ReasonCatalogTooLarge,
				"the server's tools do not fit into a ConfigMap (900 KiB compressed); have the server offer fewer"))
		},
		"grown-too-large": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionTrue, v1alpha1.ReasonReady, "connected, and the catalog is published")
			say(s, v1alpha1.ConditionCatalogPublished, metav1.ConditionFalse, v1alpha1.ReasonCatalogTooLarge,
				"the server's tools do not fit into a ConfigMap (900 KiB compressed); the last good catalog stays published")
			s.Status.Session = &v1alpha1.SessionStatus{State: v1alpha1.SessionConnected}
			published(s)
			return s
		},
		"name-conflict": func() *v1alpha1.MCPServer {
			return stalled(listing(metav1.ConditionFalse, v1alpha1.ReasonNameConflict,
				`ConfigMap "github-mcp-tools" exists and does not belong to this MCPServer; rename one of them, or delete the `+
					`ConfigMap`))
		},
		"not-stored": func() *v1alpha1.MCPServer {
			return listing(metav1.ConditionFalse, v1alpha1.ReasonPublishFailed, refusal("github-mcp-tools"))
		},
		"expired": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionFalse, v1alpha1.ReasonConnectFailed, refused)
			session := failing(s, v1alpha1.SessionQuarantined, "connect")
			session.Strikes, session.QuarantinedUntil = ptr.To[int32](2), ago(-42*time.Second)
			published(s)
			s.Status.Catalog.ConfirmedAt = ago(30 * 24 * time.Hour)
			return s
		},
		"access-denied": func() *v1alpha1.MCPServer {
			return server(metav1.ConditionFalse, v1alpha1.ReasonSecretAccessDenied,
				`not permitted to read secrets in namespace "agents"; an administrator can permit it by: kubectl create ...`)
		},
		"waiting": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionFalse, v1alpha1.ReasonConnectFailed, refused)
			failing(s, v1alpha1.SessionWaiting, "connect")
			return s
		},
		"rate-limited": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionFalse, v1alpha1.ReasonRateLimited,
				"https://mcp.example.com/mcp answered 429 Too Many Requests; it is tried again when the server allows it")
			last := failing(s, v1alpha1.SessionWaiting, "connect").LastFailure
			last.Class, last.Reason = string(failure.RateLimit), v1alpha1.ReasonRateLimited
			return s
		},
		"flapping": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionFalse, v1alpha1.ReasonSessionFlapping,
				"https://mcp.example.com/mcp forgot the session three times within a minute; look into its own logs")
			failing(s, v1alpha1.SessionWaiting, "list").LastFailure.Reason = v1alpha1.ReasonSessionFlapping
			return s
		},
		"quarantined": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionFalse, v1alpha1.ReasonConnectFailed, refused)
			session := failing(s, v1alpha1.SessionQuarantined, "connect")
			session.Strikes, session.QuarantinedUntil = ptr.To[int32](2), ago(-42*time.Second)
			published(s)
			return s
		},
		"refused": func() *v1alpha1.MCPServer {
			s := stalled(server(metav1.ConditionFalse, v1alpha1.ReasonAuthenticationFailed, unauthorized))
			session := failing(s, v1alpha1.SessionRetired, "connect")
			session.Retirement, session.RetiredAt = v1alpha1.RetirementRefused, ago(4*time.Minute)
			return s
		},
		"exhausted": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionFalse, v1alpha1.ReasonConnectFailed, refused)
			session := failing(s, v1alpha1.SessionRetired, "probe")
			session.Retirement, session.RetiredAt = v1alpha1.RetirementExhausted, ago(4*time.Minute)
			published(s)
			return s
		},
		"exhausted-for-good": func() *v1alpha1.MCPServer {
			s := stalled(server(metav1.ConditionFalse, v1alpha1.ReasonConnectFailed, refused))
			s.Spec.Recovery = &v1alpha1.Recovery{ProbeInterval: &metav1.Duration{}}
			session := failing(s, v1alpha1.SessionRetired, "connect")
			session.Retirement, session.RetiredAt = v1alpha1.RetirementExhausted, ago(4*time.Minute)
			return s
		},
		"secret-missing": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionFalse, v1alpha1.ReasonSecretNotFound,
				`Secret "gh" not found in namespace "agents"; create it, or correct the reference`)
			s.Spec.HTTP.Auth = builder.MCPServer("").Bearer("gh", "token").Obj().Spec.HTTP.Auth
			return s
		},
		"invalid": func() *v1alpha1.MCPServer {
			return stalled(server(metav1.ConditionFalse, v1alpha1.ReasonInvalidConfiguration,
				"spec.http.url: variable $(ORG) is not defined; add it to spec.variables"))
		},
		"disabled": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionTrue, v1alpha1.ReasonDisabled, "the server is disabled")
			s.Spec.Disabled = true
			return s
		},
		"calls-failing": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionFalse, v1alpha1.ReasonCallsFailing, "every gateway fails to call it; look there")
			s.Status.Session = &v1alpha1.SessionStatus{State: v1alpha1.SessionConnected}
			s.Status.Calls = &v1alpha1.CallsStatus{State: v1alpha1.CallsFailing, Class: "server"}
			published(s)
			return s
		},
		"new": func() *v1alpha1.MCPServer {
			return builder.MCPServer("github").Namespace("agents").Generation(1).Obj()
		},
		"changed": func() *v1alpha1.MCPServer {
			s := server(metav1.ConditionTrue, v1alpha1.ReasonReady, "connected")
			s.Generation = 3
			return s
		},
	}
	for name, object := range cases {
		t.Run(name, func(t *testing.T) {
			golden(t, name, explain.Server(object(), explain.View{Now: now, Program: "mooring"}))
		})
	}
}

// Without a manager nothing goes on, and everything that status tells may be over.
func TestServerWithoutAManager(t *testing.T) {
	stopped := lease.Report{State: lease.Stopped, Since: now.Add(-time.Hour)}
	quarantined := server(metav1.ConditionFalse, v1alpha1.ReasonConnectFailed, refused)
	failing(quarantined, v1alpha1.SessionQuarantined, "connect").QuarantinedUntil = ago(-42 * time.Second)
	published(quarantined)
	unseen := builder.MCPServer("github").Namespace("agents").Generation(1).Obj()
	for name, test := range map[string]struct {
		server  *v1alpha1.MCPServer
		manager lease.Report
	}{
		"stopped":     {quarantined, stopped},
		"stopped-new": {unseen, stopped},
		"absent":      {quarantined, lease.Report{State: lease.Absent}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, explain.Server(test.server, explain.View{Now: now, Program: "mooring", Manager: test.manager}))
		})
	}
}

// What is to be run is called as the program is called here.
func TestServerForAKubectlPlugin(t *testing.T) {
	s := server(metav1.ConditionFalse, v1alpha1.ReasonConnectFailed, refused)
	failing(s, v1alpha1.SessionWaiting, "connect")
	text := explain.Server(s, explain.View{Now: now, Program: "kubectl mooring"})
	NewWithT(t).Expect(text).To(HaveSuffix("try at once: kubectl mooring reconnect github -n agents\n"))
}

// golden compares with a file that a person has read.
func golden(t *testing.T, name, got string) {
	t.Helper()
	g := NewWithT(t)
	file := filepath.Join("testdata", name+".txt")
	if *update {
		g.Expect(os.WriteFile(file, []byte(got), 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred(), "run with -update to write it")
	g.Expect(got).To(Equal(string(want)))
}
