package failure

import "strings"

// Reason is the CamelCase word that stands on the condition Connected or CatalogPublished.
type Reason string

// The reasons.
const (
	AuthenticationFailed       Reason = "AuthenticationFailed"
	TokenAcquisitionFailed     Reason = "TokenAcquisitionFailed"
	PermissionDenied           Reason = "PermissionDenied"
	QuotaExceeded              Reason = "QuotaExceeded"
	RateLimited                Reason = "RateLimited"
	ServerError                Reason = "ServerError"
	DNSError                   Reason = "DNSError"
	ConnectFailed              Reason = "ConnectFailed"
	ConnectionLost             Reason = "ConnectionLost"
	ProcessExited              Reason = "ProcessExited"
	ConnectTimeout             Reason = "ConnectTimeout"
	ListToolsTimeout           Reason = "ListToolsTimeout"
	CallTimeout                Reason = "CallTimeout"
	NotMCP                     Reason = "NotMCP"
	EndpointNotFound           Reason = "EndpointNotFound"
	UnsupportedProtocolVersion Reason = "UnsupportedProtocolVersion"
	TLSVerificationFailed      Reason = "TLSVerificationFailed"
	RedirectRefused            Reason = "RedirectRefused"
	AddressNotAllowed          Reason = "AddressNotAllowed"
	ProtocolError              Reason = "ProtocolError"
	SessionFlapping            Reason = "SessionFlapping"
	CatalogTooLarge            Reason = "CatalogTooLarge" // on CatalogPublished only
	UnknownFailure             Reason = "UnknownFailure"
)

// template tells one reason: what happened to the target, and what a person can do. In what, {target} is the
// declared URL's scheme, host and path, {status} the answer's status line.
type template struct {
	// what is used when there was no HTTP status, or when withStatus is empty.
	what, withStatus, next string
}

var answered = "{target} answered {status}"

var templates = map[Reason]template{
	AuthenticationFailed: {
		what: "{target} did not accept the credential", withStatus: answered,
		next: "declare a credential that the server accepts in spec.http.auth or spec.http.headers, " +
			"or correct the Secret that it comes from",
	},
	TokenAcquisitionFailed: {
		what:       "no access token was issued for {target}",
		withStatus: "the token server for {target} answered {status}",
		next:       "check the token URL, the client id and the client secret",
	},
	PermissionDenied: {
		what: "{target} refused access", withStatus: answered,
		next: "check what the credential is allowed to do there",
	},
	QuotaExceeded: {
		what: "the quota at {target} is used up", withStatus: "the quota at {target} is used up: {status}",
		next: "raise the quota or settle the bill with its provider; it is tried again when the server allows it, or " +
			"every few minutes",
	},
	RateLimited: {
		what: "{target} limits its callers", withStatus: answered,
		next: "it is tried again when the server allows it",
	},
	ServerError: {
		what: "{target} failed", withStatus: answered,
		next: "check the server's logs; Mooring tries again",
	},
	DNSError: {
		what: "the host name of {target} could not be resolved",
		next: "check the name and the cluster's DNS",
	},
	ConnectFailed: {
		what: "connection to {target} was refused",
		next: "check that the server runs and listens there",
	},
	ConnectionLost: {
		what:       "the connection to {target} was lost",
		withStatus: "{target} no longer knows the session and answered {status}",
		next: "Mooring opens it again; if this goes on, check the logs of the server and of what stands " +
			"in front of it",
	},
	ProcessExited: {
		what: "the process behind {target} ended",
		next: "check its logs; it is started again",
	},
	ConnectTimeout: {
		what: "{target} did not finish the handshake in time",
		next: "check that the server answers, or raise timeouts.connect",
	},
	ListToolsTimeout: {
		what: "{target} did not list its tools in time",
		next: "check that the server answers tools/list, or raise timeouts.list",
	},
	CallTimeout: {
		what: "{target} did not answer a call in time",
		next: "raise timeouts.call if the tool needs longer; it may have run",
	},
	NotMCP: {
		what:       "what answers at {target} is not an MCP server",
		withStatus: "what answers at {target} is not an MCP server: {status}",
		next:       "check the URL: its scheme, host and path",
	},
	EndpointNotFound: {
		what: "there is nothing at {target}", withStatus: answered,
		next: "check the path of the URL",
	},
	UnsupportedProtocolVersion: {
		what: "{target} and Mooring have no protocol version in common",
		next: "update the one that is older; if spec.protocolVersion is set, change or remove it",
	},
	TLSVerificationFailed: {
		what: "TLS with {target} could not be established",
		next: "check spec.http.tls: caBundleRef says whom to trust, serverName whom to expect if it is not the URL's " +
			"host, clientCertificateRef who we are",
	},
	RedirectRefused: {
		what:       "{target} redirects to another place, which is not followed",
		withStatus: "{target} answered {status}, which redirects to another place and is not followed",
		next:       "declare the URL that it leads to, if you trust it",
	},
	AddressNotAllowed: {
		what: "the address of {target} is not allowed here",
		next: "use another address, or ask the administrator whether Mooring's flags may allow this one: " +
			"--egress-allow, --egress-deny, --allow-loopback, --allow-cross-namespace-services",
	},
	ProtocolError: {
		what: "{target} answered with something that is not valid MCP", withStatus: answered,
		next: "check the URL, and check the server's logs; Mooring tries again",
	},
	SessionFlapping: {
		what: "{target} forgot its session several times within a minute",
		next: "it looks load-balanced without session affinity: give it affinity, or run one replica",
	},
	CatalogTooLarge: {
		what: "{target} lists more tools than can be published",
		next: "have the server offer fewer or smaller tools",
	},
	UnknownFailure: {
		what: "the exchange with {target} failed in a way that is not known", withStatus: answered,
		next: "check the logs of Mooring and of the server; Mooring tries again",
	},
}

// Message tells a person what happened and what to do next, in one line that is the same for the same fault; the first
// "; " stands between the two. The target is what the person may see of the server: for HTTP the declared URL's scheme,
// host and path.
func Message(f Failure, target string) string {
	t, ok := templates[f.Reason]
	if !ok {
		t = templates[UnknownFailure]
	}
	what, next := t.happened(f), t.next
	if f.Answered && f.HTTPStatus == 0 && f.Reason == ProtocolError {
		what, next = refusedRequest(f.Phase), "check the server's logs; Mooring tries again"
	}
	if f.Reason == TokenAcquisitionFailed && !f.Policy().Retires {
		next = "check the token URL, and check the token server's logs; Mooring tries again"
	}
	if f.Detail != "" {
		what += " (" + strings.ReplaceAll(f.Detail, "; ", ", ") + ")"
	}
	return strings.NewReplacer("{target}", target, "{status}", StatusLine(f.HTTPStatus)).Replace(what) + "; " + next
}

// happened chooses the words for what happened. That an answer which makes no sense came with 200 OK explains nothing,
// unless the question is what it is that answers.
func (t template) happened(f Failure) string {
	switch {
	case t.withStatus != "" && (f.HTTPStatus >= 300 || f.HTTPStatus != 0 && f.Reason == NotMCP):
		return t.withStatus
	case f.Reason == ConnectFailed && f.Detail != "":
		return "connection to {target} failed"
	}
	return t.what
}

// refusedRequest tells of a JSON-RPC error in answer to the request of a phase.
func refusedRequest(phase Phase) string {
	if phase == List {
		return "{target} answered tools/list with a JSON-RPC error"
	}
	return "{target} answered with a JSON-RPC error"
}
