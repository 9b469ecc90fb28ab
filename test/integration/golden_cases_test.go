package integration

import (
	"net/http"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/oauthserver"
)

// ailment is one thing that can be wrong, or looks wrong and is not.
type ailment struct {
	// name is the object's, and the golden file's.
	name string
	// with is what must exist before the object.
	with []client.Object
	// server makes the object; its name is set afterwards.
	server func(w *world) *builder.MCPServerBuilder
	// denied: in the namespace whose Secrets the manager may not read.
	denied bool

	// ready is status and reason of Ready, and state that of the session, once nothing moves any more; "-" is none.
	ready, state string
	// stalled: waiting does not help.
	stalled bool
}

var cases = []*ailment{
	// What the declaration refers to.
	{
		name: "secret-not-found", ready: "False SecretNotFound", state: "-",
		server: func(w *world) *builder.MCPServerBuilder { return at(healthy(w)).Bearer("absent", "token") },
	},
	{
		name: "secret-key-not-found", ready: "False SecretKeyNotFound", state: "-",
		server: func(w *world) *builder.MCPServerBuilder { return at(healthy(w)).Bearer("login", "password") },
	},
	{
		name: "secret-with-trailing-newline", ready: "True Ready", state: "Connected",
		with:   secret("newline", "token", canary+"\n"),
		server: func(w *world) *builder.MCPServerBuilder { return at(healthy(w)).Bearer("newline", "token") },
	},
	{
		name: "secret-with-control-byte", ready: "False InvalidSecretValue", state: "-", stalled: true,
		with:   secret("control", "token", canary+"\n"+canary),
		server: func(w *world) *builder.MCPServerBuilder { return at(healthy(w)).Bearer("control", "token") },
	},
	{
		name: "secret-empty", ready: "False InvalidSecretValue", state: "-", stalled: true,
		with:   secret("empty", "token", "\n"),
		server: func(w *world) *builder.MCPServerBuilder { return at(healthy(w)).Bearer("empty", "token") },
	},
	{
		name: "secret-access-denied", ready: "False SecretAccessDenied", state: "-", denied: true,
		server: func(w *world) *builder.MCPServerBuilder { return at(healthy(w)) },
	},
	{
		name: "ca-bundle-not-found", ready: "False ConfigMapNotFound", state: "-",
		server: func(w *world) *builder.MCPServerBuilder {
			return at(mcpfake.New(w.t, mcpfake.WithTLS())).CABundle(v1alpha1.CABundleConfigMap, "absent", "ca.crt")
		},
	},
	{
		name: "ca-bundle-key-not-found", ready: "False ConfigMapNotFound", state: "-",
		with: configMap("ca-other-key", "ca.pem", "x"),
		server: func(w *world) *builder.MCPServerBuilder {
			return at(mcpfake.New(w.t, mcpfake.WithTLS())).CABundle(v1alpha1.CABundleConfigMap, "ca-other-key", "ca.crt")
		},
	},
	{
		name: "ca-bundle-invalid", ready: "False InvalidCABundle", state: "-", stalled: true,
		with: secret("ca-invalid", "ca.crt", canary),
		server: func(w *world) *builder.MCPServerBuilder {
			return at(mcpfake.New(w.t, mcpfake.WithTLS())).CABundle(v1alpha1.CABundleSecret, "ca-invalid", "ca.crt")
		},
	},
	{
		name: "client-certificate-broken", ready: "False InvalidSecretValue", state: "-", stalled: true,
		with: []client.Object{builder.Secret("", "pair").TLS([]byte(canary), []byte(canary)).Obj()},
		server: func(w *world) *builder.MCPServerBuilder {
			return at(mcpfake.New(w.t, mcpfake.WithTLS())).ClientCertificate("pair")
		},
	},
	// What the declaration itself says.
	{
		name: "stdio-not-supported-yet", ready: "False NotSupportedYet", state: "-", stalled: true,
		server: func(*world) *builder.MCPServerBuilder {
			return builder.MCPServer("").Stdio("ghcr.io/acme/server:1.2", "server")
		},
	},
	{
		name: "oauth-address-never-allowed", ready: "False AddressNotAllowed", state: "-", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			return at(healthy(w)).OAuth("https://169.254.169.254/token?tenant=a", oauthserver.ClientID, "login", "token")
		},
	},
	{
		name: "undefined-variable", ready: "False InvalidConfiguration", state: "-", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			fake := healthy(w)
			return at(fake).URL(fake.URL() + "?key=$(KEY)")
		},
	},
	{
		name: "bad-glob", ready: "False InvalidConfiguration", state: "-", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder { return at(healthy(w)).Allow("read_[a-") },
	},
	{
		name: "unknown-pinned-version", ready: "False InvalidConfiguration", state: "-", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			return at(healthy(w)).Mutate(func(s *v1alpha1.MCPServer) { s.Spec.ProtocolVersion = "2031-01-01" })
		},
	},
	{
		name: "address-never-allowed", ready: "False AddressNotAllowed", state: "-", stalled: true,
		server: func(*world) *builder.MCPServerBuilder { return atURL("https://169.254.169.254/latest/meta-data") },
	},
	{
		name: "address-denied-by-flag", ready: "False AddressNotAllowed", state: "-", stalled: true,
		server: func(*world) *builder.MCPServerBuilder { return atURL("https://192.0.2.7/mcp") },
	},
	{
		name: "address-of-dialled-name", ready: "False AddressNotAllowed", state: "Retired", stalled: true,
		server: func(*world) *builder.MCPServerBuilder { return atURL("https://" + rebound + "/mcp") },
	},
	{
		name: "service-of-another-namespace", ready: "False AddressNotAllowed", state: "-", stalled: true,
		server: func(*world) *builder.MCPServerBuilder { return atURL("http://mcp.elsewhere.svc:8080/mcp") },
	},
	// How tokens are had.
	{
		name: "oauth-client-refused", ready: "False TokenAcquisitionFailed", state: "Retired", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			return at(healthy(w)).
				OAuth(oauthserver.New(w.t, "another").TokenURL(), oauthserver.ClientID, "login", "token")
		},
	},
	{
		name: "oauth-token-server-down", ready: "False TokenAcquisitionFailed", state: "Quarantined",
		server: func(w *world) *builder.MCPServerBuilder {
			authority := oauthserver.New(w.t, canary)
			w.Expect(authority.Refuse()).To(Succeed())
			return at(healthy(w)).OAuth(authority.TokenURL(), oauthserver.ClientID, "login", "token")
		},
	},
	// How the server is reached.
	{
		name: "connection-refused", ready: "False ConnectFailed", state: "Quarantined",
		server: func(w *world) *builder.MCPServerBuilder {
			fake := healthy(w)
			w.Expect(fake.Refuse()).To(Succeed())
			return at(fake)
		},
	},
	{
		name: "connection-reset", ready: "False ConnectionLost", state: "Quarantined",
		server: func(w *world) *builder.MCPServerBuilder { return at(faulty(w, mcpfake.Any, mcpfake.Reset())) },
	},
	{
		name: "dns-failure", ready: "False DNSError", state: "Quarantined",
		server: func(*world) *builder.MCPServerBuilder { return atURL("https://no-such-host.example.test/mcp") },
	},
	{
		name: "tls-untrusted", ready: "False TLSVerificationFailed", state: "Retired", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder { return at(mcpfake.New(w.t, mcpfake.WithTLS())) },
	},
	{
		name: "tls-for-another-host", ready: "False TLSVerificationFailed", state: "Retired", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			fake := mcpfake.New(w.t, mcpfake.WithTLS())
			w.apply(builder.ConfigMap("", "ca-host").Key("ca.crt", string(fake.CAPEM())).Obj())
			return at(fake).CABundle(v1alpha1.CABundleConfigMap, "ca-host", "ca.crt").ServerName("mcp.example.com")
		},
	},
	{
		name: "tls-client-certificate-demanded", ready: "False TLSVerificationFailed", state: "Retired", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			fake := mcpfake.New(w.t, mcpfake.WithClientCert())
			w.apply(builder.ConfigMap("", "ca-mtls").Key("ca.crt", string(fake.CAPEM())).Obj())
			return at(fake).CABundle(v1alpha1.CABundleConfigMap, "ca-mtls", "ca.crt")
		},
	},
	{
		name: "https-to-plain-http", ready: "False NotMCP", state: "Retired", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder { return atURL("https://" + healthy(w).HostPort() + "/mcp") },
	},
	{
		name: "plain-http-to-https", ready: "False ProtocolError", state: "Quarantined",
		server: func(w *world) *builder.MCPServerBuilder {
			return atURL("http://" + mcpfake.New(w.t, mcpfake.WithTLS()).HostPort() + "/mcp")
		},
	},
	// What the server answers.
	{
		name: "unauthorized", ready: "False AuthenticationFailed", state: "Retired", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder { return at(mcpfake.New(w.t, mcpfake.WithBearer("another"))) },
	},
	{
		name: "unauthorized-without-credential", ready: "False AuthenticationFailed", state: "Retired", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			return quick().URL(mcpfake.New(w.t, mcpfake.WithBearer("another")).URL())
		},
	},
	{
		name: "forbidden", ready: "False PermissionDenied", state: "Retired", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder { return at(answering(w, http.StatusForbidden)) },
	},
	{
		name: "not-found", ready: "False EndpointNotFound", state: "Quarantined",
		server: func(w *world) *builder.MCPServerBuilder { return at(answering(w, http.StatusNotFound)) },
	},
	{
		name: "method-not-allowed", ready: "False ProtocolError", state: "Quarantined",
		server: func(w *world) *builder.MCPServerBuilder { return at(answering(w, http.StatusMethodNotAllowed)) },
	},
	{
		name: "rate-limited", ready: "False RateLimited", state: "Waiting",
		server: func(w *world) *builder.MCPServerBuilder {
			return at(faulty(w, mcpfake.Any, mcpfake.RetryAfter(http.StatusTooManyRequests, "1800")))
		},
	},
	{
		name: "server-error", ready: "False ServerError", state: "Quarantined",
		server: func(w *world) *builder.MCPServerBuilder { return at(answering(w, http.StatusInternalServerError)) },
	},
	{
		name: "redirect-to-another-origin", ready: "False RedirectRefused", state: "Retired", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			return at(faulty(w, mcpfake.Any, mcpfake.Redirect(http.StatusFound,
				"https://login.example.test/"+canary+"?token="+canary)))
		},
	},
	{
		name: "html-page", ready: "False NotMCP", state: "Retired", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			page := mcpfake.ContentType("text/html; charset=utf-8", "<!doctype html><title>Sign in</title>"+canary)
			return at(faulty(w, mcpfake.Any, page))
		},
	},
	{
		name: "no-common-version", ready: "False UnsupportedProtocolVersion", state: "Retired", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			return at(mcpfake.New(w.t, mcpfake.WithVersions("2031-01-01")))
		},
	},
	{
		name: "pinned-version-not-spoken", ready: "False UnsupportedProtocolVersion", state: "Retired", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			return at(mcpfake.New(w.t, mcpfake.WithVersions("2025-06-18"))).
				Mutate(func(s *v1alpha1.MCPServer) { s.Spec.ProtocolVersion = "2025-11-25" })
		},
	},
	{
		name: "hung-initialize", ready: "False ConnectTimeout", state: "Quarantined",
		server: func(w *world) *builder.MCPServerBuilder {
			return at(faulty(w, mcpfake.Initialize, mcpfake.Hang())).ConnectTimeout(time.Second)
		},
	},
	{
		name: "hung-altogether", ready: "False ConnectTimeout", state: "Quarantined",
		server: func(w *world) *builder.MCPServerBuilder {
			return at(faulty(w, mcpfake.Any, mcpfake.Hang())).ConnectTimeout(time.Second)
		},
	},
	// What the server lists, and where it goes.
	{
		name: "hung-list", ready: "False ListToolsTimeout", state: "Quarantined",
		server: func(w *world) *builder.MCPServerBuilder {
			return at(faulty(w, mcpfake.List, mcpfake.Hang())).ListTimeout(time.Second)
		},
	},
	{
		name: "list-error", ready: "False ListToolsFailed", state: "Connected",
		server: func(w *world) *builder.MCPServerBuilder {
			return at(faulty(w, mcpfake.List, mcpfake.RPC(-32603, canary, `"`+canary+`"`)))
		},
	},
	{
		name: "list-unreadable", ready: "False ProtocolError", state: "Quarantined",
		server: func(w *world) *builder.MCPServerBuilder { return at(faulty(w, mcpfake.List, mcpfake.BadJSON())) },
	},
	{
		name: "empty-list", ready: "False EmptyCatalog", state: "Connected",
		server: func(w *world) *builder.MCPServerBuilder { return at(faulty(w, mcpfake.List, mcpfake.NoTools())) },
	},
	{
		name: "too-many-tools", ready: "False CatalogTooLarge", state: "Connected", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			return at(mcpfake.New(w.t, mcpfake.WithBearer(canary), mcpfake.WithTools(tools("tool", 2001)...)))
		},
	},
	{
		name: "list-too-large", ready: "False CatalogTooLarge", state: "Connected", stalled: true,
		server: func(w *world) *builder.MCPServerBuilder {
			return at(faulty(w, mcpfake.List, mcpfake.Oversized(17<<20)))
		},
	},
	{
		name: "name-conflict", ready: "False NameConflict", state: "Connected", stalled: true,
		with:   configMap("name-conflict-mcp-tools", "mine", "keep"),
		server: func(w *world) *builder.MCPServerBuilder { return at(healthy(w)) },
	},
}

// quick settles after one attempt, and then stays as it is for longer than a test runs.
func quick() *builder.MCPServerBuilder {
	return builder.MCPServer("").ConnectTimeout(patience).ListTimeout(patience).Attempts(1).Cooldown(time.Hour)
}

// atURL is an object with the credential that all cases share.
func atURL(url string) *builder.MCPServerBuilder { return quick().URL(url).Bearer("login", "token") }

func at(fake *mcpfake.Server) *builder.MCPServerBuilder { return atURL(fake.URL()) }

func healthy(w *world) *mcpfake.Server { return mcpfake.New(w.t, mcpfake.WithBearer(canary)) }

// faulty is healthy but for one phase.
func faulty(w *world, phase mcpfake.Phase, fault mcpfake.Fault) *mcpfake.Server {
	fake := healthy(w)
	fake.Fault(phase, mcpfake.Forever, fault)
	return fake
}

// answering gives every request the same status, and the credential back in a header and the body.
func answering(w *world, code int) *mcpfake.Server {
	return faulty(w, mcpfake.Any, mcpfake.Status(code, mcpfake.Headers{"X-Debug": canary}, "the token "+canary))
}

func secret(name, key, value string) []client.Object {
	return []client.Object{builder.Secret("", name).Key(key, value).Obj()}
}

func configMap(name, key, value string) []client.Object {
	return []client.Object{builder.ConfigMap("", name).Key(key, value).Obj()}
}
