package failure

import "testing"

func TestOutcomeOf(t *testing.T) {
	cases := []struct {
		failure Failure
		want    Outcome
	}{
		{Failure{Class: Transport, Reason: ConnectFailed}, NotProcessed},
		{Failure{Class: Protocol, Reason: TLSVerificationFailed}, NotProcessed},
		{Failure{Class: Transport, Reason: ConnectionLost, Sent: true}, OutcomeUnknown},
		{Failure{Class: Transport, Reason: ProcessExited, Sent: true}, OutcomeUnknown},
		{Failure{Class: Timeout, Reason: CallTimeout, Sent: true}, OutcomeUnknown},
		{Failure{Class: Unknown, Sent: true}, OutcomeUnknown},
		{Failure{Class: Protocol, Reason: ProtocolError, Sent: true}, OutcomeUnknown},
		{Failure{Class: Protocol, Sent: true, Answered: true}, Answered},
	}
	for _, c := range cases {
		if got := OutcomeOf(c.failure); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.failure, got, c.want)
		}
	}
}

func TestRefusedBy(t *testing.T) {
	cases := []struct {
		class  Class
		reason Reason
		want   RefusedClass
	}{
		{Auth, AuthenticationFailed, RefusedAtOnce},
		{Auth, TokenAcquisitionFailed, RefusedAtOnce},
		{Permission, PermissionDenied, RefusedAtOnce},
		{Protocol, NotMCP, RefusedAfterAttempts},
		{Protocol, TLSVerificationFailed, RefusedAfterAttempts},
		{Protocol, UnsupportedProtocolVersion, RefusedAfterAttempts},
		{Protocol, RedirectRefused, RefusedAfterAttempts},
		{Protocol, AddressNotAllowed, RefusedAfterAttempts},
		{Protocol, EndpointNotFound, NotRefused},
		{Protocol, ProtocolError, NotRefused},
		{Server, ServerError, NotRefused},
		{RateLimit, RateLimited, NotRefused},
		{SessionLost, SessionFlapping, NotRefused},
		{Transport, ConnectFailed, NotRefused},
		{Timeout, ConnectTimeout, NotRefused},
		{Unknown, UnknownFailure, NotRefused},
	}
	for _, c := range cases {
		f := Failure{Class: c.class, Reason: c.reason}
		if got := RefusedBy(f); got != c.want {
			t.Errorf("%s: got %d, want %d", c.reason, got, c.want)
		}
		f.Answered = true
		if got := RefusedBy(f); got != NotRefused {
			t.Errorf("%s as an answer: got %d", c.reason, got)
		}
	}
}

func TestStrikes(t *testing.T) {
	want := map[Class]bool{
		Auth: true, Permission: true, Server: true, Protocol: true, Timeout: true, Transport: true, Unknown: true,
		RateLimit: false, SessionLost: false,
	}
	for class, strikes := range want {
		if got := Strikes(Failure{Class: class}); got != strikes {
			t.Errorf("%s: got %v", class, got)
		}
		if Strikes(Failure{Class: class, Answered: true}) {
			t.Errorf("%s: an answer strikes", class)
		}
	}
}
