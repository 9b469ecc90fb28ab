package failure

import "strings"

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
		next: "check that the referenced Secret holds a credential that the server accepts",
	},
	TokenAcquisitionFailed: {
		what:       "no access token could be had for {target}",
		withStatus: "the token server for {target} answered {status}",
		next:       "check the token URL, the client id and the client secret",
	},
	PermissionDenied: {
		what: "{target} refused access", withStatus: answered,
		next: "check what the credential is allowed to do there",
	},
	RateLimited: {
		what: "{target} limits its callers", withStatus: answered,
		next: "it is tried again when the server allows it",
	},
	ServerError: {
		what: "{target} failed", withStatus: answered,
		next: "look into the server's own logs; it is tried again by itself",
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
		next:       "it is opened again by itself",
	},
	ProcessExited: {
		what: "the process behind {target} ended",
		next: "look into its own logs; it is started again by itself",
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
		next:       "check the path of the URL",
	},
	EndpointNotFound: {
		what: "there is nothing at {target}", withStatus: answered,
		next: "check the path of the URL",
	},
	UnsupportedProtocolVersion: {
		what: "{target} and Mooring have no protocol version in common",
		next: "update the server, or change or remove spec.protocolVersion",
	},
	TLSVerificationFailed: {
		what: "the TLS identity of {target} could not be verified",
		next: "name its authority in tls.caBundleRef, or correct the host or tls.serverName",
	},
	RedirectRefused: {
		what:       "{target} redirects to another place, which is not followed",
		withStatus: "{target} answered {status}, which redirects to another place and is not followed",
		next:       "declare the URL that it leads to, if you trust it",
	},
	AddressNotAllowed: {
		what: "the address of {target} is not allowed here",
		next: "use another address, or ask the administrator to allow it with --egress-allow",
	},
	ProtocolError: {
		what: "{target} answered with something that is not valid MCP", withStatus: answered,
		next: "check the URL and that the server speaks MCP over this transport",
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
		next: "look into the logs of Mooring and of the server; it is tried again by itself",
	},
}

// Message tells a person what happened and what to do next, in one line that is the same for the same fault. The
// target is what the person may see of the server: for HTTP the declared URL's scheme, host and path.
func Message(f Failure, target string) string {
	t, ok := templates[f.Reason]
	if !ok {
		t = templates[UnknownFailure]
	}
	what, next := t.what, t.next
	if f.HTTPStatus != 0 && t.withStatus != "" {
		what = t.withStatus
	}
	if f.Answered && f.HTTPStatus == 0 && f.Reason != CatalogTooLarge {
		what, next = "{target} answered with a JSON-RPC error", "look into the server's own logs; it is tried again by itself"
	}
	if f.Reason == ConnectFailed && f.Detail != "" {
		what = "connection to {target} failed"
	}
	if f.Detail != "" {
		what += " (" + f.Detail + ")"
	}
	return strings.NewReplacer("{target}", target, "{status}", statusLine(f.HTTPStatus)).Replace(what) + "; " + next
}
