package failure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os/exec"
	"syscall"
)

// Classify names the fault that err stands for. Every branch of the error tree is searched (Unwrap() error and
// Unwrap() []error). What an *Error says wins over what can be inferred from other errors, unless it says Unknown;
// among equals the most specific class wins. Classify(nil) is the zero Failure.
func Classify(err error) Failure {
	if err == nil {
		return Failure{}
	}
	var told, inferred []Failure
	walk(err, func(node error) {
		if typed, ok := node.(*Error); ok { //nolint:errorlint // every node of the tree is visited by walk
			told = append(told, typed.normal())
			return
		}
		if f, ok := infer(node); ok {
			inferred = append(inferred, f)
		}
	})
	best, found := mostSpecific(told)
	if found && best.Class != Unknown {
		return best
	}
	if guess, ok := mostSpecific(inferred); ok {
		if found {
			guess.Phase = best.Phase
		}
		return guess
	}
	if found {
		return best
	}
	return Failure{Class: Unknown, Reason: UnknownFailure, Sent: true}
}

// ClassifyAt is Classify for a fault of which the phase is known: it fills a phase that the error does not tell,
// and gives our own deadline the reason of its phase, unless it was spent on waiting for a token.
func ClassifyAt(phase Phase, err error) Failure {
	f := Classify(err)
	if f.Class == "" {
		return f
	}
	if f.Phase == "" {
		f.Phase = phase
	}
	if f.Class == Timeout && f.Reason != TokenAcquisitionFailed {
		f.Reason = timeoutReason(f.Phase)
	}
	return f
}

func timeoutReason(phase Phase) Reason {
	switch phase {
	case List:
		return ListToolsTimeout
	case Call:
		return CallTimeout
	case Connect, Stream:
		return ConnectTimeout
	case Probe:
		return ConnectionLost
	}
	return ConnectTimeout
}

// normal is the Failure with its two words filled in.
func (e *Error) normal() Failure {
	f := e.Failure
	if f.Class == "" {
		f.Class = Unknown
	}
	f.Reason = f.reasonOrUnknown()
	return f
}

// walk visits err and everything it wraps, depth first.
func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch wrapper := err.(type) { //nolint:errorlint // this is the walk that errors.As would do
	case interface{ Unwrap() error }:
		walk(wrapper.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range wrapper.Unwrap() {
			walk(inner, visit)
		}
	}
}

func mostSpecific(candidates []Failure) (Failure, bool) {
	for _, row := range table {
		for _, f := range candidates {
			if f.Class == row.Class {
				return f, true
			}
		}
	}
	return Failure{}, false
}

var rules = [...]func(error) (Failure, bool){
	inferDeadline, inferDNS, inferTLS, inferDial, inferErrno, inferEnd,
}

// infer names the fault of one node of a tree from the types of the standard library.
func infer(node error) (Failure, bool) {
	for _, rule := range rules {
		if f, ok := rule(node); ok {
			return f, true
		}
	}
	return Failure{}, false
}

func inferDeadline(node error) (Failure, bool) {
	if node == context.DeadlineExceeded { //nolint:errorlint // walk visits every node
		return Failure{Class: Timeout, Reason: ConnectTimeout, Sent: true}, true
	}
	op, ok := node.(*net.OpError) //nolint:errorlint // walk visits every node
	if ok && op.Op == "dial" && errors.Is(op.Err, context.DeadlineExceeded) {
		return Failure{Class: Timeout, Reason: ConnectTimeout}, true
	}
	return Failure{}, false
}

func inferDNS(node error) (Failure, bool) {
	if _, ok := node.(*net.DNSError); !ok { //nolint:errorlint // walk visits every node
		return Failure{}, false
	}
	return Failure{Class: Transport, Reason: DNSError}, true
}

func inferTLS(node error) (Failure, bool) {
	identity := Failure{Class: Protocol, Reason: TLSVerificationFailed}
	switch e := node.(type) { //nolint:errorlint // walk visits every node
	case x509.UnknownAuthorityError:
		identity.Detail = "its issuer is not trusted"
	case x509.HostnameError:
		identity.Detail = "it was issued for another host name"
	case x509.CertificateInvalidError:
		if e.Reason == x509.Expired {
			identity.Detail = "it has expired or is not yet valid"
		}
	case *tls.CertificateVerificationError, x509.SystemRootsError:
		// The certificate error below it, if there is one, comes with its own detail: let it speak.
		if errors.As(node, new(x509.UnknownAuthorityError)) || errors.As(node, new(x509.HostnameError)) ||
			errors.As(node, new(x509.CertificateInvalidError)) {
			return Failure{}, false
		}
	case tls.RecordHeaderError:
		identity.Detail = "the server does not speak TLS there"
	default:
		return Failure{}, false
	}
	return identity, true
}

func inferDial(node error) (Failure, bool) {
	op, ok := node.(*net.OpError) //nolint:errorlint // walk visits every node
	if !ok {
		return Failure{}, false
	}
	if errors.As(op.Err, new(*net.DNSError)) {
		return Failure{}, false // it speaks for itself, and knows better
	}
	if op.Op == "dial" {
		return Failure{Class: Transport, Reason: ConnectFailed, Detail: dialDetail(op.Err)}, true
	}
	return Failure{Class: Transport, Reason: ConnectionLost, Sent: true}, true
}

// dialDetail says how a dial failed where that is not a plain refusal.
func dialDetail(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return ""
	}
	switch errno {
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH:
		return "no route to its address"
	case syscall.ETIMEDOUT:
		return "no answer from its address"
	}
	return ""
}

func inferErrno(node error) (Failure, bool) {
	errno, ok := node.(syscall.Errno) //nolint:errorlint // walk visits every node
	if !ok {
		return Failure{}, false
	}
	switch errno {
	case syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH:
		return Failure{Class: Transport, Reason: ConnectFailed, Detail: dialDetail(errno)}, true
	case syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT:
		return Failure{Class: Transport, Reason: ConnectionLost, Sent: true}, true
	}
	return Failure{}, false
}

func inferEnd(node error) (Failure, bool) {
	if _, ok := node.(*exec.ExitError); ok { //nolint:errorlint // walk visits every node
		return Failure{Class: Transport, Reason: ProcessExited, Sent: true}, true
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if node == end { //nolint:errorlint // walk visits every node
			return Failure{Class: Transport, Reason: ConnectionLost, Sent: true}, true
		}
	}
	return Failure{}, false
}
