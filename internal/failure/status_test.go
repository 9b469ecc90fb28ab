package failure

import (
	"testing"
	"time"
)

var now = time.Date(2026, 8, 18, 12, 0, 0, 0, time.UTC)

func TestParseRetryAfter(t *testing.T) {
	cases := map[string]struct {
		want time.Duration
		ok   bool
	}{
		"0":                               {0, true},
		"2":                               {2 * time.Second, true},
		" 120 ":                           {2 * time.Minute, true},
		"0.5":                             {500 * time.Millisecond, true},
		"1.25":                            {1250 * time.Millisecond, true},
		".5":                              {500 * time.Millisecond, true},
		"3600":                            {time.Hour, true},
		"3601":                            {time.Hour, true},
		"99999999999999999999999999":      {time.Hour, true},
		"Tue, 18 Aug 2026 12:00:30 GMT":   {30 * time.Second, true},
		"Tue, 18 Aug 2026 11:00:00 GMT":   {0, true},
		"Wed, 19 Aug 2026 12:00:00 GMT":   {time.Hour, true},
		"Tuesday, 18-Aug-26 12:01:00 GMT": {time.Minute, true},
		"":                                {0, false},
		"-5":                              {0, false},
		"1e3":                             {0, false},
		"0x10":                            {0, false},
		"Inf":                             {0, false},
		"NaN":                             {0, false},
		"1.2.3":                           {0, false},
		".":                               {0, false},
		"soon":                            {0, false},
		"10 s":                            {0, false},
		"10, 20":                          {0, false},
		"\x00\xff":                        {0, false},
	}
	for value, want := range cases {
		got, ok := ParseRetryAfter(value, now)
		if got != want.want || ok != want.ok {
			t.Errorf("%q: got %s, %v, want %s, %v", value, got, ok, want.want, want.ok)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "1", "1.5", "Tue, 18 Aug 2026 12:00:30 GMT", "999999999999999999999", "-1", "1e9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := ParseRetryAfter(value, now)
		if got < 0 || got > time.Hour || !ok && got != 0 {
			t.Fatalf("%q: got %s, %v", value, got, ok)
		}
	})
}

func TestFromStatus(t *testing.T) {
	cases := []struct {
		status  Status
		class   Class
		reason  Reason
		outcome Outcome
	}{
		{Status{Code: 400}, Protocol, ProtocolError, Answered},
		{Status{Code: 401}, Auth, AuthenticationFailed, NotProcessed},
		{Status{Code: 403}, Permission, PermissionDenied, Answered},
		{Status{Code: 404}, Protocol, EndpointNotFound, Answered},
		{Status{Code: 404, WithSession: true}, SessionLost, ConnectionLost, NotProcessed},
		{Status{Code: 405}, Protocol, ProtocolError, Answered},
		{Status{Code: 410}, Protocol, EndpointNotFound, Answered},
		{Status{Code: 429}, RateLimit, RateLimited, NotProcessed},
		{Status{Code: 429, RetryAfter: "5"}, RateLimit, RateLimited, NotProcessed},
		{Status{Code: 500}, Server, ServerError, OutcomeUnknown},
		{Status{Code: 503}, Server, ServerError, OutcomeUnknown},
		{Status{Code: 503, RetryAfter: "soon"}, Server, ServerError, OutcomeUnknown},
		{Status{Code: 503, RetryAfter: "5"}, RateLimit, RateLimited, OutcomeUnknown},
		{Status{Code: 302}, Protocol, RedirectRefused, OutcomeUnknown},
		{Status{Code: 202}, Protocol, NotMCP, OutcomeUnknown},
	}
	for _, c := range cases {
		got := FromStatus(Call, c.status, now)
		if got.Class != c.class || got.Reason != c.reason || got.HTTPStatus != c.status.Code ||
			!got.Sent || got.Phase != Call {
			t.Errorf("%+v: got %+v", c.status, got)
		}
		if outcome := got.Outcome(); outcome != c.outcome {
			t.Errorf("%+v: outcome %s, want %s", c.status, outcome, c.outcome)
		}
	}
	got := FromStatus(Call, Status{Code: 429, RetryAfter: "5"}, now)
	if got.RetryAfter != 5*time.Second || !got.RetryAfterGiven {
		t.Errorf("got %+v", got)
	}
}
