package failure

import (
	"strings"
	"testing"
	"time"
)

const target = "https://h.example/mcp"

func TestMessages(t *testing.T) {
	cases := []struct {
		failure Failure
		want    string
	}{
		{
			Failure{Reason: ConnectFailed},
			"connection to https://h.example/mcp was refused; check that the server runs and listens there",
		}, {
			Failure{Reason: ConnectFailed, Detail: "no route to its address"},
			"connection to https://h.example/mcp failed (no route to its address); " +
				"check that the server runs and listens there",
		}, {
			Failure{Reason: AuthenticationFailed, HTTPStatus: 401},
			"https://h.example/mcp answered 401 Unauthorized; " +
				"declare a credential that the server accepts in spec.http.auth or spec.http.headers, " +
				"or correct the Secret that it comes from",
		}, {
			Failure{Class: Auth, Reason: TokenAcquisitionFailed, HTTPStatus: 401, Detail: "invalid_client"},
			"the token server for https://h.example/mcp answered 401 Unauthorized (invalid_client); " +
				"check the token URL, the client id and the client secret",
		}, {
			Failure{Class: Transport, Reason: TokenAcquisitionFailed, Detail: "connection to the token server failed"},
			"no access token was issued for https://h.example/mcp (connection to the token server failed); " +
				"check the token URL, and check the token server's logs; Mooring tries again",
		}, {
			Failure{Reason: PermissionDenied, HTTPStatus: 403},
			"https://h.example/mcp answered 403 Forbidden; check what the credential is allowed to do there",
		}, {
			Failure{Reason: ServerError, HTTPStatus: 502},
			"https://h.example/mcp answered 502 Bad Gateway; check the server's logs; Mooring tries again",
		}, {
			Failure{Reason: RateLimited, HTTPStatus: 429, RetryAfter: time.Minute, RetryAfterGiven: true},
			"https://h.example/mcp answered 429 Too Many Requests; it is tried again when the server allows it",
		}, {
			Failure{Reason: NotMCP, HTTPStatus: 200, Detail: "content type text/html"},
			"what answers at https://h.example/mcp is not an MCP server: 200 OK (content type text/html); " +
				"check the URL: its scheme, host and path",
		}, {
			Failure{Reason: TLSVerificationFailed, Detail: "its issuer is not trusted"},
			"TLS with https://h.example/mcp could not be established (its issuer is not trusted); check spec.http.tls: " +
				"caBundleRef says whom to trust, serverName whom to expect if it is not the URL's host, " +
				"clientCertificateRef who we are",
		}, {
			Failure{Reason: UnsupportedProtocolVersion, Detail: "the server speaks A; Mooring speaks B"},
			"https://h.example/mcp and Mooring have no protocol version in common (the server speaks A, Mooring speaks B); " +
				"update the one that is older; if spec.protocolVersion is set, change or remove it",
		}, {
			Failure{Reason: DNSError},
			"the host name of https://h.example/mcp could not be resolved; check the name and the cluster's DNS",
		}, {
			Failure{Reason: ServerError, HTTPStatus: 599},
			"https://h.example/mcp answered 599; check the server's logs; Mooring tries again",
		}, {
			Failure{Reason: ProtocolError, Answered: true, Detail: "code -32603"},
			"https://h.example/mcp answered with a JSON-RPC error (code -32603); " +
				"check the server's logs; Mooring tries again",
		}, {
			Failure{Reason: ProtocolError, Answered: true, Phase: List},
			"https://h.example/mcp answered tools/list with a JSON-RPC error; " +
				"check the server's logs; Mooring tries again",
		}, {
			Failure{Reason: ProtocolError, HTTPStatus: 200, Detail: "an answer that is not JSON"},
			"https://h.example/mcp answered with something that is not valid MCP (an answer that is not JSON); " +
				"check the URL, and check the server's logs; Mooring tries again",
		}, {
			Failure{Reason: "Novel"},
			"the exchange with https://h.example/mcp failed in a way that is not known; " +
				"check the logs of Mooring and of the server; Mooring tries again",
		},
	}
	for _, c := range cases {
		if got := Message(c.failure, target); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

// TestEveryReasonHasAMessage asks of each: the target, a next step, one line, nothing left of the template, and no
// digit but the status's and the target's.
func TestEveryReasonHasAMessage(t *testing.T) {
	reasons := []Reason{
		AuthenticationFailed, TokenAcquisitionFailed, PermissionDenied, QuotaExceeded, RateLimited, ServerError, DNSError,
		ConnectFailed,
		ConnectionLost, ProcessExited, ConnectTimeout, ListToolsTimeout, CallTimeout, NotMCP, EndpointNotFound,
		UnsupportedProtocolVersion, TLSVerificationFailed, RedirectRefused, AddressNotAllowed, ProtocolError,
		SessionFlapping, CatalogTooLarge, UnknownFailure,
	}
	if len(reasons) != len(templates) {
		t.Fatalf("%d reasons tested, %d templates", len(reasons), len(templates))
	}
	seen := map[string]Reason{}
	for _, reason := range reasons {
		for _, status := range []int{0, 418} {
			got := Message(Failure{Reason: reason, HTTPStatus: status, RetryAfter: 7777 * time.Second}, target)
			if !strings.Contains(got, target) || !strings.Contains(got, "; ") || strings.ContainsAny(got, "{}\n") {
				t.Errorf("%s: %q", reason, got)
			}
			if strings.ContainsAny(strings.ReplaceAll(got, "418", ""), "0123456789") {
				t.Errorf("%s: a number that may change: %q", reason, got)
			}
			if other, twice := seen[got]; twice && other != reason && status == 0 {
				t.Errorf("%s and %s read the same", reason, other)
			}
			seen[got] = reason
		}
	}
}
