package integration

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/oauthserver"
)

// protected is an MCP server that lets in who shows a token of the authorization server, and its URL.
func protected(t *testing.T, authority *oauthserver.Server) (*mcpfake.Server, string) {
	t.Helper()
	fake := mcpfake.New(t)
	front := httptest.NewServer(authority.Protect(fake))
	t.Cleanup(func() {
		front.CloseClientConnections() // a manager that still runs holds streams open
		front.Close()
	})
	return fake, front.URL + "/mcp"
}

// A server behind short-lived tokens is Ready and stays so: its session outlives them.
func TestOAuthServerIsReadyAndStaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	authority := oauthserver.New(t, canary)
	authority.SetLife(10 * time.Second)
	fake, address := protected(t, authority)
	w.apply(builder.Secret("", "login").Key("secret", canary).Obj(),
		builder.MCPServer("fs").URL(address).OAuth(authority.TokenURL(), oauthserver.ClientID, "login", "secret").
			HealthInterval(5*time.Second).Obj())
	before := w.ready("fs")
	w.Eventually(func() int { return min(authority.Minted(), fake.Count("ping")) }).Should(BeNumerically(">=", 2))
	after := w.ready("fs")
	w.Expect(readySince(after)).To(Equal(readySince(before)), "Ready never left True")
	w.Expect(fake.Stats().Opened).To(Equal(1))
}

// Only another credential helps against a client that is refused, and it does so without an edit of the server.
func TestOAuthClientSecretIsCorrected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	authority := oauthserver.New(t, "right-"+canary)
	_, address := protected(t, authority)
	secret := builder.Secret("", "login").Key("secret", "wrong-"+canary).Obj()
	w.apply(secret,
		builder.MCPServer("fs").URL(address).OAuth(authority.TokenURL(), oauthserver.ClientID, "login", "secret").Obj())
	refused := w.await("fs", v1alpha1.ConditionConnected, "False TokenAcquisitionFailed")
	w.await("fs", v1alpha1.ConditionStalled, "True TokenAcquisitionFailed")
	w.Expect(message(refused, v1alpha1.ConditionConnected)).To(HavePrefix(
		"the token server for " + address + " answered 401 Unauthorized (invalid_client); "))
	w.Expect(len(authority.Requests())).To(BeNumerically("<=", 4), "both ways of showing it, read once more")
	w.replace(secret, "secret", "right-"+canary)
	w.ready("fs")

	authority.SetSecret("third-" + canary)
	authority.Revoke()
	w.reconnect("fs", "1")
	w.await("fs", v1alpha1.ConditionStalled, "True TokenAcquisitionFailed")
	w.replace(secret, "secret", "third-"+canary)
	w.ready("fs")
	w.told("fs")
}

// An outage of the token server is no refusal: it heals by itself.
func TestOAuthTokenServerIsDownAndComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	authority := oauthserver.New(t, canary)
	w.Expect(authority.Refuse()).To(Succeed())
	_, address := protected(t, authority)
	w.apply(builder.Secret("", "login").Key("secret", canary).Obj(),
		builder.MCPServer("fs").URL(address).OAuth(authority.TokenURL(), oauthserver.ClientID, "login", "secret").
			Cooldown(time.Second).Obj())
	down := w.await("fs", v1alpha1.ConditionReady, "False TokenAcquisitionFailed")
	w.Expect(says(down, v1alpha1.ConditionReconciling)).To(Equal("True ProgressingWithRetry"))
	w.Expect(says(down, v1alpha1.ConditionStalled)).To(BeEmpty())
	w.Expect(message(down, v1alpha1.ConditionReady)).To(ContainSubstring("(connection to the token server failed)"))
	w.Expect(authority.Restore()).To(Succeed())
	w.ready("fs")

	authority.Intercept(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		rw.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(rw, `{"error":"invalid_client","error_description":"`+canary+`"}`)
	})
	authority.Revoke()
	w.reconnect("fs", "1")
	down = w.await("fs", v1alpha1.ConditionConnected, "False TokenAcquisitionFailed")
	w.Expect(says(down, v1alpha1.ConditionStalled)).To(BeEmpty())
	authority.Intercept(nil)
	w.ready("fs")
	w.told("fs")
}

// told fails when a secret is told anywhere.
func (w *world) told(name string) {
	w.t.Helper()
	w.noCanaryIn("objects", w.kubectl("get", "mcpservers,events,configmaps", "-o", "yaml"))
	w.noCanaryIn("describe", w.kubectl("describe", "mcpserver", name))
	w.noCanaryIn("metrics", w.metrics())
	w.noCanaryIn("logs", logs.String())
}
