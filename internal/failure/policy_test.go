package failure

import "testing"

func TestOutcome(t *testing.T) {
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
		if got := c.failure.Outcome(); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.failure, got, c.want)
		}
	}
}

func TestRetires(t *testing.T) {
	const never, atOnce, afterAttempts = "never", "at once", "after attempts"
	how := func(f Failure) string {
		switch {
		case f.RetiresAtOnce():
			return atOnce
		case f.RetiresAfterAttempts():
			return afterAttempts
		}
		return never
	}
	cases := []struct {
		class  Class
		reason Reason
		want   string
	}{
		{Auth, AuthenticationFailed, atOnce},
		{Auth, TokenAcquisitionFailed, atOnce},
		{Permission, PermissionDenied, atOnce},
		{Protocol, NotMCP, afterAttempts},
		{Protocol, TLSVerificationFailed, afterAttempts},
		{Protocol, UnsupportedProtocolVersion, afterAttempts},
		{Protocol, RedirectRefused, afterAttempts},
		{Protocol, AddressNotAllowed, afterAttempts},
		{Protocol, EndpointNotFound, never},
		{Protocol, ProtocolError, never},
		{Server, ServerError, never},
		{Quota, QuotaExceeded, never},
		{RateLimit, RateLimited, never},
		{SessionLost, SessionFlapping, never},
		{Transport, ConnectFailed, never},
		{Timeout, ConnectTimeout, never},
		{Unknown, UnknownFailure, never},
	}
	for _, c := range cases {
		f := Failure{Class: c.class, Reason: c.reason}
		if got := how(f); got != c.want {
			t.Errorf("%s: retires %s, want %s", c.reason, got, c.want)
		}
		f.Answered = true
		if got := how(f); got != never {
			t.Errorf("%s as an answer: retires %s", c.reason, got)
		}
	}
}

func TestStrikes(t *testing.T) {
	want := map[Class]bool{
		Auth: true, Permission: true, Server: true, Protocol: true, Timeout: true, Transport: true, Unknown: true,
		Quota: false, RateLimit: false, SessionLost: false,
	}
	for class, strikes := range want {
		if got := (Failure{Class: class}).Strikes(); got != strikes {
			t.Errorf("%s: got %v", class, got)
		}
		if (Failure{Class: class, Answered: true}).Strikes() {
			t.Errorf("%s: an answer strikes", class)
		}
	}
}

func TestPolicyOfAnUnknownClassIsThatOfUnknown(t *testing.T) {
	if got := PolicyOf("novel").Class; got != Unknown {
		t.Errorf("got %s", got)
	}
}
