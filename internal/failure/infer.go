package failure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/mooring-dev/mooring/internal/text"
)

// infer names the fault by the errors of the standard library in the tree of err.
func infer(err error) Failure {
	f, ok := inferPeer(err)
	if !ok {
		f = inferConnection(err)
	}
	if op := new(net.OpError); errors.As(err, &op) && op.Op == "proxyconnect" { // so net/http tells of a proxy
		f.Reason, f.Detail = ConnectFailed, "the proxy could not be reached"
	}
	return f
}

// inferPeer names what is wrong with who answers there, or with its name. Of some of it only the text tells.
func inferPeer(err error) (f Failure, ok bool) {
	unresolved := new(net.DNSError)
	if errors.As(err, &unresolved) {
		f = Failure{Class: Transport, Reason: DNSError, Detail: "the name server did not answer well"}
		if unresolved.IsNotFound {
			f.Detail = "no such host"
		}
		return f, true
	}
	if detail, ok := distrust(err); ok {
		return Failure{Class: Protocol, Reason: TLSVerificationFailed, Detail: detail}, true
	}
	alert := new(net.OpError) // that ended a handshake: crypto/tls exports no type for it
	switch {
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, new(tls.RecordHeaderError)):
		f = Failure{Class: Protocol, Reason: NotMCP, Detail: "plain HTTP is spoken there, not HTTPS"}
	case !errors.As(err, &alert) || alert.Op != "remote error" || alert.Err == nil:
		f = Failure{Class: Protocol, Reason: NotMCP, Detail: "no HTTP is spoken there", Sent: true}
		return f, strings.Contains(err.Error(), "malformed HTTP")
	case strings.Contains(alert.Err.Error(), "certificate"):
		f = Failure{Class: Protocol, Reason: TLSVerificationFailed, Sent: true,
			Detail: "the server did not accept the client certificate"}
	default:
		f = Failure{Class: Transport, Reason: ConnectFailed, Sent: true, Detail: "the server refused the TLS handshake"}
	}
	return f, true
}

// distrust says why a certificate was not believed, if that is what happened.
func distrust(err error) (detail string, ok bool) {
	var (
		verification *tls.CertificateVerificationError
		invalid      x509.CertificateInvalidError
		issuer       string
	)
	if errors.As(err, &verification) {
		if n := len(verification.UnverifiedCertificates); n > 0 {
			issuer = text.ASCII(verification.UnverifiedCertificates[n-1].Issuer.CommonName, 100)
		}
	}
	issuer = "issuer " + strconv.Quote(issuer)
	switch {
	case errors.As(err, new(x509.HostnameError)):
		return "its certificate is for another host name; " + issuer, true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired or is not yet valid; " + issuer, true
	}
	return issuer + " is not trusted", verification != nil || errors.As(err, &invalid) ||
		errors.As(err, new(x509.UnknownAuthorityError)) || errors.As(err, new(x509.SystemRootsError))
}

// inferConnection names what became of a connection, or of the process behind it.
func inferConnection(err error) Failure {
	op, errno := new(net.OpError), syscall.Errno(0)
	dialled := errors.As(err, &op) && op.Op == "dial"
	errors.As(err, &errno)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Failure{Class: Timeout, Reason: ConnectTimeout, Sent: !dialled}
	case dialled, errno == syscall.ECONNREFUSED, errno == syscall.EHOSTUNREACH, errno == syscall.ENETUNREACH:
		return Failure{Class: Transport, Reason: ConnectFailed, Detail: unreachable[errno]}
	case errors.As(err, new(*exec.ExitError)):
		return Failure{Class: Transport, Reason: ProcessExited, Sent: true}
	case op.Op != "", errno == syscall.ECONNRESET, errno == syscall.ECONNABORTED, errno == syscall.EPIPE,
		errno == syscall.ETIMEDOUT,
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return Failure{Class: Transport, Reason: ConnectionLost, Sent: true}
	}
	return Failure{Class: Unknown, Reason: UnknownFailure, Sent: true}
}

// unreachable says how a dial failed where that is not a plain refusal.
var unreachable = map[syscall.Errno]string{
	syscall.EHOSTUNREACH: "no route to its address",
	syscall.ENETUNREACH:  "no route to its address",
	syscall.ETIMEDOUT:    "no answer from its address",
}
