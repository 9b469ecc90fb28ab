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

// A used-up quota is told by 402, or by an exact code where providers put one. Words for people are no code, and
// a server that wants to be asked again within a minute limits the rate.
func TestQuotaExceeded(t *testing.T) {
	const used, no = true, false
	told := func(code int, wait, body string) Status {
		return Status{Code: code, RetryAfter: wait, Body: []byte(body)}
	}
	at := func(code int, body string) Status { return told(code, "", body) }
	cases := map[string]struct {
		status Status
		want   bool
	}{
		"402":                      {Status{Code: 402}, used},
		"402 with a code":          {at(402, `{"code":"x"}`), used},
		"402 told":                 {Status{Code: 402, RetryAfter: "5"}, used},
		"error.code":               {at(429, `{"error":{"code":"insufficient_quota"}}`), used},
		"error.type":               {at(429, `{"error":{"type":"quota_exceeded"}}`), used},
		"code":                     {at(429, `{"code":"payment_required"}`), used},
		"type":                     {at(429, `{"type":"billing_not_active"}`), used},
		"error.data.code":          {at(429, `{"error":{"code":-1,"data":{"code":"billing_x"}}}`), used},
		"two minutes":              {told(429, "120", `{"code":"quota_exceeded"}`), used},
		"one minute":               {told(429, "60", `{"code":"quota_exceeded"}`), no},
		"no body":                  {Status{Code: 429}, no},
		"no JSON":                  {at(429, `quota_exceeded`), no},
		"a message":                {at(429, `{"error":{"message":"insufficient_quota"}}`), no},
		"another case":             {at(429, `{"Code":"quota_exceeded"}`), no},
		"a longer code":            {at(429, `{"code":"quota_exceeded_soon"}`), no},
		"rate limit":               {at(429, `{"error":{"code":"rate_limit_exceeded"}}`), no},
		"too deep":                 {at(429, `{"error":{"data":{"error":{"code":"quota_exceeded"}}}}`), no},
		"403 with a code":          {at(403, `{"code":"quota_exceeded"}`), no},
		"503 told, with a code":    {told(503, "120", `{"code":"quota_exceeded"}`), no},
		"500 with a code in error": {at(500, `{"error":{"code":"insufficient_quota"}}`), no},
	}
	for name, c := range cases {
		f := FromStatus(Call, c.status, now)
		if got := f.Class == Quota; got != c.want || got != (f.Reason == QuotaExceeded) {
			t.Errorf("%s: got %+v", name, f)
		}
		told, _ := ParseRetryAfter(c.status.RetryAfter, now)
		if want := max(told, 10*time.Minute); c.want && told == 0 && (f.RetryAfter != want || !f.RetryAfterGiven) {
			t.Errorf("%s: left alone for %s, want %s", name, f.RetryAfter, want)
		}
		if c.want && (f.Outcome() != Answered || f.Strikes()) {
			t.Errorf("%s: %s, strikes: %v", name, f.Outcome(), f.Strikes())
		}
	}
	for data, want := range map[string]Class{
		`{"code":"insufficient_quota"}`: Quota, `{"error":{"type":"billing_hard_limit"}}`: Quota,
		`{"code":"other"}`: Protocol, `"insufficient_quota"`: Protocol, ``: Protocol, `[]`: Protocol,
	} {
		if f := FromRPC(List, []byte(data)); f.Class != want || !f.Answered || f.Strikes() {
			t.Errorf("%s: got %+v", data, f)
		}
	}
}
