package mcpfake

import (
	"encoding/json"
	"time"
)

// Era is the set of protocol revisions that a server speaks.
type Era int

// The eras.
const (
	Legacy Era = iota // streamable HTTP with initialize
	Modern            // 2026-07-28 only
	Dual              // Legacy and Modern on one URL
	OldSSE            // the HTTP+SSE transport of 2024-11-05
)

// ModernVersion is the revision of the stateless protocol.
const ModernVersion = "2026-07-28"

// LegacyVersions are the revisions with initialize, newest first.
var LegacyVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Encoding is the form of an answer to a POST.
type Encoding int

// The encodings.
const (
	JSON Encoding = iota // application/json
	SSE                  // text/event-stream
)

// Lost is the form in which an unknown session id is answered.
type Lost int

// The forms.
const (
	LostPlain Lost = iota // 404 text/plain
	LostRPC               // 404 with a JSON-RPC error body
)

type options struct {
	era          Era
	address      string
	path         string
	encoding     Encoding
	sessions     bool
	stream       bool
	eventIDs     bool
	keepalive    time.Duration
	retry        time.Duration
	versions     []string
	tools        []Tool
	pageSize     int
	ttl          time.Duration
	tokens       []string
	tls          bool
	clientCert   bool
	capabilities json.RawMessage
	serverInfo   json.RawMessage
	instructions string
	lost         Lost
	lostStatus   int
	endpoint     string
	discover     bool
	recordLimit  int
}

func defaults() options {
	return options{
		address: "127.0.0.1:0", path: "/mcp", sessions: true, stream: true, tools: DefaultTools(),
		capabilities: json.RawMessage(`{"tools":{"listChanged":true}}`),
		serverInfo:   json.RawMessage(`{"name":"mcpfake","title":"Fake","version":"1.0.0"}`),
		lostStatus:   404, recordLimit: 10_000,
	}
}

// Option configures a server at birth.
type Option func(*options)

// WithEra sets the protocol revisions; default Legacy.
func WithEra(e Era) Option { return func(o *options) { o.era = e } }

// WithAddress sets where to listen; default "127.0.0.1:0". "[::1]:0" gives an IPv6 server.
func WithAddress(hostport string) Option { return func(o *options) { o.address = hostport } }

// WithPath sets the path of the endpoint; default "/mcp".
func WithPath(path string) Option { return func(o *options) { o.path = path } }

// WithEncoding sets the form of answers to POST; default JSON.
func WithEncoding(e Encoding) Option { return func(o *options) { o.encoding = e } }

// WithoutSessions gives no session ids: a legacy server that keeps no sessions.
func WithoutSessions() Option { return func(o *options) { o.sessions = false } }

// WithoutStream answers GET with 405.
func WithoutStream() Option { return func(o *options) { o.stream = false } }

// WithEventIDs puts ids on the events of legacy streams, begins each with an empty priming event, and makes streams
// resumable by GET with Last-Event-ID.
func WithEventIDs() Option { return func(o *options) { o.eventIDs = true } }

// WithRetry puts a retry field on priming events; default none.
func WithRetry(d time.Duration) Option { return func(o *options) { o.retry = d } }

// WithKeepalive writes a comment to open streams at this interval; default never.
func WithKeepalive(d time.Duration) Option { return func(o *options) { o.keepalive = d } }

// WithVersions sets the legacy revisions offered, newest first. For Modern it replaces what is offered altogether.
func WithVersions(v ...string) Option { return func(o *options) { o.versions = v } }

// WithTools replaces DefaultTools.
func WithTools(t ...Tool) Option { return func(o *options) { o.tools = t } }

// WithPageSize cuts tools/list into pages of n tools; default one page.
func WithPageSize(n int) Option { return func(o *options) { o.pageSize = n } }

// WithTTL sets ttlMs of modern lists; default 0.
func WithTTL(d time.Duration) Option { return func(o *options) { o.ttl = d } }

// WithBearer demands one of these bearer tokens; see also Server.SetBearer.
func WithBearer(tokens ...string) Option { return func(o *options) { o.tokens = tokens } }

// WithTLS serves https with a certificate of the server's own CA; see Server.CAPEM.
func WithTLS() Option { return func(o *options) { o.tls = true } }

// WithClientCert serves https and demands a client certificate; see Server.ClientPair.
func WithClientCert() Option { return func(o *options) { o.tls, o.clientCert = true, true } }

// WithCapabilities replaces the capabilities object, e.g. `{"resources":{}}` for a server without tools.
func WithCapabilities(raw string) Option {
	return func(o *options) { o.capabilities = json.RawMessage(raw) }
}

// WithServerInfo replaces the serverInfo object.
func WithServerInfo(raw string) Option {
	return func(o *options) { o.serverInfo = json.RawMessage(raw) }
}

// WithInstructions sets the instructions text.
func WithInstructions(text string) Option { return func(o *options) { o.instructions = text } }

// WithLostSession sets how an unknown session id is answered; default LostPlain with 404. Some servers use 400 or 503.
func WithLostSession(form Lost, status int) Option {
	return func(o *options) { o.lost, o.lostStatus = form, status }
}

// WithLegacyDiscover makes a Legacy server answer server/discover with 200 and a result that lists legacy revisions
// only, as stateful go-sdk servers do. By default it answers 400 and a JSON-RPC error, as servers of before 2026 do.
func WithLegacyDiscover() Option { return func(o *options) { o.discover = true } }

// WithEndpointEvent replaces the data of OldSSE's endpoint event, e.g. by a URL of another origin.
func WithEndpointEvent(data string) Option { return func(o *options) { o.endpoint = data } }

// WithRecordLimit keeps only the last n requests; counts stay exact. Default 10,000.
func WithRecordLimit(n int) Option { return func(o *options) { o.recordLimit = n } }
