package failure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// typed is an error that says its class itself.
func typed(class Class, reason Reason) error {
	return &Error{Failure: Failure{Class: class, Reason: reason}}
}

func TestClassifyNilIsZero(t *testing.T) {
	if got := Classify(nil); got != (Failure{}) {
		t.Fatalf("got %+v", got)
	}
	if got := ClassifyAt(Call, nil); got != (Failure{}) {
		t.Fatalf("got %+v", got)
	}
}

func TestMostSpecificClassOfATreeWins(t *testing.T) {
	order := []Class{Auth, Permission, Quota, RateLimit, SessionLost, Server, Protocol, Timeout, Transport, Unknown}
	for i, specific := range order {
		for _, general := range order[i+1:] {
			trees := map[string]error{
				"joined, specific last":  errors.Join(typed(general, "G"), typed(specific, "S")),
				"joined, specific first": errors.Join(typed(specific, "S"), typed(general, "G")),
				"specific is the cause": fmt.Errorf("a: %w",
					&Error{Failure: Failure{Class: general}, Cause: typed(specific, "S")}),
				"general is the cause": fmt.Errorf("a: %w",
					&Error{Failure: Failure{Class: specific, Reason: "S"}, Cause: typed(general, "G")}),
				"deep in branches": fmt.Errorf("%w, %w", errors.New("x"),
					errors.Join(typed(general, "G"), fmt.Errorf("y: %w", typed(specific, "S")))),
			}
			for name, tree := range trees {
				if got := Classify(tree); got.Class != specific || got.Reason != "S" {
					t.Errorf("%s over %s, %s: got %s/%s", specific, general, name, got.Class, got.Reason)
				}
			}
		}
	}
}

func TestTypedWinsOverInferred(t *testing.T) {
	got := Classify(errors.Join(context.DeadlineExceeded, &Error{
		Failure: Failure{Class: Transport, Reason: ConnectFailed},
		Cause:   x509.UnknownAuthorityError{},
	}))
	if got.Class != Transport || got.Reason != ConnectFailed {
		t.Fatalf("got %+v", got)
	}
	got = Classify(&Error{Failure: Failure{Class: Unknown, Phase: List}, Cause: io.EOF})
	if got.Class != Transport || got.Reason != ConnectionLost || got.Phase != List {
		t.Fatalf("an Unknown with a known cause: got %+v", got)
	}
	got = Classify(&Error{Cause: errors.New("odd")})
	if got.Class != Unknown || got.Reason != UnknownFailure {
		t.Fatalf("a zero Error: got %+v", got)
	}
}

func TestInferredFromTheStandardLibrary(t *testing.T) {
	dial := func(err error) error {
		return &url.Error{Op: "Post", URL: "https://h/?token=x", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	cases := map[string]struct {
		err    error
		class  Class
		reason Reason
		sent   bool
		detail string
	}{
		"deadline":         {fmt.Errorf("x: %w", context.DeadlineExceeded), Timeout, ConnectTimeout, true, ""},
		"deadline in dial": {dial(context.DeadlineExceeded), Timeout, ConnectTimeout, false, ""},
		"no such host": {
			dial(&net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}), Transport, DNSError, false, "no such host",
		},
		"name server": {&net.DNSError{IsTimeout: true}, Transport, DNSError, false, "the name server did not answer well"},
		"refused":     {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), Transport, ConnectFailed, false, ""},
		"no route":    {dial(syscall.EHOSTUNREACH), Transport, ConnectFailed, false, "no route to its address"},
		"kernel time": {dial(syscall.ETIMEDOUT), Transport, ConnectFailed, false, "no answer from its address"},
		"reset": {
			&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)},
			Transport, ConnectionLost, true, "",
		},
		"bare refused": {syscall.ECONNREFUSED, Transport, ConnectFailed, false, ""},
		"bare reset":   {syscall.ECONNRESET, Transport, ConnectionLost, true, ""},
		"bare pipe":    {syscall.EPIPE, Transport, ConnectionLost, true, ""},
		"eof":          {fmt.Errorf("read: %w", io.EOF), Transport, ConnectionLost, true, ""},
		"cut":          {io.ErrUnexpectedEOF, Transport, ConnectionLost, true, ""},
		"closed":       {net.ErrClosed, Transport, ConnectionLost, true, ""},
		"child exit":   {&exec.ExitError{}, Transport, ProcessExited, true, ""},
		"untrusted": {
			&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
			Protocol, TLSVerificationFailed, false, `issuer "" is not trusted`,
		},
		"other name": {
			&url.Error{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h"}},
			Protocol, TLSVerificationFailed, false, `its certificate is for another host name; issuer ""`,
		},
		"expired": {
			x509.CertificateInvalidError{Reason: x509.Expired},
			Protocol, TLSVerificationFailed, false, `its certificate has expired or is not yet valid; issuer ""`,
		},
		"not TLS": {
			&net.OpError{Op: "remote error", Err: tls.RecordHeaderError{Msg: "x"}},
			Protocol, NotMCP, false, "plain HTTP is spoken there, not HTTPS",
		},
		"scheme":   {http.ErrSchemeMismatch, Protocol, NotMCP, false, "plain HTTP is spoken there, not HTTPS"},
		"not HTTP": {errors.New(`malformed HTTP response "x"`), Protocol, NotMCP, true, "no HTTP is spoken there"},
		"client certificate": {
			&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")},
			Protocol, TLSVerificationFailed, true, "the server did not accept the client certificate",
		},
		"handshake": {
			&net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")},
			Transport, ConnectFailed, true, "the server refused the TLS handshake",
		},
		"proxy": {
			&net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED},
			Transport, ConnectFailed, false, "the proxy could not be reached",
		},
		"bad roots":      {x509.SystemRootsError{}, Protocol, TLSVerificationFailed, false, `issuer "" is not trusted`},
		"other errno":    {syscall.EACCES, Unknown, UnknownFailure, true, ""},
		"cancelled":      {context.Canceled, Unknown, UnknownFailure, true, ""},
		"anything else":  {errors.New("odd"), Unknown, UnknownFailure, true, ""},
		"refusal hidden": {errors.Join(errors.New("a"), dial(syscall.ECONNREFUSED)), Transport, ConnectFailed, false, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := Failure{Class: c.class, Reason: c.reason, Sent: c.sent, Detail: c.detail}
			if got := Classify(c.err); got != want {
				t.Fatalf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestRealSocketsAreNamed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	if _, err = net.Dial("tcp", address); Classify(err).Reason != ConnectFailed {
		t.Errorf("refused: got %+v", Classify(err))
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err = new(net.Dialer).DialContext(ctx, "tcp", address)
	if Classify(err).Class != Timeout {
		t.Errorf("deadline: got %+v of %v", Classify(err), err)
	}
	if _, err = net.Dial("unix", filepath.Join(t.TempDir(), "none")); Classify(err).Class != Transport {
		t.Errorf("no socket: got %+v", Classify(err))
	}
}

func TestClassifyAtFillsPhaseAndDeadlineReason(t *testing.T) {
	reasons := map[Phase]Reason{
		Connect: ConnectTimeout, List: ListToolsTimeout, Call: CallTimeout, Probe: ConnectionLost, Stream: ConnectTimeout,
		"other": ConnectTimeout,
	}
	for phase, reason := range reasons {
		got := ClassifyAt(phase, context.DeadlineExceeded)
		if got.Phase != phase || got.Reason != reason {
			t.Errorf("%s: got %+v", phase, got)
		}
	}
	got := ClassifyAt(Call, &Error{Failure: Failure{Class: Server, Reason: ServerError, Phase: Connect}})
	if got.Phase != Connect || got.Reason != ServerError {
		t.Errorf("a phase that is told stays: got %+v", got)
	}
}

func TestErrorTextIsSafeAndUseful(t *testing.T) {
	err := &Error{
		Failure: Failure{Class: Server, Phase: List, Reason: ServerError, HTTPStatus: 502, Detail: "text/html"},
		Cause:   errors.New("CANARY"),
	}
	if got, want := err.Error(), "ServerError during list: 502 Bad Gateway (text/html)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, err.Cause) {
		t.Error("the cause is lost")
	}
	if got, want := (&Error{Cause: err.Cause}).Error(), "UnknownFailure"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if strings.Contains(fmt.Sprintf("%v %+v", err, err), "CANARY") {
		t.Error("the cause is printed")
	}
}

func TestSameKind(t *testing.T) {
	f := Failure{Class: Server, Reason: ServerError, HTTPStatus: 502, Phase: Connect}
	same := f
	same.Detail, same.RetryAfter, same.Sent = "x", time.Second, true
	if !f.SameKind(same) {
		t.Error("detail and times make no other kind")
	}
	for _, other := range []Failure{
		{Class: Transport, Reason: ServerError, HTTPStatus: 502, Phase: Connect},
		{Class: Server, Reason: ProtocolError, HTTPStatus: 502, Phase: Connect},
		{Class: Server, Reason: ServerError, HTTPStatus: 503, Phase: Connect},
		{Class: Server, Reason: ServerError, HTTPStatus: 502, Phase: List},
	} {
		if f.SameKind(other) {
			t.Errorf("%+v is another kind", other)
		}
	}
}

// B45: what a URL holds besides scheme, host and path is in nothing that is shown.
func TestB45_CredentialsInURLs(t *testing.T) {
	err := error(&url.Error{
		Op: "Post", URL: "https://u:PW9@h/mcp?api_key=QT9",
		Err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("proxy said QT9 and PW9")},
	})
	f := ClassifyAt(Connect, err)
	if f.Reason != ConnectFailed {
		t.Fatalf("got %+v", f)
	}
	shown := fmt.Sprintf("%s %v %+v %v", Message(f, "https://h/mcp"), f, f, &Error{Failure: f, Cause: err})
	if strings.Contains(shown, "PW9") || strings.Contains(shown, "QT9") {
		t.Fatalf("shown: %s", shown)
	}
}
