package cel

import (
	"fmt"
	"strings"
	"testing"
)

const (
	headerName = "name must be a header name: letters, digits and - _ . and the like, without spaces and ':'"
	headerOurs = "name must not be a header that the HTTP or MCP client sets automatically (Host, Accept, Content-*, " +
		"Connection, Mcp-*, ...)"
	headerValue = "value must be printable ASCII without leading or trailing spaces"
	headerAuth  = "an Authorization header must not hold a credential in clear: use auth.bearer, or valueFrom"
	headerTwice = "header names must differ in more than upper and lower case"
	authTwice   = "set either auth or a header Authorization, not both"
	authKinds   = "set exactly one of bearer and oauthClientCredentials"
	valueOrFrom = "set exactly one of value and valueFrom"
	valueOrRef  = "set exactly one of value and secretKeyRef"
	tlsPlain    = "tls needs a url that begins with https://"
	tlsName     = "serverName must be a host name such as mcp.example.com"
	proxyForm   = "proxyURL must be of the form http://host:port or https://host:port, without user-info, path and query"
	tokenForm   = "tokenURL must be an https URL without user-info and fragment (http only for a host that is " +
		"loopback or ends in .svc)"
	plainHTTP = "credentials must not travel over plain http: use an https URL, or a host that is loopback or ends " +
		"in .svc"

	gh     = `{secretKeyRef: {name: gh, key: token}}`
	bearer = `auth: {bearer: ` + gh + `}`
)

// httpsWith is an https server with these further fields of spec.http.
func httpsWith(fields string) string {
	return `http: {url: "https://mcp.example.com/mcp", ` + fields + `}`
}

// headers is an https server with these headers.
func headers(list string) string {
	return httpsWith(`headers: [` + list + `]`)
}

// oauth is an https server with a client ID in clear, this token URL and further fields of the grant.
func oauth(tokenURL, fields string) string {
	return httpsWith(fmt.Sprintf(`auth: {oauthClientCredentials: {tokenURL: "%s", clientID: {value: me}, `+
		`clientSecret: %s%s}}`, tokenURL, gh, fields))
}

// withBearer sends a bearer token to this URL.
func withBearer(url string) string {
	return `http: {url: "` + url + `", ` + bearer + `}`
}

func numberedHeaders(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{name: X-%d, value: v}`, i))
	}
	return headers(strings.Join(list, ", "))
}

var httpAcceptances = []accepted{
	{"protocol Auto", httpsWith(`protocol: Auto`)},
	{"protocol StreamableHTTP", httpsWith(`protocol: StreamableHTTP`)},
	{"protocol SSE", httpsWith(`protocol: SSE`)},
	{"header in clear", headers(`{name: X-Org, value: acme}`)},
	{"header from a Secret", headers(`{name: X-Key, valueFrom: ` + gh + `}`)},
	{"header with a variable", headers(`{name: X-Org, value: "org $(ORG)"}`)},
	{"header name of all token characters", headers(`{name: "!#$%&'*+-.^_` + "`" + `|~aZ09", value: v}`)},
	{"header that begins like one of ours", headers(`{name: X-Mcp-Toolsets, value: repos}, {name: Hosts, value: v}`)},
	{"Authorization from a Secret", headers(`{name: Authorization, valueFrom: ` + gh + `}`)},
	{"Authorization by a variable", headers(`{name: Authorization, value: $(AUTH)}`)},
	{"Authorization by scheme and variable", headers(`{name: authorization, value: Basic $(AUTH)}`)},
	{"32 headers", numberedHeaders(32)},
	{"bearer", httpsWith(bearer)},
	{"bearer beside other headers", httpsWith(bearer + `, headers: [{name: X-Org, value: acme}]`)},
	{"OAuth", oauth("https://id.example.com/token", "")},
	{"OAuth with scopes and audience", oauth("https://id.example.com/token?tenant=a",
		`, scopes: [read, "write:all"], audience: "https://mcp.example.com"`)},
	{"OAuth client ID from a Secret", httpsWith(`auth: {oauthClientCredentials: {tokenURL: "https://id.example.com", ` +
		`clientID: {secretKeyRef: {name: gh, key: id}}, clientSecret: ` + gh + `}}`)},
	{"OAuth inside the cluster", oauth("http://keycloak.id.svc:8080/token", "")},
	{"TLS", httpsWith(`tls: {caBundleRef: {kind: ConfigMap, name: ca, key: ca.crt}, ` +
		`clientCertificateRef: {name: mtls}, serverName: inner.example.com}`)},
	{"CA bundle of a Secret", httpsWith(`tls: {caBundleRef: {kind: Secret, name: ca, key: ca.crt}}`)},
	{"proxy", httpsWith(`proxyURL: "http://proxy.corp:3128"`)},
	{"proxy over TLS with a final slash", httpsWith(`proxyURL: "https://proxy.corp/"`)},

	{"credential to localhost", withBearer("http://localhost:8080/mcp")},
	{"credential to 127.0.0.1", withBearer("http://127.0.0.1:8080/mcp")},
	{"credential to all of 127/8", withBearer("http://127.1.2.3/mcp")},
	{"credential to ::1", withBearer("http://[::1]:8080/mcp")},
	{"credential to a Service", withBearer("http://mcp.tools.svc/mcp")},
	{"credential to a Service by its full name", withBearer("http://mcp.tools.svc.cluster.local:8080/mcp")},
	{"credential to a Service by its absolute name", withBearer("http://mcp.tools.svc.cluster.local./mcp")},
	{"credential to a Service without a path", withBearer("http://mcp.tools.svc")},
	{"variables in clear over http", `{http: {url: "http://mcp.example.com/$(ORG)", headers: [{name: X-Org, ` +
		`value: $(ORG)}]}, variables: [{name: ORG, value: acme}]}`},
	{"unused secret variable over http", `{http: {url: "http://mcp.example.com/mcp"}, variables: [{name: KEY, ` +
		`valueFrom: ` + gh + `}]}`},
}

var httpRefusals = []refused{
	{"unknown protocol", httpsWith(`protocol: WebSocket`), []string{
		`spec.http.protocol: Unsupported value: "WebSocket": supported values: "Auto", "StreamableHTTP", "SSE"`,
	}},
	{"header name with a space", headers(`{name: "X Org", value: v}`), invalid("spec.http.headers[0].name", headerName)},
	{"header name with a colon", headers(`{name: "X-Org:", value: v}`), invalid("spec.http.headers[0].name", headerName)},
	{"header name not ASCII", headers(`{name: Größe, value: v}`), invalid("spec.http.headers[0].name", headerName)},
	{"header name missing", headers(`{value: v}`), []string{"spec.http.headers[0].name: Required value"}},
	{"header in clear and from a Secret", headers(`{name: X-Key, value: v, valueFrom: ` + gh + `}`),
		invalid("spec.http.headers[0]", valueOrFrom)},
	{"header without a value", headers(`{name: X-Key}`), invalid("spec.http.headers[0]", valueOrFrom)},
	{"header value with a line break", headers(`{name: X-Org, value: "a\nX-Evil: b"}`),
		invalid("spec.http.headers[0].value", headerValue)},
	{"header value not ASCII", headers(`{name: X-Org, value: Größe}`), invalid("spec.http.headers[0].value", headerValue)},
	{"header value with a trailing space", headers(`{name: X-Org, value: "acme "}`),
		invalid("spec.http.headers[0].value", headerValue)},
	{"Authorization in clear", headers(`{name: Authorization, value: Bearer canary}`),
		invalid("spec.http.headers[0].value", headerAuth)},
	{"Authorization partly in clear", headers(`{name: AUTHORIZATION, value: Bearer canary$(REST)}`),
		invalid("spec.http.headers[0].value", headerAuth)},
	{"headers that differ in case", headers(`{name: X-Org, value: a}, {name: x-org, value: b}`),
		invalid("spec.http.headers", headerTwice)},
	{"header given twice", headers(`{name: X-Org, value: a}, {name: X-Org, value: b}`), []string{
		`spec.http.headers[1]: Duplicate value: {"name":"X-Org"}`,
		"spec.http.headers: Invalid value: " + headerTwice,
	}},
	{"33 headers", numberedHeaders(33), []string{"spec.http.headers: Too many: 33: must have at most 32 items"}},
	{"no header", headers(``), []string{
		"spec.http.headers: Invalid value: 0: spec.http.headers in body should have at least 1 items",
	}},
	{"auth and a header Authorization", httpsWith(bearer + `, headers: [{name: authorization, valueFrom: ` + gh + `}]`),
		invalid("spec.http.headers", authTwice)},
	{"no kind of auth", httpsWith(`auth: {}`), invalid("spec.http.auth", authKinds)},
	{"two kinds of auth", httpsWith(`auth: {bearer: ` + gh + `, oauthClientCredentials: {tokenURL: ` +
		`"https://id.example.com", clientID: {value: me}, clientSecret: ` + gh + `}}`),
		invalid("spec.http.auth", authKinds)},
	{"bearer without a Secret", httpsWith(`auth: {bearer: {}}`),
		[]string{"spec.http.auth.bearer.secretKeyRef: Required value"}},
	{"bearer without a key", httpsWith(`auth: {bearer: {secretKeyRef: {name: gh}}}`),
		[]string{"spec.http.auth.bearer.secretKeyRef.key: Required value"}},
	{"token URL over http", oauth("http://id.example.com/token", ""), tokenURLRefused},
	{"token URL with user-info", oauth("https://me:canary@id.example.com/token", ""), tokenURLRefused},
	{"token URL with a fragment", oauth("https://id.example.com/token#x", ""), tokenURLRefused},
	{"token URL without a host", oauth("https:///token", ""), tokenURLRefused},
	{"token URL that only looks local", oauth("http://localhost.example.com/token", ""), tokenURLRefused},
	{"token URL with user-info that looks local", oauth("http://localhost:1@id.example.com/token", ""), tokenURLRefused},
	{"client ID in clear and from a Secret", httpsWith(`auth: {oauthClientCredentials: {tokenURL: ` +
		`"https://id.example.com", clientID: {value: me, secretKeyRef: {name: gh, key: id}}, clientSecret: ` + gh + `}}`),
		invalid("spec.http.auth.oauthClientCredentials.clientID", valueOrRef)},
	{"no client ID", httpsWith(`auth: {oauthClientCredentials: {tokenURL: "https://id.example.com", clientID: {}, ` +
		`clientSecret: ` + gh + `}}`), []string{
		"spec.http.auth.oauthClientCredentials.clientID: Invalid value: " + valueOrRef,
		"spec.http.auth.oauthClientCredentials.clientID: Invalid value: 0: spec.http.auth.oauthClientCredentials.clientID " +
			"in body should have at least 1 properties",
	}},
	{"TLS over http", `http: {url: "http://mcp.example.com", tls: {serverName: a.example}}`,
		invalid("spec.http.tls", tlsPlain)},
	{"empty TLS", httpsWith(`tls: {}`), []string{
		"spec.http.tls: Invalid value: 0: spec.http.tls in body should have at least 1 properties",
	}},
	{"CA bundle of another kind", httpsWith(`tls: {caBundleRef: {kind: Pod, name: ca, key: ca.crt}}`), []string{
		`spec.http.tls.caBundleRef.kind: Unsupported value: "Pod": supported values: "ConfigMap", "Secret"`,
	}},
	{"server name with a port", httpsWith(`tls: {serverName: "a.example:443"}`),
		invalidValue("spec.http.tls.serverName", "a.example:443", tlsName)},
	{"proxy with a password", httpsWith(`proxyURL: "http://me:canary@proxy.corp:3128"`), proxyRefused},
	{"proxy of another kind", httpsWith(`proxyURL: "socks5://proxy.corp:1080"`), proxyRefused},
	{"proxy with a path", httpsWith(`proxyURL: "http://proxy.corp:3128/path"`), proxyRefused},
	{"proxy without a scheme", httpsWith(`proxyURL: "proxy.corp:3128"`), proxyRefused},

	{"bearer over http", withBearer("http://mcp.example.com/mcp"), plainHTTPRefused},
	{"bearer over http to an address", withBearer("http://10.0.0.1/mcp"), plainHTTPRefused},
	{"bearer over http to a name without a dot", withBearer("http://mcp/mcp"), plainHTTPRefused},
	{"host that only begins like loopback", withBearer("http://127.0.0.1.example.com/mcp"), plainHTTPRefused},
	{"host that only begins like a Service", withBearer("http://mcp.tools.svc.example.com/mcp"), plainHTTPRefused},
	{"host of which svc is no label", withBearer("http://mcp.toolssvc/mcp"), plainHTTPRefused},
	{"secret header over http", `http: {url: "http://mcp.example.com", headers: [{name: X-Key, valueFrom: ` + gh + `}]}`,
		plainHTTPRefused},
	{"secret variable in a URL over http", `{http: {url: "http://mcp.example.com/?key=$(KEY)"}, variables: ` +
		`[{name: KEY, valueFrom: ` + gh + `}]}`, plainHTTPRefused},
	{"secret variable in a header over http", `{http: {url: "http://mcp.example.com", headers: [{name: X-Key, ` +
		`value: $(KEY)}]}, variables: [{name: ORG, value: acme}, {name: KEY, valueFrom: ` + gh + `}]}`, plainHTTPRefused},
	{"OAuth over http", `http: {url: "http://mcp.example.com", auth: {oauthClientCredentials: {tokenURL: ` +
		`"https://id.example.com", clientID: {value: me}, clientSecret: ` + gh + `}}}`, plainHTTPRefused},
}

var (
	plainHTTPRefused = invalid("spec.http.url", plainHTTP)
	proxyRefused     = invalid("spec.http.proxyURL", proxyForm)
	tokenURLRefused  = invalid("spec.http.auth.oauthClientCredentials.tokenURL", tokenForm)
)

func TestHTTPAccepted(t *testing.T) { runAccepted(t, mcpServer, httpAcceptances) }

func TestHTTPRefused(t *testing.T) { runRefused(t, mcpServer, httpRefusals) }

func TestHeadersThatTheClientSetsAreRefused(t *testing.T) {
	var cases []refused
	for _, name := range []string{
		"Accept", "accept-encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect",
		"Host", "HOST", "Keep-Alive", "Last-Event-ID", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version",
		"mcp-session-id", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer",
		"Transfer-Encoding", "Upgrade",
	} {
		cases = append(cases, refused{
			name: name, spec: headers(`{name: ` + name + `, value: v}`),
			want: invalid("spec.http.headers[0].name", headerOurs),
		})
	}
	runRefused(t, mcpServer, cases)
}
